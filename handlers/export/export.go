// Package export sends lists as files (CSV, JSON) and feeds (Atom).
package export

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/db"
	"mishap/handlers/web"
)

// ExportTime is the maximum duration of an export, including the time in which a slow client
// reads it.
const ExportTime = 15 * time.Minute

// Table is a list to export. Its rows are generated while they are written.
type Table struct {
	Title   string
	Path    string // path of the page, with its query
	Columns []string
	Rows    iter.Seq2[Row, error]

	missing func() db.ArchivedList // nil: nothing is missing
}

// lacks returns which reports the rows lack so far, because an archive has failed.
func (t Table) lacks() db.ArchivedList {
	if t.missing == nil {
		return nil
	}
	return t.missing()
}

// Row is one row of a table: a value for each column (string, int, int64 or time.Time), and the
// fields of its feed entry.
type Row struct {
	Cells   []any
	Path    string    // path of its page, which also identifies it permanently
	Title   string    // one line
	Summary string    // a few sentences
	First   time.Time // start of its existence
	Last    time.Time // latest event
}

// Export sends a table in a format. If the client's copy is current, it answers 304 and does not
// call build. private names what the table depends on besides public data, such as the account
// that reads it; such a table has no Last-Modified header, because its time of change is
// unknown.
//
//nolint:contextcheck // see LongContext
func (s *Exporter) Export(w http.ResponseWriter, r *http.Request, format, private string,
	build func(context.Context) (Table, error),
) error {
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return err
	}
	changed := s.revisions.since(revision+s.web.Now().UTC().Format(time.DateOnly), s.web.Now())
	u := web.CurrentUser(r)
	sum := sha256.Sum256([]byte(strings.Join([]string{
		revision, s.web.Now().UTC().Format(time.DateOnly), format, r.URL.RequestURI(), string(u.Role),
		fmt.Sprint(u.Private), private, db.HiddenKey(r.Context()),
	}, "\n")))
	h := w.Header()
	h.Set("ETag", `W/"`+hex.EncodeToString(sum[:12])+`"`)
	var modified time.Time
	if private == "" {
		modified = changed
		h.Set("Last-Modified", modified.Format(http.TimeFormat))
	}
	h.Set("Cache-Control", "no-cache")
	if u.ID != 0 {
		h.Set("Cache-Control", "private, no-cache")
	}
	h.Add("Vary", "Accept")
	tag := h.Get("ETag")
	if notModified(r, tag, modified) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if u.ID == 0 {
		return s.web.PublicFile(w, r, revision+s.web.Now().UTC().Format(time.DateOnly), tag, ExportTime,
			func(ctx context.Context, w http.ResponseWriter, rest func() error) error {
				t, err := build(ctx)
				if err != nil {
					return err
				}
				w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
				describe(w, format, t)
				t.Rows = restingRows(t.Rows, rest)
				return s.writeTable(w, r, format, t, changed)
			})
	}
	ctx, cancel := LongContext(w, r)
	defer cancel()
	t, err := build(ctx)
	if err != nil {
		return err
	}
	describe(w, format, t)
	t.missing = func() db.ArchivedList { return db.MissingIn(ctx) }
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.stream(w, r, format, t, changed)
}

// LongContext returns a context for an answer that may take ExportTime. It ends when the client disconnects.
func LongContext(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	request := r.Context()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request), ExportTime)
	stop := context.AfterFunc(request, func() {
		if context.Cause(request) == context.Canceled { //nolint:errorlint // exactly this error: the client disconnected
			cancel()
		}
	})
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ExportTime)) // not every writer supports it
	return ctx, func() {
		stop()
		cancel()
	}
}

// describe sets the headers that say what a file is.
func describe(w http.ResponseWriter, format string, t Table) {
	w.Header().Set("Content-Type", web.ExportTypes[format])
	if format == "csv" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(t.Path)+`.csv"`)
	}
}

// restingRows returns rows that calls rest before each row.
func restingRows(rows iter.Seq2[Row, error], rest func() error) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				err = rest()
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// notModified reports whether the client's copy is current. An entity tag takes precedence over
// a time. The zero time means that the time of change is unknown.
func notModified(r *http.Request, tag string, changed time.Time) bool {
	if sent := r.Header.Get("If-None-Match"); sent != "" {
		return web.Matches(sent, tag)
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !changed.IsZero() && !changed.After(since)
}

// fileName returns a file name, without extension, for the page at path.
func fileName(path string) string {
	path, _, _ = strings.Cut(strings.Trim(path, "/"), "?")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, path)
	if name = strings.Trim(name, "-."); name == "" {
		return "problems"
	}
	return name[:min(len(name), 100)]
}

