package db

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
)

// ReportColumns are the columns that ScanReport reads.
const ReportColumns = `
	id, problem_type, title, executable, package, version, source_package, release, architecture, package_architecture,
	address_signature, proposed, complete, system, occurred, bucket_id, unbucketed`

// ScanReport scans a row of ReportColumns.
func ScanReport(row pgx.CollectableRow) (r crash.ReportRow, err error) {
	err = scanReportAnd(row, &r)
	return r, err
}

// ScanReportBody reads ReportColumns and the body that follows them.
func ScanReportBody(row pgx.CollectableRow) (r crash.ReportRow, body []byte, err error) {
	err = scanReportAnd(row, &r, &body)
	return r, body, err
}

// scanReportAnd scans a row of ReportColumns into r, and the columns after them into more.
func scanReportAnd(row pgx.CollectableRow, r *crash.ReportRow, more ...any) error {
	var bucket []byte
	err := row.Scan(append([]any{
		(*[16]byte)(&r.ID), &r.ProblemType, &r.Title, &r.Executable, &r.Package, &r.Version, &r.SourcePackage, &r.Release,
		&r.Architecture, &r.PackageArchitecture, &r.AddressSignature, &r.Proposed, &r.Complete, &r.System,
		OrZero(&r.Occurred), &bucket, &r.Unbucketed,
	}, more...)...)
	if bucket != nil && err == nil {
		r.Bucket = (*crash.BucketID)(bucket)
	}
	return err
}

const sqlReport = `select ` + ReportColumns + `, rule, rules, body from reports where received = @received and id = @id`

// Report returns a report with all its fields. It returns NotFound if there is none with this id.
func (s *Store) Report(ctx context.Context, id crash.OopsID) (crash.StoredReport, error) {
	r, err := s.readReport(ctx, id)
	return r, WrapOr(err, errUnknownReport, "report %s", id)
}

var errUnknownReport = crash.Errorf(crash.NotFound, "unknown_oops", "There is no report with this id.")

// sqlBestReport takes the newest report of a bucket if none of them says anything.
const sqlBestReport = `
	select r.id from (select id from buckets where id in ` + Members + `) as m (source) cross join lateral (
		(select received, id, quality from reports
			where bucket_id = m.source and quality > 0 order by quality desc, received desc, id desc limit 1)
		union all
		(select received, id, 0 from reports where bucket_id = m.source order by received desc, id desc limit 1)
		order by quality desc limit 1
	) as r
	order by r.quality desc, r.received desc, r.id desc limit 1`

// RepresentativeReport returns the report that a problem's page shows: of all stored reports the newest one of
// the highest quality ([grouping.Quality]). It returns NotFound if no report of the problem is stored.
func (s *Store) RepresentativeReport(ctx context.Context, id crash.BucketID) (best crash.StoredReport, err error) {
	for range 3 { // retention may remove the report before it is read
		var report crash.OopsID
		err := s.Pool.QueryRow(ctx, sqlBestReport, pgx.NamedArgs{"bucket": id[:]}).Scan((*[16]byte)(&report))
		if errors.Is(err, pgx.ErrNoRows) {
			break
		}
		if err != nil {
			return best, fmt.Errorf("representative report of bucket %s: %w", id, Classify(err))
		}
		if best, err = s.Report(ctx, report); !errors.Is(err, crash.NotFound) {
			return best, err
		}
	}
	return best, errUnknownReport
}

func (s *Store) readReport(ctx context.Context, id crash.OopsID) (crash.StoredReport, error) {
	var body []byte
	r, err := One(ctx, s.Pool, sqlReport, ReportArgs(id), func(row pgx.CollectableRow) (r crash.StoredReport, err error) {
		err = scanReportAnd(row, &r.ReportRow, &r.Rule, &r.Rules, &body)
		return r, err
	})
	if err != nil {
		return crash.StoredReport{}, err
	}
	if err := s.reading.reserve(ctx, body); err != nil {
		return crash.StoredReport{}, err
	}
	r.Fields, err = Decompress(body)
	return r, err
}

const sqlReportSystem = `select system from reports where received = @received and id = @id`

// ReportSystem returns the machine that sent a report. It returns NotFound if there is no report
// with this id.
func (s *Store) ReportSystem(ctx context.Context, id crash.OopsID) (crash.SystemID, error) {
	var system crash.SystemID
	err := s.Pool.QueryRow(ctx, sqlReportSystem, ReportArgs(id)).Scan(&system)
	return system, WrapOr(err, errUnknownReport, "system of report %s", id)
}

// ReportArgs returns the arguments that find a report. The id contains the time of arrival, which
// selects the partition.
func ReportArgs(id crash.OopsID) pgx.NamedArgs {
	return pgx.NamedArgs{"id": [16]byte(id), "received": id.Received()}
}

