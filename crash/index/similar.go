package index

import (
	"cmp"
	"slices"
	"sync"

	"mishap/crash"
	"mishap/crash/similar"
)

// alike has the functions in the signatures of all buckets. It is filled when somebody first asks for similar problems.
type alike struct {
	mu     sync.Mutex
	stacks similar.Stacks
	of     []int32 // by number of a stack: the bucket
	read   int     // buckets that were looked at
	later  []int32 // those of them that were not yet added to the index
}

// add adds the buckets that are new. The caller holds the lock of the index for reading.
func (a *alike) add(d *data) {
	due := a.later
	a.later = nil
	for ; a.read < len(d.scan); a.read++ {
		due = append(due, int32(a.read)) //nolint:gosec // numbers have 32 bits
	}
	v := newView()
	for _, at := range due {
		if d.scan[at].head == unknown {
			a.later = append(a.later, at)
			continue
		}
		b := d.view(at, v)
		if functions := similar.Functions(b.Rule, b.Signature); len(functions) > 0 {
			a.stacks.Add(functions)
			a.of = append(a.of, at)
		}
	}
}

// Similar returns at most n problems that admits and that are similar enough to a bucket of another problem,
// the most similar first. Of a merged problem, the most similar bucket counts. admits must not call methods of the
// index, or keep the problem.
func (ix *Index) Similar(b crash.Bucket, w similar.Weights, n int, admits func(*Problem) bool) (
	problems []similar.Problem,
) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	functions := similar.Functions(b.Rule, b.Signature)
	own := int32(unknown)
	if at, ok := ix.known(b.ID); ok {
		own = ix.scan[at].head
	}
	type match struct {
		head, at int32
		score    float64
	}
	var found []match
	ix.alike.mu.Lock()
	ix.alike.add(ix.data)
	for _, m := range ix.alike.stacks.Like(functions, w, w.Least) {
		at := ix.alike.of[m.Number]
		if head := ix.scan[at].head; head != own && !ix.hides(head) {
			found = append(found, match{head, at, m.Score})
		}
	}
	ix.alike.mu.Unlock()
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(ix.bucket(b.head).reports, ix.bucket(a.head).reports),
			cmp.Compare(a.at, b.at))
	})
	v := newView()
	known := map[int32]bool{}
	for _, m := range found {
		if known[m.head] || !admits(ix.view(m.head, v)) {
			continue
		}
		if len(problems) == n {
			break
		}
		known[m.head] = true
		head, other := ix.bucket(m.head).id, ix.view(m.at, v)
		problems = append(problems, similar.Problem{Bucket: crash.Bucket{ID: head}, Score: m.score,
			Likely: m.score >= w.Likely,
			Order:  similar.InOrder(functions, similar.Functions(other.Rule, other.Signature))})
	}
	return problems
}
