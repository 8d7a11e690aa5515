// Package apport reads and writes the .crash files that apport stores in /var/crash, and decodes what
// whoopsie sends of them. Reading uses a limited amount of memory, never recurses, and limits the number
// of fields, since reports contain core dumps and come from strangers. The package does not interpret
// fields.
package apport

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"mishap/crash"
)

// Limits restrict the resources that reading one file can use. Zero values mean the defaults in the
// comments.
type Limits struct {
	Fields       int   // number of fields; default 10,000
	Text         int64 // size of all texts in bytes; default 64 MiB
	Decompressed int64 // decompressed size of one field in bytes; default 1 GiB
}

func (l Limits) orDefault() Limits {
	if l.Fields == 0 {
		l.Fields = 10_000
	}
	if l.Text == 0 {
		l.Text = 64 << 20
	}
	if l.Decompressed == 0 {
		l.Decompressed = 1 << 30
	}
	return l
}

// Binary describes a field whose value Read does not return: a memory dump, or a value that is not
// text.
type Binary struct {
	Name string
	Size int64 // in bytes, decompressed
	More bool  // the value is larger than Size, where reading stopped
}

const maxKey = 256

// Read reads a .crash file like apport: of several fields with one name, the last one counts. It
// returns texts as fields, with U+FFFD for invalid UTF-8 and NUL. It only lists binary values, and
// always CoreDump, CoreDump.zst and VmCore.
//
// Unlike apport, it treats each value without NUL as text. It drops an empty field "separator", which
// apport writes by mistake.
//
// Errors of the file have the kind Invalid (code malformed_report) or TooLarge (report_too_large),
// and name the line and the cause for people. An error of r is returned unchanged.
func Read(r io.Reader, lim Limits) (crash.Fields, []Binary, error) { return read(r, lim, nil) }

// ReadCore is like Read, but also writes the decompressed CoreDump to core. It returns an error of core
// unchanged. A second CoreDump is an error, because the first one has been written.
func ReadCore(r io.Reader, lim Limits, core io.Writer) (crash.Fields, []Binary, error) {
	return read(r, lim, &coreWriter{w: core})
}

// OpenCore returns the core dump in a file that Read has read: lines of base64, as whoopsie sends them.
// The error is Invalid if there is none in this form.
func OpenCore(r io.Reader) (io.Reader, error) {
	f := &file{in: bufio.NewReaderSize(r, 64<<10), lim: Limits{}.orDefault()}
	for {
		switch _, err := f.in.Peek(1); {
		case errors.Is(err, io.EOF):
			return nil, crash.Errorf(crash.Invalid, "no_core", "The core is not compressed and encoded in base64.")
		case err != nil:
			return nil, err
		}
		key, err := f.key()
		if err != nil {
			return nil, err
		}
		value, err := f.restOfLine()
		if err != nil {
			return nil, err
		}
		text := &chunks{f: f}
		if IsCore(key) && strings.TrimSpace(value) == "base64" {
			return text, nil
		}
		if _, err := io.Copy(io.Discard, text); err != nil {
			return nil, err
		}
	}
}

func read(r io.Reader, lim Limits, core *coreWriter) (crash.Fields, []Binary, error) {
	f := &file{in: bufio.NewReaderSize(r, 64<<10), lim: lim.orDefault(), fields: crash.Fields{},
		binary: map[string]Binary{}, core: core}
	for {
		more, err := f.field()
		if err != nil {
			return nil, nil, err
		}
		if !more {
			break
		}
	}
	if value, ok := f.fields["separator"]; ok && value == "" {
		delete(f.fields, "separator")
	}
	byName := func(a, b Binary) int { return strings.Compare(a.Name, b.Name) }
	return f.fields, slices.SortedFunc(maps.Values(f.binary), byName), nil
}

type file struct {
	in     *bufio.Reader
	line   int // number of lines started
	lim    Limits
	text   int64 // bytes of text stored
	fields crash.Fields
	binary map[string]Binary
	core   *coreWriter // nil: the core is not wanted
}

