package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
)

// minMajor is the oldest major version of PostgreSQL with which mishap is tested.
const minMajor = 15

// usualFolders lists patterns of directories with server programs in distributions. These are often
// not on PATH.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",            // Debian, Ubuntu
	"/usr/pgsql-*/bin",                     // the PostgreSQL project's packages for Fedora, RHEL, SUSE
	"/usr/lib/postgresql*/bin",             // SUSE
	"/usr/libexec/postgresql*",             // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",   // macOS, Homebrew
	"/usr/local/opt/postgresql@*/bin",      // macOS on Intel, Homebrew
	"/opt/local/lib/postgresql*/bin",       // macOS, MacPorts
	"/Library/PostgreSQL/*/bin",            // macOS, installer
	"/Applications/Postgres.app/*/*/*/bin", // macOS, Postgres.app
}

// programs is one installation of the server programs.
type programs struct {
	dir   string
	major int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// findPrograms returns installed programs of PostgreSQL that can run the server in the folder h.
func findPrograms(ctx context.Context, h home) (programs, error) {
	return choosePrograms(installed(ctx, candidates(ctx)), h)
}

// choosePrograms returns the programs with the major version of the existing files or, if there are
// none, the newest programs.
func choosePrograms(found []programs, h home) (programs, error) {
	text, err := os.ReadFile(filepath.Join(h.cluster(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return newest(found)
	}
	if err != nil {
		return programs{}, fmt.Errorf("read the version of the private database: %w", err)
	}
	return ofMajor(found, strings.TrimSpace(string(text)), h.cluster())
}

// candidates lists directories that may contain the server programs: PATH, the output of pg_config,
// and usualFolders.
func candidates(ctx context.Context) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// PATH often contains only a link to postgres, and initdb is in the directory of its
		// target.
		if target, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range usualFolders {
		matches, _ := filepath.Glob(pattern) // the patterns are valid
		dirs = append(dirs, matches...)
	}
	return dirs
}

var versionWord = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// installed returns the directories that contain both programs, without duplicates, with their
// versions.
func installed(ctx context.Context, dirs []string) []programs {
	var found []programs
	for _, dir := range dirs {
		if slices.ContainsFunc(found, func(p programs) bool { return p.dir == dir }) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
		m := versionWord.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil {
			found = append(found, programs{dir, major})
		}
	}
	return found
}

// HowToInstall says how to install the server programs.
const HowToInstall = "install PostgreSQL 15 or newer (Debian, Ubuntu: apt-get install postgresql; " +
	"Fedora: dnf install postgresql-server; macOS: brew install postgresql@17)"

func newest(found []programs) (programs, error) {
	if len(found) == 0 {
		return programs{}, crash.Errorf(crash.Unavailable, "no_postgresql",
			"No PostgreSQL server programs were found on this machine: %s, or set database_url.", HowToInstall)
	}
	// Of several programs with one version, the first one wins: PATH precedes the usual
	// directories.
	best := found[0]
	for _, p := range found {
		if p.major > best.major {
			best = p
		}
	}
	if best.major < minMajor {
		return programs{}, crash.Errorf(crash.Unavailable, "old_postgresql",
			"The PostgreSQL found in %s is version %d: %s, or set database_url.", best.dir, best.major, HowToInstall)
	}
	return best, nil
}

func ofMajor(found []programs, major, cluster string) (programs, error) {
	for _, p := range found {
		if strconv.Itoa(p.major) == major {
			return p, nil
		}
	}
	return programs{}, crash.Errorf(crash.Unavailable, "other_postgresql",
		"The database in %s belongs to PostgreSQL %s, whose server programs were not found; "+
			"install that version (Debian, Ubuntu: apt-get install postgresql-%s), or use the container image that has it. "+
			"docs/operating.md (A newer PostgreSQL) says how to change to another version.",
		cluster, major, major)
}
