package main

import (
	"bytes"
	"context"
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

// These pages and resources are requested. newNames replaces the names in braces by values from the
// database.
const (
	briefPages = `/ /?period=year /problem/{common}`
	briefAPI   = `most-common-problems/?limit=100&period=year average-crashes/?limit=0 instances/?limit=100&id={signature}
		versions/?limit=0&id={signature}`

	usualPages = `/ /?period=day /?period=month /?period=year /problem/{common} /problem/{rare} /search?q={package} /search?q=step
		/package/{package} /release/{release}`
	filteredPages = `/?period=day&release={release} /?release={release} /?package={package} /?period=year&release={release}
		/?period=year&package={package} /?period=year&package={package}&version={version} /?period=year&pkg_arch=arm64
		/?period=year&type=Crash&pkg_arch=arm64&release={release} /?period=year&new=1 /?period=year&state=none
		/?period=year&sort=last /?period=year&sort=first /?from={from}&to={to} /problem/{common}?release={release}
		/problem/{common}?version={version} /search?q=package:{package}+step /search?q=arch:arm64+-step_1`
	usualOfPeople    = `/oops/{report} /oops/{report}?via=/problem/{common} /user/{system} /problem/{common}/traits /my`
	filteredOfPeople = `/problem/{common}?complete=1&release={release}`

	usualAPI = `most-common-problems/?format=json&limit=30 most-common-problems/?limit=100&period=week bucket/{signature}/
		bucket/{rare}/ versions/?limit=0&id={signature} instances/?limit=100&id={signature}
		instances/?limit=100&id={signature}&start={report} average-instances/?limit=0&id={signature}
		average-instances/?limit=0&id={rare} average-crashes/?limit=0 average-crashes/?limit=0&release={release}
		package-rate-of-crashes/?release={release}&package={package}&old_version={previous}&new_version={version}&phased_update_percentage=10&date={today}
		package-version-new-buckets/?package={source}&previous_version={previous}&new_version={version}
		package-version-new-buckets/?package={source}&previous_version=0-1&new_version={version}
		instances-count/ problems-count/ retracers-results/?limit=1 retracers-average-processing-time/?limit=1
		reports-for-system/?limit=50&system={system} dayoops/{today}/?limit=100 oops/{report}/ instance/?id={report}
		crash-signatures-for-bug/?bug=1 binary-package-versions/?binary_package={package}`
	filteredAPI = `most-common-problems/?limit=100&period=year most-common-problems/?limit=100&period=month&release={release}
		most-common-problems/?limit=100&period=year&package={package}&version={version}
		most-common-problems/?limit=100&period=year&pkg_arch=arm64
		most-common-problems/?limit=100&period=year&first_appearance=1&version={version} average-crashes/?limit=0&package={package}
		average-crashes/?limit=0&release={release}&package={package}&version={version} instances-count/?limit=360
		problems-count/?limit=360 retracers-results/?limit=360 dayoops/{today}/?limit=100&release={release}&details=1`
)

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
	perSecond := 0
	if brief { // to compare servers under the same load
		perSecond = b.pageRate
	}
	add := func(name, prefix string, header http.Header, uncached bool, bound time.Duration, paths string) {
		for _, path := range strings.Fields(paths) {
			address := s.url + prefix + names.Replace(path)
			t := traffic{next: get(address, header, uncached), connections: b.clients, perSecond: perSecond}
			kinds = append(kinds, kind{name + " " + prefix + path, bound, t})
		}
	}
	if brief {
		add("visitor", "", nil, false, 0, briefPages)
		add("uncached", "", nil, true, 0, briefPages)
		add("signed in", "", s.signedIn, false, 0, briefPages)
		add("API", "/api/1.0/", s.token, false, 0, briefAPI)
		return kinds, nil
	}
	add("visitor", "", nil, false, usualBound, usualPages)
	add("visitor", "", nil, false, filteredBound, filteredPages)
	add("uncached", "", nil, true, usualBound, usualPages)
	add("uncached", "", nil, true, filteredBound, filteredPages)
	add("signed in", "", s.signedIn, false, usualBound, usualPages+" "+usualOfPeople)
	add("signed in", "", s.signedIn, false, filteredBound, filteredPages+" "+filteredOfPeople)
	add("API", "/api/1.0/", s.token, false, usualBound, usualAPI)
	add("API", "/api/1.0/", s.token, false, filteredBound, filteredAPI)
	add("API", "", s.token, false, filteredBound, "/problems.atom")
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
	paths := []string{"/"}
	for _, e := range page.Find("link[rel=stylesheet], link[rel=icon], link[rel=preload], script[src], img[src]").EachIter() {
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