func (f *file) field() (bool, error) {
	first, err := f.in.Peek(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.line++
	if first[0] == ' ' {
		return false, f.malformed("continues a value, but no key stands before it")
	}
	key, err := f.key()
	if err != nil {
		return false, err
	}
	at := f.line
	delete(f.fields, key)
	delete(f.binary, key)
	if len(f.fields)+len(f.binary) == f.lim.Fields {
		return false, f.tooLarge("the report has more than %d fields", f.lim.Fields)
	}
	value, err := f.restOfLine()
	if err != nil {
		return false, err
	}
	trimmed := strings.Trim(value, " \t\r\v\f\n")
	if trimmed == "base64" {
		return true, f.compressedField(key, at)
	}
	return true, f.textField(key, trimmed)
}

// textField reads the continuation lines of a value that begins on the line of its key. It loses empty lines
// at the beginning, so a value can begin on the line after its key.
func (f *file) textField(key, value string) error {
	if value != "" {
		value += "\n"
	}
	room := f.lim.Text + 1 - f.text - int64(len(value))
	more, err := io.ReadAll(io.LimitReader(&chunks{f: f}, room+1))
	switch {
	case err != nil:
		return err
	case int64(len(more)) > room:
		return f.textTooLarge()
	case value == "":
		value = strings.TrimLeft(string(more), "\n")
	default:
		value += string(more)
	}
	f.store(key, strings.TrimSuffix(value, "\n"))
	return nil
}

func (f *file) key() (string, error) {
	var key []byte
	for {
		c, err := f.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF), err == nil && c == '\n', len(key) > maxKey:
			return "", f.malformed("has no colon between the key and its value, so this is no .crash file")
		case err != nil:
			return "", err
		case c == ':':
			if !ValidKey(string(key)) {
				return "", f.malformed("has the key %q; a key is made of letters, digits, dots, hyphens and underscores", key)
			}
			return string(key), nil
		}
		key = append(key, c)
	}
}

