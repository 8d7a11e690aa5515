package problems

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/similar"
	"mishap/db"
)

// MayBeDuplicate reports whether a problem may be a duplicate of an older one.
func (s *Store) MayBeDuplicate(ctx context.Context, problem crash.BucketID) (bool, error) {
	b, err := s.Bucket(db.Everything(ctx), problem)
	if err != nil {
		return false, err
	}
	found, err := s.Similar(ctx, b, similar.Shown, false)
	return similar.DuplicateOf(b, found) != nil, err
}

// Similar returns at most n other problems that are similar to a problem, the most similar first, from all problems
// that the reader may see; with filed, only those that have a bug.
func (s *Store) Similar(ctx context.Context, b crash.Bucket, n int, filed bool) ([]similar.Problem, error) {
	read := s.Index
	if filed {
		read = s.IndexWithStates
	}
	all, err := read(ctx)
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", err)
	}
	learned, err := s.SimilarWeights(ctx)
	if err != nil {
		return nil, err
	}
	found := all.Similar(b, learned.Weights, n, func(p *index.Problem) bool { return !filed || p.Bug != 0 })
	found, err = withBuckets(ctx, s, found, func(p *similar.Problem) *crash.Bucket { return &p.Bucket })
	return found, db.Wrap(err, "similar problems")
}

// withBuckets completes the buckets of some problems, of which the ids are known, with their status. It leaves
// out those that were merged meanwhile.
func withBuckets[T any](ctx context.Context, s *Store, some []T, bucket func(*T) *crash.Bucket) ([]T, error) {
	if len(some) == 0 {
		return nil, nil
	}
	of := make([]crash.ProblemCursor, len(some))
	for i := range some {
		of[i].ID = bucket(&some[i]).ID
	}
	problems, err := s.ProblemsByID(ctx, of)
	if err != nil {
		return nil, err
	}
	known := map[crash.BucketID]*crash.Bucket{}
	for _, p := range problems {
		known[p.ID] = p.Bucket
	}
	complete := make([]T, 0, len(some))
	for _, one := range some {
		b := bucket(&one)
		if known[b.ID] == nil {
			continue
		}
		*b = *known[b.ID]
		if err := s.Judge(ctx, b); err != nil {
			return nil, err
		}
		complete = append(complete, one)
	}
	return complete, nil
}

const (
	sqlSimilarWeights     = `select weights, learned, merges, others from similar_weights`
	sqlSaveSimilarWeights = `
		insert into similar_weights (weights, learned, merges, others) values (@weights, @now, @merges, @others)
		on conflict (single) do update set weights = excluded.weights, learned = excluded.learned,
			merges = excluded.merges, others = excluded.others`
	sqlDeleteSimilarWeights = `delete from similar_weights`
	sqlAllSignatures        = `select id, head, rule, signature from buckets where reports > 0 order by id`
	// sqlMerges reads what people decided: which problems belong together, and which they took apart again. Of
	// merges by rules, only those count that people have undone.
	sqlMerges = `
		select bucket_id, other_id, kind = 'merged' and undone_at is null from decisions
		where kind <> 'renamed' and cause = 'person' and (kind = 'merged' or undone_at is null)
			and (person not like 'rule: %' or undone_at is not null)
		order by id desc`
)

// SimilarWeights returns the weights by which problems are similar.
func (s *Store) SimilarWeights(ctx context.Context) (similar.Learned, error) {
	w, err := db.One(ctx, s.Pool, sqlSimilarWeights, nil, func(row pgx.CollectableRow) (w similar.Learned, err error) {
		return w, row.Scan(&w.Weights, &w.At, &w.Merges, &w.Apart)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return similar.Learned{Weights: similar.Builtin}, nil
	}
	return w, db.Wrap(err, "weights of similar problems")
}

// LearnSimilar learns weights from the merges of people, the merges that they have undone, and their splits. Better
// ones apply from now on, in all instances. It returns Unprocessable if people have merged too few problems.
func (s *Store) LearnSimilar(ctx context.Context, person string) (lesson similar.Lesson, err error) {
	w, err := s.SimilarWeights(ctx)
	if err != nil {
		return lesson, err
	}
	judged, err := s.judged(ctx)
	if err != nil {
		return lesson, err
	}
	if n := len(judged.Together); n < similar.MinMerges {
		return lesson, crash.Errorf(crash.Unprocessable, "too_few_merges",
			"People have merged %d pairs of problems with function names; to learn from them, mishap needs %d.", n,
			similar.MinMerges)
	}
	if lesson = judged.Learn(w.Weights); !lesson.Better {
		return lesson, nil
	}
	lesson.At = s.Now()
	return lesson, s.saveSimilar(ctx, person, "similar.learn", w, lesson.Learned)
}

// ForgetSimilar returns to the built-in weights.
func (s *Store) ForgetSimilar(ctx context.Context, person string) error {
	w, err := s.SimilarWeights(ctx)
	if err != nil || w.At.IsZero() {
		return err
	}
	return s.saveSimilar(ctx, person, "similar.forget", w, similar.Learned{Weights: similar.Builtin})
}

// saveSimilar stores weights, or none if they are the built-in ones.
func (s *Store) saveSimilar(ctx context.Context, person, action string, old, w similar.Learned) error {
	sql := sqlSaveSimilarWeights
	if w.At.IsZero() {
		sql = sqlDeleteSimilarWeights
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := db.Exec(ctx, tx, pgx.NamedArgs{"weights": w.Weights, "now": w.At, "merges": w.Merges, "others": w.Apart},
			sql); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: "similar problems",
			Before: map[string]any{"weights": old.Weights}, After: map[string]any{"weights": w.Weights}})
	})
	return db.Wrap(err, "save weights of similar problems")
}

// judged reads all signatures, and what people decided about them.
func (s *Store) judged(ctx context.Context) (*similar.Judged, error) {
	j := new(similar.Judged)
	numbers, heads := map[crash.BucketID]int{}, map[crash.BucketID]int{}
	var id, head crash.BucketID
	var rule crash.GroupingRule
	var signature string
	if err := db.Each(ctx, s.Pool, sqlAllSignatures, nil, []any{&id, &head, &rule, &signature}, func() {
		functions := similar.Functions(rule, signature)
		if len(functions) == 0 {
			return
		}
		if _, known := heads[head]; !known {
			heads[head] = len(heads)
		}
		numbers[id] = j.Add(heads[head], functions)
	}); err != nil {
		return nil, fmt.Errorf("signatures: %w", err)
	}
	var other crash.BucketID
	var together bool
	err := db.Each(ctx, s.Pool, sqlMerges, nil, []any{&id, &other, &together}, func() {
		a, knownA := numbers[id]
		b, knownB := numbers[other]
		if !knownA || !knownB {
			return
		}
		switch same := j.Problems[a] == j.Problems[b]; {
		case together && same:
			j.Together = append(j.Together, [2]int{a, b})
		case !together && !same:
			j.Apart = append(j.Apart, [2]int{a, b})
		}
	})
	return j, db.Wrap(err, "decisions about similar problems")
}
