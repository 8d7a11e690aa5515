package db

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mishap/crash"
)

// sighting is what is counted of one stored report.
type sighting struct {
	crash.Summary
	id             crash.OopsID
	counted        bool      // false: of a test machine, which describes its bucket at most
	day            time.Time // the UTC day it counts on
	received, seen time.Time // seen: when it counts as a sighting of its bucket
	system         *int64    // nil: a machine without an id
	bucket         *crash.BucketID
	rule           crash.Rule
	names          *crash.BucketID // the provisional bucket whose name it tells; nil: none
}

// seenAt is the time of the crash by its own clock, if that was believed, else of the arrival.
func seenAt(occurred, day, received time.Time) time.Time {
	if !occurred.IsZero() && occurred.UTC().Truncate(24*time.Hour).Equal(day) {
		return occurred
	}
	return received
}

// systemKey stands for a machine where machines are counted; nil for one without an id.
func systemKey(id crash.SystemID) *int64 {
	if id == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	key := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // 64 bits, whatever their sign
	return &key
}
