package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/board"
	"mishap/db"
)

// The times within which 99 of 100 answers have to be there.
const (
	usualBudget  = 30 * time.Millisecond  // as clients ask by themselves
	filterBudget = 150 * time.Millisecond // with any filter
)

// apiBench measures every resource of the API on a database that is filled already.
type apiBench struct {
	filled

	rounds int
	out    io.Writer
}

func benchAPICommand() *cobra.Command {
	b := apiBench{}
	cmd := &cobra.Command{
		Use:   "bench-api",
		Short: "Measures how fast the API answers on a database that is filled already",
		Long: `Starts the real server on a database that is filled already ("devtool load --fill"), asks every
resource of the API and every export as clients do and with filters, one request after the other, and
prints how long the answers take. Over the budget (30 ms as clients ask by themselves, 150 ms with any
filter, for 99 of 100) a line is marked. No other server may run on the data_dir meanwhile.`,
		Example: "  devtool bench-api --data-dir /var/tmp/million",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out = cmd.OutOrStdout()
			return b.run(cmd.Context())
		},
	}
	b.flags(cmd)
	cmd.Flags().IntVar(&b.rounds, "rounds", 200, "how many times each question is asked")
	return cmd
}

func (b *apiBench) run(ctx context.Context) error {
	return b.serve(ctx, func(s *site, databaseURL string) error {
		known, err := lookAround(ctx, databaseURL)
		if err != nil {
			return err
		}
		return b.measure(ctx, s, known)
	})
}

// surroundings are things in the database that questions can be about.
type surroundings struct {
	common, rare crash.Problem // the most reported problem, and one far down
	report       crash.ReportRow
	previous     string // a version before that of the common problem
	token        string
	reports      int64
}

const benchUser = "bench-api"

// lookAround finds out what there is to ask about, and makes a token to ask with.
func lookAround(ctx context.Context, address string) (known surroundings, err error) {
	store, err := db.Open(ctx, db.Config{URL: address, MaxConns: 4})
	if err != nil {
		return known, err
	}
	defer store.Close()
	now := time.Now().UTC().Truncate(24 * time.Hour)
	all, err := store.Board(ctx)
	if err != nil {
		return known, err
	}
	rows, totals := all.All(board.Filter{Since: board.DayOf(now.AddDate(-1, 0, 0)), Until: board.DayOf(now)}, nil)
	if len(rows) < 10 {
		return known, fmt.Errorf("only %d problems are stored; fill the database first", len(rows))
	}
	known.reports = totals.Reports
	found, err := store.ProblemsByID(ctx, []crash.ProblemCursor{{ID: rows[0].ID}, {ID: rows[len(rows)/2].ID}})
	if err != nil {
		return known, err
	}
	known.common, known.rare = found[0], found[1]
	reports, err := store.BucketReports(ctx, known.common.ID, crash.OopsID{}, 1)
	if err != nil {
		return known, err
	}
	versions, err := store.BucketVersions(ctx, known.common.ID)
	if err != nil {
		return known, err
	}
	if len(reports) == 0 || len(versions) == 0 {
		return known, errors.New("the most common problem has no reports")
	}
	known.report, known.previous = reports[0], versions[len(versions)-1].Version
	for _, v := range versions {
		if v.Version != known.common.HighestVersion {
			known.previous = v.Version
			break
		}
	}
	accounts := db.NewAccounts(store)
	user, err := accounts.ByName(ctx, benchUser)
	if crash.KindOf(err) == crash.NotFound {
		user, err = accounts.Add(ctx, "", benchUser, crash.RoleViewer, "only for measuring, this once")
	}
	if err != nil {
		return known, err
	}
	known.token, _, err = accounts.AddToken(ctx, user, "bench", []crash.Scope{crash.ScopeRead}, time.Now().Add(time.Hour))
	return known, err
}

// question is one request that is measured.
type question struct {
	path   string
	budget time.Duration
}