// revisions records when this instance first saw the current revision.
type revisions struct {
	mu       sync.Mutex
	revision string
	first    time.Time
}

// since returns when this instance first saw a revision, rounded up to a full second. The time
// of each revision is later than that of the previous one.
func (v *revisions) since(revision string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if revision != v.revision {
		from := now.UTC().Truncate(time.Second).Add(time.Second)
		if !from.After(v.first) {
			from = v.first.Add(time.Second)
		}
		v.revision, v.first = revision, from
	}
	return v.first
}

// Pages returns the rows of a list that read returns page by page. Each page begins after the
// last element of the previous one.
func Pages[T any](read func(after *T) ([]T, error), rowOf func(T) Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var after *T
		for {
			list, err := read(after)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for i := range list {
				if !yield(rowOf(list[i]), nil) {
					return
				}
			}
			if len(list) < ExportPage {
				return
			}
			after = &list[len(list)-1]
		}
	}
}

// RowsOf returns the rows of a list.
func RowsOf[T any](list []T, rowOf func(T) Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, one := range list {
			if !yield(rowOf(one), nil) {
				return
			}
		}
	}
}

// New returns an Exporter.
func New(kit *web.Kit, store *db.Store) *Exporter { return &Exporter{web: kit, store: store} }

// ExportPage is the number of rows that an export reads at once.
const ExportPage = 500

// ErrNoFormat is the error for a file extension that is not an export format.
var ErrNoFormat = crash.Errorf(crash.NotFound, "no_page",
	"There is no such file. Lists are available as .csv, .json and .atom.")

// File returns the handler of a list as a file or feed at an address of its own, which ends in the format.
func File(
	send func(w http.ResponseWriter, r *http.Request, format string) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		format := r.PathValue("format")
		if web.ExportTypes[format] == "" {
			return ErrNoFormat
		}
		return send(w, r, format)
	}
}

// Exporter sends lists as files and feeds.
type Exporter struct {
	web       *web.Kit
	store     *db.Store
	revisions revisions
}

// MaxFeed is the maximum number of entries in a feed. It is small because feed readers poll.
const MaxFeed = 100

