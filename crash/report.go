// Package crash defines the domain: reports, signatures, buckets, releases, bugs, filings, people,
// and the kinds of errors. It is pure: it uses no network, no database and no clock. It parses no
// wire format; crash/apport does.
package crash

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the permanent address of a bucket is the sha1 of its signature, as at errors.ubuntu.com
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Fields maps apport's field names ("ExecutablePath", "StacktraceTop") to values. Values are valid
// UTF-8 without NUL.
type Fields map[string]string

// Report is one crash as received.
type Report struct {
	ID     OopsID
	System SystemID
	Fields Fields

	// Anonymous says that an equal report may come from another machine: it names neither its machine nor the time
	// of the crash. Such a report is never a duplicate.
	Anonymous bool

	// Number is a name for this report that its sender chose and repeats when it sends the report again, such as
	// the event_id of Sentry's libraries, after a name for all such numbers. Empty: it has none.
	Number string
}

// Received returns when the report arrived, in UTC, to the millisecond.
func (r Report) Received() time.Time { return r.ID.Received() }

// Record is a report with everything derived from it on arrival, as it is stored.
type Record struct {
	Report
	Summary
	Grouping Grouping

	// Occurred is the report's own Date, read as UTC; zero when it is missing or malformed. Day is
	// the UTC midnight of the day on which the report counts; see [CountingDay].
	Occurred, Day time.Time

	// Quality is how much the report says about its crash; see [mishap/crash/grouping.Quality].
	Quality int

	// Counted is false for reports of test machines.
	Counted bool

	// DuplicateKey is the same each time one machine submits the report; see [DuplicateKey]. If it
	// is zero, the report is never treated as a duplicate.
	DuplicateKey ReportKey
}

// Summary is the part of a report that lists show. Empty fields are unknown.
type Summary struct {
	ProblemType         string
	Title               string // apport's standard title, "tidewatch crashed with SIGSEGV in tide_parse_row()"
	Executable          string
	Package             string // binary package
	Version             string // version of the binary package
	SourcePackage       string
	Release             Release
	Architecture        string // of the machine
	PackageArchitecture string // of the package; "all" counts as the machine's
	AddressSignature    string // apport's crash_signature_addresses
	Proposed            bool   // the package came from the proposed pocket
	Complete            bool   // it has a stack, a traceback or similar text that shows a person what happened
}

// GroupingRule is the name of the rule that grouped a report.
type GroupingRule string

// The rules, in the order in which they are tried: the report's own signature, apport's rules,
// mishap's rules. The names are stored in the database and must not change.
const (
	RuleDuplicateSignature GroupingRule = "duplicate-signature" // the report has its own
	RuleKernelCrash        GroupingRule = "kernel-crash"
	RuleAssertion          GroupingRule = "assertion"
	RuleStacktrace         GroupingRule = "stacktrace"
	RuleTraceback          GroupingRule = "traceback"
	RuleSuspendResume      GroupingRule = "suspend-resume"
	RuleOops               GroupingRule = "oops"
	RuleKernel             GroupingRule = "kernel"
	RulePackage            GroupingRule = "package"
	RuleJava               GroupingRule = "java"
	RuleGoPanic            GroupingRule = "go-panic"
	RuleRustPanic          GroupingRule = "rust-panic"
	RuleCompiler           GroupingRule = "compiler"
	RuleStackNames         GroupingRule = "stacktrace-names" // all frames have names, in forms that apport rejects
	RulePython             GroupingRule = "python"
	RuleSnap               GroupingRule = "snap"
	RuleRecoverable        GroupingRule = "recoverable"
	RuleAddress            GroupingRule = "address"            // provisional: the frames have no names yet
	RuleStackPartial       GroupingRule = "stacktrace-partial" // frames lack names, and there is no address signature
	RuleHang               GroupingRule = "hang"
	RuleNone               GroupingRule = "" // in no bucket
)

// MaxSignature is the largest length of a signature, in code points; longer ones are truncated.
const MaxSignature = 32768

// Grouping is the bucket of a report, and why.
type Grouping struct {
	Signature   string // empty: in no bucket
	Rule        GroupingRule
	Provisional bool   // keyed by an address signature until it is symbolised
	Reason      string // why it is in no bucket, as one sentence; empty when Signature is set
}

