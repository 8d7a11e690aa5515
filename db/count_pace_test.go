package db

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"mishap/crash"
)

// TestPiecesOfMachines: whatever is counted, what one machine sent to one bucket is in one piece, for its being new to the
// bucket is told by one statement.
func TestPiecesOfMachines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		var all []machineCell
		for range r.IntN(4 * pieceRows) {
			c := machineCell{system: r.Int64N(1 + r.Int64N(300))}
			c.bucket = crash.BucketID{byte(r.IntN(2))}
			all = append(all, c)
		}
		slices.SortFunc(all, func(a, b machineCell) int {
			return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), cmp.Compare(a.system, b.system))
		})
		var joined []machineCell
		for piece := range piecesOfMachines(all) {
			if n := len(joined); n > 0 && joined[n-1].bucket == piece[0].bucket && joined[n-1].system == piece[0].system {
				t.Fatalf("machine %d of bucket %x is in two pieces", piece[0].system, piece[0].bucket[0])
			}
			if full := len(piece) >= pieceRows; !full && len(joined)+len(piece) < len(all) {
				t.Fatalf("got a piece of %d rows before the last, want %d at least", len(piece), pieceRows)
			}
			joined = append(joined, piece...)
		}
		if !slices.Equal(joined, all) {
			t.Fatal("the pieces together are not what was given")
		}
	}
}
