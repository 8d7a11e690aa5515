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

	"mishap/crash"
	"mishap/crash/board"
	"mishap/db"
	"mishap/handlers"
	"mishap/views"
)

// besideMemory compares the front page with a handler that makes the same page from what it holds in memory, and packs it as
// the server does.
func (b *viewsBench) besideMemory(ctx context.Context, s *site, databaseURL string) error {
	still, err := stillPage(ctx, databaseURL, s.url)
	if err != nil {
		return err
	}
	compress, err := handlers.Packing()
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
	ways := []struct {
		name string
		asking
	}{
		{"as visitors get it, kept", asking{path: "/"}},
		{"made anew for each visitor", asking{path: "/", anew: true}},
		{"signed in, made each time", asking{path: "/", signedIn: true}},
		{"the same page from memory", asking{path: "http://" + address}},
	}
	rates, sizes := make([][]float64, len(ways)), make([]int64, len(ways))
	for range 3 { // in turns, since the machine is not equally fast all the time
		for i, way := range ways {
			m, err := s.crowd(ctx, way.asking, b.rounds)
			if err != nil {
				return err
			}
			rates[i], sizes[i] = append(rates[i], m.perSecond), m.bytes
		}
	}
	memory := median(rates[len(ways)-1])
	_, _ = fmt.Fprintf(b.out, "\nThe front page, per second\n")
	for i, way := range ways {
		rate := median(rates[i])
		_, _ = fmt.Fprintf(b.out, "%8.0f  %6.1f kB  %6.2f ×  %s\n", rate, float64(sizes[i])/1000, rate/memory, way.name)
	}
	return nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// besideSmall compares the front page with that of a database with few reports, in turns.
func (b *viewsBench) besideSmall(ctx context.Context, large *site) error {
	b.small.program = b.program
	return b.small.serve(ctx, func(small *site, databaseURL string) error {
		if err := small.signIn(ctx); err != nil {
			return err
		}
		stored, err := storedReports(ctx, databaseURL)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(b.out, "\nThe front page beside that of a database with %d reports\n", stored)
		for _, way := range []struct {
			name string
			asking
		}{
			{"as visitors get it, kept", asking{path: "/"}},
			{"made anew for each visitor", asking{path: "/", anew: true}},
			{"made anew, of a year", asking{path: "/?period=year", anew: true}},
			{"signed in, made each time", asking{path: "/", signedIn: true}},
		} {
			var took [2]timings
			for range 3 {
				for i, s := range []*site{small, large} {
					m, err := s.crowd(ctx, way.asking, b.rounds)
					if err != nil {
						return err
					}
					took[i] = append(took[i], m.took...)
				}
			}
			few, many := ms(took[0].at(.5)), ms(took[1].at(.5))
			_, _ = fmt.Fprintf(b.out, "%8.2f ms  beside %6.2f ms: %.2f ×  %s\n", many, few, many/few, way.name)
		}
		return nil
	})
}

func storedReports(ctx context.Context, url string) (n int64, err error) {
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 2})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	now := time.Now().UTC().Truncate(24 * time.Hour)
	all, err := store.Board(ctx)
	if err != nil {
		return 0, err
	}
	return all.List(board.Filter{Since: board.DayOf(now.AddDate(-1, 0, 0)), Until: board.DayOf(now)}, nil, nil, 1).Totals.Reports, nil
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
	filter := page.Choice.FilterOn(now)
	list := all.List(filter, nil, nil, size)
	page.Totals, page.First = crash.ProblemTotals(list.Totals), list.First
	page.Types, page.Machines = all.Types(), all.PackageArchitectures()
	releases, err := store.Releases(ctx, crash.BuiltInReleases())
	page.Releases = releases.Offered("")
	since := now.AddDate(0, 0, 1-chartDays)
	rates, rateErr := store.Rates(ctx, db.RateFilter{Since: since, Until: now})
	if err := errors.Join(err, rateErr); err != nil {
		return page, err
	}
	page.Rates = views.NewRateChart(rates, nil, crash.BuiltInReleases(), since, now)
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
