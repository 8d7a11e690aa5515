package db

import (
	"crypto/sha256"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// pendingReport is a report on its way to the disk, with everything ready that the statement needs. It is made by the
// caller, so that whatever a strange report does, it does it there and not in a writer.
type pendingReport struct {
	crash.Record
	body   []byte
	answer chan saved // holds one, so that an answer never waits for its reader

	// Empty values are nil, which is null in the database.
	occurred     *time.Time // when the report says it
	seen         time.Time  // when it counts as a sighting: the crash by its own clock if that was believed, else the arrival
	systemKey    []byte     // stands for the machine where machines are counted
	duplicateKey []byte
	bucketID     []byte
	versionKey   []byte // of a version that dpkg takes; others are counted, but are neither first nor last
	releaseKey   string
}

type saved struct {
	id  crash.OopsID // the report's own, or that of the first sending
	err error
}

func newPendingReport(rec crash.Record, body []byte) *pendingReport {
	p := &pendingReport{Record: rec, body: body, answer: make(chan saved, 1), seen: rec.Received(), releaseKey: rec.Release.Key()}
	if !rec.Occurred.IsZero() {
		p.occurred = &rec.Occurred
		if rec.Occurred.UTC().Truncate(24 * time.Hour).Equal(rec.Day) {
			p.seen = rec.Occurred
		}
	}
	if rec.System != "" {
		sum := sha256.Sum256([]byte(rec.System))
		p.systemKey = sum[:16]
	}
	if rec.DuplicateKey != [16]byte{} {
		p.duplicateKey = rec.DuplicateKey[:]
	}
	if rec.Grouping.Signature != "" {
		id := crash.BucketIDOf(rec.Grouping.Signature)
		p.bucketID = id[:]
	}
	if dpkg.Valid(rec.Version) {
		p.versionKey = dpkg.Key(rec.Version)
	}
	return p
}
