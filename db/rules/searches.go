package rules

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/db"
)

// Searches reads saved searches.
type Searches interface {
	// Read returns the filter and the query of a search by its address. ok is false if it finds nothing.
	Read(ctx context.Context, path string) (f index.Filter, q query.Query, ok bool, err error)
}

// maxFollowedSearches limits how many follows of searches a round evaluates, the oldest first.
const maxFollowedSearches = 20_000

// sqlFollowedSearches selects those who follow searches that they can see, and may read reports.
const sqlFollowedSearches = `
	select s.path, s.name, u.id, u.name, u.tracker_name
	from followed as f
		join saved_searches as s on s.id::text = f.name and s.deleted is null and (s.user_id = f.user_id or s.shared)
		join users as u on u.id = f.user_id
	where f.kind = 'search' and u.id in (` + db.Readers + `) order by f.since, f.user_id, f.name limit @most`

// searchFollow is one person's follow of a search.
type searchFollow struct {
	path, name string
	user       crash.User
}

// searchFollower is a person who follows a search that lists a problem.
type searchFollower struct {
	user int64
	name string // of the search
}

// matchSearches finds out which of the problems are in lists that people follow. It evaluates a search
// once for all its followers, unless its query depends on the person.
func (r *round) matchSearches(ctx context.Context, heads []crash.BucketID) error {
	r.searched = map[crash.BucketID][]searchFollower{}
	if r.o.Searches == nil || len(heads) == 0 {
		return nil
	}
	// A problem may have several edges.
	slices.SortFunc(heads, func(a, b crash.BucketID) int { return bytes.Compare(a[:], b[:]) })
	heads = slices.Compact(heads)
	args := r.store.RightsArgs(pgx.NamedArgs{"most": maxFollowedSearches})
	rows, err := r.store.Pool.Query(ctx, sqlFollowedSearches, args)
	if err != nil {
		return fmt.Errorf("followed searches: %w", db.Classify(err))
	}
	follows, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f searchFollow, err error) {
		err = row.Scan(&f.path, &f.name, &f.user.ID, &f.user.Name, &f.user.TrackerName)
		return f, err
	})
	if err != nil {
		return fmt.Errorf("followed searches: %w", db.Classify(err))
	}
	if len(follows) == maxFollowedSearches {
		r.o.Log.WarnContext(ctx, "people follow more searches than rules evaluate; the newest follows get no notices",
			"limit", maxFollowedSearches)
	}
	type view struct{ path, person string }
	listed := map[view]map[crash.BucketID]bool{}
	searches := map[string]readSearch{}
	for _, f := range follows {
		s, known := searches[f.path]
		if !known {
			if s.filter, s.query, s.ok, err = r.o.Searches.Read(ctx, f.path); err != nil {
				return fmt.Errorf("followed search %q: %w", f.name, err)
			}
			searches[f.path] = s
		}
		if !s.ok {
			continue
		}
		as := view{path: f.path}
		if s.query.Personal() {
			as.person = f.user.Name
		}
		found, known := listed[as]
		if !known {
			found = s.list(r.ix, f, heads)
			listed[as] = found
		}
		for id := range found {
			r.searched[id] = append(r.searched[id], searchFollower{f.user.ID, f.name})
		}
	}
	return nil
}

// readSearch is a saved search that Searches has read.
type readSearch struct {
	filter index.Filter
	query  query.Query
	ok     bool
}

// list returns which of the problems the search lists for a follower.
func (s readSearch) list(ix *index.Index, f searchFollow, heads []crash.BucketID) map[crash.BucketID]bool {
	q := s.query.For(f.user.Names())
	return ix.Listed(q.Narrow(s.filter), q.Matcher(), heads)
}
