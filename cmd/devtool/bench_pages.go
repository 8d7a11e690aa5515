package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/board"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
)

const (
	pageRounds   = 400 // requests for each page
	createRounds = 100 // bugs that are created
	fillers      = 64  // reports that are stored at once
)

// timings are how long each round of something took.
type timings []time.Duration

func (t timings) at(part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// measure times n rounds, after a few that do not count.
func measure(n int, round func() error) (timings, error) {
	for range n/20 + 3 {
		if err := round(); err != nil {
			return nil, err
		}
	}
	t := make(timings, 0, n)
	for range n {
		began := time.Now()
		if err := round(); err != nil {
			return nil, err
		}
		t = append(t, time.Since(began))
	}
	return t, nil
}

// pages measures pages and Create of the real server, a process of its own, on a filled database.
func (b *bench) pages(ctx context.Context, folder, databaseURL string) (err error) {
	problems, err := b.fill(ctx, databaseURL)
	if err != nil {
		return err
	}
	site, err := startSite(ctx, b.program, folder, databaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.stop()) }()

	insert, err := oneRowInserts(ctx, databaseURL)
	if err != nil {
		return err
	}
	page := func(address string) (timings, error) {
		return measure(pageRounds, func() error { return site.get(ctx, address) })
	}
	bare, err := page(site.bare)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, took timings, beside string, than timings) {
		_, _ = fmt.Fprintf(t, "%s\t%.2f ms\t%.2f ms\t", name, ms(took.at(.5)), ms(took.at(.99)))
		if than != nil {
			_, _ = fmt.Fprintf(t, "%.1f × %s\t", ms(took.at(.5))/ms(than.at(.5)), beside)
		}
		_, _ = fmt.Fprintln(t)
	}
	_, _ = fmt.Fprintln(t, "\tp50\tp99\tp50 beside\t")
	row("bare handler", bare, "", nil)
	row("one-row insert", insert, "", nil)
	for _, path := range []string{"/", "/?period=year", problems[0].ID.Path(), problems[len(problems)/2].ID.Path()} {
		took, err := page(site.url + path)
		if err != nil {
			return err
		}
		row(shortPath(path), took, "bare handler", bare)
	}
	own, err := b.creates(ctx, site, problems)
	if err != nil {
		return err
	}
	row("Create, without the tracker's time", own, "one-row insert", insert)
	return t.Flush()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func shortPath(path string) string {
	if len(path) > 20 {
		return path[:16] + "…"
	}
	return path
}

// fill stores the reports of a fleet and returns problems, the most common first.
func (b *bench) fill(ctx context.Context, databaseURL string) ([]crash.Problem, error) {
	store, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 8})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	in := intake.New(intake.Config{MaxAgeDays: 366}, store)
	bar := progress(b.err, b.reports, "storing reports")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fillers)
	for r := range crashtest.Fleet(fleetSeed, b.reports, time.Now()) {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			_, err := in.Accept(ctx, r)
			_ = bar.Add(1)
			return err
		})
	}
	err = group.Wait()
	_ = bar.Finish() // of no account
	if err != nil {
		return nil, err
	}
	return commonProblems(context.WithoutCancel(ctx), store)
}

func commonProblems(ctx context.Context, store *db.Store) ([]crash.Problem, error) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	b, err := store.Board(ctx)
	if err != nil {
		return nil, err
	}
	var counts []crash.ProblemCursor
	year := board.Filter{Since: board.DayOf(today.AddDate(-1, 0, 0)), Until: board.DayOf(today)}
	for _, row := range b.List(year, nil, nil, 2*createRounds).Rows {
		counts = append(counts, crash.ProblemCursor{Count: row.Count, ID: row.ID})
	}
	problems, err := store.ProblemsByID(ctx, counts)
	if err != nil {
		return nil, err
	}
	if len(problems) < createRounds+createRounds/10 {
		return nil, fmt.Errorf("only %d problems came of the reports; give more --reports", len(problems))
	}
	return problems, nil
}

// oneRowInserts times the least that a database can be asked to keep: one small row in a transaction of its own.
func oneRowInserts(ctx context.Context, databaseURL string) (timings, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	if _, err := conn.Exec(ctx, "create table bench_rows (id bigint generated always as identity primary key, word text not null)"); err != nil {
		return nil, err
	}
	return measure(pageRounds, func() error {
		_, err := conn.Exec(ctx, "insert into bench_rows (word) values ($1)", "bench")
		return err
	})
}

// creates presses Create for one bucket after the other. From each press the time is taken off that the practice tracker
// itself worked for it.
func (b *bench) creates(ctx context.Context, site *site, problems []crash.Problem) (timings, error) {
	if err := site.signIn(ctx); err != nil {
		return nil, err
	}
	var own timings
	for _, p := range problems {
		if len(own) == createRounds {
			break
		}
		if p.NoFiling() != "" {
			continue
		}
		site.tracker.reset()
		began := time.Now()
		status, err := site.create(ctx, p.Signature)
		took := time.Since(began)
		if err != nil {
			return nil, err
		}
		if status != http.StatusCreated {
			return nil, fmt.Errorf("create: got status %d, want %d", status, http.StatusCreated)
		}
		own = append(own, took-site.tracker.worked())
	}
	if len(own) == 0 {
		return nil, errors.New("no problem could be filed")
	}
	return own, nil
}
