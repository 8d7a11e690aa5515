package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"mishap/crash"
	"mishap/crash/board"
	"mishap/db"
	"mishap/views"
)

// needsSignIn reports whether a page is for people who are signed in.
func needsSignIn(address string) bool { return strings.Contains(address, "/oops/") }

// besideMemory compares the front page with a handler that makes the same page from what it holds in memory.
func (b *viewsBench) besideMemory(ctx context.Context, s *site, databaseURL string) error {
	still, err := stillPage(ctx, databaseURL, s.url)
	if err != nil {
		return err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024))
	if err != nil {
		return err
	}
	address, stop, err := listen(ctx, compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = views.List(still).Render(r.Context(), w) // one who has gone away
	})))
	if err != nil {
		return err
	}
	defer stop()
	var real, memory []float64 // in turns, since the machine is not equally fast all the time
	var size, memorySize int64
	for range 3 {
		m, err := s.crowd(ctx, s.url+"/", b.rounds)
		if err != nil {
			return err
		}
		real, size = append(real, m.perSecond), m.bytes
		if m, err = s.crowd(ctx, "http://"+address, b.rounds); err != nil {
			return err
		}
		memory, memorySize = append(memory, m.perSecond), m.bytes
	}
	slices.Sort(real)
	slices.Sort(memory)
	_, err = fmt.Fprintf(b.out, "\nThe front page: %.0f per second (%.1f kB); the same page from memory: %.0f per second (%.1f kB); ratio %.2f\n",
		real[1], float64(size)/1000, memory[1], float64(memorySize)/1000, real[1]/memory[1])
	return err
}

// stillPage is the front page as it is now.
func stillPage(ctx context.Context, databaseURL, base string) (page views.ListPage, err error) {
	store, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 2})
	if err != nil {
		return page, err
	}
	defer store.Close()
	const size, chartDays, sparkDays = 50, 84, 28 // as in handlers
	now := time.Now().UTC()
	page = views.ListPage{Choice: views.ListChoice{Period: crash.PeriodWeek}, Size: size, IngestURL: base}
	page.Shell = views.Shell{Title: "Most common problems", Path: "/", FilingOn: true, Now: now}
	all, err := store.Board(ctx)
	if err != nil {
		return page, err
	}
	filter := page.Choice.Filter(now)
	list := all.List(filter, nil, nil, size)
	page.Totals, page.First = crash.ProblemTotals(list.Totals), list.First
	page.Types, page.Machines = all.Types(), all.Architectures()
	releases, err := store.Releases(ctx)
	page.Releases = releases
	since := now.AddDate(0, 0, 1-chartDays)
	rates, rateErr := store.Rates(ctx, db.RateFilter{Since: since, Until: now})
	if err := errors.Join(err, rateErr); err != nil {
		return page, err
	}
	page.Rates = views.NewRateChart(rates, nil, since, now)
	var ids []crash.ProblemCursor
	for _, row := range list.Rows {
		ids = append(ids, crash.ProblemCursor{Count: row.Count, ID: row.ID})
	}
	problems, err := store.ProblemsByID(ctx, ids)
	until := board.DayOf(now)
	for i, p := range problems {
		row := list.Rows[i]
		page.Rows = append(page.Rows, views.ListRow{
			Problem: p, Rank: row.Rank, Before: row.Before, Bug: views.BugPart{Bucket: p.ID, Signature: p.Signature, State: views.BugSignIn, Next: "/"},
			Spark: views.NewSparkline(all.Days(row.Problem, filter, until-sparkDays+1, until), until.Time()),
		})
	}
	if n := len(list.Rows); list.More {
		page.Next = page.Choice.NextURL(n, crash.Problem{Bucket: crash.Bucket{ID: list.Rows[n-1].ID}, Count: list.Rows[n-1].Count})
	}
	return page, err
}

var loads = regexp.MustCompile(`<(?:link[^>]* rel="(?:stylesheet|icon|preload)"[^>]*|script[^>]*|img[^>]*)>`)

var address = regexp.MustCompile(` (?:href|src)="([^"]+)"`)

// firstVisit tells what somebody loads who comes for the first time.
func (b *viewsBench) firstVisit(ctx context.Context, s *site) error {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	var packed bytes.Buffer
	total, err := compressed(ctx, client, s.url+"/", &packed)
	if err != nil {
		return err
	}
	unpack, err := gzip.NewReader(&packed)
	if err != nil {
		return err
	}
	html, err := io.ReadAll(unpack)
	if err != nil {
		return err
	}
	base, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	requests := 1
	_, _ = fmt.Fprintf(b.out, "\nA first visit loads\n%8.1f kB  /\n", float64(total)/1000)
	for _, element := range loads.FindAllString(string(html), -1) {
		m := address.FindStringSubmatch(element)
		if m == nil {
			continue
		}
		u, err := base.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		if err != nil {
			return err
		}
		n, err := compressed(ctx, client, u.String(), nil)
		if err != nil {
			return err
		}
		requests, total = requests+1, total+n
		_, _ = fmt.Fprintf(b.out, "%8.1f kB  %s\n", float64(n)/1000, u.Path)
	}
	_, err = fmt.Fprintf(b.out, "%8.1f kB  in %d requests\n", float64(total)/1000, requests)
	return err
}
