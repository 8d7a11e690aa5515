package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash/crashtest"
)

// bench is one run of a scenario with its options.
type bench struct {
	scenario

	program, against, database, dataDir, only     string
	reports, connections, rounds, strangers, slow int
	limits                                        bool
	out, err                                      io.Writer
}

// scenario is a table of measurements. docs/performance.md explains them. BenchmarkReports in handlers/ingest
// measures the handler alone.
type scenario struct {
	name, about string
	servers     []string // names (see bench.start); the first one is compared with the others
	lines       func(*bench, context.Context, *subject) ([]line, error)

	// Defaults of options.
	rate, pageRate int
	length         time.Duration
}

var scenarios = []scenario{
	{"ingest", "storing reports, on an empty database by default",
		[]string{""}, (*bench).ingestLines, 0, 0, 2 * time.Second},
	{"growth", "a filled database, compared with a new one with few reports",
		[]string{"filled", "new"}, (*bench).comparedLines, 200, 60, 2 * time.Second},
	{"programs", "two built programs, compared on new databases",
		[]string{"new", "against"}, (*bench).comparedLines, 200, 60, 2 * time.Second},
	{"pages", "pages and API resources of a filled database, and what a first visit loads",
		[]string{""}, (*bench).pageLines, 0, 0, 2 * time.Second},
	{"api", "only the API resources",
		[]string{""}, (*bench).pageLines, 0, 0, 2 * time.Second},
	{"strangers", "a page and reports, with and without visitors who request one public address",
		[]string{"disturbed", "alone"}, (*bench).strangerLines, 20, 10, 10 * time.Second},
}

func benchCommand() *cobra.Command {
	b := &bench{}
	var set scenario
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO]",
		Short: "Measures a server: reports, pages, the API",
		Long: `Measures a server on a database of its own or a given one. docs/performance.md explains the tables. The
reports stay in the database; the account "demo" is removed at the end. No other server may use the database
meanwhile. The scenarios are:
`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(cmd.ValidArgs, args[0]) {
				return fmt.Errorf("%q is not one scenario of %s", strings.Join(args, " "), strings.Join(cmd.ValidArgs, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range scenarios {
				if s.name == strings.Join(args, "") {
					b.scenario = s
				}
			}
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			b.rate, b.pageRate = cmp.Or(set.rate, b.rate), cmp.Or(set.pageRate, b.pageRate)
			b.length = cmp.Or(set.length, b.length)
			return b.run(cmd.Context())
		},
	}
	b.scenario = scenarios[0]
	for _, s := range scenarios {
		cmd.ValidArgs = append(cmd.ValidArgs, s.name)
		cmd.Long += fmt.Sprintf("\n  %-10s %s", s.name, s.about)
	}
	f := cmd.Flags()
	f.StringVar(&b.program, "program", besideMe("mishap"), "the mishap `program`")
	f.StringVar(&b.against, "against", "", "programs: the mishap `program` to compare --program with")
	f.StringVar(&b.dataDir, "data-dir", "", "`folder`: the data_dir whose private PostgreSQL to use")
	f.StringVar(&b.database, "database", "", "the `url` of a database on this machine")
	f.StringVar(&b.only, "only", "", "measure only what has this `text` in its name")
	f.IntVar(&b.reports, "reports", 100_000, "`number` of reports that a new database gets first")
	f.IntVar(&b.connections, "connections", 8,
		"pages, api: `number` of clients; each sends its next request after an answer")
	f.IntVar(&set.rate, "rate", 0, "reports per second, where the scenario has a fixed rate (default 200, strangers 20)")
	f.IntVar(&set.pageRate, "page-rate", 0, "pages and resources per second, likewise (default 60, strangers 10)")
	f.IntVar(&b.strangers, "visitors", 20, "strangers: `number` of visitors that never pause")
	f.IntVar(&b.slow, "slow", 2000, "strangers: `number` of visitors that read one large file slowly")
	f.BoolVar(&b.limits, "limits", true, "strangers: limit the visitors per address; each has an address")
	f.IntVar(&b.rounds, "rounds", 5, "`number` of rounds")
	f.DurationVar(&set.length, "for", 0, "`duration` of a round (default 2s, strangers 10s)")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	return cmd
}

func (b *bench) run(ctx context.Context) error {
	switch {
	case b.name == "programs" && b.against == "":
		return errors.New("--against names the other program")
	case b.name != "programs" && b.name != "ingest" && b.dataDir == "" && b.database == "":
		return fmt.Errorf("%s needs a filled database: --data-dir or --database", b.name)
	}
	var servers []*subject
	for _, name := range b.servers {
		s, err := b.start(ctx, name, servers)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.settle(ctx)
	}
	if err := b.table(ctx, servers); err != nil || b.name != "pages" {
		return err
	}
	return b.firstVisit(ctx, servers[0])
}

const mostConnections = 128

func (b *bench) ingestLines(_ context.Context, s *subject) (lines []line, err error) {
	next := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	for _, n := range []int{1, 8, 32, mostConnections} {
		lines = append(lines, line{name: fmt.Sprintf("%d connections", n), traffic: []traffic{{next: next, clients: n}}})
	}
	return append(lines, line{name: "half of that", half: true, traffic: []traffic{{next: next}}}), nil
}

// comparedLines returns reports without and with a fixed rate, some pages and resources.
func (b *bench) comparedLines(ctx context.Context, s *subject) ([]line, error) {
	next := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	lines := []line{
		{name: "ingest", traffic: []traffic{{next: next, clients: mostConnections}}},
		{name: fmt.Sprintf("ingest, %d per second", b.rate), traffic: []traffic{{next: next, perSecond: b.rate}}},
	}
	pages, err := b.pageLines(ctx, s)
	return append(lines, pages...), err
}
