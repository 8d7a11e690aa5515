package db

import (
	"crypto/sha256"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// pendingReport is a report on its way to the disk.
type pendingReport struct {
	crash.Record
	body   []byte
	answer chan saved // holds one, so that an answer never waits for its reader
}

type saved struct {
	id  crash.OopsID // the report's own, or that of the first sending
	err error
}

// seen is the moment for which the report counts as a sighting of its bucket: the crash by its own clock if that was
// believed, else the arrival.
func (p *pendingReport) seen() time.Time {
	if !p.Occurred.IsZero() && p.Occurred.UTC().Truncate(24*time.Hour).Equal(p.Day) {
		return p.Occurred
	}
	return p.Received()
}

// systemKey stands for the machine where machines are counted; nil for a report without one.
func (p *pendingReport) systemKey() []byte {
	if p.System == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(p.System))
	return sum[:16]
}

func (p *pendingReport) received() time.Time { return p.Received() }

// occurred is nil when the report does not say it.
func (p *pendingReport) occurred() *time.Time {
	if p.Occurred.IsZero() {
		return nil
	}
	return &p.Occurred
}

// duplicateKey is nil for a report whose repetition could not be told.
func (p *pendingReport) duplicateKey() []byte {
	if p.DuplicateKey == [16]byte{} {
		return nil
	}
	return p.DuplicateKey[:]
}

// bucketID is nil for a report that belongs to no bucket.
func (p *pendingReport) bucketID() []byte {
	if p.Grouping.Signature == "" {
		return nil
	}
	id := crash.BucketIDOf(p.Grouping.Signature)
	return id[:]
}

// versionKey is nil for a version that is missing or that dpkg would refuse: such a one is counted, but is neither
// first nor last.
func (p *pendingReport) versionKey() []byte {
	if !dpkg.Valid(p.Version) {
		return nil
	}
	return dpkg.Key(p.Version)
}

func (p *pendingReport) releaseKey() string {
	if p.Release == "" {
		return ""
	}
	return p.Release.Key()
}
