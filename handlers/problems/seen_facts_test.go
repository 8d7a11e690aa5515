package problems_test

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// seenReport is a report of one problem, with the time since its crash.
type seenReport struct {
	ago     time.Duration
	version string
	release crash.Release
}

const day = 24 * time.Hour

// seenReports are ordered by time of crash. The highest version is neither in the newest report nor
// from Ubuntu. Within Ubuntu 24.04, no order of versions matches the order of reports.
var seenReports = []seenReport{
	{30 * day, "0.9-1", "Kubuntu 24.04"}, // a derivative counts as another release
	{20 * day, "1.6-1", "Ubuntu 22.04"},
	{13 * day, "1.9.4-2", "Debian sid"},
	{9 * day, "1.4-1", "Ubuntu 24.04"},
	{3 * day, "1.7-1", "Ubuntu 24.04"},
	{2 * day, "1.2-1", "Ubuntu 24.04"},
	{2 * time.Hour, "1.5.4-1", "Ubuntu 26.04"},
	{time.Hour, "0.95-1", "Kubuntu 24.04"},
}

// seenWant is the expected result for a release (empty means all): the oldest and newest report,
// the lowest and highest version, and the first and last release of the API.
type seenWant struct {
	release         crash.Release
	first, last     seenReport
	lowest, highest string
	from, to        crash.Release
}

var seenWants = []seenWant{
	{"", seenReports[0], seenReports[7], "0.9-1", "1.9.4-2", "Debian sid", "Ubuntu 26.04"},
	{"Ubuntu 24.04", seenReports[3], seenReports[5], "1.2-1", "1.7-1", "Ubuntu 24.04", "Ubuntu 24.04"},
	{"Kubuntu 24.04", seenReports[0], seenReports[7], "0.9-1", "0.95-1", "Kubuntu 24.04", "Kubuntu 24.04"},
	{"Debian sid", seenReports[2], seenReports[2], "1.9.4-2", "1.9.4-2", "Debian sid", "Debian sid"},
	{"Ubuntu 26.04", seenReports[6], seenReports[6], "1.5.4-1", "1.5.4-1", "Ubuntu 26.04", "Ubuntu 26.04"},
}

// TestFirstAndLastSeen posts reports in several orders and checks the first and last occurrence on
// every page and in every file.
func TestFirstAndLastSeen(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{
		"as they happened":  {0, 1, 2, 3, 4, 5, 6, 7},
		"the newest first":  {7, 6, 5, 4, 3, 2, 1, 0},
		"the ends are late": {4, 2, 6, 5, 3, 1, 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Truncate(time.Second)
			site := handlertest.New(t, handlertest.Options{Now: func() time.Time { return now }})
			var bucket crash.Bucket
			for _, i := range order {
				bucket = postSeen(t, site, now, seenReports[i], i)
			}
			if err := site.Store.WaitCounted(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, want := range seenWants {
				s := seenQuery{t: t, site: site, bucket: bucket.ID, now: now, seenWant: want}
				s.pages()
				s.files()
				s.api()
			}
		})
	}
}

func postSeen(t *testing.T, site *handlertest.Site, now time.Time, r seenReport, process int,
	options ...crashtest.Option) crash.Bucket {
	t.Helper()
	return site.Save(t, crashtest.Native(append([]crashtest.Option{
		crashtest.On(r.release), crashtest.Version(r.version), crashtest.At(now.Add(-r.ago).UTC()),
		crashtest.Process(9000 + process),
	}, options...)...))
}

// seenQuery queries one release, or all.
type seenQuery struct {
	t      *testing.T
	site   *handlertest.Site
	bucket crash.BucketID
	now    time.Time
	seenWant
}

func (s seenQuery) query(more ...string) string {
	q := url.Values{}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	if s.release != "" {
		q.Set("release", string(s.release))
	}
	return q.Encode()
}

func (s seenQuery) text(r seenReport) string {
	return s.now.Add(-r.ago).UTC().Format(time.RFC3339) + " " + r.version + " " + string(r.release)
}

// shown returns an occurrence as pages format it.
func (s seenQuery) shown(cell *goquery.Selection) string {
	at, _ := cell.Find("time").Attr("datetime")
	release, _ := cell.Find(".release").Attr("title")
	release, _, _ = strings.Cut(release, " (") // the codename
	return at + " " + cell.Find(".version").Text() + " " + release
}

