package problems

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	// sqlTag adds a tag, unless a bucket of the problem has it or the problem has too many.
	sqlTag = `
		insert into problem_tags (bucket_id, tag, person, at) select @head, @tag, @person, @at
		where (select count(distinct tag) from problem_tags
			where bucket_id in ` + db.Members + ` and removed_at is null) < @most`
	sqlHasTag = `
		select exists (select from problem_tags where bucket_id in ` + db.Members + ` and tag = @tag and removed_at is null)`
	sqlUntag = `
		update problem_tags set removed_by = @person, removed_at = @at
		where bucket_id in ` + db.Members + ` and tag = @tag and removed_at is null`
	sqlTags = `
		select distinct on (tag) tag, person, at from problem_tags
		where bucket_id in ` + db.Members + ` and removed_at is null order by tag, id`
)

var errTooManyTags = crash.Errorf(crash.Conflict, "too_many_tags",
	"A problem can have at most %d tags. Remove one first.", crash.MaxTags)

// Tag adds a tag to a problem. It returns false if the problem has it already. It returns Invalid
// for a malformed tag, NotFound for an unknown bucket, and Conflict if the problem has the largest
// number of tags.
func (s *Store) Tag(ctx context.Context, bucket crash.BucketID, tag, person string) (added bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		added, err = s.tag(ctx, tx, bucket, tag, person)
		return err
	})
	return added, err
}

// TagIn is like Tag, in a transaction of the caller.
func (s *Store) TagIn(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, person string) error {
	_, err := s.tag(ctx, tx, bucket, tag, person)
	return err
}

func (s *Store) tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, person string) (bool, error) {
	tag, err := crash.ParseTag(tag)
	if err != nil {
		return false, err
	}
	problem, err := s.LockProblem(ctx, tx, bucket)
	if err != nil {
		return false, err
	}
	args := pgx.NamedArgs{"bucket": problem.Bucket[:], "head": problem.Bucket[:], "tag": tag, "person": person,
		"at": s.Now(), "most": crash.MaxTags}
	var has bool
	if err := tx.QueryRow(ctx, sqlHasTag, args).Scan(&has); err != nil || has {
		return false, db.Classify(err)
	}
	done, err := tx.Exec(ctx, sqlTag, args)
	if err != nil {
		return false, fmt.Errorf("tag %s: %w", bucket, db.Classify(err))
	}
	if done.RowsAffected() == 0 {
		return false, errTooManyTags
	}
	return true, s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "problem.tag", Subject: problem.Bucket.String(),
		After: map[string]any{"tag": tag}})
}

// Untag removes a tag from a problem. It returns false if the problem does not have it.
func (s *Store) Untag(ctx context.Context, bucket crash.BucketID, tag, person string) (removed bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		problem, err := s.LockProblem(ctx, tx, bucket)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlUntag, pgx.NamedArgs{"bucket": problem.Bucket[:], "tag": tag, "person": person,
			"at": s.Now()})
		if err != nil {
			return fmt.Errorf("untag %s: %w", bucket, err)
		}
		if removed = done.RowsAffected() > 0; !removed {
			return nil
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "problem.untag", Subject: problem.Bucket.String(),
			Before: map[string]any{"tag": tag}})
	})
	return removed, err
}

// Tags returns the tags of a problem and its merged buckets, sorted.
func (s *Store) Tags(ctx context.Context, bucket crash.BucketID) ([]crash.ProblemTag, error) {
	rows, err := s.Pool.Query(ctx, sqlTags, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", bucket, db.Classify(err))
	}
	tags, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.ProblemTag])
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", bucket, db.Classify(err))
	}
	return tags, nil
}