// CompareReleases compares releases by their keys, then by their names.
func CompareReleases(a, b crash.Release) int {
	return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a, b))
}

// EndOfTime is later than every stored time.
var EndOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NewestFirst returns the arguments for a list of reports older than after, or of all reports if
// after is zero.
func NewestFirst(after crash.OopsID, limit int) pgx.NamedArgs {
	args := ReportArgs(after)
	if after.IsZero() {
		args["received"] = EndOfTime
	}
	args["limit"] = limit
	return args
}

// ReadBody calls read with the fields of a stored report's body. It reserves memory for a large
// body until read returns. It returns Unavailable if it cannot get the memory in time.
func (s *Store) ReadBody(ctx context.Context, body []byte, read func(crash.Fields)) error {
	release, err := s.reading.borrow(ctx, body)
	if err != nil {
		return err
	}
	defer release()
	fields, err := Decompress(body)
	if err == nil {
		read(fields)
	}
	return err
}

const (
	bodyFormat = 1
	maxBody    = 1 << 30 // decompressed size in bytes, far above that of any accepted report
)

// Compress returns the fields of a report as a body for the column reports.body. A body consists of
// one byte for the format, and the names and values with their lengths, compressed with S2. S2
// compresses a typical report to slightly more than a third. zstd compresses it to a quarter, but
// takes three times as long, which costs more than writing the difference to disk.
func Compress(f crash.Fields) []byte {
	size := 0
	for name, value := range f {
		size += len(name) + len(value) + 2*binary.MaxVarintLen32
	}
	plain := make([]byte, 0, size)
	for name, value := range f {
		plain = appendText(appendText(plain, name), value)
	}
	return slices.Concat([]byte{bodyFormat}, s2.Encode(nil, plain))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("decompress report: the body is damaged")

// Decompress returns the fields of a body. Pages use [Store.ReadBody].
func Decompress(body []byte) (crash.Fields, error) {
	if len(body) == 0 || body[0] != bodyFormat {
		return nil, errors.New("decompress report: unknown format")
	}
	if n, err := s2.DecodedLen(body[1:]); err != nil || n > maxBody {
		return nil, errBody
	}
	plain, err := s2.Decode(nil, body[1:])
	if err != nil {
		return nil, fmt.Errorf("decompress report: %w", err)
	}
	f := crash.Fields{}
	for len(plain) > 0 {
		var name, value string
		var ok bool
		if name, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		if value, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		f[name] = value
	}
	return f, nil
}

func cutText(b []byte) (s string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) { //nolint:gosec // n is at most len(b)
		return "", nil, false
	}
	end := n + int(length) //nolint:gosec // no more than len(b)
	return string(b[n:end]), b[end:], true
}

// readBudget limits the memory of large reports that are read at the same time, for pages and
// downloads. It ignores reports of at most 1 MiB, which nearly all are.
type readBudget struct {
	bytes *semaphore.Weighted
	wait  time.Duration // maximum time for which a reader waits
}

const (
	readTotal  = 192 << 20
	readFactor = 3       // memory needed per byte of a report: stored, as fields, and as output
	smallRead  = 1 << 20 // maximum size in bytes of a report that is ignored
	readWait   = 10 * time.Second
)

var errReading = &crash.Error{Kind: crash.Unavailable, Code: "large_reports", RetryAfter: 10 * time.Second,
	Message: "Too many large reports are being read at the moment; please try again shortly."}

// newReadBudget returns a readBudget of 192 MiB.
func newReadBudget() *readBudget {
	return &readBudget{bytes: semaphore.NewWeighted(readTotal), wait: readWait}
}

// reserve reserves the memory that a stored report needs until ctx is done. The context of a
// request is done once the request is answered. It returns Unavailable if the memory is not free
// within 10 seconds.
func (b *readBudget) reserve(ctx context.Context, body []byte) error {
	release, err := b.borrow(ctx, body)
	switch {
	case err != nil:
	case ctx.Done() == nil: // never ends
		release()
	default:
		context.AfterFunc(ctx, release)
	}
	return err
}

// borrow reserves the memory that a stored report needs until the caller calls release. It returns
// Unavailable if the memory is not free within 10 seconds.
func (b *readBudget) borrow(ctx context.Context, body []byte) (release func(), err error) {
	if len(body) == 0 {
		return func() {}, nil
	}
	size, err := s2.DecodedLen(body[1:])
	if err != nil || size <= smallRead {
		return func() {}, nil // small, or damaged, which Decompress will report
	}
	need := min(readFactor*int64(size), readTotal)
	waiting, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if b.bytes.Acquire(waiting, need) != nil {
		return nil, errReading
	}
	return func() { b.bytes.Release(need) }, nil
}