// titled returns an occurrence as the tooltip of a list describes it.
func titled(title string) string {
	parts := strings.SplitN(title, ", ", 3)
	at, err := time.Parse("2006-01-02 15:04:05 UTC", parts[0])
	if err != nil || len(parts) != 3 {
		return title
	}
	release, _, _ := strings.Cut(parts[1], " (") // the codename
	return at.Format(time.RFC3339) + " " + parts[2] + " " + release
}

// listed returns the oldest and the newest report of a row, from its cells or from a tooltip.
func listed(row *goquery.Selection) (first, last string) {
	last, first, _ = strings.Cut(row.Find("td.last").AttrOr("title", ""), "; first seen ")
	if first == "" {
		first = row.Find("td.first").AttrOr("title", "")
	}
	return titled(first), titled(last)
}

func (s seenQuery) same(where, first, last string) {
	s.t.Helper()
	if want := s.text(s.first); first != want {
		s.t.Errorf("%q, %s, first seen: got %q, want %q", s.release, where, first, want)
	}
	if want := s.text(s.last); last != want {
		s.t.Errorf("%q, %s, last seen: got %q, want %q", s.release, where, last, want)
	}
}

func (s seenQuery) pages() {
	c := s.site.Visitor(s.t)
	lists := map[string]string{"front": "/?" + s.query("period", "year", "columns", "first"), "sorted": "/?" +
		s.query("period", "year",
			"sort", "last", "columns", "first")}
	if s.release == "" {
		lists["package"] = "/package/tidewatch"
		lists["search"] = "/search?period=year&columns=first&q=tidewatch"
	} else {
		lists["search"] = "/search?" + url.Values{"period": {"year"}, "columns": {"first"},
			"q": {fmt.Sprintf("release:%q first:%s last:%s", s.release, s.first.version, s.last.version)}}.Encode()
		if s.last.ago < 28*day {
			lists["release"] = "/release/" + url.PathEscape(string(s.release))
		}
	}
	for name, path := range lists {
		page := c.Get(path).Want(http.StatusOK).HTML()
		row := page.Find("table.problems tbody tr").First()
		first, last := listed(row)
		s.same(name, first, last)
		if page.Find("th.machines, td.machines").Length() > 0 {
			s.t.Errorf("%s: got a column of machines in a list of a period, want none", name)
		}
	}
	page := c.Get(s.bucket.Path() + "?" + s.query()).Want(http.StatusOK).HTML()
	fact := func(name string) string {
		return s.shown(page.Find("dl.facts dt").FilterFunction(func(_ int,
			dt *goquery.Selection) bool {
			return dt.Text() == name
		}).Next())
	}
	s.same("problem", fact("First seen"), fact("Last seen"))
}

