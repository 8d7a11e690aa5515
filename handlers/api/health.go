package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
)

func (a *answers) healthResources() []resource {
	return []resource{{
		name: "release-health", method: http.MethodGet, access: public,
		summary: "Reports by hour of a release or an update, spikes, and machines without a crash.",
		doc: "The list has one object. The hours are those of the last 14 days, or of the first 14 days of a release or an " +
			"update. docs/triage.md explains spikes and machines without a crash.",
		params: []param{
			{name: "release", kind: kindText, required: true, doc: "A release, by the name in reports.",
				example: releaseParam.example},
			{name: "package", kind: kindText, doc: "A binary package, for an update of it in the release.",
				example: packageParam.example},
			{name: "version", kind: kindText, doc: "The version of the package.", example: "1.4.2-1ubuntu1"},
		},
		object: releaseHealth{}, list: a.releaseHealth,
	}}
}

// releaseHealth is what is known by hour, and about machines without a crash.
type releaseHealth struct {
	CrashFree []crashFree  `json:"crash_free" doc:"Machines without a crash, for each way in which their number is known."`
	First     bool         `json:"first" doc:"Whether the hours begin with the release or the update."`
	Hours     []healthHour `json:"hours" doc:"Hours with reports, the earliest first."`
	Judged    int          `json:"hours_judged" doc:"Hours compared with the same hour of the four weeks before."`
	Known     string       `json:"known_since" doc:"First day of which reports are counted by hour, YYYYMMDD."`
	Package   string       `json:"package" doc:"Binary package; empty: the release itself."`
	Release   string       `json:"release" doc:"The release."`
	Since     string       `json:"since" doc:"First day (UTC), YYYYMMDD; empty if no hours of these days are known."`
	Spikes    []spike      `json:"spikes" doc:"Hours with at least twice as many reports, beyond chance."`
	Summary   string       `json:"summary" doc:"What was compared, and what was found, in one sentence."`
	Until     string       `json:"until" doc:"Last day, inclusive."`
	Version   string       `json:"version" doc:"Version of the package."`
}

type healthHour struct {
	Hour    string `json:"hour" doc:"Beginning of the hour of the crash, by the clock of the machine."`
	Reports int64  `json:"reports" doc:"Reports of the release, or of all versions of the package."`
	Own     int64  `json:"version_reports" doc:"Those of the version; 0 without a package."`
}

type spike struct {
	Before  []int64      `json:"before" doc:"Reports in the same hour of the four weeks before, the earliest first."`
	Hour    string       `json:"hour" doc:"Beginning of the hour."`
	P       float64      `json:"p_value" doc:"Probability of so many by chance, not corrected for the number of hours."`
	Ratio   gateInterval `json:"ratio" doc:"Share of the reports of the week before, divided by the same of Before."`
	Reports int64        `json:"reports" doc:"Reports in the hour."`
	Summary string       `json:"summary" doc:"The spike in sentences."`
}

type crashFree struct {
	Basis   string         `json:"basis" doc:"pings (the share is at least this), installs or version_installs (at most)."`
	Counted string         `json:"counted" doc:"Day of an imported number, YYYYMMDD; empty for pings."`
	Days    []crashFreeDay `json:"days" doc:"Days that are over and have a number of machines, the earliest first."`
	Share   *gateInterval  `json:"share" doc:"Share of the machines without a report, mean of the days; null: too weak."`
	Source  string         `json:"source" doc:"Source of an imported number."`
	Summary string         `json:"summary" doc:"The share, or why the data are too weak, in sentences."`
}

type crashFreeDay struct {
	Crashed  int64  `json:"crashed" doc:"Distinct machines that sent reports."`
	Day      string `json:"day" doc:"UTC day, YYYYMMDD."`
	Machines int64  `json:"machines" doc:"Machines that pinged, or have it installed."`
}

func (a *answers) releaseHealth(ctx context.Context, in input) ([]any, error) {
	release, pkg, version := crash.Release(in.text("release")), in.text("package"), in.text("version")
	if (pkg == "") != (version == "") {
		return nil, crash.Errorf(crash.Invalid, "missing_version", "Give both package and version, or neither.")
	}
	has, err := a.Problems.HasRelease(ctx, release)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, crash.Errorf(crash.NotFound, "unknown_release", "There are no reports from a release named %s.", release)
	}
	first, _ := crash.Releases().Life(release)
	if pkg != "" {
		known, err := a.Problems.VersionsInUse(ctx, pkg)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(known, func(k stats.VersionKnown) bool { return k.Release == release && k.Version == version })
		if at < 0 {
			return nil, crash.Errorf(crash.NotFound, "unknown_version", "There is no report of %s %s from %s.", pkg, version,
				release)
		}
		first = known[at].Since
	}
	h, err := a.Problems.Health(ctx, crash.Releases(), release, pkg, version, first, a.Now())
	if err != nil {
		return nil, err
	}
	machines, err := a.Problems.MachineNumbers(ctx, []crash.Release{release}, pkg, a.Now())
	if err != nil {
		return nil, err
	}
	free := machines.CrashFree(release, version)
	if !in.mayRead() {
		h = h.Labelled(privacy.RedactLabel)
		for i := range free {
			free[i] = free[i].Labelled(privacy.RedactLabel)
		}
	}
	return []any{newReleaseHealth(h, free)}, nil
}

func newReleaseHealth(h stats.Health, free []stats.CrashFree) releaseHealth {
	out := releaseHealth{
		CrashFree: []crashFree{}, First: h.First, Hours: []healthHour{}, Judged: h.Spikes.Judged,
		Known: h.Known.Format(dateFormat), Package: h.Package, Release: string(h.Release), Spikes: []spike{},
		Summary: cmp.Or(h.Unknown(), h.Spikes.Text()), Version: h.Version,
	}
	if !h.Until.Before(h.Since) {
		out.Since, out.Until = h.Since.Format(dateFormat), h.Until.Format(dateFormat)
	}
	hour := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	reports, own := h.Shown()
	for i, n := range reports {
		if n > 0 {
			out.Hours = append(out.Hours, healthHour{hour(h.Since.Add(time.Duration(i) * time.Hour)), n, own[i]})
		}
	}
	for _, s := range h.Spikes.Found {
		out.Spikes = append(out.Spikes, spike{s.Before, hour(s.Hour), s.P, newGateInterval(s.Ratio), s.Reports, s.Text()})
	}
	for _, c := range free {
		one := crashFree{Basis: string(c.Basis), Days: []crashFreeDay{}, Source: c.Source, Summary: c.Text()}
		if !c.Counted.IsZero() {
			one.Counted = c.Counted.Format(dateFormat)
		}
		if c.Weak() == "" {
			share := newGateInterval(c.Share())
			one.Share = &share
		}
		for _, d := range c.Days {
			one.Days = append(one.Days, crashFreeDay{d.Crashed, d.Day.Format(dateFormat), d.Machines})
		}
		out.CrashFree = append(out.CrashFree, one)
	}
	return out
}
