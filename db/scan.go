package db

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// OrZero returns a scan target that sets *t to a time, or to the zero time for null.
func OrZero(t *time.Time) *nullTime { return (*nullTime)(t) }

type nullTime time.Time

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = nullTime(v.Time)
	if !v.Valid {
		*t = nullTime{}
	}
	return nil
}

// ScanTo returns a scan target that copies a bytea to dst. The scan fails if their lengths differ.
func ScanTo(dst []byte) *fixedBytes { return (*fixedBytes)(&dst) }

type fixedBytes []byte

// ScanBytes implements [pgtype.BytesScanner].
func (b *fixedBytes) ScanBytes(v []byte) error {
	if len(v) != len(*b) {
		return fmt.Errorf("got %d bytes, want %d", len(v), len(*b))
	}
	copy(*b, v)
	return nil
}

// OrNull returns a pointer to t, or nil if t is zero.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
