package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// sweep counts what waits for so long that whoever stored it cannot be expected to count it.
func (c *counter) sweep(ctx context.Context, waiting time.Duration) {
	for !c.stopping() {
		began := time.Now()
		n, err := c.sweepOnce(ctx, waiting)
		c.sweepFailing.result(err)
		if err != nil && !away(err) {
			c.store.log.ErrorContext(ctx, "reports of another unit not counted yet", "error", err)
		}
		if err != nil || n == 0 {
			return
		}
		c.stats.round(n, time.Since(began))
		c.store.log.InfoContext(ctx, "counted what another unit had left", "reports", n)
	}
}

func (c *counter) sweepOnce(ctx context.Context, waiting time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.roundTimeout())
	defer cancel()
	return c.store.countLeftOver(ctx, waiting)
}

func (c *counter) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// newest is closed when everything that waits now is counted; nil: nothing does.
func (c *counter) newest() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return nil
	}
	return c.pending[len(c.pending)-1].counted
}

// How WaitCounted waits for other units, which count what they have stored within moments, unless they are dead.
const (
	countedWithin = 20 * time.Second
	otherUnits    = 5
	otherUnitTime = 40 * time.Millisecond
)

const (
	sqlNow         = `select clock_timestamp()`
	sqlAnyLeftOver = `select exists (select from uncounted where stored <= @before)`
)

// WaitCounted returns when everything that was stored before the call, by whichever unit, is counted. It returns Unavailable
// when that takes too long or the database is away.
func (s *Store) WaitCounted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countedWithin)
	defer cancel()
	if err := s.waitCounted(ctx); err != nil {
		return crash.Errorf(crash.Unavailable, "not_counted", "The reports could not be counted in time; please try again.").Because(known(err))
	}
	return nil
}

func (s *Store) waitCounted(ctx context.Context) error {
	var before time.Time
	if err := s.pool.QueryRow(ctx, sqlNow).Scan(&before); err != nil {
		return err
	}
	if own := s.counter.newest(); own != nil {
		s.counter.hurried.Add(1)
		defer s.counter.hurried.Add(-1)
		poke(s.counter.hurry)
		select {
		case <-own:
		case <-s.counter.stop:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for n := 0; ; n++ {
		var left bool
		if err := s.pool.QueryRow(ctx, sqlAnyLeftOver, pgx.NamedArgs{"before": before}).Scan(&left); err != nil || !left {
			return err
		}
		if n < otherUnits {
			wait(ctx, otherUnitTime)
		} else if _, err := s.countLeftOver(ctx, 0); err != nil {
			return err
		}
	}
}
