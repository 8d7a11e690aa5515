package db

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/index"
)

// A snapshot is a file with the rows of an index, so that an instance can start without reading all of them
// from the database. It holds the rows up to a round, and some that are newer; what has changed since that
// round is then read as usual. It is used only if the database has gone through the newest round in it: see
// the table server_starts. If problems were deleted since, those that the database does not have are left
// out. A file that is damaged, of another format or does not fit is ignored.
//
// The file begins with a fixed head. Blocks of buckets follow, each with its length and a checksum that
// includes all blocks before. A block has its own table of texts, so several can be decoded at once.

const (
	// SnapshotName is the name of the file in Config.DataDir.
	SnapshotName     = "index.snapshot"
	snapshotFormat   = "mishap index 2\n\x00"
	snapshotHeadSize = len(snapshotFormat) + 8*6 + 16 + sha256.Size + 4
	snapshotRows     = 2000     // buckets in a block
	maxSnapshotBlock = 64 << 20 // bytes
	snapshotAge      = time.Hour
)

// snapshotHead says which database and which of its states a snapshot comes from.
type snapshotHead struct {
	schema   int64             // number of migrations that the program knows
	history  history           // newest round of the rows
	round    int64             // all rows up to this round are in the snapshot
	erasures int64             // number of erasures when it was written
	buckets  int64             // number of rows
	sum      uint32            // checksum of all blocks
	program  [sha256.Size]byte // checksum of the program that wrote it
}

// ownProgram returns the checksum of the running program. Another one may have other rules for what visitors see.
var ownProgram = sync.OnceValues(func() (sum [sha256.Size]byte, err error) {
	name, err := os.Executable()
	if err != nil {
		return sum, err
	}
	f, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close() //nolint:errcheck // only read
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return [sha256.Size]byte(hash.Sum(nil)), err
})

// history names a round by the start of the server at which it ran. Without a start, no round has run yet.
type history struct {
	start [16]byte
	round int64
}

const (
	sqlHistoryNow = `
		select round, ` + serverIDColumns + `,
			coalesce((select id from server_starts order by round desc limit 1), '00000000-0000-0000-0000-000000000000')
		from counting`
	// sqlLastRound selects the last round that a start of the server and this database have in common.
	sqlLastRound = `
		select coalesce((select min(n.round) - 1 from server_starts as n where n.round > s.round), c.round)
		from counting as c, server_starts as s where s.id = @start`
	sqlUnchanged = `select id from buckets where changed <= @round`
)

// historyNow returns the present server and round.
func (s *Store) historyNow(ctx context.Context) (server serverID, h history, err error) {
	columns := append([]any{&h.round}, server.columns()...)
	err = s.Pool.QueryRow(ctx, sqlHistoryNow).Scan(append(columns, &h.start)...)
	return server, h, Classify(err)
}

// includes reports whether the database has gone through a round.
func (s *Store) includes(ctx context.Context, h history) (bool, error) {
	var last int64
	err := s.Pool.QueryRow(ctx, sqlLastRound, pgx.NamedArgs{"start": h.start}).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && h.round <= last, Classify(err)
}

func (h snapshotHead) encode() []byte {
	b := []byte(snapshotFormat)
	for _, n := range []int64{h.schema, h.history.round, h.round, h.erasures, h.buckets, int64(h.sum)} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // decoded alike
	}
	b = append(append(b, h.history.start[:]...), h.program[:]...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errNoSnapshot = errors.New("there is none")
	errForeign    = errors.New("it is no snapshot of this version")
	errDamaged    = errors.New("it is damaged")
	errUnfit      = errors.New("it is of another database, or of a state that this one has not gone through")
)

// readHead reads the head of a snapshot of this version.
func readHead(f io.Reader) (h snapshotHead, err error) {
	own, err := builtIn()
	if err != nil {
		return h, err
	}
	b := make([]byte, snapshotHeadSize)
	_, err = io.ReadFull(f, b)
	sum := len(b) - 4
	switch {
	case err != nil:
		return h, errDamaged
	case !bytes.HasPrefix(b, []byte(snapshotFormat)):
		return h, errForeign
	case binary.BigEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli):
		return h, errDamaged
	}
	b = b[len(snapshotFormat):]
	var wide int64
	for _, n := range []*int64{&h.schema, &h.history.round, &h.round, &h.erasures, &h.buckets, &wide} {
		*n = int64(binary.BigEndian.Uint64(b)) //nolint:gosec // encoded alike
		b = b[8:]
	}
	h.sum = uint32(wide) //nolint:gosec // encoded from 32 bits
	copy(h.program[:], b[copy(h.history.start[:], b):])
	if h.schema != int64(len(own)) {
		return h, errForeign
	}
	return h, nil
}

