package export

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/handlers/web"
)

// MaxFeed is the maximum number of entries in a feed. It is small because feed readers poll.
const MaxFeed = 100

// stream sends a table while it is read. An error before the first byte is returned, so that the
// client receives an error page. A later error aborts the connection, so that the client does
// not take a partial file for a complete one.
func (s *Exporter) stream(w http.ResponseWriter, r *http.Request, format string, t Table, changed time.Time) error {
	started := false
	err := s.writeTable(writerFunc(func(p []byte) (int, error) {
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

// writeTable writes a table in a format.
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
	_, err = out.WriteString("\n]}\n")
	return err
}

// The elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Title   string   `xml:"title"`
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
