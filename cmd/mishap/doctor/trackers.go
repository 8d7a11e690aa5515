package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/tracker"
)

// trackers checks those of the [[tracker]] tables, all at once.
func (d *doctor) trackers(ctx context.Context) (all []Finding) {
	found := make([][]Finding, len(d.Trackers))
	var running sync.WaitGroup
	for i, c := range d.Trackers {
		running.Go(func() { found[i] = d.table(ctx, c) })
	}
	running.Wait()
	for _, f := range found {
		all = append(all, f...)
	}
	return all
}

// table checks that a tracker can be reached, accepts the access token, and takes bugs in its configured target. It
// compares its clock.
func (d *doctor) table(ctx context.Context, c tracker.Config) (out []Finding) {
	name := c.Title + " (" + c.Kind.Title + ")"
	began := d.Now()
	resp, _, err := d.get(ctx, d.http, c.APIURL) //nolint:bodyclose // get closes it
	ended := d.Now()
	if err != nil {
		return []Finding{failed("tracker", name+" cannot be reached at "+c.APIURL+": "+explain(err),
			"correct its url or api_url, or allow connections to it")}
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out = append(out, clock(name, at, began, ended, time.Second))
	}
	if api, err := url.Parse(c.APIURL); err == nil && api.Scheme == "http" && !config.IsLoopback(api.Hostname()) {
		out = append(out, warned("tracker", name+" is used without TLS: its access token can be read on the network",
			"set its url to an https address"))
	}
	if c.Token.IsZero() {
		return append(out, warned("tracker", name+" answers, but has no access token, so it gets no bugs",
			"set its token or token_file"))
	}
	if strings.Contains(c.Target, "{") {
		c.Target = "" // it depends on the package
	}
	c.Timeout = d.Timeout
	t := c.Kind.New(c, tracker.NewCredentials(c, &readOnlyCredentials{}))
	account, err := tracker.Check(ctx, t)
	switch {
	case refused(err):
		return append(out, failed("tracker", name+" does not accept its access token", "set its token to a new one"))
	case err != nil:
		return append(out, failed("tracker", name+": "+explain(err), "see docs/filing.md"))
	}
	message := name + " accepts mishap as " + tracker.Clean(account, 100)
	prober, ok := t.(tracker.Prober)
	if !ok {
		return append(out, good("tracker", message))
	}
	concerns, err := prober.Probe(ctx)
	if err != nil {
		return append(out, warned("tracker", message+", but does not say whether it takes bugs: "+
			explain(tracker.Explained(err)), "run mishap doctor again later"))
	}
	for _, concern := range concerns {
		report, remedy := failed, "see docs/filing.md"
		if concern.Key != "" {
			remedy = "correct its " + concern.Key
		}
		if concern.Minor {
			report = warned
		}
		out = append(out, report("tracker", name+": "+concern.Text, remedy))
	}
	if len(concerns) > 0 {
		return out
	}
	if c.Target != "" {
		message += ", and has " + c.Target
	}
	return append(out, good("tracker", message))
}

// shownRoutes is the number of routes that a finding names.
const shownRoutes = 3

// routes names the routes to trackers that are not in the configuration.
func (d *doctor) routes(known facts) []Finding {
	names := map[string]bool{crash.FirstTracker: d.Config.HasLaunchpad()}
	for _, c := range d.Trackers {
		names[c.Name] = true
	}
	var wrong []string
	for i, r := range known.routes {
		if !names[r.Tracker] {
			wrong = append(wrong, fmt.Sprintf("line %d (%s)", i+2, r)) // after the line of names
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	text := strings.Join(wrong[:min(len(wrong), shownRoutes)], ", ")
	if more := len(wrong) - shownRoutes; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []Finding{failed("routes", "routes lead to trackers that are not in the configuration: "+text,
		"correct them at "+d.Config.BaseURL+"/admin/routes, or add the [[tracker]] tables")}
}
