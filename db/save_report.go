package db

import (
	"context"
	"time"

	"mishap/crash"
)

// SaveReport stores rec, in a transaction that other callers' reports may share, and returns when that is on disk. While
// the load is low, it also waits until the report is counted. A crash that was stored before (equal DuplicateKey) is not
// stored or counted again: SaveReport returns the first report's id and true.
//
// It returns Unavailable when the database is unavailable, the store is closing or the queue is full. ctx bounds only the
// waiting: an accepted report is stored even after ctx has ended.
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
			counting, cancel := context.WithTimeout(ctx, maxAnswerDelay)
			defer cancel()
			select {
			case <-a.counted:
			case <-counting.Done():
			}
		}
		return a.id, a.err == nil && a.id != rec.ID, a.err
	case <-ctx.Done():
		return crash.OopsID{}, false, errNotWaited.Because(ctx.Err())
	}
}

// maxAnswerDelay bounds how long the answer for a stored report waits until the report is counted.
const maxAnswerDelay = 250 * time.Millisecond

var (
	errBusy = &crash.Error{Kind: crash.Unavailable, Code: "overload", RetryAfter: time.Minute,
		Message: "Too many reports are arriving at the moment; please send this one again later."}
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it again later.")
)