// SaveIndex writes the snapshot of the index to Config.DataDir, unless the one that is there is of the same
// round. While the instance runs, it also leaves one that is less than an hour old, unless problems have been
// deleted since. It does nothing if the index is not loaded.
func (s *Store) SaveIndex(ctx context.Context, closing bool) error {
	k := s.indexCache
	if s.dataDir == "" || k.loaded.Load() == nil {
		return nil
	}
	if err := acquire(ctx, k.saving); err != nil {
		return err
	}
	defer func() { <-k.saving }()
	if !closing {
		if _, err := s.Index(Everything(ctx)); err != nil {
			return err
		}
	}
	l := k.loaded.Load()
	if s.saved(l, closing) {
		return nil
	}
	began := time.Now()
	head, size, err := s.writeSnapshot(ctx, l)
	if err != nil {
		return fmt.Errorf("write the snapshot of the index: %w", err)
	}
	s.Log.InfoContext(ctx, "wrote the snapshot of the index", "buckets", head.buckets, "bytes", size, "round", head.round,
		"seconds", time.Since(began).Seconds())
	return nil
}

// saved reports whether the snapshot in the folder, perhaps of another process, need not be replaced.
func (s *Store) saved(l *loadedIndex, closing bool) bool {
	f, err := os.Open(filepath.Join(s.dataDir, SnapshotName))
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	head, err := readHead(f)
	info, errInfo := f.Stat()
	if err != nil || errInfo != nil || head.history.start != l.history.start || head.erasures != l.at.server.erasures {
		return false
	}
	return head.round == l.at.round || !closing && time.Since(info.ModTime()) < snapshotAge
}

func (s *Store) writeSnapshot(ctx context.Context, l *loadedIndex) (head snapshotHead, size int64, err error) {
	removeOld(s.dataDir)
	f, err := os.CreateTemp(s.dataDir, "."+SnapshotName+"-*") // mode 0600
	if err != nil {
		return head, 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success, it has been renamed
	defer f.Close()           //nolint:errcheck // as above
	out := bufio.NewWriterSize(f, 1<<20)
	_, err = out.Write(make([]byte, snapshotHeadSize))
	for at, more := 0, true; more && err == nil; at += snapshotRows {
		var rows []index.BucketRow
		var programs []index.Program
		var versions []string
		var origins []index.Origin
		rows, programs, versions, origins, more = l.ix.Rows(at, at+snapshotRows)
		block := encodeBlock(rows, programs, versions, origins)
		head.buckets += int64(len(rows))
		head.sum = crc32.Update(head.sum, castagnoli, block)
		start := binary.BigEndian.AppendUint32(nil, uint32(len(block))) //nolint:gosec // a few MB
		_, err = out.Write(binary.BigEndian.AppendUint32(start, head.sum))
		if err == nil {
			_, err = out.Write(block)
		}
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return head, 0, err
	}
	// Updates of the index go on meanwhile: which rounds does it have by now?
	if err := acquire(ctx, s.indexCache.updating); err != nil {
		return head, 0, err
	}
	now := s.indexCache.loaded.Load()
	<-s.indexCache.updating
	own, err := builtIn()
	switch {
	case err != nil:
		return head, 0, err
	case now.ix != l.ix:
		return head, 0, errors.New("the index was loaded again meanwhile")
	case now.history.start == [16]byte{}:
		return head, 0, errors.New("no round has run yet")
	}
	head.schema, head.history, head.round, head.erasures = int64(len(own)), now.history, l.at.round, l.at.server.erasures
	if head.program, err = ownProgram(); err != nil {
		return head, 0, err
	}
	if err = out.Flush(); err == nil {
		_, err = f.WriteAt(head.encode(), 0)
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return head, 0, err
	}
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	if err := f.Close(); err != nil {
		return head, 0, err
	}
	return head, size, os.Rename(f.Name(), filepath.Join(s.dataDir, SnapshotName))
}

// removeOld removes unfinished snapshots of processes that have died.
func removeOld(folder string) {
	names, _ := filepath.Glob(filepath.Join(folder, "."+SnapshotName+"-*")) // the pattern is valid
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > snapshotAge {
			_ = os.Remove(name) // the next one tries again
		}
	}
}

