package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mishap/crash"
)

// Copy is a physical copy of the files of a PostgreSQL server, such as a base backup, from which Start
// makes a private PostgreSQL.
type Copy struct {
	Major    int                                         // major version of PostgreSQL
	Database string                                      // mishap's database in it
	Private  bool                                        // of a private PostgreSQL, whose configuration stays
	Write    func(ctx context.Context, dir string) error // writes the files to the empty directory dir
}

// CheckMajor returns Unavailable if the server programs of a major version of PostgreSQL are not
// installed. Files of a server work only with programs of the same major version.
func CheckMajor(ctx context.Context, major int) error {
	_, err := programsOf(ctx, major)
	return err
}

func programsOf(ctx context.Context, major int) (programs, error) {
	for _, p := range installed(ctx, candidates(ctx)) {
		if p.major == major {
			return p, nil
		}
	}
	return programs{}, crash.Errorf(crash.Unavailable, "other_postgresql", "The database files are of PostgreSQL %d and "+
		"need its server programs, which were not found; install that version (Debian, Ubuntu: apt-get install "+
		"postgresql-%d).", major, major)
}

// The configuration of a private PostgreSQL that was made from the files of another server. That of the
// other server may name files of its machine, or send its write-ahead log to the same archive.
const (
	copiedSettings = "# mishap passes all settings on the command line.\n"
	copiedAccess   = "local all all trust\nlocal replication all trust\n"
)

// copyCluster creates the server's files from a copy. It returns Conflict if there are files.
func (h home) copyCluster(ctx context.Context, from *Copy, throwaway bool) error {
	h.removeScratch()
	if _, err := os.Stat(h.cluster()); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, crash.Errorf(crash.Conflict, "database_exists", "There is a database in %s.", h.cluster()))
	}
	p, err := programsOf(ctx, from.Major)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(h.dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // after success, it has been renamed
	if err := from.Write(ctx, dir); err != nil {
		return err
	}
	if !from.Private {
		for name, text := range map[string]string{"postgresql.conf": copiedSettings, "pg_hba.conf": copiedAccess,
			"pg_ident.conf": "", "postgresql.auto.conf": ""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, h.account.chown(path))
	})
	if err != nil {
		return err
	}
	if !from.Private {
		if err := h.adoptDatabase(ctx, p, dir, from.Database, throwaway); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, h.cluster()); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}

// Statements for a single-user server, one a line. The server may have another database with our name.
const (
	adoptRole = "do $$ begin if not exists (select from pg_roles where rolname = '" + role + "') then create role " +
		role + "; end if; end $$;\n" +
		"alter role " + role + " with superuser login connection limit -1 valid until 'infinity';\n"
	freeName = "do $$ begin if exists (select from pg_database where datname = '" + database + "') then " +
		"alter database " + database + " rename to other_" + database + "; end if; end $$;\n"
)

// adoptDatabase gives the database and its role the names that a private PostgreSQL has. The server
// recovers from the write-ahead log of the copy first.
func (h home) adoptDatabase(ctx context.Context, p programs, dir, name string, throwaway bool) error {
	sql := adoptRole
	if name != database {
		sql += freeName + "alter database " + `"` + strings.ReplaceAll(name, `"`, `""`) + `"` + " rename to " + database + ";\n"
	}
	sql += "alter database " + database + " set log_error_verbosity = terse;\n"
	args := []string{"--single", "-D", dir, "-c", "exit_on_error=on"}
	for _, s := range settings(throwaway) {
		args = append(args, "-c", s)
	}
	if err := h.run(ctx, dir, sql, p.path("postgres"), append(args, "template1")...); err != nil {
		return fmt.Errorf("recover PostgreSQL %d: %w", p.major, err)
	}
	return nil
}