// questions are every resource, as clients ask and with filters.
func (k surroundings) questions() []question {
	q := url.QueryEscape
	id, release := q(k.common.Signature), q(string(k.report.Release))
	pkg, version := q(k.common.Package), q(k.common.HighestVersion)
	today := time.Now().UTC().Format("20060102")
	usual := []string{
		"most-common-problems/?format=json&limit=30", "most-common-problems/?limit=100&period=week", "bucket/" + url.PathEscape(k.common.Signature) + "/",
		"bucket/" + k.rare.ID.String() + "/", "versions/?limit=0&id=" + id, "instances/?limit=100&id=" + id,
		"instances/?limit=100&id=" + id + "&start=" + k.report.ID.String(), "average-instances/?limit=0&id=" + id,
		"average-instances/?limit=0&id=" + q(k.rare.Signature), "average-crashes/?limit=0", "average-crashes/?limit=0&release=" + release,
		"package-rate-of-crashes/?release=" + release + "&package=" + pkg + "&old_version=" + q(k.previous) + "&new_version=" + version + "&phased_update_percentage=10&date=" + today,
		"package-version-new-buckets/?package=" + q(k.common.SourcePackage) + "&previous_version=" + q(k.previous) + "&new_version=" + version,
		// The previous version was never reported: every problem with the new one is new.
		"package-version-new-buckets/?package=" + q(k.common.SourcePackage) + "&previous_version=0-1&new_version=" + version,
		"instances-count/", "problems-count/", "retracers-results/?limit=1", "retracers-average-processing-time/?limit=1",
		"reports-for-system/?limit=50&system=" + q(string(k.report.System)), "dayoops/" + today + "/?limit=100", "oops/" + k.report.ID.String() + "/",
		"instance/?id=" + k.report.ID.String(), "crash-signatures-for-bug/?bug=1", "binary-package-versions/?binary_package=" + pkg,
	}
	filtered := []string{
		"most-common-problems/?limit=100&period=year", "most-common-problems/?limit=100&period=month&release=" + release,
		"most-common-problems/?limit=100&period=year&package=" + pkg + "&version=" + version,
		"most-common-problems/?limit=100&period=year&pkg_arch=arm64", "most-common-problems/?limit=100&period=year&first_appearance=1&version=" + version,
		"average-crashes/?limit=0&package=" + pkg, "average-crashes/?limit=0&release=" + release + "&package=" + pkg + "&version=" + version,
		"instances-count/?limit=360", "problems-count/?limit=360", "retracers-results/?limit=360", "dayoops/" + today + "/?limit=100&release=" + release + "&details=1",
	}
	var list []question
	for _, path := range usual {
		list = append(list, question{"/api/1.0/" + path, usualBudget})
	}
	for _, path := range filtered {
		list = append(list, question{"/api/1.0/" + path, filterBudget})
	}
	return append(list, question{"/problems.atom", filterBudget})
}

func (b *apiBench) measure(ctx context.Context, site *site, known surroundings) error {
	_, _ = fmt.Fprintf(b.out, "%d reports of the last year\n", known.reports)
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "p50\tp99\tat most\t\t")
	for _, q := range known.questions() {
		took, err := measure(b.rounds, func() error { return ask(ctx, site, q.path, known.token) })
		if err != nil {
			return err
		}
		mark := ""
		if took.at(.99) > q.budget {
			mark = "OVER"
		}
		shown := q.path
		if len(shown) > 100 {
			shown = shown[:97] + "…"
		}
		_, _ = fmt.Fprintf(t, "%.2f ms\t%.2f ms\t%.0f ms\t%s\t %s\n", ms(took.at(.5)), ms(took.at(.99)), ms(q.budget), mark, shown)
	}
	return t.Flush()
}

func ask(ctx context.Context, site *site, path, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	status, body, err := site.send(req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: got status %d: %.300s", path, status, body)
	}
	return err
}
