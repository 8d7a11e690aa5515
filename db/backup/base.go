package backup

import (
	"context"
	"path/filepath"
	"strings"

	"mishap/crash"
	"mishap/db/embedded"
)

// The files of a base backup, as written by pg_basebackup --format=tar.
const (
	baseArchive  = "base.tar.gz"
	walArchive   = "pg_wal.tar.gz"
	baseManifest = "backup_manifest"
)

// pg_basebackup's options: an immediate checkpoint, the write-ahead log as it is written meanwhile, and
// the quickest compression, because bodies of reports are compressed already.
var baseOptions = []string{"--format=tar", "--compress=client-gzip:1", "--checkpoint=fast", "--wal-method=stream",
	"--no-password"}

// base writes a base backup to dir. The state of the database is that of the end of the backup, so the
// manifest has the totals before and after it.
func (o Options) base(ctx context.Context, s server, dir string) (Manifest, error) {
	m := Manifest{Format: manifestFormat, Mishap: o.Mishap, Method: Base, Secrets: o.Secrets, Blobs: o.Files,
		Database: s.database, Private: o.Private}
	if err := o.look(ctx, &m); err != nil {
		return m, err
	}
	before := m
	m.Before = &before.Totals
	program, err := embedded.FindTool(ctx, "pg_basebackup", m.PostgreSQL)
	if err != nil {
		return m, err
	}
	environ, err := environment(o.URL)
	if err != nil {
		return m, err
	}
	args := append([]string{"--pgdata=" + filepath.Join(dir, databaseName)}, baseOptions...)
	if _, err := embedded.RunTool(ctx, environ, program, args...); err != nil {
		return m, explainBase(s, err)
	}
	if err := o.look(ctx, &m); err != nil {
		return m, err
	}
	if m.Taken = before.Taken; m.Schema != before.Schema {
		return m, crash.Errorf(crash.Conflict, "schema_changed", "mishap was upgraded during the backup; make it again.")
	}
	return m, nil
}

// look reads the state and the totals of the present moment. It keeps no snapshot, which would hinder
// vacuum during a long backup.
func (o Options) look(ctx context.Context, m *Manifest) error {
	conn, err := open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it has changed nothing
	if err := m.readState(ctx, conn); err != nil {
		return err
	}
	m.Totals, err = totals(ctx, conn)
	return err
}

// explainBase returns a message for people if the server refuses a base backup.
func explainBase(s server, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "no pg_hba.conf entry"):
		return crash.Errorf(crash.Forbidden, "no_replication_access", "The server does not let the role %s connect for "+
			"replication from this machine: let an administrator of PostgreSQL add a line such as \"host replication %s "+
			"ADDRESS scram-sha-256\" to pg_hba.conf and run \"select pg_reload_conf()\", or use --method dump.", s.role,
			s.role).Because(err)
	case strings.Contains(text, "max_wal_senders"):
		return crash.Errorf(crash.Unavailable, "no_wal_senders", "The server has no connection left for replication, and a "+
			"base backup needs two: raise max_wal_senders and restart PostgreSQL, or use --method dump.").Because(err)
	}
	return err
}
