package bugs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const (
	sqlBugTemplates = `
		select package, problem_type, body, person, changed from bug_templates order by package, problem_type`
	sqlSaveTemplate = `
		insert into bug_templates (package, problem_type, body, person, changed)
		values (@package, @type, @body, @person, now())
		on conflict (package, problem_type) do update set body = @body, person = @person, changed = now()`
	sqlDropTemplate = `delete from bug_templates where package = @package and problem_type = @type returning body`
)

// BugTemplates returns the templates that people have changed.
func (s *Store) BugTemplates(ctx context.Context) ([]crash.BugTemplate, error) {
	all, err := db.List(ctx, s.Pool, sqlBugTemplates, nil, pgx.RowToStructByPos[crash.BugTemplate])
	return all, db.Wrap(err, "templates of bugs")
}

const sqlOldTemplate = `
	select body from bug_templates where package = @package and problem_type = @type for update`

// SaveBugTemplate stores a template, and replaces an existing one. It does not check the template.
func (s *Store) SaveBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"package": t.Package, "type": t.ProblemType, "body": t.Body, "person": t.By}
		event := templateEvent("template.save", t)
		var old string
		err := tx.QueryRow(ctx, sqlOldTemplate, args).Scan(&old)
		if err == nil {
			event.Before = map[string]any{"body": old}
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("save template: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlSaveTemplate, args); err != nil {
			return fmt.Errorf("save template: %w", err)
		}
		event.After = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

// DropBugTemplate deletes a template, so that a more general one applies again. An audit event
// keeps its text. It returns NotFound if there is no such template.
func (s *Store) DropBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlDropTemplate, pgx.NamedArgs{"package": t.Package, "type": t.ProblemType}).Scan(&t.Body)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.NotFound, "unknown_template", "This template no longer exists.")
		}
		if err != nil {
			return fmt.Errorf("drop template: %w", err)
		}
		event := templateEvent("template.drop", t)
		event.Before = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

func templateEvent(action string, t crash.BugTemplate) db.AuditEvent {
	return db.AuditEvent{Person: t.By, Action: action, Subject: t.Package + "/" + t.ProblemType}
}

const (
	// sqlDueSections also selects bugs that were closed since their section was written.
	sqlDueSections = `
		select number, source_package, closed from (
				select distinct on (st.number) st.number, h.source_package, st.closed, s.next
				from ` + publicBugs + ` left join bug_sections as s on s.bug_number = st.number
				where not st.closed and s.bug_number is null or s.stopped = '' and s.next <= now()
					and (not st.closed or s.written is not null and not s.final)
				order by st.number, h.reports desc, h.id
			) as q
		order by next nulls first, number`
	sqlBugSection = `
		select g.number, s.bug_number is not null, coalesce(f.description, ''), f.updated, coalesce(s.hashes, '{}'),
			coalesce(s.facts, '{}'), coalesce(s.pending, '{}'), coalesce(s.replace, false), coalesce(s.attempt, 0),
			s.written, coalesce(s.stopped, ''), s.stopped_at, coalesce(s.problem, '')
		from bugs as g left join bug_sections as s on s.bug_number = g.number
			left join lateral (
				select description, updated from filings
				where s.bug_number is null and bug_number = g.number and state = 'filed' order by id limit 1
			) as f on true
		where g.number = any(@numbers)`
	// closedBug tells whether the bug is closed. The section of such a bug is updated once more.
	closedBug     = `exists (select from bug_states where number = @number and closed)`
	sqlAddSection = `
		insert into bug_sections (bug_number, hashes, facts, written, next)
		values (@number, @hashes, @facts, @written, now() + @again::interval) on conflict do nothing`
	sqlDelaySection = `
		update bug_sections set next = now() + @again::interval, problem = @problem, final = @problem = '' and ` + closedBug +
		`
		where bug_number = @number and attempt = @attempt`
	sqlBeginSection = `
		update bug_sections set attempt = attempt + 1, hashes = array_append(hashes, @hash), pending = @facts,
			next = now() + @again::interval
		where bug_number = @number and attempt = @attempt and stopped = ''
		returning attempt`
	sqlWrittenSection = `
		update bug_sections set hashes = array[@hash], facts = @facts, pending = '{}', replace = false, problem = '',
			written = now(), next = now() + @again::interval, final = ` + closedBug + `
		where bug_number = @number and attempt = @attempt`
	sqlCancelSection = `
		update bug_sections set hashes = hashes[:cardinality(hashes) - 1], pending = '{}', problem = @problem,
			next = now() + @again::interval
		where bug_number = @number and attempt = @attempt`
	sqlStopSection = `
		update bug_sections set stopped = @why, stopped_at = now(), problem = '', pending = '{}'
		where bug_number = @number and attempt = @attempt and stopped = ''`
	sqlResumeSection = `
		update bug_sections set stopped = '', stopped_at = null, replace = true, next = now(), problem = ''
		where bug_number = @number and stopped <> '' and exists (
			select from bucket_bugs where bug_number = @number and bucket_id in ` + db.Members + `)`
)

// DueSections returns the bugs whose section is due to be considered, longest waiting first: open ones,
// and closed ones whose section was not updated since.
func (s *Store) DueSections(ctx context.Context) ([]crash.DueSection, error) {
	ctx = reader.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	due, err := db.List(ctx, s.Pool, sqlDueSections, nil, pgx.RowToStructByPos[crash.DueSection])
	return due, db.Wrap(err, "due sections")
}

