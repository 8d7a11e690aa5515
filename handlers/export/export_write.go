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

	"mishap/handlers/web"
)

// MaxFeed is how many entries a feed has: readers ask again and again.
const MaxFeed = 100

// writeTable writes a table in its format. The first row decides whether there is an answer or an error; an error after it
// cuts the connection, so that nobody takes half a file for a whole one.
func (s *Exporter) writeTable(w http.ResponseWriter, r *http.Request, format string, t Table, changed time.Time) error {
	begun := false
	out := bufio.NewWriterSize(writerFunc(func(p []byte) (int, error) {
		begun = true
		return w.Write(p)
	}), 32<<10)
	var err error
	switch format {
	case "csv":
		err = writeCSV(out, t)
	case "json":
		err = writeJSONTable(out, t, s.Base.String())
	case "atom":
		err = writeAtom(out, t, s.Base.String(), r.URL.RequestURI(), changed)
	default:
		return ErrNoFormat
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil && begun {
		if r.Context().Err() == nil {
			s.Log.WarnContext(r.Context(), "export broke off", "request_id", web.RequestID(r), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		for _, name := range []string{"ETag", "Last-Modified", "Content-Disposition"} {
			w.Header().Del(name)
		}
	}
	return err
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// writeCSV writes RFC 4180: a line of names, lines ended by CR and LF. Text that a spreadsheet would take for a formula
// gets an apostrophe in front.
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

func csvText(cell any) string {
	text, isText := cell.(string)
	if !isText {
		return plainText(cell)
	}
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r\n") || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") || strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}

// plainText writes a cell that is no text.
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

// writeJSONTable writes one object: the title, the page, and the rows as objects by column.
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

// The Atom feed of RFC 4287.
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

func writeAtom(out io.Writer, t Table, base, own string, changed time.Time) error {
	page := base + t.Path
	feed := atomFeed{
		ID: page, Title: t.Title + " · mishap", Updated: changed.UTC().Format(time.RFC3339), Author: "mishap",
		Links: []atomLink{{Rel: "self", Type: "application/atom+xml", Href: base + own}, {Rel: "alternate", Type: "text/html", Href: page}},
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
			ID: base + r.Path, Title: xmlText(r.Title), Published: at.UTC().Format(time.RFC3339), Updated: at.UTC().Format(time.RFC3339),
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

// xmlText leaves out what XML cannot hold.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}
