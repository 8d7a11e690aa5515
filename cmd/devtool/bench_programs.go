package main

// Compares two built programs: both run side by side, each on an empty database of its own on one PostgreSQL that syncs to
// disk, get the same reports, and then the same traffic in turns:
//
//	make build
//	bin/devtool bench-programs --program bin/mishap --against /elsewhere/bin/mishap
//	bin/devtool bench-programs --against OLD --only ingest --rounds 9 --for 4s --rate 200
//
// A ratio divides --program by --against: above 1 --program is slower. That of p50 and p99 is the median over the rounds,
// that of the processor time (of the server and PostgreSQL, for each request) is over all rounds together. To see how much
// the machine itself varies, give the same program twice.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"mishap/crash/crashtest"
	"mishap/db/embedded"
)

type benchPrograms struct {
	programs    [2]string // the new one first
	only        string
	reports     int
	rate, pages int // requests per second
	rounds      int
	length      time.Duration
	out, err    io.Writer
}

func benchProgramsCommand() *cobra.Command {
	var b benchPrograms
	cmd := &cobra.Command{
		Use:   "bench-programs",
		Short: "Compares two built mishap programs under the same traffic",
		Long: `Runs two built programs side by side, each on a database of its own on one PostgreSQL that syncs to
disk, and sends the same reports, pages and API requests to both in turns at a fixed rate. Prints p50,
p99 and the processor time of each request, of both, and their ratios: above 1 --program is slower.
With the same program twice the ratios show how much the machine itself varies.`,
		Example: "  devtool bench-programs --program bin/mishap --against /elsewhere/bin/mishap",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&b.programs[0], "program", besideMe("mishap"), "the mishap `program` that is judged")
	flags.StringVar(&b.programs[1], "against", "", "the mishap `program` that it is compared with")
	flags.StringVar(&b.only, "only", "", "measure only rows whose name contains this `text`")
	flags.IntVar(&b.reports, "reports", 10_000, "how many reports are stored first")
	flags.IntVar(&b.rate, "rate", 200, "reports per second")
	flags.IntVar(&b.pages, "page-rate", 60, "pages and API requests per second")
	flags.IntVar(&b.rounds, "rounds", 7, "how often each program gets each kind of traffic")
	flags.DurationVar(&b.length, "for", 2*time.Second, "how long a round takes")
	_ = cmd.MarkFlagRequired("against") // fails only for a flag that does not exist
	return cmd
}

func (b *benchPrograms) run(ctx context.Context) error {
	return withPostgres(ctx, "", func(folder, address string) (err error) {
		var subjects [2]*subject
		for i, program := range b.programs {
			if program, err = filepath.Abs(program); err != nil {
				return err
			}
			database, err := createDatabase(ctx, address, fmt.Sprintf("bench_%d", i))
			if err != nil {
				return err
			}
			s, err := startSubject(ctx, program, filepath.Join(folder, fmt.Sprint(i)), database)
			if err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			defer func() { err = errors.Join(err, s.stop()) }()
			subjects[i] = s
			volume := crashtest.Volume{Reports: b.reports, Days: 56, Padding: 4000, Now: time.Now()}
			bar := progress(b.err, b.reports, "posting reports to "+program)
			err = postReports(ctx, "http://"+s.ingest, volume.All(), func() { _ = bar.Add(1) })
			_ = bar.Finish() // only drawn
			if err != nil {
				return err
			}
			s.settle(ctx)
		}
		return b.compare(ctx, subjects)
	})
}

// compare sends each kind of traffic to both programs in turns and prints a row for it.
func (b *benchPrograms) compare(ctx context.Context, subjects [2]*subject) error {
	bodies := sampleBodies()
	var kinds [2][]kind
	for i, s := range subjects {
		var err error
		if kinds[i], err = b.kinds(ctx, s, bodies); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "p50 ms\tagainst\tratio\tp99 ms\tagainst\tratio\tCPU ms\tagainst\tratio\tper second\tagainst\t \t")
	for k := range kinds[0] {
		name := kinds[0][k].name
		if !strings.Contains(name, b.only) {
			continue
		}
		var rounds [2][]result
		for round := range b.rounds + 1 {
			for turn := range subjects {
				i := (turn + round) % 2 // either goes first
				var r result
				if err := subjects[i].measure(ctx, &r, kinds[i][k].traffic); err != nil {
					return fmt.Errorf("%s: %s: %w", b.programs[i], name, err)
				}
				if round > 0 { // the first round warms up
					rounds[i] = append(rounds[i], r)
				}
			}
		}
		for _, value := range []func(result) float64{
			func(r result) float64 { return ms(r.median()) }, func(r result) float64 { return ms(r.slowest()) },
		} {
			a, against, ratio := paired(rounds, value)
			_, _ = fmt.Fprintf(t, "%.2f\t%.2f\t%.2f\t", a, against, ratio)
		}
		a, against := sum(rounds[0]), sum(rounds[1])
		_, _ = fmt.Fprintf(t, "%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t  %s\t\n",
			a.cpuMS(), against.cpuMS(), a.cpuMS()/against.cpuMS(), a.perSecond(), against.perSecond(), name)
	}
	return t.Flush()
}

