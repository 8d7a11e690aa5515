package index

import (
	"slices"
	"strings"

	"mishap/crash"
)

// Without returns an index of the same problems without some: its answers are those of an index
// that never had them. ids must contain all buckets of these problems. It returns ix itself if there
// are none.
func (ix *Index) Without(ids []crash.BucketID) *Index {
	if len(ids) == 0 {
		return ix
	}
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b crash.BucketID) int { return slices.Compare(a[:], b[:]) })
	other := &Index{data: ix.data, hidden: make(map[crash.BucketID]bool, len(ids))}
	var key strings.Builder
	for _, id := range slices.Compact(sorted) {
		other.hidden[id] = true
		key.Write(id[:])
	}
	other.hiddenKey = key.String()
	return other
}

// hiddenCacheKey is the key of a cached value that omits problems.
type hiddenCacheKey struct {
	hidden string
	key    any
}

// hiddenPlaces returns the positions of hidden problems in Index.order, or nil if there are none.
// The caller holds ix.mu for reading.
func (ix *Index) hiddenPlaces() map[int]bool {
	if ix.hidden == nil {
		return nil
	}
	places := make(map[int]bool, len(ix.hidden))
	for id := range ix.hidden {
		if place, ok := ix.places[id]; ok {
			places[int(place)] = true
		}
	}
	return places
}

// visibleNames are the names that occur in the problems of an index.
type visibleNames struct {
	types    map[string]bool
	versions []string
	origins  []origin
}

// visible returns the names in problems that are not hidden. Without hidden problems, these are all
// that were ever added. The caller holds ix.mu for reading and must not modify the result.
func (ix *Index) visible() visibleNames {
	all := visibleNames{types: ix.types, versions: ix.versions.values, origins: ix.origins.values}
	if ix.hidden == nil {
		return all
	}
	type visibleKey struct{}
	return cached(ix, visibleKey{}, func() visibleNames {
		v := visibleNames{types: map[string]bool{}}
		versions, origins := make([]bool, len(all.versions)), make([]bool, len(all.origins))
		for _, l := range ix.buckets {
			if ix.hidden[l.Head] {
				continue
			}
			if l.Type != "" {
				v.types[l.Type] = true
			}
			for _, c := range l.cells {
				versions[c.version], origins[c.origin] = true, true
			}
		}
		for i, seen := range versions {
			if seen {
				v.versions = append(v.versions, all.versions[i])
			}
		}
		for i, seen := range origins {
			if seen {
				v.origins = append(v.origins, all.origins[i])
			}
		}
		return v
	})
}