// Sections returns the sections of bugs, in no particular order. A bug without one has a section
// that was never written.
func (s *Store) Sections(ctx context.Context, numbers []int64) ([]crash.BugSection, error) {
	all, err := db.List(ctx, s.Pool, sqlBugSection, pgx.NamedArgs{"numbers": listOf(numbers)},
		func(row pgx.CollectableRow) (b crash.BugSection, err error) {
			err = row.Scan(&b.Number, &b.Known, &b.Filed, db.OrZero(&b.FiledAt), &b.Hashes, &b.Facts, &b.Pending, &b.Replace,
				&b.Attempt, db.OrZero(&b.Written), &b.Stopped, db.OrZero(&b.StoppedAt), &b.Problem)
			return b, err
		})
	return all, db.Wrap(err, "sections of bugs")
}

// AddSection stores that mishap updates the section of a bug from now on. If the bug was filed with a
// section, b has its hash and facts, and Written. It changes nothing if the section is known.
func (s *Store) AddSection(ctx context.Context, b crash.BugSection, again time.Duration) error {
	args := pgx.NamedArgs{"number": b.Number, "hashes": listOf(b.Hashes), "facts": b.Facts, "written": nil, "again": again}
	if !b.Written.IsZero() {
		args["written"] = b.Written
	}
	_, err := s.Pool.Exec(ctx, sqlAddSection, args)
	return db.Wrap(err, "section of bug %d", b.Number)
}

// DelaySection schedules the next look at a section, with a problem if there is one.
func (s *Store) DelaySection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error {
	return s.changeSection(ctx, b.Number, sqlDelaySection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "problem": problem, "again": again,
	}, func(tx pgx.Tx) error {
		if problem == "" || problem == b.Problem {
			return nil
		}
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-failed", "", problem)
	})
}

// BeginSection records that a text with this hash and these facts is about to be sent. It returns
// the number of the attempt. It returns false if another instance has sent something since b was
// read; then the caller must not send anything. The outcome is due to be settled after the time
// again.
func (s *Store) BeginSection(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
	again time.Duration) (attempt int64, ok bool, err error) {
	err = s.Pool.QueryRow(ctx, sqlBeginSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "hash": hash, "facts": facts, "again": again,
	}).Scan(&attempt)
	return attempt, err == nil, db.WrapOr(err, nil, "section of bug %d", b.Number)
}

// SectionWritten records that the tracker has the text with this hash and these facts.
func (s *Store) SectionWritten(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
	again time.Duration) error {
	return s.changeSection(ctx, b.Number, sqlWrittenSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "hash": hash, "facts": facts, "again": again,
	}, func(tx pgx.Tx) error {
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-written", "", "")
	})
}

// CancelSection records that the text of the last BeginSection was certainly not written, and why.
func (s *Store) CancelSection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error {
	return s.changeSection(ctx, b.Number, sqlCancelSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "problem": problem, "again": again,
	}, func(tx pgx.Tx) error {
		if problem == "" || problem == b.Problem {
			return nil
		}
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-failed", "", problem)
	})
}

// StopSection records that mishap no longer updates the section of a bug, until ResumeSection.
func (s *Store) StopSection(ctx context.Context, b crash.BugSection, why crash.SectionStop) error {
	return s.changeSection(ctx, b.Number, sqlStopSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "why": string(why),
	}, func(tx pgx.Tx) error {
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-"+string(why), "", "")
	})
}

// ResumeSection makes mishap update the section of a bug of a bucket's problem again, and replace
// whatever section the description has. It returns NotFound if it has not stopped.
func (s *Store) ResumeSection(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	var resumed bool
	err := s.changeSection(ctx, number, sqlResumeSection, pgx.NamedArgs{"number": number, "bucket": bucket[:]},
		func(tx pgx.Tx) error {
			resumed = true
			return s.auditUpdate(ctx, tx, number, "bug.section-resumed", person, "")
		})
	if err == nil && !resumed {
		return crash.Errorf(crash.NotFound, "not_stopped", "mishap has not stopped updating bug %d.", number)
	}
	return err
}

// changeSection runs a statement that changes at most one section. If it changed one, record adds to
// the history in the same transaction.
func (s *Store) changeSection(ctx context.Context, number int64, sql string, args pgx.NamedArgs,
	record func(pgx.Tx) error) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return record(tx)
	})
	return db.Wrap(err, "section of bug %d", number)
}

const sqlBugUpdates = `
	select bug_number, kind, version, at, outcome, words from bug_comments
	where bug_number = any(@numbers) order by bug_number, at desc, kind`

// addUpdates adds to bugs the comments that mishap has sent, and the state of the sections.
func (s *Store) addUpdates(ctx context.Context, bugs []crash.Bug) error {
	if len(bugs) == 0 {
		return nil
	}
	at := map[int64][]*crash.Bug{}
	var numbers []int64
	for i := range bugs {
		for _, number := range []int64{bugs[i].Number, bugs[i].Counts()} {
			if len(at[number]) == 0 {
				numbers = append(numbers, number)
			}
			if len(at[number]) == 0 || at[number][len(at[number])-1] != &bugs[i] {
				at[number] = append(at[number], &bugs[i])
			}
		}
	}
	var number int64
	var u crash.BugUpdate
	err := db.Each(ctx, s.Pool, sqlBugUpdates, pgx.NamedArgs{"numbers": numbers},
		[]any{&number, &u.Kind, &u.About, &u.At, &u.Outcome, &u.Answer}, func() {
			for _, b := range at[number] {
				b.Updates = append(b.Updates, u)
			}
		})
	if err != nil {
		return db.Classify(err)
	}
	sections, err := s.Sections(ctx, numbers)
	if err != nil {
		return err
	}
	for i, section := range sections {
		for _, b := range at[section.Number] {
			if b.Number == section.Number {
				b.Section = &sections[i]
			}
		}
	}
	return nil
}
