package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/span"
)

// SaveReport stores rec and returns its id once the transaction is on disk. Reports of concurrent
// calls may share a transaction. While the load is low, SaveReport also waits until the report is
// counted. If a report of the same crash (equal DuplicateKey) is stored already, SaveReport returns
// the id of that report and true.
//
// It returns Unavailable if the database is unavailable, the store is closing or the queue is full.
// The end of ctx ends only the wait: an accepted report is stored nevertheless.
func (s *Store) SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error) {
	s.saver.calls.Add(1)
	defer s.saver.calls.Add(-1)
	p := newPendingReport(rec, s.Compress(rec.Fields))
	p.cause = s.tracer.CauseOf(ctx)
	if rec.Done != nil {
		rec.Done()
	}
	if err := s.saver.submit(p); err != nil {
		s.recycle(p.body)
		return crash.OopsID{}, false, err
	}
	select {
	case a := <-p.answer:
		if a.counted != nil {
			counting, cancel := context.WithTimeout(ctx, s.answerDelay)
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

// usualAnswerDelay limits how long the answer for a stored report waits until the report is counted.
const usualAnswerDelay = 250 * time.Millisecond

var (
	errBusy = &crash.Error{Kind: crash.Unavailable, Code: "overload", RetryAfter: time.Minute,
		Message: "Too many reports are arriving at the moment; please send this one again later."}
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it "+
		"again later.")
)

// pendingReport is a report in the queue, with all values that the database needs. The caller
// computes them, so that a malformed report can cause a panic only in its own request. All texts
// are copies, so that the original report can be freed.
type pendingReport struct {
	crash.Record
	body   []byte
	answer chan saved // has room for one, so that the writer never blocks

	// Empty values are nil, which the database stores as null.
	bucket       *crash.BucketID
	occurred     *time.Time // according to the report
	systemKey    *int64     // identifies the machine
	duplicateKey []byte
	formerKey    []byte // key by which earlier versions may have stored the report

	cause span.Cause // the request, if it is traced
}

// saved is the outcome of storing a report.
type saved struct {
	id      crash.OopsID    // of this report, or of the stored report of the same crash
	counted <-chan struct{} // closed when the report is counted; nil if the answer does not wait for that
	err     error
}

func newPendingReport(rec crash.Record, body []byte) *pendingReport {
	rec.Fields, rec.Done = nil, nil // the body contains the fields
	rec.Summary = compact(rec.Summary)
	rec.Grouping.Signature, rec.Grouping.Reason = strings.Clone(rec.Grouping.Signature), strings.Clone(rec.Grouping.Reason)
	p := &pendingReport{Record: rec, body: body, answer: make(chan saved, 1), systemKey: SystemKey(rec.System)}
	if !rec.Occurred.IsZero() {
		p.occurred = &rec.Occurred
	}
	if rec.DuplicateKey != (crash.ReportKey{}) {
		p.duplicateKey = rec.DuplicateKey[:]
	}
	if rec.FormerKey != (crash.ReportKey{}) {
		p.formerKey = rec.FormerKey[:]
	}
	if rec.Grouping.Signature != "" {
		id := crash.BucketIDOf(rec.Grouping.Signature)
		p.bucket = &id
	}
	return p
}

func (p *pendingReport) bucketID() []byte {
	if p.bucket == nil {
		return nil
	}
	return p.bucket[:]
}

// SystemKey returns the number that identifies a machine in counts, or nil for a machine without an
// id.
func SystemKey(id crash.SystemID) *int64 {
	if id == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	key := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // all 64 bits; the sign does not matter
	return &key
}

// compact copies the texts of a summary, so that a queued report does not keep all fields in
// memory. All but the address signature share one copy.
func compact(s crash.Summary) crash.Summary {
	texts := [...]*string{
		&s.ProblemType, &s.Title, &s.Executable, &s.Package, &s.Version, &s.SourcePackage, (*string)(&s.Release),
		&s.Architecture, &s.PackageArchitecture,
	}
	length := 0
	for _, text := range texts {
		length += len(*text)
	}
	var b strings.Builder
	b.Grow(length)
	for _, text := range texts {
		b.WriteString(*text)
	}
	all := b.String()
	for _, text := range texts {
		*text, all = all[:len(*text)], all[len(*text):]
	}
	s.AddressSignature = strings.Clone(s.AddressSignature)
	return s
}
