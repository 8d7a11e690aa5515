package erase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Line is a line of a dump: one thing that is known about a machine.
type Line struct {
	Kind string `json:"kind"`
	Data any    `json:"data"`
}

// dumped lists what a dump contains besides reports. Each statement selects objects of JSON.
var dumped = []struct{ kind, sql string }{
	{"core request", sqlDumpRequests}, {"symbolising", sqlDumpJobs}, {"missing build", sqlDumpUnknown},
	{"counted in a problem", sqlDumpSystems}, {"counted in several releases", sqlDumpTravellers},
	{"active in a release", sqlDumpSpans}, {"waits to be counted", sqlDumpUncounted}, {"audit record", sqlDumpAudit},
	{"note", sqlDumpNotes}, {"saved search", sqlDumpSearches}, {"erasure", sqlDumpErasures},
}

const (
	ofMachine       = ` where system_key = @system_key and system = @system`
	itsReports      = `(select id from reports` + ofMachine + `)`
	sqlDumpRequests = `
		select to_jsonb(c) || jsonb_build_object('problem', encode(c.problem, 'hex')) from core_requests as c
		where system = @system order by report_id`
	sqlDumpJobs = `
		select to_jsonb(j) || jsonb_build_object('problem', encode(j.problem, 'hex')) from symbol_jobs as j
		where report_id in ` + itsReports + ` order by report_id`
	sqlDumpUnknown = `select to_jsonb(u) from unknown_builds as u where report_id in ` + itsReports + ` order by report_id`
	sqlDumpSystems = `
		select jsonb_build_object('problem', encode(bucket_id, 'hex'), 'release', release, 'version', version, 'reports',
			reports) from bucket_systems where system = @system_key order by bucket_id, release, version`
	sqlDumpTravellers = `
		select jsonb_build_object('problem', encode(bucket_id, 'hex'), 'version', version, 'extra', extra)
		from bucket_travellers where system = @system_key order by bucket_id, version`
	sqlDumpSpans = `
		select jsonb_build_object('release', release, 'from', from_day, 'until', until_day) from release_systems
		where system = @system_key order by release, from_day`
	sqlDumpUncounted = `
		select jsonb_build_object('report', r, 'stored', u.stored) from uncounted as u, unnest(u.reports) as r
		where r in ` + itsReports + ` order by r`
	sqlDumpAudit = `
		select to_jsonb(a) from audit_events as a
		where subject = @system or length(@system::text) >= 16 and (position(@system::text in subject) > 0
			or position(@system::text in detail::text) > 0 or position(@system::text in before::text) > 0
			or position(@system::text in after::text) > 0) order by id`
	sqlDumpNotes = `
		select jsonb_build_object('problem', encode(n.bucket_id, 'hex'), 'at', t.at, 'person', t.person, 'text', t.text)
		from note_texts as t join notes as n on n.id = t.note_id
		where length(@system::text) >= 16 and position(@system::text in t.text) > 0 order by t.id`
	sqlDumpSearches = `
		select to_jsonb(s) from saved_searches as s
		where length(@system::text) >= 16 and position(@system::text in path || ' ' || name) > 0 order by id`
	sqlDumpErasures = `
		select to_jsonb(e) - '{digest,touched}'::text[] from erasures as e where digest = system_digest(@system) order by id`
	sqlDumpReports = `
		select id from reports` + ofMachine + ` and received >= @received and (received, id) > (@received, @id)
		order by received, id limit 500`
)

// report is a report in a dump, with all its fields.
type report struct {
	ID         string       `json:"id"`
	Received   time.Time    `json:"received"`
	Occurred   time.Time    `json:"occurred,omitzero"`
	Problem    string       `json:"problem,omitempty"`
	Unbucketed string       `json:"unbucketed,omitempty"`
	Rule       string       `json:"rule"`
	Title      string       `json:"title"`
	Fields     crash.Fields `json:"fields"`
}

