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
type pace struct {
	gentle  bool
	counter *counter  // knows whether anybody waits
	began   time.Time // the piece
}

const (
	pieceRows    = 128                   // some milliseconds
	pieceReports = 64                    // that are added up, a good part of a millisecond
	longestRest  = 10 * time.Millisecond // after one piece
)

// newPace is for a round of some reports. It rests only when there is time for that, and nobody waits for it.
func (c *counter) newPace(reports int) *pace {
	return &pace{gentle: reports > busyRound && c.waiting()-reports < maxRound, counter: c, began: time.Now()}
}

// rest is for after a piece.
func (p *pace) rest() {
	if p.gentle {
		p.counter.pause(min(time.Since(p.began), longestRest))
		p.began = time.Now()
	}
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

// send runs statements in their order, together when there are few.
func (p *pace) send(ctx context.Context, tx pgx.Tx, all []iter.Seq[statement]) error {
	var b pgx.Batch
	for _, some := range all {
		for s := range some {
			if !p.gentle {
				b.Queue(s.sql, s.args)
				continue
			}
			if _, err := tx.Exec(ctx, s.sql, s.args); err != nil {
				return err
			}
			p.rest()
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &b).Close()
}