// ErasedCounts is what an erasure has removed.
type ErasedCounts struct {
	Reports  int64 `json:"reports"`
	Cores    int64 `json:"cores"`    // core dumps that were stored
	Requests int64 `json:"requests"` // requests for core dumps
	Jobs     int64 `json:"jobs"`     // of symbolising
	Problems int64 `json:"problems"` // that have lost reports
	Gone     int64 `json:"gone"`     // of these problems, those of which nothing was left
	Audit    int64 `json:"audit"`    // records of the audit log in which a digest replaces the machine
	Texts    int64 `json:"texts"`    // texts of people in which "erased-machine" replaces the machine
	// Anonymous is the number of reports that retention has dropped before. Their counts stay, and no
	// longer know the machine.
	Anonymous int64 `json:"anonymous"`
}

// Erasure is the removal of a machine with all that is known about it. It does not contain the id of the
// machine once it is finished.
type Erasure struct {
	ID        int64
	Digest    string // of the machine, with a key that only the database knows
	System    SystemID
	Blocked   bool   // new reports of the machine are refused
	Person    string // account; empty: the command line
	Via       string // token, or system user of the command
	Requested time.Time
	Until     time.Time // reports that arrived until then are erased
	Finished  time.Time // zero: it is running
	Waits     bool      // for an archive that cannot be reached
	Counts    ErasedCounts
}

// MachineFacts is what an erasure would remove.
type MachineFacts struct {
	Reports, Problems, Cores, Jobs int64
	Only                           int64     // problems that no other machine has reported
	First, Last                    time.Time // arrival of the first and the last report
}

// OopsID identifies one stored report. It is a UUID of version 7: its first 48 bits are the time of
// arrival in milliseconds, which determines the partition that stores the report.
type OopsID [16]byte

// NewOopsID returns a new random id for a report that arrives at now.
func NewOopsID(now time.Time) OopsID {
	id := FirstOopsID(now)
	_, _ = rand.Read(id[6:]) // never fails
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
	return id, ErrUnknownReport
}

// ErrUnknownReport is returned when no report has the given id.
var ErrUnknownReport = Errorf(NotFound, "unknown_oops",
	"There is no report with this id. It never arrived, or has been deleted.")

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

// HashedSystemID returns the id of the machine with this machine-id(5): its SHA-512 in hex digits, as snapd computes
// it. No one can compute the machine-id from it.
func HashedSystemID(machineID string) SystemID {
	sum := sha512.Sum512([]byte(machineID))
	return SystemID(hex.EncodeToString(sum[:]))
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

// ScanBytes reads an id from the database. No bytes are the zero id.
func (id *BucketID) ScanBytes(b []byte) error {
	if len(b) != 0 && len(b) != len(id) {
		return fmt.Errorf("got %d bytes, want %d", len(b), len(id))
	}
	*id = BucketID{}
	copy(id[:], b)
	return nil
}

// BytesValue returns the id for the database.
func (id BucketID) BytesValue() ([]byte, error) { return id[:], nil }

// Path returns the permanent address of the bucket, relative to the base address.
func (id BucketID) Path() string { return id.after("/problem/") }

// ErrUnknownBucket is returned when no bucket has the given id or signature.
var ErrUnknownBucket = Errorf(NotFound, "unknown_bucket", "There is no such problem.")

// Sleep pauses for d. It returns the error of ctx if ctx has ended or ends before that.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err()
}

// UntilDone returns a reader of r that fails with the error of ctx once ctx is done. It ends a long
// copy.
func UntilDone(ctx context.Context, r io.Reader) io.Reader { return &untilDone{ctx, r} }

type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// InFolder calls add, which puts a file into the folder dir, after creating the folder if it is missing.
// It repeats both if somebody removed the folder in between, because it was still empty. The error is that
// of add, or of creating the folder.
func InFolder(dir string, add func() error) error {
	for tries := 1; ; tries++ {
		err := os.MkdirAll(dir, 0o755)
		vanished := errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) // a parent, or dir right after mkdir
		if err == nil {
			err = add()
			vanished = errors.Is(err, fs.ErrNotExist)
		}
		if !vanished || tries == maxFolderTries {
			return err
		}
	}
}

// maxFolderTries ends a loop over an error that does not come from a removed folder. Each further try
// needs another removal at the wrong moment.
const maxFolderTries = 100

// RemoveLeftovers removes incomplete files of dead processes from a folder: those whose names begin with prefix
// and that are older than a day. Another process may still be writing newer ones.
func RemoveLeftovers(dir, prefix string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), prefix) && now.Sub(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name())) // tried again the next time
		}
	}
	return err
}

