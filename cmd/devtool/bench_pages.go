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
)

// benchPages lists the pages and resources that are requested. The names in braces are things in the
// database, see newNames.
//
//go:embed bench_pages.txt
var benchPages string

// Time limits for the 99th percentile of answers.
const (
	usualBound    = 30 * time.Millisecond
	filteredBound = 150 * time.Millisecond
)

// pageKinds returns requests for all pages and resources, or for a few if brief is true.
func (b *bench) pageKinds(ctx context.Context, s *subject, brief bool) (kinds []kind, err error) {
	names, err := newNames(ctx, s)
	if err != nil {
		return nil, err
	}
	audiences := map[string]struct {
		prefix   string
		header   http.Header
		uncached bool
	}{"visitor": {}, "uncached": {"", nil, true}, "signed-in": {"", s.signedIn, false},
		"API":  {"/api/1.0/", s.token, false},
		"feed": {"", s.token, false}}
	for line := range strings.Lines(benchPages) {
		columns := strings.Fields(line)
		if len(columns) == 0 || columns[0] == "#" || columns[1] == "stranger" ||
			brief && !strings.HasSuffix(columns[0], "*") {
			continue
		}
		bound, perSecond := usualBound, 0
		if strings.HasPrefix(columns[0], "filtered") {
			bound = filteredBound
		}
		if brief { // servers are compared under the same load
			bound, perSecond = 0, b.pageRate
		}
		for name := range strings.SplitSeq(columns[1], ",") {
			a := audiences[name]
			address := s.url + a.prefix + names.Replace(columns[2])
			t := traffic{next: get(address, a.header, a.uncached), connections: b.clients, perSecond: perSecond}
			kinds = append(kinds, kind{name + " " + a.prefix + columns[2], bound, t})
		}
	}
	return kinds, nil
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
	return strings.NewReplacer(pairs...), nil
}

// firstVisit prints what a browser loads for the front page on a first visit.
func (b *bench) firstVisit(ctx context.Context, s *subject) error {
	html, err := newVisitor(s.url).fetch(ctx, "/", nil, nil)
	if err != nil {
		return err
	}
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
	if err != nil {
		return err
	}
	const loaded = "link[rel=stylesheet], link[rel=icon], link[rel=preload], script[src], img[src]"
	paths := []string{"/"}
	for _, e := range page.Find(loaded).EachIter() {
		paths = append(paths, e.AttrOr("href", e.AttrOr("src", "")))
	}
	total := 0
	fmt.Fprint(b.out, "\nA first visit loads\n")
	for _, path := range paths {
		body, err := newVisitor(s.url).fetch(ctx, path, http.Header{"Accept-Encoding": {"gzip"}}, nil)
		if err != nil {
			return err
		}
		total += len(body)
		fmt.Fprintf(b.out, "%8.1f kB  %s\n", float64(len(body))/1000, path)
	}
	fmt.Fprintf(b.out, "%8.1f kB  in %d requests\n", float64(total)/1000, len(paths))
	return nil
}
