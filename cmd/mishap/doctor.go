package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/doctor"
	"mishap/cmd/mishap/size"
	"mishap/crash"
)

// exitStatusOf maps the worst finding of the doctor to the exit status.
var exitStatusOf = map[doctor.Status]int{doctor.OK: 0, doctor.Warning: 1, doctor.Failure: 2}

// doctorCommand makes the command "doctor".
type doctorCommand struct{ *program }

func (p doctorCommand) command() *cobra.Command {
	var asJSON bool
	var rate, retention string
	var plan size.Plan
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Checks the configuration and everything that mishap depends on",
		Long: `Checks the configuration, the database and its schema, pg_dump, free disk space, clocks, the bug trackers and
their access tokens, the mail relay, the debugger and its sandbox, debuginfod servers, trusted proxies, the
TLS certificate of base_url, and the permissions of files. It prints a line for each check: ok, off,
warning or failure, and what to do.

It changes nothing and sends no mail. It may run while mishap serves, or before the first start. Run it
as the user that runs mishap, or as root, which becomes the owner of data_dir. Each check takes at most
about ten seconds. The exit status is 0 if all is well, 1 with warnings, and 2 with failures.

With --size it checks nothing, but calculates which machines, disks and settings so many reports need, and
says which figures were measured.`,
		Example: `  mishap doctor
  mishap doctor --config /etc/mishap/config.toml --json
  mishap doctor --size 500/s --retention 2y --keep-bodies 1000`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			for _, name := range []string{"retention", "keep-bodies", "problems"} {
				if rate == "" && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s needs --size", name)
				}
			}
			if rate == "" {
				return nil
			}
			if plan.PerDay, err = size.ParseRate(rate); err != nil {
				return fmt.Errorf("--size: %w", err)
			}
			if plan.Days, err = size.ParseRetention(retention); err != nil {
				return fmt.Errorf("--retention: %w", err)
			}
			if plan.Bodies < 0 || plan.Problems < 0 {
				return errors.New("--keep-bodies, --problems: expected a number that is not negative")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rate != "" {
				return p.size(plan)
			}
			return p.examine(cmd, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&rate, "size", "",
		"calculate what this `rate` of reports needs, such as 500/s, 2000/h or 1000000/d")
	cmd.Flags().StringVar(&retention, "retention", "1y", "`time` for which reports are stored, such as 90d, 8w, 6m or 2y")
	cmd.Flags().IntVar(&plan.Bodies, "keep-bodies", 0, "`number` of bodies to store of each problem and month; 0: all")
	cmd.Flags().IntVar(&plan.Problems, "problems", 0, "`number` of problems; 0: an estimate")
	cmd.MarkFlagsMutuallyExclusive("size", "json")
	return cmd
}

// size prints what a plan needs.
func (p doctorCommand) size(plan size.Plan) error {
	figures, advice := size.Calculate(plan)
	w := newTable(p.out)
	for _, f := range figures {
		w.row(f.What, f.Value, f.Origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range advice {
		p.printf("%s", line)
	}
	p.printf("Measured: on two cores, with up to ten million reports of 20 kB. Calculated: from what each report took " +
		"there.")
	return nil
}

func (p doctorCommand) examine(cmd *cobra.Command, asJSON bool) error {
	var findings []doctor.Finding
	c, err := p.dataConfig(cmd)
	if mistakes, ok := errors.AsType[config.Mistakes](err); ok {
		for _, m := range mistakes {
			findings = append(findings, doctor.Finding{Check: "configuration", Status: doctor.Failure, Message: m,
				Remedy: "correct it, and run mishap doctor again for the other checks"})
		}
	} else if err != nil {
		return err
	} else {
		first := trackerConfig(c, nil, nil)
		findings = append(p.configFindings(c), doctor.Run(cmd.Context(), doctor.Deps{
			Config: c, Tracker: first, Trackers: tableConfigs(c, first),
		})...)
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(cmd.Context()))
	}
	if err := p.print(findings, asJSON); err != nil {
		return err
	}
	if worst := doctor.Worst(findings); worst != doctor.OK {
		return &statusError{errReported, exitStatusOf[worst]}
	}
	return nil
}

// configFindings describes a configuration without mistakes.
func (p doctorCommand) configFindings(c config.Config) []doctor.Finding {
	found := doctor.Finding{Check: "configuration", Status: doctor.OK, Message: c.File + " is valid"}
	if _, err := os.Stat(c.File); errors.Is(err, fs.ErrNotExist) {
		found.Message = "there is no " + c.File + "; the defaults and the environment are valid"
	}
	if len(c.DropIns) > 0 {
		found.Message += ", with " + strings.Join(c.DropIns, ", ")
	}
	all := []doctor.Finding{found}
	if _, _, err := releasesOf(c); err != nil {
		all[0] = doctor.Finding{Check: "configuration", Status: doctor.Failure, Message: err.Error(),
			Remedy: "correct the file, or remove the key releases"}
	}
	for _, stray := range config.StrayVariables(p.environ) {
		all = append(all, doctor.Finding{Check: "configuration", Status: doctor.Warning, Message: stray,
			Remedy: "correct or remove the variable"})
	}
	return all
}

func (p doctorCommand) print(findings []doctor.Finding, asJSON bool) error {
	worst := doctor.Worst(findings)
	if asJSON {
		e := json.NewEncoder(p.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Version  string           `json:"version"`
			Status   doctor.Status    `json:"status"`
			Findings []doctor.Finding `json:"findings"`
		}{versionText(), worst, findings})
	}
	counts := map[doctor.Status]int{}
	w := newTable(p.out)
	for _, f := range findings {
		counts[f.Status]++
		line := f.Message
		if f.Remedy != "" {
			line += ": " + f.Remedy
		}
		w.row(f.Status, f.Check, onOneLine(line))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "%s: %d ok, %d off, %d with a warning, %d failed\n",
		crash.Counted(int64(len(findings)), "check", "checks"), counts[doctor.OK], counts[doctor.Off],
		counts[doctor.Warning], counts[doctor.Failure])
	return err
}

// healthTimeout is how long the command "health" waits for an answer.
const healthTimeout = 5 * time.Second

func healthCommand(p *program) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Asks the instance on this machine whether it is ready",
		Long: `Asks the instance at the address of ops_listen whether it is ready, as /readyz says, and prints its
answer. The exit status is 0 if it is ready, else 1. With --live it only asks whether the instance
answers, as /healthz says. Containers use this command as their health check.`,
		Example: `  mishap health
  mishap health --live`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			path := "/readyz"
			if live {
				path = "/healthz"
			}
			return askHealth(cmd.Context(), p, config.LocalURL(c.OpsListen)+path)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask only whether the instance answers")
	return cmd
}

func askHealth(ctx context.Context, p *program, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	resp, err := client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("no instance answers at ops_listen: %w", failed.Err)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(body)))
	}
	_, err = p.out.Write(body)
	return err
}