// Truncate returns at most the first n characters of s.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// WithoutHidden returns s without characters that nobody sees: those that change the direction of
// text, that have no width, and others that only control how text appears.
func WithoutHidden(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) {
			return -1
		}
		return r
	}, s)
}

// OneLine returns s as one line of visible characters, for titles, subjects and names of files. It
// is valid UTF-8; blanks replace line ends and control characters.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, WithoutHidden(strings.ToValidUTF8(s, "\uFFFD")))
	return strings.TrimSpace(s)
}

// Line returns at most n characters of s as one line, for fields of reports. Blanks replace ASCII's control characters,
// and U+FFFD replaces NUL, which reports must not contain. Unlike [OneLine], it keeps characters that nobody sees.
func Line(s string, n int) string {
	return strings.TrimSpace(Truncate(strings.Map(func(r rune) rune {
		switch {
		case r == 0:
			return utf8.RuneError
		case r < ' ' || r == 0x7f:
			return ' '
		}
		return r
	}, s), n))
}

// Shorten returns at most n characters of s. If it omits some, the result ends in an ellipsis.
func Shorten(s string, n int) string {
	if Truncate(s, n) == s {
		return s
	}
	return strings.TrimRight(Truncate(s, n-1), " ") + "…"
}

// Count formats a number with thousands separators: 41300 → "41,300".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "−", digits[1:]
	}
	head := len(digits) % 3
	if head == 0 {
		head = 3
	}
	var b strings.Builder
	b.WriteString(sign)
	b.WriteString(digits[:head])
	for rest := digits[head:]; rest != ""; rest = rest[3:] {
		b.WriteByte(',')
		b.WriteString(rest[:3])
	}
	return b.String()
}

// Counted returns a number and the word for it, such as "1 day" or "41,300 days".
func Counted(n int64, one, many string) string { return Count(n) + " " + Plural(n, one, many) }

// Plural returns one if n is 1, else many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ParseNetworks parses networks and single addresses separated by spaces or commas, such as "10.1.0.0/16, fd00::7".
// It refuses IPv4 networks that are written as IPv6.
func ParseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		network, err := netip.ParsePrefix(word)
		if address, wrong := netip.ParseAddr(word); wrong == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a network nor an address", word)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("%q is an IPv4 network written as IPv6: write it as IPv4", word)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// Kind classifies an error, so that handlers and commands can choose an HTTP status or an exit code
// without parsing messages. Kinds are errors themselves: errors.Is(err, crash.NotFound).
type Kind uint8

// The kinds of errors. An error without a kind is internal: it is logged, and people see a generic
// message.
const (
	Invalid          Kind = iota + 1 // the request is not valid
	Unauthenticated                  // not signed in, or the credentials are wrong
	Forbidden                        // signed in, but not allowed
	NotFound                         // the object does not exist
	Conflict                         // the state of the object does not permit the request
	TooLarge                         // over a documented limit
	UnsupportedMedia                 // the media type is not supported
	Unprocessable                    // valid, but impossible for this object
	Refused                          // the external tracker refused
	Unavailable                      // a service that mishap depends on is unavailable; a retry may succeed
	TooMany                          // too many requests; RetryAfter says when to retry
)

var kindNames = [...]string{
	Invalid: "invalid", Unauthenticated: "unauthenticated", Forbidden: "forbidden", NotFound: "not found",
	Conflict: "conflict", TooLarge: "too large", UnsupportedMedia: "unsupported media type",
	Unprocessable: "unprocessable", Refused: "refused", Unavailable: "unavailable", TooMany: "too many requests",
}

// Error returns the name of the kind. It makes a Kind an error, for errors.Is.
func (k Kind) Error() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "internal"
}

// Error is an error with a sentence that may be shown to the person who caused it.
type Error struct {
	Kind       Kind
	Code       string        // stable code for programs, in snake case: "unknown_bucket"
	Message    string        // one sentence: what happened, why, what to do
	RetryAfter time.Duration // when a retry can succeed; 0: unspecified
	Err        error         // the cause, for the log only; may be nil
}

// Errorf returns an *Error whose message may be shown.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because returns a copy of e with a cause, which only the log shows.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Kind}
}

// KindOf returns the kind of err, or 0 if it is internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	return 0
}