// loadSnapshot returns the index of the snapshot, with the round up to which it is complete.
func (s *Store) loadSnapshot(ctx context.Context, at stamp) (*loadedIndex, error) {
	if s.dataDir == "" {
		return nil, errNoSnapshot
	}
	f, err := os.Open(filepath.Join(s.dataDir, SnapshotName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoSnapshot
	} else if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	head, err := readHead(f)
	if err != nil {
		return nil, err
	}
	if fits, err := s.includes(ctx, head.history); err != nil {
		return nil, err
	} else if !fits || head.erasures > at.server.erasures {
		return nil, errUnfit
	}
	// If problems were deleted since, some may have come back with other days.
	var there map[crash.BucketID]bool // nil: none was deleted
	if head.erasures != at.server.erasures {
		there = map[crash.BucketID]bool{}
		var id crash.BucketID
		if err := Each(ctx, s.Pool, sqlUnchanged, pgx.NamedArgs{"round": head.round}, []any{&id}, func() {
			there[id] = true
		}); err != nil {
			return nil, err
		}
	}
	ix, err := decodeSnapshot(ctx, f, head, index.DayOf(s.IndexSince().AddDate(0, 0, -1)), there)
	if err != nil {
		return nil, err
	}
	at.round = head.round
	return &loadedIndex{ix: ix, at: at, without: there != nil}, nil
}

// decodeSnapshot reads the blocks of a snapshot with all cores. It leaves out days before since.
func decodeSnapshot(ctx context.Context, f io.Reader, head snapshotHead, since index.Day,
	there map[crash.BucketID]bool) (*index.Index, error) {
	program, err := ownProgram()
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	blocks, decoded := make(chan []byte), make(chan block)
	group.Go(func() error {
		defer close(blocks)
		return readBlocks(ctx, bufio.NewReaderSize(f, 1<<20), head.sum, blocks)
	})
	workers := int64(runtime.GOMAXPROCS(0))
	left := atomic.Int64{}
	left.Store(workers)
	for range workers {
		group.Go(func() error {
			defer func() {
				if left.Add(-1) == 0 {
					close(decoded)
				}
			}()
			for data := range blocks {
				b, err := decodeBlock(data, since)
				if err != nil {
					return err
				}
				for i := range b.rows {
					if r := &b.rows[i]; !r.Plain || head.program != program {
						r.Plain = false
						r.Prepare()
					}
				}
				select {
				case decoded <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	}
	ix, buckets := index.New(), int64(0)
	ix.Update(func(u *index.Updater) {
		u.Expect(head.buckets)
		for b := range decoded {
			buckets += int64(len(b.rows))
			b.apply(u, there)
		}
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if buckets != head.buckets {
		return nil, errDamaged
	}
	return ix, nil
}

// readBlocks sends the blocks of a snapshot whose checksums are right.
func readBlocks(ctx context.Context, in io.Reader, want uint32, blocks chan<- []byte) error {
	var sum uint32
	for {
		var start [8]byte
		if _, err := io.ReadFull(in, start[:]); errors.Is(err, io.EOF) && sum == want {
			return nil
		} else if err != nil {
			return errDamaged
		}
		length := binary.BigEndian.Uint32(start[:])
		if length > maxSnapshotBlock {
			return errDamaged
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(in, data); err != nil {
			return errDamaged
		}
		if sum = crc32.Update(sum, castagnoli, data); sum != binary.BigEndian.Uint32(start[4:]) {
			return errDamaged
		}
		select {
		case blocks <- data:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// block is a decoded block. Its rows have numbers of its programs, and their cells those of its versions and origins.
type block struct {
	rows     []index.BucketRow
	programs []index.Program
	versions []string
	origins  []index.Origin
}

// apply adds the rows to an index, except those of buckets that are not there; nil: all are.
func (b block) apply(u *index.Updater, there map[crash.BucketID]bool) {
	versions, origins := make([]uint32, len(b.versions)), make([]uint16, len(b.origins))
	for i, v := range b.versions {
		versions[i] = u.Version(v)
	}
	programs := make([]uint32, len(b.programs))
	for i, p := range b.programs {
		programs[i] = u.Program(p)
	}
	for i, o := range b.origins {
		origins[i] = u.Origin(o)
	}
	for _, r := range b.rows {
		if there != nil && !there[r.ID] {
			continue
		}
		r.Program = programs[r.Program]
		for i := range r.Cells {
			c := &r.Cells[i]
			c.Version, c.Origin = versions[c.Version], origins[c.Origin]
		}
		u.SetRow(r)
	}
}

// blockWriter encodes a block: the lengths of its three parts, then numbers, texts of buckets, and the table
// of texts that several have.
type blockWriter struct {
	numbers, texts []byte
	of             map[string]uint64
	table          []string
}

func (w *blockWriter) number(n uint64) { w.numbers = binary.AppendUvarint(w.numbers, n) }
func (w *blockWriter) signed(n int64)  { w.numbers = binary.AppendVarint(w.numbers, n) }

func (w *blockWriter) text(s string) {
	w.number(uint64(len(s)))
	w.texts = append(w.texts, s...)
}

func (w *blockWriter) label(s string) {
	n, ok := w.of[s]
	if !ok {
		n = uint64(len(w.table))
		w.of[s], w.table = n, append(w.table, s)
	}
	w.number(n)
}

// What a row can be, as bits.
const (
	isProvisional = 1 << iota
	isPlain
)

func encodeBlock(rows []index.BucketRow, programs []index.Program, versions []string, origins []index.Origin) []byte {
	w := &blockWriter{of: map[string]uint64{}}
	w.number(uint64(len(rows)))
	usedPrograms, usedVersions, usedOrigins := map[uint32]uint64{}, map[uint32]uint64{}, map[uint16]uint64{}
	var programList []index.Program
	var versionList []string
	var originList []index.Origin
	for _, r := range rows {
		w.numbers = append(w.numbers, r.ID[:]...)
		w.numbers = append(w.numbers, r.Head[:]...)
		w.text(r.Signature)
		w.text(r.Title)
		w.text(r.Name)
		p, ok := usedPrograms[r.Program]
		if !ok {
			p = uint64(len(programList))
			usedPrograms[r.Program], programList = p, append(programList, programs[r.Program])
		}
		w.number(p)
		var is uint64
		if r.Provisional {
			is |= isProvisional
		}
		if r.Plain {
			is |= isPlain
		}
		w.number(is)
		w.signed(r.Reports)
		w.signed(r.Systems)
		w.signed(r.Machines)
		w.number(uint64(len(r.Seen)))
		for _, s := range r.Seen {
			w.signed(s.First.At.UnixMicro())
			w.signed(s.Last.At.UnixMicro() - s.First.At.UnixMicro())
			for _, text := range []string{string(s.First.Release), s.First.Version, s.Last.Version, s.Versions.Lowest,
				s.Versions.Highest} {
				w.label(text)
			}
		}
		w.number(uint64(len(r.Cells)))
		for _, c := range r.Cells {
			v, ok := usedVersions[c.Version]
			if !ok {
				v = uint64(len(versionList))
				usedVersions[c.Version], versionList = v, append(versionList, versions[c.Version])
			}
			o, ok := usedOrigins[c.Origin]
			if !ok {
				o = uint64(len(originList))
				usedOrigins[c.Origin], originList = o, append(originList, origins[c.Origin])
			}
			w.number(uint64(c.Day))
			w.number(v)
			w.number(o)
			w.number(uint64(c.Reports))
		}
	}
	end := &blockWriter{}
	for _, list := range [][]string{w.table, versionList} {
		end.number(uint64(len(list)))
		for _, s := range list {
			end.text(s)
		}
	}
	end.number(uint64(len(programList)))
	for _, p := range programList {
		for _, s := range []string{string(p.Rule), p.Type, p.Executable, p.Package, p.Source} {
			end.text(s)
		}
	}
	end.number(uint64(len(originList)))
	for _, o := range originList {
		end.text(o.Release)
		end.text(o.Machine)
		end.text(o.Package)
	}
	all := binary.AppendUvarint(nil, uint64(len(w.numbers)))
	all = binary.AppendUvarint(all, uint64(len(w.texts)))
	all = binary.AppendUvarint(all, uint64(len(end.numbers)))
	for _, part := range [][]byte{w.numbers, w.texts, end.numbers, end.texts} {
		all = append(all, part...)
	}
	return all
}

// blockReader decodes what a blockWriter has written. After an error it returns zero values.
type blockReader struct {
	numbers []byte
	texts   string
	bad     bool
}

func (r *blockReader) number() uint64 { return take(r, binary.Uvarint) }
func (r *blockReader) signed() int64  { return take(r, binary.Varint) }

func take[T any](r *blockReader, read func([]byte) (T, int)) (zero T) {
	if n, length := read(r.numbers); length > 0 {
		r.numbers = r.numbers[length:]
		return n
	}
	r.bad, r.numbers = true, nil
	return zero
}

// count returns the length of a list whose elements have at least a byte.
func (r *blockReader) count() int {
	n := r.number()
	if n > uint64(len(r.numbers)) {
		r.bad = true
		return 0
	}
	return int(n) //nolint:gosec // checked
}

func (r *blockReader) text() string {
	n := r.number()
	if n > uint64(len(r.texts)) {
		r.bad = true
		return ""
	}
	var s string
	s, r.texts = r.texts[:n], r.texts[n:]
	return s
}

func (r *blockReader) id() (id crash.BucketID) {
	if len(r.numbers) < len(id) {
		r.bad, r.numbers = true, nil
		return id
	}
	copy(id[:], r.numbers)
	r.numbers = r.numbers[len(id):]
	return id
}

func (r *blockReader) list() []string {
	list := make([]string, r.count())
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func decodeBlock(data []byte, since index.Day) (b block, err error) {
	lengths := blockReader{numbers: data}
	numbers, texts, ends := lengths.number(), lengths.number(), lengths.number()
	rest := lengths.numbers
	size := uint64(len(rest))
	if lengths.bad || numbers > size || texts > size || ends > size || numbers+texts+ends > size {
		return b, errDamaged
	}
	r := blockReader{numbers: rest[:numbers], texts: string(rest[numbers : numbers+texts])}
	end := blockReader{numbers: rest[numbers+texts : numbers+texts+ends], texts: string(rest[numbers+texts+ends:])}
	table := end.list()
	b.versions = end.list()
	b.programs = make([]index.Program, end.count())
	for i := range b.programs {
		b.programs[i] = index.Program{Rule: crash.GroupingRule(end.text()), Type: end.text(), Executable: end.text(),
			Package: end.text(), Source: end.text()}
	}
	b.origins = make([]index.Origin, end.count())
	for i := range b.origins {
		b.origins[i] = index.Origin{Release: end.text(), Machine: end.text(), Package: end.text()}
	}
	label := func() string {
		n := r.number()
		if n >= uint64(len(table)) {
			r.bad = true
			return ""
		}
		return table[n]
	}
	b.rows = make([]index.BucketRow, r.count())
	for i := range b.rows {
		b.rows[i] = decodeRow(&r, label, since, b)
		if r.bad || end.bad {
			return b, errDamaged
		}
	}
	return b, nil
}

func decodeRow(r *blockReader, label func() string, since index.Day, b block) (row index.BucketRow) {
	row.ID, row.Head = r.id(), r.id()
	row.Signature, row.Title, row.Name = r.text(), r.text(), r.text()
	program := r.number()
	if program >= uint64(len(b.programs)) {
		r.bad = true
		return row
	}
	row.Program = uint32(program) //nolint:gosec // checked
	of := b.programs[program]
	row.Rule, row.Type, row.Executable, row.Package, row.Source = of.Rule, of.Type, of.Executable, of.Package, of.Source
	is := r.number()
	row.Provisional, row.Plain = is&isProvisional != 0, is&isPlain != 0
	row.Reports, row.Systems, row.Machines = r.signed(), r.signed(), r.signed()
	row.Seen = make([]crash.SeenSpan, r.count())
	for i := range row.Seen {
		s := &row.Seen[i]
		first := r.signed()
		s.First.At, s.Last.At = time.UnixMicro(first).UTC(), time.UnixMicro(first+r.signed()).UTC()
		s.First.Release = crash.Release(label())
		s.Last.Release = s.First.Release
		s.First.Version, s.Last.Version, s.Versions.Lowest, s.Versions.Highest = label(), label(), label(), label()
	}
	n := r.count()
	row.Cells = make([]index.Cell, 0, n)
	for range n {
		day, version, origin, reports := r.number(), r.number(), r.number(), r.number()
		if day > 1<<16-1 || version >= uint64(len(b.versions)) || origin >= uint64(len(b.origins)) || reports > 1<<32-1 {
			r.bad = true
			return row
		}
		if c := (index.Cell{Day: index.Day(day), Version: uint32(version), Origin: uint16(origin), //nolint:gosec // checked
			Reports: uint32(reports)}); c.Day >= since {
			row.Cells = append(row.Cells, c)
		}
	}
	return row
}
