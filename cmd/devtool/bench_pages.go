package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash/crashtest"
)

// benchPages lists the pages and resources that are requested. The names in braces are things in the
// database, see newNames.
//
//go:embed bench_pages.txt
var benchPages string

// listed yields the columns of benchPages: the bound and who asks, then the path.
func listed(yield func([2]string, string) bool) {
	for text := range strings.Lines(benchPages) {
		c := strings.Fields(text)
		if len(c) == 3 && !yield([2]string(c), c[2]) {
			return
		}
	}
}

// pageLines returns the pages and resources of the scenario. Servers that are compared get few, all at the
// same rate.
func (b *bench) pageLines(ctx context.Context, s *subject) (lines []line, err error) {
	names, err := newNames(ctx, s)
	if err != nil {
		return nil, err
	}
	audiences := map[string]struct {
		prefix   string
		header   http.Header
		uncached bool
	}{"visitor": {}, "uncached": {uncached: true}, "signed-in": {header: s.signedIn},
		"API": {prefix: "/api/1.0/", header: s.token}, "feed": {header: s.token}}
	compared := len(b.servers) > 1
	for columns, path := range listed {
		bound, who := columns[0], columns[1]
		for audience := range strings.SplitSeq(who, ",") {
			a, known := audiences[audience]
			if !known || b.name == "api" && audience != "API" || compared && !strings.HasSuffix(bound, "*") {
				continue
			}
			l := line{name: audience + " " + a.prefix + path, bound: 30 * time.Millisecond}
			t := traffic{next: get(s.url+a.prefix+names.Replace(path), a.header, a.uncached), clients: b.connections}
			switch {
			case compared:
				l.bound, t.clients, t.perSecond = 0, 0, b.pageRate
			case strings.HasPrefix(bound, "filtered"):
				l.bound = 150 * time.Millisecond
			}
			l.traffic = []traffic{t}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// strangerLines returns a page for a signed-in person and reports, while strangers request each public
// address, unless the server is left alone.
func (b *bench) strangerLines(ctx context.Context, s *subject) (lines []line, err error) {
	names, err := newNames(ctx, s)
	if err != nil {
		return nil, err
	}
	reports := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	for columns, path := range listed {
		if columns[1] != "stranger" {
			continue
		}
		l := line{name: path, traffic: []traffic{
			{name: "page", next: get(s.url+"/?period=month", s.signedIn, false), perSecond: b.pageRate},
			{name: "reports", next: reports, perSecond: b.rate},
		}}
		if s.name == "disturbed" {
			l.visitors = &visitors{s.url + names.Replace(path), b.strangers, columns[0] == "slow"}
			if l.visitors.slow {
				l.visitors.number = b.slow
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// newNames finds names to request, using the API.
func newNames(ctx context.Context, s *subject) (*strings.Replacer, error) {
	type answer struct {
		Objects []struct {
			Function, Package, Version, Incident string
			LastSeen                             string `json:"last_seen"`
			Release                              string `json:"last_seen_release"`
			Link                                 string `json:"web_link"`
		}
		Metadata struct{ Source string }
		Data     struct{ SystemIdentifier string }
	}
	ask := func(path string, least int) (a answer, err error) {
		body, err := s.fetch(ctx, "/api/1.0/"+path, s.token, nil)
		if err == nil {
			err = json.Unmarshal(body, &a)
		}
		if err == nil && len(a.Objects) < least {
			err = errors.New("the database has too few reports; fill it first")
		}
		return a, err
	}
	problems, err := ask("most-common-problems/?limit=100&period=year", 10)
	if err != nil {
		return nil, err
	}
	common, rare := problems.Objects[0], problems.Objects[len(problems.Objects)-1]
	id := url.QueryEscape(common.Function)
	versions, err1 := ask("versions/?limit=0&id="+id, 1)
	instances, err2 := ask("instances/?limit=1&id="+id, 1)
	bucket, err3 := ask("bucket/"+url.PathEscape(common.Function)+"/", 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	incident := instances.Objects[0].Incident
	report, err := ask("oops/"+incident+"/", 0)
	if err != nil {
		return nil, err
	}
	front, err := s.frontPage(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	pairs := []string{
		"{common}", path.Base(common.Link), "{rare}", path.Base(rare.Link), "{signature}", common.Function,
		"{report}", incident, "{system}", report.Data.SystemIdentifier, "{release}", common.Release,
		"{package}", common.Package, "{source}", bucket.Metadata.Source,
		"{version}", common.LastSeen, "{previous}", versions.Objects[0].Version, "{today}", now.Format("20060102"),
		"{from}", now.AddDate(0, 0, -80).Format(time.DateOnly), "{to}", now.AddDate(0, 0, -40).Format(time.DateOnly),
	}
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = strings.ReplaceAll(url.PathEscape(pairs[i]), "+", "%2B") // valid in paths and in queries
	}
	return strings.NewReplacer(append(pairs, "{long}", strings.Repeat("-", 2048),
		"{style}", front.Find("link[rel=stylesheet]").AttrOr("href", ""))...), nil
}

// frontPage returns the front page as visitors get it.
func (s *subject) frontPage(ctx context.Context) (*goquery.Document, error) {
	html, err := newVisitor(s.url).fetch(ctx, "/", nil, nil)
	if err != nil {
		return nil, err
	}
	return goquery.NewDocumentFromReader(bytes.NewReader(html))
}

// firstVisit prints what a browser loads for the front page on a first visit.
func (b *bench) firstVisit(ctx context.Context, s *subject) error {
	front, err := s.frontPage(ctx)
	if err != nil {
		return err
	}
	const loaded = "link[rel=stylesheet], link[rel=icon], link[rel=preload], script[src], img[src]"
	paths := []string{"/"}
	for _, e := range front.Find(loaded).EachIter() {
		paths = append(paths, e.AttrOr("href", e.AttrOr("src", "")))
	}
	total := 0.0
	fmt.Fprint(b.out, "\nA first visit loads\n")
	for _, path := range paths {
		body, err := newVisitor(s.url).fetch(ctx, path, http.Header{"Accept-Encoding": {"gzip"}}, nil)
		if err != nil {
			return err
		}
		total += float64(len(body)) / 1000
		fmt.Fprintf(b.out, "%8.1f kB  %s\n", float64(len(body))/1000, path)
	}
	fmt.Fprintf(b.out, "%8.1f kB  in %d requests\n", total, len(paths))
	return nil
}
