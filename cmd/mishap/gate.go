package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/api"
)

// Exit statuses of the gate, besides exitOK for a pass and exitUsage.
const (
	exitWorse     = 1
	exitNotEnough = 3
	exitNoAnswer  = 4 // could not run
)

// maxGateTitle is the maximum length of the title of a problem.
const maxGateTitle = 100

func (p *program) gateCommand() *cobra.Command {
	var q stats.GateQuestion
	var release string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gate PACKAGE VERSION",
		Short: "Tells whether an update made things worse",
		Long: `Tells whether a version of a binary package made things worse. It compares all reports of the
package, per active machine of the release, while the version before was the newest one and since
this version arrived. It also looks for problems that are new or more frequent. The file
docs/gate.md explains the statistics and their limits.

The exit status is for release scripts:
  0  pass: a serious increase would have been noticed
  1  worse in at least one release
  2  usage error
  3  not enough data yet, or no report of the version
  4  no answer: unknown package, no database, wrong configuration
A script may ask as often as it likes: the false-alarm rate allows for one question a day.`,
		Example: `  mishap gate nautilus 1:46.4-0ubuntu2
  mishap gate nautilus 1:46.4-0ubuntu2 --against 1:46.2-0ubuntu1 --release "Ubuntu 24.04" --json`,
		Args: cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, args []string) error {
			q.Package, q.Version, q.Release = args[0], args[1], crash.Release(release)
			return q.Check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := p.stored(func(ctx context.Context, s session) (string, error) {
				return "", runGate(ctx, p.out, s, q, asJSON)
			})(cmd, args)
			if _, decided := errors.AsType[*statusError](err); err != nil && !decided {
				err = &statusError{err, exitNoAnswer}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&q.Against, "against", "", "the lower `version` to compare with; default: the highest "+
		"lower version "+
		"with enough exposure")
	cmd.Flags().StringVar(&release, "release", "", "the `release`, by the name in reports; default: every "+
		"release with the "+
		"version")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	return cmd
}

func runGate(ctx context.Context, out io.Writer, s session, q stats.GateQuestion, asJSON bool) error {
	if err := s.store.WaitCounted(ctx); err != nil {
		return err
	}
	answer, err := problems.New(s.store).UpdateGate(ctx, crash.Releases(), q, s.store.Now())
	if err != nil {
		return err
	}
	if err := problems.New(s.store).ConcentrateGate(ctx, &answer); err != nil {
		return err
	}
	base := strings.TrimSuffix(s.config.BaseURL, "/")
	if asJSON {
		body, err := api.EncodeGate(base, answer)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", body)
		}
		if err != nil {
			return err
		}
	} else if err := printGate(out, base, answer); err != nil {
		return err
	}
	switch answer.Verdict {
	case stats.GateWorse:
		return &statusError{errReported, exitWorse}
	case stats.GateNotEnough:
		return &statusError{errReported, exitNotEnough}
	case stats.GatePass:
	}
	return nil
}

func printGate(out io.Writer, base string, answer stats.GateAnswer) error {
	w := newTable(out)
	answer = answer.Labelled(onOneLine)
	_, _ = fmt.Fprintf(w, "%s\n%s%s\n", answer.Headline(), base, answer.Path()) // Flush returns the error
	if len(answer.Known) > 0 {
		_, _ = fmt.Fprintf(w, "Versions that reports name: %s\n", strings.Join(answer.Known, ", "))
	}
	for _, r := range answer.Results {
		_, _ = fmt.Fprintf(w, "\n%s: %s\n", r.Release, r.Verdict)
		for _, reason := range r.Reasons() {
			_, _ = fmt.Fprintf(w, "  %s\n", reason)
		}
		_, _ = fmt.Fprintln(w, "\n  \tVERSION\tDAYS\tMACHINE-DAYS\tREPORTS\tPER 1,000\t95% INTERVAL\tOF VERSION\tMACHINES")
		if r.Against != "" {
			printGateRow(w, "before", r.Against, r.GatePlan.Before, r.Before, r.Dispersion)
		}
		printGateRow(w, "after", r.Version, r.GatePlan.After, r.After, r.Dispersion)
		if r.Against != "" {
			_, _ = fmt.Fprintf(w, "  ratio\t\t\t\t\t%s\t%s\tp %s\n", stats.FormatNumber(r.Ratio().Value), r.Ratio(),
				stats.FormatProbability(r.P))
		}
		printFindings(w, base, "new problem", r.Appeared, answer.Buckets)
		printFindings(w, base, "more frequent", r.Increases, answer.Buckets)
		printConcentrations(w, base, answer, r.Release)
		if r.Nameless > 0 {
			_, _ = fmt.Fprintf(w, "\n  Problems without function names, which were not compared: %d\n", r.Nameless)
		}
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", stats.GateUnknown)
	return w.Flush()
}

// printConcentrations says where that is concentrated which is worse in a release.
func printConcentrations(w io.Writer, base string, answer stats.GateAnswer, release crash.Release) {
	for _, where := range answer.Where {
		if where.Release != release || len(where.Found) == 0 {
			continue
		}
		of := "crashes with " + answer.Version
		if where.Problem != (crash.BucketID{}) {
			of = base + where.Problem.Path()
		}
		_, _ = fmt.Fprintf(w, "\n  Concentrated: %s\n", of)
		for _, sentence := range where.Sentences() {
			_, _ = fmt.Fprintf(w, "    %s\n", onOneLine(sentence))
		}
	}
}

func printGateRow(w io.Writer, name, version string, days stats.Window, c stats.Compared, dispersion float64) {
	rate := c.Rate(dispersion)
	_, _ = fmt.Fprintf(w, "  %s\t%s\t%d\t%.0f\t%d\t%s\t%s\t%d\t%d\n", name, version, days.Days(), c.MachineDays, c.Reports,
		stats.FormatNumber(rate.Value), rate, c.Own, c.Machines)
}

func printFindings(w io.Writer, base, name string, all []stats.GateFinding, buckets map[crash.BucketID]crash.Bucket) {
	if len(all) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "\n  %s\tMACHINES\tBEFORE\tAFTER\tP\tCOUNTS\t\n", strings.ToUpper(name))
	for _, f := range stats.ListedFindings(all) {
		significant := "no"
		if f.Significant {
			significant = "yes"
		}
		_, _ = fmt.Fprintf(w, "  %s%s\t%d\t%d\t%d\t%s\t%s\t%s\n", base, f.ID.Path(), f.Machines, f.Before, f.After,
			stats.FormatProbability(f.P), significant, onOneLine(crash.Shorten(buckets[f.ID].Title, maxGateTitle)))
	}
	if more := len(all) - len(stats.ListedFindings(all)); more > 0 {
		_, _ = fmt.Fprintf(w, "  and %d more\n", more)
	}
}
