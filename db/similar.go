package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	maxCandidates = 400 // problems of one package that are compared, the most reported first
	maxSimilar    = 6
	maxAlike      = 4 // of those without a bug too, which every page of a problem shows: out of fewer
	maxAlikeFrom  = 120

	sqlCandidates = `
		select b.id, left(b.signature, 4096) from buckets as b
		where b.head = b.id and b.id <> @id
			and (not @bugs or exists (select from bucket_bugs as l join buckets as m on m.id = l.bucket_id where m.head = b.id))
			and (b.source_package = @source and @source <> '' or b.package = @package and @package <> '')
		order by b.reports desc, b.id limit @limit`
)

const sqlBucketsByID = `select ` + bucketColumns + ` from buckets as b ` + bucketJoins + ` where b.id = any(@ids::bytea[])`

// Similar lists other problems of the same package that have a bug and look like this one, the most alike first, at most
// six: see crash.LikenessOf.
func (s *Store) Similar(ctx context.Context, b crash.Bucket) ([]crash.SimilarProblem, error) {
	return s.similar(ctx, b, true, maxCandidates, maxSimilar)
}

// Alike is Similar for all problems, with a bug or without, at most four, of the most frequent ones.
func (s *Store) Alike(ctx context.Context, b crash.Bucket) ([]crash.SimilarProblem, error) {
	return s.similar(ctx, b, false, maxAlikeFrom, maxAlike)
}

func (s *Store) similar(ctx context.Context, b crash.Bucket, bugs bool, candidates, most int) ([]crash.SimilarProblem, error) {
	rows, err := s.pool.Query(ctx, sqlCandidates, pgx.NamedArgs{
		"id": b.ID[:], "source": b.SourcePackage, "package": b.Package, "limit": candidates, "bugs": bugs,
	})
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", known(err))
	}
	var found []crash.SimilarProblem
	likeness := crash.LikenessTo(b.Signature)
	var id crash.BucketID
	var signature string
	_, err = pgx.ForEachRow(rows, []any{into(id[:]), &signature}, func() error {
		if like := likeness(signature); like != crash.Unlike {
			found = append(found, crash.SimilarProblem{Bucket: crash.Bucket{ID: id}, Likeness: like})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", known(err))
	}
	slices.SortStableFunc(found, func(a, b crash.SimilarProblem) int { return cmp.Compare(b.Likeness, a.Likeness) })
	found = found[:min(len(found), most)]
	ids := make([]crash.BucketID, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	if rows, err = s.pool.Query(ctx, sqlBucketsByID, pgx.NamedArgs{"ids": idBytes(ids)}); err != nil {
		return nil, fmt.Errorf("similar problems: %w", known(err))
	}
	buckets, err := pgx.CollectRows(rows, scanBucket)
	if err != nil {
		return nil, fmt.Errorf("similar problems: %w", known(err))
	}
	for i := range found {
		for _, b := range buckets {
			if b.ID == found[i].ID {
				found[i].Bucket = b
			}
		}
	}
	return found, nil
}

const sqlNewestVersions = `
	select distinct on (release) release, version from package_versions
	where package = @package order by release, version_key desc`

// NewestVersions returns the newest version of a binary package that any counted report came from, by release.
func (s *Store) NewestVersions(ctx context.Context, pkg string) (map[crash.Release]string, error) {
	rows, err := s.pool.Query(ctx, sqlNewestVersions, pgx.NamedArgs{"package": pkg})
	if err != nil {
		return nil, fmt.Errorf("newest versions of %q: %w", pkg, known(err))
	}
	newest := map[crash.Release]string{}
	var release crash.Release
	var version string
	_, err = pgx.ForEachRow(rows, []any{&release, &version}, func() error {
		newest[release] = version
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("newest versions of %q: %w", pkg, known(err))
	}
	return newest, nil
}
