package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// BenchmarkRank ranks 100,000 problems by count and id, with the radix sort and with a comparison
// sort. The radix sort is worth its code as long as it takes less than two thirds of the time.
func BenchmarkRank(b *testing.B) {
	const problems = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	all := New()
	rows := make([]found, problems)
	for i := range rows {
		p := &Problem{Bucket: &Bucket{}}
		for at := range p.ID {
			p.ID[at] = byte(r.UintN(256))
		}
		all.order = append(all.order, p)
		rows[i] = found{count: int64(2_000_000/(i+10)) + r.Int64N(10), key: binary.BigEndian.Uint64(p.ID[:]), at: int32(i)}
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	compare := func(x, y found) int {
		if c := cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(x.key, y.key)); c != 0 {
			return c
		}
		return bytes.Compare(all.order[x.at].ID[:], all.order[y.at].ID[:])
	}
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, compare)
	for name, sort := range map[string]func([]found){
		"radix": all.rank, "SortFunc": func(rows []found) { slices.SortFunc(rows, compare) },
	} {
		b.Run(name, func(b *testing.B) {
			some := make([]found, problems)
			for b.Loop() {
				copy(some, rows)
				sort(some)
			}
			if !slices.Equal(some, sorted) {
				b.Error("the order is wrong")
			}
		})
	}
}

// TestFoundBytes checks the size by which cached lists are limited.
func TestFoundBytes(t *testing.T) {
	t.Parallel()
	if got := reflect.TypeFor[found]().Size(); got != foundBytes {
		t.Errorf("got %d bytes, want %d", got, foundBytes)
	}
}
