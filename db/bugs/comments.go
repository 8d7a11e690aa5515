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
	sqlBeginComment = `
		insert into bug_comments (bug_number, kind, version, bucket_id, at, outcome)
		values (@number, @kind, @about, @bucket, now(), 'sending')
		on conflict do nothing
		returning true`
	sqlEndComment = `
		update bug_comments set outcome = @outcome, words = @words
		where bug_number = @number and kind = @kind and version = @about`
	sqlCancelComment = `
		delete from bug_comments
		where bug_number = @number and kind = @kind and version = @about and outcome = 'sending'`
)

// BeginComment records that a comment of a kind is about to be sent, about a version or a day. It
// returns false if such a comment was or may have been sent before; then the caller must not send
// another one.
func (s *Store) BeginComment(ctx context.Context, number int64, kind crash.UpdateKind, about string,
	bucket crash.BucketID) (first bool, err error) {
	args := pgx.NamedArgs{"number": number, "kind": string(kind), "about": about, "bucket": bucket[:]}
	err = s.Pool.QueryRow(ctx, sqlBeginComment, args).Scan(&first)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("comment on bug %d: %w", number, db.Classify(err))
	}
	return first, nil
}

// EndComment records the outcome of a comment: "sent", "refused" or "unknown", with the tracker's
// answer. An empty outcome means that certainly nothing was sent, so that it can be tried again.
func (s *Store) EndComment(ctx context.Context, number int64, kind crash.UpdateKind, about, outcome,
	answer string) error {
	sql := sqlEndComment
	if outcome == "" {
		sql = sqlCancelComment
	}
	args := pgx.NamedArgs{"number": number, "kind": string(kind), "about": about, "outcome": outcome, "words": answer}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sql, args); err != nil || outcome == "" {
			return err
		}
		words := commentWords[kind] + about
		if answer != "" {
			words += ": " + answer
		}
		return s.auditUpdate(ctx, tx, number, "bug.comment-"+outcome, "", words)
	})
	if err != nil {
		return fmt.Errorf("comment on bug %d: %w", number, err)
	}
	return nil
}

// commentWords say what a comment of a kind is about, before the version or the day.
var commentWords = map[crash.UpdateKind]string{
	crash.UpdateAgain: "seen again in ", crash.UpdateNames: "function names", crash.UpdateQuiet: "no report since ",
}

const sqlBucketOfBug = `
	select encode(l.bucket_id, 'hex')
	from bucket_bugs as l left join bug_states as st on st.number = l.bug_number
	where l.bug_number = @number or st.duplicate_of = @number
	order by l.bug_number <> @number, l.at, l.bucket_id limit 1`

// auditUpdate records what mishap wrote to a bug, in the history of the bucket that had the bug
// first. It records nothing for a bug that has been unlinked.
func (s *Store) auditUpdate(ctx context.Context, tx pgx.Tx, number int64, action, person, words string) error {
	var subject string
	err := tx.QueryRow(ctx, sqlBucketOfBug, pgx.NamedArgs{"number": number}).Scan(&subject)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bucket of bug %d: %w", number, err)
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: subject,
		Detail: map[string]any{"bug": number, "words": words}})
}

// openBugs joins the bugs that comments and sections are for: open bugs that the tracker shows to
// everyone and that duplicate no other. h is a problem of the bug.
const openBugs = publicBugs + ` and not st.closed`

// publicBugs is the same, with closed bugs.
const publicBugs = `
	bucket_bugs as l
		join bug_states as st on st.number = l.bug_number and st.read is not null
			and not st.hidden and not st.private and st.duplicate_of is null
		join buckets as lb on lb.id = l.bucket_id join buckets as h on h.id = lb.head`

const (
	sqlQuietBugs = `
		select q.number, q.source_package, seen.releases, c.at
		from (
				select distinct on (st.number) st.number, h.source_package from ` + openBugs + `
				order by st.number, h.reports desc, h.id
			) as q
			cross join lateral (
				select jsonb_object_agg(release, last) as releases, max(last) as last from (
					select r.release, max((r.last_seen).seen) as last
					from buckets as m join bucket_releases as r on r.bucket_id = m.id
					where (r.last_seen).seen is not null and m.head in (
						select lb.head from bucket_bugs as l join buckets as lb on lb.id = l.bucket_id
							left join bug_states as d on d.number = l.bug_number
						where l.bug_number = q.number or d.duplicate_of = q.number)
					group by r.release
				) as each_release
			) as seen
			left join lateral (
				select max(at) as at from bug_comments where bug_number = q.number and kind = 'quiet'
			) as c on true
		where seen.last is not null and (c.at is null or c.at < seen.last)
		order by q.number`
	sqlPackageReported = `
		select exists (
			select from report_days
			where package = @package and day > (@after::timestamptz at time zone 'utc')::date)`
)

// QuietBugs returns the open bugs without a comment about being quiet since the last report of any
// of their problems.
func (s *Store) QuietBugs(ctx context.Context) ([]crash.QuietBug, error) {
	ctx = reader.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	rows, err := s.Pool.Query(ctx, sqlQuietBugs)
	if err != nil {
		return nil, fmt.Errorf("quiet bugs: %w", db.Classify(err))
	}
	bugs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (q crash.QuietBug, err error) {
		err = row.Scan(&q.Number, &q.SourcePackage, &q.Last, db.OrZero(&q.Commented))
		return q, err
	})
	if err != nil {
		return nil, fmt.Errorf("quiet bugs: %w", db.Classify(err))
	}
	return bugs, nil
}

// PackageReported reports whether any problem of a binary package was reported on a later UTC day.
func (s *Store) PackageReported(ctx context.Context, pkg string, after time.Time) (reported bool, err error) {
	err = s.Pool.QueryRow(ctx, sqlPackageReported, pgx.NamedArgs{"package": pkg, "after": after}).Scan(&reported)
	if err != nil {
		return false, fmt.Errorf("reports of a package: %w", db.Classify(err))
	}
	return reported, nil
}
