package db

import (
	"context"
	"time"

	"mishap/crash"
)

// SaveReport stores rec, in one transaction that it may share with reports of other callers, and returns when that is on
// disk. It is counted by a round that follows at once; while not much is under way, SaveReport waits for that too. A crash
// that was stored before (equal DuplicateKey) is not stored or counted again: the first report's id comes back with true.
//
// It returns Unavailable when the database is away, when the store is closing, and when more reports wait than it is
// willing to hold. ctx bounds only the waiting: a report that was taken in is stored even when nobody waits any more.
func (s *Store) SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error) {
	s.saver.underWay.Add(1)
	defer s.saver.underWay.Add(-1)
	p := newPendingReport(rec, s.bodies.pack(rec.Fields))
	if rec.Done != nil {
		rec.Done()
	}
	if err := s.saver.submit(p); err != nil {
		s.bodies.drop(p.body)
		return crash.OopsID{}, false, err
	}
	select {
	case a := <-p.answer:
		if a.counted != nil {
			waitFor(ctx, a.counted, maxCountWait)
		}
		return a.id, a.err == nil && a.id != rec.ID, a.err
	case <-ctx.Done():
		return crash.OopsID{}, false, errNotWaited.Because(ctx.Err())
	}
}

// maxCountWait is how long the answer for a report that is on disk waits for its being counted.
const maxCountWait = 250 * time.Millisecond

func waitFor(ctx context.Context, done <-chan struct{}, atMost time.Duration) {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
}

var (
	errBusy = &crash.Error{Kind: crash.Unavailable, Code: "overload", RetryAfter: time.Minute,
		Message: "Too many reports are arriving at the moment; please send this one again later."}
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it again later.")
)
