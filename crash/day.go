package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// OccurredAt reads the Date of a report: asctime in the C locale, "Mon May  5 14:46:10 2025". It is local time without
// a zone, so it is read as UTC. False: missing or unreadable.
func OccurredAt(date string) (time.Time, bool) {
	const longest = 64
	if len(date) > longest {
		return time.Time{}, false
	}
	t, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(strings.FieldsFunc(date, isSpace), " "))
	return t, err == nil
}

// CountingDay is the UTC midnight of the day that a report counts on: that on which it occurred, when this is neither
// after the day following the arrival nor more than maxAgeDays days before it; else that of the arrival. A zero
// occurred is not known.
func CountingDay(occurred, arrived time.Time, maxAgeDays int) time.Time {
	arrival := midnight(arrived)
	if occurred.IsZero() {
		return arrival
	}
	day := midnight(occurred)
	if day.After(arrival.AddDate(0, 0, 1)) || day.Before(arrival.AddDate(0, 0, -maxAgeDays)) {
		return arrival
	}
	return day
}

func midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// DuplicateKey is the same for two sendings of one crash by one machine: the Date as seconds since 1970 (four bytes, big
// end first; 0 when it cannot be read), so that the keys of one time stand together in an index, and twelve bytes of a
// sha256 over the system, Date, ExecutablePath and ProcStatus, each after its length. It is zero, which means that nothing
// can be said, when one of the three fields is missing or empty.
func DuplicateKey(system SystemID, f Fields) [16]byte {
	var key [16]byte
	if f["Date"] == "" || f["ExecutablePath"] == "" || f["ProcStatus"] == "" {
		return key
	}
	hash := sha256.New()
	for _, part := range []string{string(system), f["Date"], f["ExecutablePath"], f["ProcStatus"]} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	if at, ok := OccurredAt(f["Date"]); ok {
		binary.BigEndian.PutUint32(key[:4], uint32(min(max(at.Unix(), 0), math.MaxUint32)))
	}
	copy(key[4:], hash.Sum(nil))
	return key
}
