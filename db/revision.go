package db

import (
	"context"
	"fmt"
)

const (
	sqlRevision = `
		select c.round, concat_ws('.', n.rows, n.ids), ` + serverIDColumns + `
		from counting as c, (select count(*) as rows, coalesce(sum(id), 0) as ids from changes) as n`
	// No transaction takes so long to become visible.
	sqlDeleteOldChanges = `delete from changes where at < now() - interval '1 hour'`
)

// revision identifies the state of everything that pages show.
type revision struct {
	stamp          // of counting
	changes string // of all else
}

func (s *Store) revision(ctx context.Context) (r revision, err error) {
	err = s.pool.QueryRow(ctx, sqlRevision).Scan(&r.round, &r.changes, &r.server.started, &r.server.database)
	return r, known(err)
}

// Revision returns a word that changes with everything that lists and pages show to everybody:
// counts, problems, bugs and their states, filings, notes, decisions and facts of the archive. It
// also changes with the database server and its start. It does not depend on the order in which
// transactions commit: see migrations/009_changes.sql.
func (s *Store) Revision(ctx context.Context) (string, error) {
	r, err := s.revision(ctx)
	if err != nil {
		return "", fmt.Errorf("revision: %w", err)
	}
	return fmt.Sprintf("%s.%d.%s", r.server, r.round, r.changes), nil
}