// paired returns the medians of a value over the rounds of both programs, and the median of its ratios.
func paired(rounds [2][]result, value func(result) float64) (a, against, ratio float64) {
	var as, againsts, ratios []float64
	for i := range rounds[0] {
		x, y := value(rounds[0][i]), value(rounds[1][i])
		as, againsts, ratios = append(as, x), append(againsts, y), append(ratios, x/y)
	}
	return middle(as), middle(againsts), middle(ratios)
}

// sum adds up rounds, as processor time is counted too coarsely for one alone.
func sum(rounds []result) (all result) {
	for _, r := range rounds {
		all.requests, all.seconds, all.cpu = all.requests+r.requests, all.seconds+r.seconds, all.cpu+r.cpu
	}
	return all
}

// kind is one row of the table.
type kind struct {
	name string
	traffic
}

func (b *benchPrograms) kinds(ctx context.Context, s *subject, bodies [][]byte) ([]kind, error) {
	const common = "/api/1.0/most-common-problems/?limit=100&period=year"
	body, err := fetch(ctx, http.DefaultClient, http.MethodGet, s.url+common, nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Objects []struct {
			Function string `json:"function"`
			Link     string `json:"web_link"`
		} `json:"objects"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Objects) == 0 {
		return nil, fmt.Errorf("the API names no problems: %s", body)
	}
	problem, signature := answer.Objects[0].Link, url.QueryEscape(answer.Objects[0].Function)
	kinds := []kind{
		{"ingest at a fixed rate", traffic{next: posts(s.ingest, bodies), connections: 32, perSecond: b.rate}},
		{"ingest as fast as it is taken", traffic{next: posts(s.ingest, bodies), connections: 32}},
	}
	for _, p := range []struct {
		name, address string
		header        http.Header
		fresh         bool
	}{
		{"front page", s.url + "/", nil, false},
		{"front page, uncached", s.url + "/", nil, true},
		{"front page of a year, uncached", s.url + "/?period=year", nil, true},
		{"front page, signed in", s.url + "/", s.signedIn, false},
		{"problem page", problem, nil, false},
		{"problem page, uncached", problem, nil, true},
		{"problem page, signed in", problem, s.signedIn, false},
		{"API: most common problems", s.url + common, s.token, false},
		{"API: average crashes", s.url + "/api/1.0/average-crashes/?limit=0", s.token, false},
		{"API: instances", s.url + "/api/1.0/instances/?limit=100&id=" + signature, s.token, false},
		{"API: versions", s.url + "/api/1.0/versions/?limit=0&id=" + signature, s.token, false},
	} {
		kinds = append(kinds, kind{p.name, traffic{next: get(p.address, p.header, p.fresh), connections: 8, perSecond: b.pages}})
	}
	for i := range kinds {
		kinds[i].length = b.length
	}
	return kinds, nil
}

// withPostgres calls measure with a folder that is removed afterwards and the address of a PostgreSQL that syncs to disk:
// that of a data_dir, or, with none, an empty one.
func withPostgres(ctx context.Context, dataDir string, measure func(folder, databaseURL string) error) (err error) {
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user passes through
		return err
	}
	if dataDir == "" {
		dataDir = filepath.Join(folder, "postgresql")
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dataDir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	return measure(folder, server.URL())
}

// createDatabase creates an empty database on the server of a URL, in place of one that an earlier run left.
func createDatabase(ctx context.Context, databaseURL, name string) (string, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	for _, sql := range []string{"drop database if exists ", "create database "} {
		if _, err := conn.Exec(ctx, sql+pgx.Identifier{name}.Sanitize()); err != nil {
			return "", err
		}
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}
