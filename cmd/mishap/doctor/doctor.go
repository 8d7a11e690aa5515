// Package doctor checks everything that mishap needs: its database, disks, clock, tracker, mail relay,
// debugger, proxies, certificate and files. It changes nothing, sends no mail and files nothing, and
// works whether or not mishap is running.
package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/tracker"
)

// Status is the result of a check.
type Status = crash.HealthStatus

// The results of a check, in order of severity.
const (
	Off     = crash.HealthOff
	OK      = crash.HealthOK
	Warning = crash.HealthWarning
	Failure = crash.HealthFailure
)

// Finding is one result, which is one line.
type Finding struct {
	Check   string `json:"check"` // name of the check: "database"
	Status  Status `json:"status"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to do; empty if Status is OK or Off
}

// Deps are what the checks need. Only Config and Tracker are required.
type Deps struct {
	Config  config.Config
	Tracker tracker.Config
	Timeout time.Duration    // of each check; 0: 10 s
	Now     func() time.Time // clock of this machine; nil: time.Now
	Roots   *x509.CertPool   // certificate authorities for base_url; nil: those of the system
}

type doctor struct {
	Deps
	http *http.Client
}

// grace is how long a check may take to return after its time-out.
const grace = time.Second

// Run runs all checks. It returns at most about twice Deps.Timeout later, even if a disk or a server
// hangs.
func Run(ctx context.Context, deps Deps) []Finding {
	deps.Timeout = cmp.Or(deps.Timeout, 10*time.Second)
	if deps.Now == nil {
		deps.Now = time.Now
	}
	d := &doctor{deps, newClient(nil)}
	facts, ok := limited(ctx, d.Timeout, d.database)
	if !ok {
		facts.findings = []Finding{d.late("database")}
	}
	checks := []struct {
		name string
		run  func(context.Context) []Finding
	}{
		{"service", func(ctx context.Context) []Finding { return d.service(ctx, facts) }},
		{"disk", d.disks}, {"permissions", d.permissions},
		{"tracker", func(ctx context.Context) []Finding { return d.tracker(ctx, facts) }},
		{"mail", d.mail}, {"traces", d.traces}, {"symbols", d.symbols}, {"proxies", d.proxies}, {"base_url", d.baseURL},
	}
	results := make([][]Finding, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			result, ok := limited(ctx, d.Timeout, c.run)
			if !ok {
				result = []Finding{d.late(c.name)}
			}
			results[i] = result
		})
	}
	running.Wait()
	all := facts.findings
	for _, r := range results {
		all = append(all, r...)
	}
	return all
}

// limited calls do, and returns false if do has not returned soon after the time-out. Some system
// calls, such as those on the files of a dead file server, do not end with their context.
func limited[T any](ctx context.Context, timeout time.Duration, do func(context.Context) T) (T, bool) {
	inside, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan T, 1)
	go func() { done <- do(inside) }()
	late := time.NewTimer(timeout + grace)
	defer late.Stop()
	select {
	case result := <-done:
		return result, true
	case <-late.C:
		var none T
		return none, false
	}
}

func (d *doctor) late(check string) Finding {
	return failed(check, fmt.Sprintf("the check did not end within %v", d.Timeout),
		"look for a disk or server that hangs")
}

// Worst returns the most severe status of the findings.
func Worst(all []Finding) Status {
	worst := OK
	for _, f := range all {
		if f.Status == Failure || f.Status == Warning && worst == OK {
			worst = f.Status
		}
	}
	return worst
}

func good(check, message string) Finding { return Finding{Check: check, Status: OK, Message: message} }

func off(check, message string) Finding { return Finding{Check: check, Status: Off, Message: message} }

func warned(check, message, remedy string) Finding { return Finding{check, Warning, message, remedy} }

func failed(check, message, remedy string) Finding { return Finding{check, Failure, message, remedy} }

// explain returns an error with its cause, in one line.
func explain(err error) string {
	text := err.Error()
	if known, ok := errors.AsType[*crash.Error](err); ok {
		text = known.Message
		if known.Err != nil {
			text += " (" + known.Err.Error() + ")"
		}
	}
	return crash.Truncate(strings.TrimRight(strings.Join(strings.Fields(text), " "), "."), 400)
}
