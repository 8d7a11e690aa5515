package counts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
)

const (
	maxCandidates = 400 // problems of one package that Similar compares, most frequent first
	maxSimilar    = 6
	maxAlike      = 4
	maxAlikeFrom  = 120 // problems that Alike compares: fewer, because every page of a problem calls it
)

// Similar returns up to six other problems of the same package that have a bug and a similar
// signature, most similar first (see grouping.LikenessTo).
func (s *Store) Similar(ctx context.Context, b crash.Bucket) ([]grouping.SimilarProblem, error) {
	all, err := s.IndexWithStates(ctx)
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", err)
	}
	return s.similar(ctx, b, maxSimilar, all.OfPackages([]string{b.SourcePackage, b.Package}, maxCandidates,
		func(p *index.Problem) bool {
			return p.ID != b.ID && p.Bug != 0
		}))
}

// Alike returns up to four other problems of the same package with a similar signature, with or
// without a bug. It compares only the most frequent problems.
func (s *Store) Alike(ctx context.Context, b crash.Bucket) ([]grouping.SimilarProblem, error) {
	all, err := s.Index(ctx)
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", err)
	}
	return s.similar(ctx, b, maxAlike, all.OfPackages([]string{b.SourcePackage, b.Package}, maxAlikeFrom,
		func(p *index.Problem) bool { return p.ID != b.ID }))
}

func (s *Store) similar(ctx context.Context, b crash.Bucket, most int,
	candidates []*index.Problem) ([]grouping.SimilarProblem, error) {
	var found []grouping.SimilarProblem
	likeness := grouping.LikenessTo(b.Signature)
	for _, p := range candidates {
		if like := likeness(p.Signature); like != grouping.Unlike {
			found = append(found, grouping.SimilarProblem{Bucket: crash.Bucket{ID: p.ID}, Likeness: like})
		}
	}
	slices.SortStableFunc(found, func(a, b grouping.SimilarProblem) int { return cmp.Compare(b.Likeness, a.Likeness) })
	found = found[:min(len(found), most)]
	if len(found) == 0 {
		return nil, nil
	}
	of := make([]crash.ProblemCursor, len(found))
	for i := range found {
		of[i].ID = found[i].ID
	}
	problems, err := s.ProblemsByID(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", err)
	}
	for i := range found {
		for _, p := range problems {
			if p.ID == found[i].ID {
				found[i].Bucket = *p.Bucket
			}
		}
		if err := s.Judge(ctx, &found[i].Bucket); err != nil {
			return nil, fmt.Errorf("similar problems: %w", err)
		}
	}
	return found, nil
}