// stream sends a table while it is read. An error before the first byte is returned, so that the
// client receives an error page. A later error aborts the connection, so that the client does
// not take a partial file for a complete one; so does an archive that fails later. If one has failed before
// the first byte, the file says what it lacks.
func (s *Exporter) stream(w http.ResponseWriter, r *http.Request, format string, t Table, changed time.Time) error {
	started, said := false, false
	err := s.writeTable(writerFunc(func(p []byte) (int, error) {
		switch missing := t.lacks(); {
		case len(missing) > 0 && !started:
			said = true
			sayMissing(w, missing)
		case len(missing) > 0 && !said:
			return 0, db.ErrArchiveAway
		}
		started = true
		return w.Write(p)
	}), r, format, t, changed)
	if err != nil && started {
		if r.Context().Err() == nil {
			s.web.Log.WarnContext(r.Context(), "export aborted", "request_id", web.RequestID(r), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return err
}

// sayMissing sets the headers of a file that lacks reports. No later request may get it as unchanged.
func sayMissing(w http.ResponseWriter, missing db.ArchivedList) {
	web.SetMissing(w, missing)
	h := w.Header()
	h.Del("ETag")
	h.Del("Last-Modified")
	h.Set("Cache-Control", "no-store")
	if name, ok := strings.CutSuffix(h.Get("Content-Disposition"), `.csv"`); ok {
		h.Set("Content-Disposition", name+"-from-"+missing.Until().Format(time.DateOnly)+`.csv"`)
	}
}

func (s *Exporter) writeTable(w io.Writer, r *http.Request, format string, t Table, changed time.Time) error {
	out := bufio.NewWriterSize(w, 32<<10)
	var err error
	switch format {
	case "csv":
		err = writeCSV(out, t)
	case "json":
		err = writeJSONTable(out, t, s.web.Base.String())
	case "atom":
		err = writeAtom(out, t, s.web.Base.String(), r.URL.RequestURI(), changed)
	default:
		return ErrNoFormat
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// writeCSV writes a table as CSV (RFC 4180): a header line, and lines that end in CR LF.
func writeCSV(out io.Writer, t Table) error {
	c := csv.NewWriter(out)
	c.UseCRLF = true
	if err := c.Write(t.Columns); err != nil {
		return err
	}
	line := make([]string, len(t.Columns))
	for r, err := range t.Rows {
		if err != nil {
			return err
		}
		for i, cell := range r.Cells {
			line[i] = csvText(cell)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// csvText formats a cell as CSV. It removes hidden characters, makes control characters visible, and
// puts an apostrophe before text that a spreadsheet would evaluate as a formula.
func csvText(cell any) string {
	text, isText := cell.(string)
	if !isText {
		return plainText(cell)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
			return utf8.RuneError
		}
		return r
	}, crash.WithoutHidden(text))
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// plainText formats a cell without escaping it.
func plainText(cell any) string {
	switch v := cell.(type) {
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		if !v.IsZero() {
			return v.UTC().Format(time.RFC3339)
		}
	case string:
		return v
	}
	return ""
}

// writeJSONTable writes one object: the title, the address of the page, and the rows as objects
// with a member for each column.
func writeJSONTable(out *bufio.Writer, t Table, base string) error {
	head, err := json.Marshal(map[string]string{"title": t.Title, "url": base + t.Path})
	if err != nil {
		return err
	}
	var b strings.Builder
	b.Write(head[:len(head)-1])
	b.WriteString(`,"objects":[`)
	if _, err := out.WriteString(b.String()); err != nil {
		return err
	}
	separator := "\n"
	for r, err := range t.Rows {
		if err != nil {
			return err
		}
		b.Reset()
		b.WriteString(separator + "{")
		separator = ",\n"
		for i, cell := range r.Cells {
			if at, isTime := cell.(time.Time); isTime && at.IsZero() {
				cell = nil
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(t.Columns[i]) + ":")
			b.Write(value)
		}
		b.WriteByte('}')
		if _, err := out.WriteString(b.String()); err != nil {
			return err
		}
	}
	end := "\n]"
	if missing := t.lacks(); len(missing) > 0 {
		end += `,"missing_before":"` + missing.Until().Format(time.DateOnly) + `"`
	}
	_, err = out.WriteString(end + "}\n")
	return err
}

// The elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Title   string   `xml:"title"`
		Lacks   string   `xml:"subtitle,omitempty"`
		Updated string   `xml:"updated"`
		Author  string   `xml:"author>name"`
		Links   []atomLink
		Entries []atomEntry
	}
	atomLink struct {
		XMLName xml.Name `xml:"link"`
		Rel     string   `xml:"rel,attr"`
		Type    string   `xml:"type,attr"`
		Href    string   `xml:"href,attr"`
	}
	atomEntry struct {
		XMLName   xml.Name `xml:"entry"`
		ID        string   `xml:"id"`
		Title     string   `xml:"title"`
		Published string   `xml:"published"`
		Updated   string   `xml:"updated"`
		Link      atomLink
		Summary   string `xml:"summary"`
	}
)

// writeAtom writes the first MaxFeed rows as an Atom feed.
func writeAtom(out io.Writer, t Table, base, self string, changed time.Time) error {
	page := base + t.Path
	feed := atomFeed{
		ID: page, Title: t.Title + " · mishap", Updated: changed.UTC().Format(time.RFC3339), Author: "mishap",
		Links: []atomLink{
			{Rel: "self", Type: "application/atom+xml", Href: base + self},
			{Rel: "alternate", Type: "text/html", Href: page},
		},
	}
	for r, err := range t.Rows {
		if err != nil {
			return err
		}
		at := r.First
		if at.IsZero() {
			at = changed
		}
		feed.Entries = append(feed.Entries, atomEntry{
			ID: base + r.Path, Title: crash.OneLine(r.Title),
			Published: at.UTC().Format(time.RFC3339), Updated: at.UTC().Format(time.RFC3339),
			Link: atomLink{Rel: "alternate", Type: "text/html", Href: base + r.Path}, Summary: xmlText(r.Summary),
		})
		if len(feed.Entries) == MaxFeed {
			break
		}
	}
	feed.Lacks = t.lacks().Text()
	_, err1 := io.WriteString(out, xml.Header)
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return errors.Join(err1, e.Encode(feed), e.Close())
}

// xmlText removes the characters that XML does not allow.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}