func (s seenQuery) files() {
	c := s.site.Visitor(s.t)
	query := "?" + s.query("period", "year", "columns", "first")
	paths := []string{"/problems"}
	if s.release == "" {
		paths = append(paths, "/package/tidewatch")
	} else if s.last.ago < 28*day {
		paths = append(paths, "/release/"+url.PathEscape(string(s.release)))
	}
	for _, path := range paths {
		var list struct{ Objects []map[string]any }
		c.Get(path + ".json" + query).Want(http.StatusOK).JSON(&list)
		if len(list.Objects) != 1 {
			s.t.Fatalf("%s.json: got %d problems, want 1", path, len(list.Objects))
		}
		s.record(path+".json", func(name string) string { return fmt.Sprint(list.Objects[0][name]) })
		if _, ok := list.Objects[0]["machines"]; ok {
			s.t.Errorf("%s.json: got a number of machines in a list of a period, want none", path)
		}

		rows, err := csv.NewReader(strings.NewReader(c.Get(path + ".csv" + query).Want(http.StatusOK).Body)).ReadAll()
		if err != nil || len(rows) != 2 {
			s.t.Fatalf("%s.csv: got %d lines, %v", path, len(rows), err)
		}
		s.record(path+".csv", func(name string) string { return rows[1][slices.Index(rows[0], name)] })

		var feed struct {
			Entry []struct {
				Published string `xml:"published"`
				Summary   string `xml:"summary"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal([]byte(c.Get(path+".atom"+query).Want(http.StatusOK).Body), &feed); err != nil ||
			len(feed.Entry) != 1 {
			s.t.Fatalf("%s.atom: got %+v, %v", path, feed, err)
		}
		entry := feed.Entry[0]
		if first := s.now.Add(-s.first.ago).UTC().Format(time.RFC3339); entry.Published != first {
			s.t.Errorf("%s.atom: got %s, want %s", path, entry.Published, first)
		}
		in := func(r seenReport) string {
			return s.now.Add(-r.ago).UTC().Format("2006-01-02 15:04 UTC") + " in " + r.version + " (" + string(r.release) + ")"
		}
		if want := "First seen " + in(s.first) + ", last seen " + in(s.last) + "."; !strings.Contains(entry.Summary, want) {
			s.t.Errorf("%s.atom: got %q, want it to contain %q", path, entry.Summary, want)
		}
	}
}

func (s seenQuery) record(where string, value func(string) string) {
	s.t.Helper()
	s.same(where, value("first_seen")+" "+value("first_version")+" "+value("first_release"), value("last_seen")+" "+
		value("last_version")+" "+value("last_release"))
	if got := value("highest_version"); got != s.highest {
		s.t.Errorf("%q, %s: got highest version %q, want %q", s.release, where, got, s.highest)
	}
}

// api queries days that are in memory, and all days, which the database counts.
func (s seenQuery) api() {
	c := s.site.Visitor(s.t)
	ask := func(from time.Time, more ...string) []map[string]any {
		var list struct{ Objects []map[string]any }
		more = append(more, "from", from.Format("20060102"), "to", s.now.UTC().Format("20060102"))
		c.Get("/api/1.0/most-common-problems/?" + s.query(more...)).Want(http.StatusOK).JSON(&list)
		return list.Objects
	}
	for name, from := range map[string]time.Time{"of memory": s.now.UTC().AddDate(0, 0, -60),
		"of the database": s.now.UTC().AddDate(-3, 0, 0)} {
		rows := ask(from)
		if len(rows) != 1 {
			s.t.Fatalf("%q, API %s: got %d problems, want 1", s.release, name, len(rows))
		}
		got, _ := json.Marshal([]any{rows[0]["first_seen"], rows[0]["last_seen"], rows[0]["first_seen_release"],
			rows[0]["last_seen_release"]})
		want, _ := json.Marshal([]any{s.lowest, s.highest, s.from, s.to})
		if string(got) != string(want) {
			s.t.Errorf("%q, API %s: got %s, want %s", s.release, name, got, want)
		}
		for _, r := range seenReports {
			want := 0
			if r.version == s.lowest {
				want = 1
			}
			if got := len(ask(from, "first_appearance", "1", "version", r.version)); got != want {
				s.t.Errorf("%q, API %s, first appearance in %s: got %d problems, want %d", s.release, name, r.version, got, want)
			}
		}
	}
}

// TestFirstSeenOfMerged checks that a merged problem shows the oldest and newest report of all its
// buckets.
func TestFirstSeenOfMerged(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	site := handlertest.New(t, handlertest.Options{Now: func() time.Time { return now }})
	into := postSeen(t, site, now, seenReports[3], 1)
	older, newer := seenReport{40 * day, "0.1-1", "Ubuntu 22.04"}, seenReport{time.Minute, "0.2-1", "Ubuntu 24.04"}
	var merged crash.Bucket
	for i, r := range []seenReport{newer, older} {
		merged = postSeen(t, site, now, r, 2+i, crashtest.Set("DuplicateSignature", "merged"))
	}
	if err := site.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Decisions.Merge(t.Context(), into.ID, []crash.BucketID{merged.ID}, "ada", ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []seenWant{
		{"", older, newer, "0.1-1", "1.4-1", "Ubuntu 22.04", "Ubuntu 24.04"},
		{"Ubuntu 24.04", seenReports[3], newer, "0.2-1", "1.4-1", "Ubuntu 24.04", "Ubuntu 24.04"},
		{"Ubuntu 22.04", older, older, "0.1-1", "0.1-1", "Ubuntu 22.04", "Ubuntu 22.04"},
	} {
		s := seenQuery{t: t, site: site, bucket: into.ID, now: now, seenWant: want}
		if want.release == "" {
			s.pages()
			s.files()
			s.api()
			continue
		}
		row := site.Visitor(t).Get("/?" + s.query("period", "year", "columns", "first")).Want(http.StatusOK).HTML().Find(
			"table.problems tbody tr").First()
		first, last := listed(row)
		s.same("front", first, last)
	}
	if got := cmp.Or(site.Bucket(t, merged.ID).LastSeenVersion, "none"); got != newer.version {
		t.Errorf("last seen in %s, want %s", got, newer.version)
	}
}
