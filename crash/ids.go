package crash

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the permanent address of a bucket is the sha1 of its signature, as at errors.ubuntu.com
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// OopsID identifies one stored report. It is a UUID of version 7: its first 48 bits are the time of
// arrival in milliseconds, which determines the partition that stores the report.
type OopsID [16]byte

// NewOopsID returns a new random id for a report that arrives at now.
func NewOopsID(now time.Time) OopsID {
	var id OopsID
	_, _ = rand.Read(id[:]) // never fails
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// FirstOopsID returns the lowest id that a report arriving at the given time can have.
func FirstOopsID(at time.Time) OopsID {
	var id OopsID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:6], ms[2:])
	return id
}

// ParseOopsID parses the text form, 8-4-4-4-12 hex digits. It returns an error of kind NotFound for
// any other text, since no report has such an id.
func ParseOopsID(s string) (OopsID, error) {
	var id OopsID
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if b, err := hex.DecodeString(strings.ReplaceAll(s, "-", "")); err == nil && len(b) == len(id) {
			copy(id[:], b)
			return id, nil
		}
	}
	return id, Errorf(NotFound, "unknown_oops", "There is no report with this id.")
}

func (id OopsID) String() string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Received returns the time of arrival that the id contains, in UTC, to the millisecond.
func (id OopsID) Received() time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC() //nolint:gosec // 48 bits
}

// IsZero reports whether id is the zero value.
func (id OopsID) IsZero() bool { return id == OopsID{} }

// SystemID is the hash by which a machine identifies itself; empty for machines without one. It can
// be any text.
type SystemID string

// MaxSystemID is the largest length of a SystemID, in bytes. whoopsie sends 128 hex digits;
// administrators may configure any text (CRASH_DB_IDENTIFIER).
const MaxSystemID = 256

// NewSystemID returns the id of the machine that calls itself name. It replaces invalid UTF-8 and
// NUL by replacement characters. It truncates a name longer than [MaxSystemID] and appends "~" and
// the SHA-256 of the whole name in hex, so different long names stay different, and test machines
// remain test machines.
func NewSystemID(name string) SystemID {
	clean := strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "\uFFFD")
	if len(clean) <= MaxSystemID {
		return SystemID(clean)
	}
	sum := sha256.Sum256([]byte(name))
	head := clean[:MaxSystemID-1-hex.EncodedLen(len(sum))]
	return SystemID(strings.ToValidUTF8(head, "") + "~" + hex.EncodeToString(sum[:]))
}

// IsTest reports whether the machine is a test machine, whose reports are stored but not counted.
func (s SystemID) IsTest() bool { return strings.HasPrefix(string(s), "deadbeef") }

// BucketID is the SHA-1 of a bucket's signature: its key everywhere, and part of its permanent
// address.
type BucketID [sha1.Size]byte

// BucketIDOf returns the id of the bucket with this signature.
func BucketIDOf(signature string) BucketID {
	return sha1.Sum([]byte(signature)) //nolint:gosec // an address, not a secret
}

// ParseBucketID parses 40 hex digits of either case. It returns ErrUnknownBucket for any other
// text.
func ParseBucketID(s string) (BucketID, error) {
	var id BucketID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, ErrUnknownBucket
	}
	copy(id[:], b)
	return id, nil
}

func (id BucketID) String() string { return id.after("") }

// after returns the id in hex after a prefix, in one allocation: lists contain it several times in
// each row.
func (id BucketID) after(prefix string) string {
	return string(hex.AppendEncode(append(make([]byte, 0, 64), prefix...), id[:]))
}

// Path returns the permanent address of the bucket, relative to the base address.
func (id BucketID) Path() string { return id.after("/problem/") }

// ErrUnknownBucket is returned when no bucket has the given id or signature.
var ErrUnknownBucket = Errorf(NotFound, "unknown_bucket", "There is no such problem.")