// Dump writes everything that is known about a machine as lines of JSON: first the machine, then its
// reports with all fields, then what else refers to it. Core dumps are references to their reports. It
// needs little memory, and records in the audit log that somebody has read it.
func (s *Store) Dump(ctx context.Context, system crash.SystemID, person string, to io.Writer) error {
	if system == "" {
		return errNameless
	}
	if err := s.AuditAlone(ctx, db.AuditEvent{Person: person, Action: "read.machine-dump",
		Subject: string(system)}); err != nil {
		return err
	}
	lines := json.NewEncoder(to)
	if err := lines.Encode(Line{"machine", map[string]any{"system": system, "taken": s.Now().UTC()}}); err != nil {
		return err
	}
	if err := s.dumpReports(ctx, system, lines); err != nil {
		return fmt.Errorf("dump reports: %w", err)
	}
	args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system)}
	for _, d := range dumped {
		rows, err := s.Pool.Query(ctx, d.sql, args)
		if err == nil {
			var data json.RawMessage
			_, err = pgx.ForEachRow(rows, []any{&data}, func() error { return lines.Encode(Line{d.kind, data}) })
		}
		if err != nil {
			return fmt.Errorf("dump %s: %w", d.kind, db.Classify(err))
		}
	}
	return nil
}

func (s *Store) dumpReports(ctx context.Context, system crash.SystemID, lines *json.Encoder) error {
	args := db.ReportArgs(crash.OopsID{})
	args["system"], args["system_key"] = string(system), db.SystemKey(system)
	for {
		rows, err := s.Pool.Query(ctx, sqlDumpReports, args)
		if err != nil {
			return db.Classify(err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
		if err != nil || len(ids) == 0 {
			return db.Classify(err)
		}
		for _, id := range ids {
			r, err := s.Report(ctx, id)
			if errors.Is(err, crash.NotFound) { // it was erased meanwhile
				continue
			}
			if err != nil {
				return err
			}
			if err := lines.Encode(Line{"report", asReport(r)}); err != nil {
				return err
			}
		}
		last := crash.OopsID(ids[len(ids)-1])
		args["id"], args["received"] = [16]byte(last), last.Received()
	}
}

func asReport(r crash.StoredReport) report {
	out := report{ID: r.ID.String(), Received: r.ID.Received().UTC(), Occurred: r.Occurred, Unbucketed: r.Unbucketed,
		Rule: string(r.Rule), Title: r.Title, Fields: r.Fields}
	if r.Bucket != nil {
		out.Problem = r.Bucket.String()
	}
	return out
}

// CoresOf returns the reports of a machine that may have a core dump in a store.
func (s *Store) CoresOf(ctx context.Context, system crash.SystemID, store string) ([]crash.OopsID, error) {
	rows, err := s.Pool.Query(ctx, sqlCoresOf, pgx.NamedArgs{"system": string(system), "store": store})
	if err != nil {
		return nil, fmt.Errorf("cores of a machine: %w", db.Classify(err))
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id crash.OopsID, err error) {
		err = row.Scan((*[16]byte)(&id))
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("cores of a machine: %w", db.Classify(err))
	}
	return ids, nil
}

// Receipt is the receipt of an erasure as JSON. It does not contain the machine.
type Receipt struct {
	ID        int64              `json:"id"`
	Digest    string             `json:"digest"`
	Blocked   bool               `json:"blocked"`
	Person    string             `json:"person"`
	Via       string             `json:"via"`
	Requested time.Time          `json:"requested"`
	Finished  *time.Time         `json:"finished"` // nil: it is running
	Removed   crash.ErasedCounts `json:"removed"`
}

// NewReceipt returns the receipt of an erasure.
func NewReceipt(e crash.Erasure) Receipt {
	return Receipt{e.ID, e.Digest, e.Blocked, e.Person, e.Via, e.Requested, db.OrNull(e.Finished), e.Counts}
}
