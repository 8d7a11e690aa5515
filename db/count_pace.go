package db

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A pace is how a round goes through its rows: in pieces, and gently when it has many: then it rests after each piece for as
// long as that took. A round takes twice as long so, but those who store reports meanwhile never wait for all of it.
type pace struct{ gentle bool }

const (
	pieceRows   = 256                   // some milliseconds
	longestRest = 10 * time.Millisecond // after one piece
)

// paceOf is for a round of some reports while others wait to be counted: a round rests only when there is time for that.
func paceOf(reports, waiting int) pace {
	return pace{gentle: reports > busyRound && waiting < maxRound}
}

func pieces[T any](rows []T) iter.Seq[[]T] { return slices.Chunk(rows, pieceRows) }

// piecesOfMachines leaves what one machine sent to one bucket together.
func piecesOfMachines(cells []machineCell) iter.Seq[[]machineCell] {
	return func(yield func([]machineCell) bool) {
		for len(cells) > 0 {
			end := min(pieceRows, len(cells))
			for end < len(cells) && cells[end].bucket == cells[end-1].bucket && cells[end].system == cells[end-1].system {
				end++
			}
			if !yield(cells[:end:end]) {
				return
			}
			cells = cells[end:]
		}
	}
}

// rest is for after a piece.
func (p pace) rest(ctx context.Context, began time.Time) {
	if p.gentle {
		wait(ctx, min(time.Since(began), longestRest))
	}
}

// send runs the statements of a batch in their order.
func (p pace) send(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	if !p.gentle {
		return tx.SendBatch(ctx, b).Close()
	}
	for _, q := range b.QueuedQueries {
		began := time.Now()
		if _, err := tx.Exec(ctx, q.SQL, q.Arguments...); err != nil {
			return err
		}
		p.rest(ctx, began)
	}
	return nil
}