// restOfLine reads the rest of the line, without its line end.
func (f *file) restOfLine() (string, error) {
	var value []byte
	for {
		part, err := f.in.ReadSlice('\n')
		value = append(value, part...)
		if f.text+int64(len(value)) > f.lim.Text+1 {
			return "", f.textTooLarge()
		}
		if err == nil || errors.Is(err, io.EOF) {
			return strings.TrimSuffix(string(value), "\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

func (f *file) textTooLarge() error {
	return f.tooLarge("the texts of the report are larger than %d bytes", f.lim.Text)
}

func (f *file) store(key, value string) {
	if isDump(key) || !mustBeText[key] && strings.Contains(value, "\x00") {
		f.binary[key] = Binary{Name: key, Size: int64(len(value))}
		return
	}
	value = clean(value)
	f.text += int64(len(value))
	f.fields[key] = value
}

const replacement = "\uFFFD"

func (f *file) malformed(format string, args ...any) error {
	return crash.Errorf(crash.Invalid, "malformed_report", "Line %d %s.", f.line, fmt.Sprintf(format, args...))
}

func (f *file) tooLarge(format string, args ...any) error {
	return crash.Errorf(crash.TooLarge, "report_too_large", "Line %d: %s.", f.line, fmt.Sprintf(format, args...))
}

// IsCore reports whether a field is the core dump of a program. systemd-coredump's are compressed.
func IsCore(name string) bool { return name == "CoreDump" || name == "CoreDump.zst" }

func isDump(name string) bool { return IsCore(name) || name == "VmCore" }

// compressedField reads a value that is compressed and encoded in base64. It decompresses memory
// dumps only to verify them.
func (f *file) compressedField(key string, at int) error {
	next, err := f.in.Peek(1)
	if errors.Is(err, io.EOF) || err == nil && next[0] != ' ' {
		f.store(key, "")
		return nil
	}
	if err != nil {
		return err
	}
	value := &limited{max: f.lim.Text - f.text, discard: isDump(key)}
	text := &chunks{f: f}
	var into io.Writer = value
	if IsCore(key) && f.core != nil {
		if f.core.used {
			f.line = at
			return f.malformed("begins a second core dump")
		}
		f.core.used = true
		into = f.core
	}
	n, err := Decompress(into, text, f.lim.Decompressed)
	if f.core != nil && f.core.err != nil {
		return f.core.err
	}
	if text.err != nil && !errors.Is(text.err, io.EOF) {
		return text.err
	}
	switch {
	case errors.Is(err, ErrLimit):
		f.binary[key] = Binary{Name: key, Size: n, More: true}
	case err != nil:
		f.line = at
		return f.malformed("begins the compressed value of %s, which is damaged or cut short (%v)", key, err)
	case value.discard || value.over:
		f.binary[key] = Binary{Name: key, Size: n}
	default:
		f.store(key, value.b.String())
	}
	_, err = io.Copy(io.Discard, text)
	return err
}

type coreWriter struct {
	w    io.Writer
	used bool
	err  error
}

func (c *coreWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.err = err
	return n, err
}

// chunks reads the continuation lines of a value, without their leading blank but with their line
// ends.
type chunks struct {
	f      *file
	inLine bool
	err    error
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	if !c.inLine {
		next, err := c.f.in.Peek(1)
		if err == nil && next[0] != ' ' {
			err = io.EOF
		}
		if err != nil {
			c.err = err
			return 0, err
		}
		_, _ = c.f.in.Discard(1)
		c.f.line++
		c.inLine = true
	}
	if _, err := c.f.in.Peek(1); err != nil {
		c.err = err
		return 0, err
	}
	part, _ := c.f.in.Peek(min(len(p), c.f.in.Buffered()))
	if end := bytes.IndexByte(part, '\n'); end >= 0 {
		part, c.inLine = part[:end+1], false
	}
	n := copy(p, part)
	_, _ = c.f.in.Discard(n)
	return n, nil
}

type limited struct {
	b       strings.Builder
	max     int64
	discard bool
	over    bool
}

func (l *limited) Write(p []byte) (int, error) {
	if !l.discard && !l.over && int64(l.b.Len()+len(p)) > l.max {
		l.over = true
		l.b.Reset()
	}
	if !l.discard && !l.over {
		l.b.Write(p)
	}
	return len(p), nil
}

// ValidKey reports whether key can be the name of a field in a .crash file. It must consist of
// ASCII letters, digits, '.', '-' and '_', with at least one letter or digit.
func ValidKey(key string) bool {
	alphanumeric := false
	for i := range len(key) {
		switch c := key[i]; {
		case '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
			alphanumeric = true
		case c != '.' && c != '-' && c != '_':
			return false
		}
	}
	return alphanumeric && len(key) <= maxKey
}

// mustBeText lists the fields whose values are always text. Every report may have them, and they
// determine its grouping. In other fields, NUL marks binary data.
var mustBeText = set(
	"Annotation", "ApportVersion", "Architecture", "AssertionMessage", "CrashCounter", "CurrentDesktop", "Date",
	"Dependencies", "Disassembly", "DistroRelease", "DpkgTerminalLog", "DuplicateSignature", "ErrorMessage",
	"ExecutablePath", "ExecutableTimestamp", "Failure", "HotplugNewDevices", "InstallationDate", "InstallationMedia",
	"InterpreterPath", "JournalErrors", "LiveMediaBuild", "MachineType", "NonfreeKernelModules", "OopsText", "Package",
	"PackageArchitecture", "ProblemType", "ProcAttrCurrent", "ProcCmdline", "ProcCwd", "ProcEnviron", "ProcMaps",
	"ProcStatus", "PythonArgs", "Registers", "Signal", "SignalName", "SourcePackage", "Stacktrace",
	"StacktraceAddressSignature", "StacktraceTop", "Tags", "ThreadStacktrace", "Title", "Traceback", "Uname",
	"UnreportableReason", "UpgradeStatus", "UserGroups", "_PythonExceptionQualifier", "dmi.bios.version",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// Write writes fields as a .crash file that [Read] reads back. ProblemType comes first; the others
// are sorted by name. It compresses values with leading empty lines, which the text format would
// lose. For a field name that the format does not allow, it returns an error of kind Invalid (code
// invalid_key).
func Write(w io.Writer, fields crash.Fields) error {
	out := bufio.NewWriter(w)
	place := func(key string) int {
		if key == "ProblemType" {
			return 0
		}
		return 1
	}
	byPlace := func(a, b string) int { return cmp.Or(place(a)-place(b), strings.Compare(a, b)) }
	for _, key := range slices.SortedFunc(maps.Keys(fields), byPlace) {
		if !ValidKey(key) {
			return crash.Errorf(crash.Invalid, "invalid_key", "A .crash file cannot hold a field named %q.", key)
		}
		if err := writeField(out, key, fields[key]); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeField(out *bufio.Writer, key, value string) error {
	var err error
	switch {
	case strings.HasPrefix(value, "\n"): // the text format loses leading empty lines
		err = writeCompressed(out, key, value)
	case value == "base64", strings.Contains(value, "\n"), strings.Trim(value, " \t\r\v\f") != value:
		_, err = out.WriteString(key + ":\n " + strings.ReplaceAll(value, "\n", "\n ") + "\n")
	default:
		_, err = out.WriteString(key + ": " + value + "\n")
	}
	return err
}

func writeCompressed(out *bufio.Writer, key, value string) error {
	if _, err := out.WriteString(key + ": base64\n "); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, out)
	z := gzip.NewWriter(text)
	z.Name = key
	if _, err := io.WriteString(z, value); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	return out.WriteByte('\n')
}

// leftOutField is the field that lists the names of fields that a file cannot contain.
const leftOutField = "MishapLeftOut"

// Writable returns the fields that [Write] can write, and the sorted names of the others, since
// machines can send fields with any name. If there are others, it lists them in the field
// MishapLeftOut.
func Writable(fields crash.Fields) (writable crash.Fields, left []string) {
	writable = make(crash.Fields, len(fields))
	for name, value := range fields {
		if ValidKey(name) {
			writable[name] = value
		} else {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if len(left) > 0 {
		writable[leftOutField] = strings.Join(left, "\n")
	}
	return writable, left
}

// WriteDump appends a compressed field to a .crash file. text is base64 in lines, as apport writes
// and whoopsie sends it.
func WriteDump(w io.Writer, name string, text io.Reader) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(name + ": base64\n "); err != nil {
		return err
	}
	in, begun := bufio.NewReader(text), true
	for {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case c == '\r':
			continue
		case c == '\n':
			begun = false
			continue
		case !begun:
			if _, err := out.WriteString("\n "); err != nil {
				return err
			}
			begun = true
		}
		if err := out.WriteByte(c); err != nil {
			return err
		}
	}
	if err := out.WriteByte('\n'); err != nil {
		return err
	}
	return out.Flush()
}

// errFormat is returned if the decoded base64 is not compressed in a known format.
var errFormat = errors.New("neither gzip, zstd nor zlib")

// ErrLimit is returned if the decompressed value is larger than the caller allows.
var ErrLimit = errors.New("larger than allowed")

// maxWindow is the largest window of a zstd stream, in bytes. The decoder allocates it. It is also
// limited to the limit of the decompressed size.
const maxWindow = 32 << 20

// Decompress decompresses text, a value of a report in apport's format: base64, with padding in each
// line, of gzip, zstd or bare zlib data. It writes at most limit bytes to w. It returns the number of bytes
// written. It returns ErrLimit if the value is larger than limit, or if decompressing it requires a
// window of that size. Other errors mean that text is malformed: errFormat, invalid base64, or an
// invalid or truncated stream.
func Decompress(w io.Writer, text io.Reader, limit int64) (int64, error) {
	decompressed, err := newReader(text, limit)
	if err != nil {
		return 0, err
	}
	defer func() { _ = decompressed.Close() }() // only read from
	n, err := io.Copy(w, io.LimitReader(decompressed, limit))
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return n, ErrLimit
	}
	if err != nil || n < limit {
		return n, err
	}
	switch _, err := io.ReadFull(decompressed, make([]byte, 1)); {
	case err == nil:
		return n, ErrLimit
	case errors.Is(err, io.EOF):
		return n, nil
	default:
		return n, err
	}
}

// newReader decompresses text, and once more if the result is a zstd stream again, as in apport's
// CoreDump.zst. It ignores data after the end of a gzip or zlib stream.
func newReader(text io.Reader, limit int64) (io.ReadCloser, error) {
	outer, err := decompressor(bufio.NewReaderSize(&lineDecoder{in: bufio.NewReader(text)}, 32<<10), limit)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(outer)
	if start, _ := in.Peek(4); formOf(start) != formZstd { // a later read returns the error
		return readCloser{in, outer.Close}, nil
	}
	inner, err := decompressor(bufio.NewReader(io.LimitReader(in, limit)), limit)
	if err != nil {
		return nil, errors.Join(err, outer.Close())
	}
	return readCloser{inner, func() error { return errors.Join(inner.Close(), outer.Close()) }}, nil
}

type readCloser struct {
	io.Reader
	close func() error
}

func (r readCloser) Close() error { return r.close() }

// decompressor chooses the format by the first bytes.
func decompressor(in *bufio.Reader, limit int64) (io.ReadCloser, error) {
	start, err := in.Peek(4)
	if len(start) < 2 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch form := formOf(start); form {
	case formGzip:
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		r.Multistream(false)
		return r, nil
	case formZstd:
		window := uint64(max(zstd.MinWindowSize, min(limit, maxWindow)))
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return r.IOReadCloser(), nil
	case formZlib:
		r, err := zlib.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		return r, nil
	default:
		return nil, errFormat
	}
}

type form int

const (
	formNone form = iota
	formGzip
	formZstd
	formZlib
)

func formOf(start []byte) form {
	switch s := string(start); {
	case strings.HasPrefix(s, "\x1f\x8b\x08"):
		return formGzip
	case strings.HasPrefix(s, "\x28\xb5\x2f\xfd"):
		return formZstd
	case len(s) >= 2 && s[0]&0x0f == 8 && s[0]>>4 <= 7 && (int(s[0])<<8|int(s[1]))%31 == 0:
		return formZlib
	default:
		return formNone
	}
}

// isCompressed reports whether text may be a compressed value without apport's marker: its first line is
// the base64 encoding of a known header.
func isCompressed(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) < 4 || len(line)%4 != 0 {
		return false
	}
	start := make([]byte, 6)
	n, err := base64.StdEncoding.Decode(start, []byte(line[:min(8, len(line))]))
	return err == nil && formOf(start[:n]) != formNone
}

// errPadding is returned for a line of base64 that ends within a group of four characters.
var errPadding = errors.New("a line of base64 is not complete")

// lineDecoder decodes base64 in which each line has its own padding. Like Python, it skips
// characters outside the alphabet and anything between the padding and the end of a line. Its Read
// needs space for three bytes.
type lineDecoder struct {
	in     *bufio.Reader
	bits   uint32 // of the present group of characters
	n      int    // number of characters in the group
	pads   int
	closed bool // the line's padding was complete
	err    error
}

const (
	skip    = 0xff
	pad     = 0xfe
	lineEnd = 0xfd
)

var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = skip
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['='], t['\n'] = pad, lineEnd
	return t
}()

// Read implements io.Reader. It returns errPadding or an error of the reader of the text.
func (d *lineDecoder) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= 3 && d.err == nil {
		var c byte
		if c, d.err = d.in.ReadByte(); d.err != nil {
			if errors.Is(d.err, io.EOF) && d.n != 0 {
				d.err = errPadding
			}
			break
		}
		switch s := sextets[c]; {
		case s == lineEnd:
			if d.n != 0 {
				d.err = errPadding
			}
			d.pads, d.closed = 0, false
		case s == skip || d.closed:
		case s == pad:
			if d.pads++; d.n >= 2 && d.n+d.pads >= 4 {
				n += copy(p[n:], d.group()[:d.n-1])
				d.n, d.closed = 0, true
			}
		default:
			d.bits, d.n, d.pads = d.bits<<6|uint32(s), d.n+1, 0
			if d.n == 4 {
				n += copy(p[n:], d.group())
				d.n = 0
			}
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, d.err
}

// group returns the bytes that the group encodes: three for four characters.
func (d *lineDecoder) group() []byte {
	bits := d.bits << (6 * (4 - d.n))
	return []byte{byte(bits >> 16), byte(bits >> 8), byte(bits)} //nolint:gosec // truncation is intended
}
