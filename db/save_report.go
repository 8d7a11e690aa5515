package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"
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
	p := newPendingReport(rec, s.bodies.Pack(rec.Fields))
	if rec.Done != nil {
		rec.Done()
	}
	if err := s.saver.submit(p); err != nil {
		s.bodies.Drop(p.body)
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
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it "+
		"again later.")
)

// pendingReport is a report on its way to the disk, with everything ready that storing it needs. It is made by the caller, so
// that whatever a strange report does, it does it there and not in a writer. It holds copies of texts, never a report's own.
type pendingReport struct {
	crash.Record
	body   []byte
	answer chan saved // holds one, so that an answer never waits for its reader

	// Empty values are nil, which is null in the database.
	bucket       *crash.BucketID
	occurred     *time.Time // when the report says it
	systemKey    *int64     // stands for the machine
	duplicateKey []byte
	formerKey    []byte // another one, under which earlier versions may have stored the report
}

// saved is what became of a report.
type saved struct {
	id      crash.OopsID    // the report's own, or that of the first sending
	counted <-chan struct{} // closed when the report is counted; nil: the answer does not wait for that
	err     error
}

func newPendingReport(rec crash.Record, body []byte) *pendingReport {
	rec.Fields, rec.Done = nil, nil // they are in the body
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

// SystemKey returns the number that identifies a machine in counts, or nil for a machine without an id.
func SystemKey(id crash.SystemID) *int64 {
	if id == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	key := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // all 64 bits, whatever their sign
	return &key
}

// compact copies the texts of a summary, so that a report in the queue does not keep the fields that they were cut from. All
// but the address signature share one copy.
func compact(s crash.Summary) crash.Summary {
	texts := [...]*string{
		&s.ProblemType, &s.Title, &s.Executable, &s.Package, &s.Version, &s.SourcePackage, (*string)(&s.Release),
		&s.Architecture,
		&s.PackageArchitecture,
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
