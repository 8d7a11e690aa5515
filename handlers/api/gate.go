package api

import (
	"context"
	"math"
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
)

func (a *answers) gateResources() []resource {
	return []resource{{
		name: "update-gate", method: http.MethodGet, access: public,
		summary: "Whether an update of a package made things worse.",
		doc: "The list has one object. It compares all reports of the package, per active machine, before and after the " +
			"update; docs/gate.md explains the statistics. " + stats.GateUnknown,
		params: []param{
			{name: "package", kind: kindText, required: true, doc: packageParam.doc, example: packageParam.example},
			{name: "version", kind: kindText, required: true, doc: "The version to judge.", example: "1.4.2-1ubuntu1"},
			{name: "against", kind: kindText, example: "1.4.1-1", doc: "A lower version to compare with. Default: the highest " +
				"lower version with enough exposure."},
			{name: "release", kind: kindText, example: releaseParam.example, doc: "A release, by the name in reports. " +
				"Default: every release with the version."},
		},
		object: updateGate{}, list: a.updateGate,
	}}
}

// updateGate is the answer of the update gate.
type updateGate struct {
	Known    []string      `json:"known_versions" doc:"If releases is empty: versions that reports name, highest first."`
	Package  string        `json:"package" doc:"Binary package."`
	Releases []gateRelease `json:"releases" doc:"The releases with reports of the version, newest first."`
	Summary  string        `json:"summary" doc:"The verdict in one sentence."`
	Verdict  string        `json:"verdict" doc:"pass, worse or not enough data: the worst of the releases."`
	Version  string        `json:"version" doc:"The version that was judged."`
	Link     string        `json:"web_link" doc:"The page with this answer."`
}

type gateRelease struct {
	After       gateWindow    `json:"after" doc:"Days on which the version was the newest one, at most 56."`
	Against     string        `json:"against" doc:"The version that it was compared with; empty: none."`
	Choice      string        `json:"against_choice" doc:"Why that one: named, previous, earlier, thin or none."`
	Before      gateWindow    `json:"before" doc:"Days on which that version was the newest one, at most 56."`
	Dispersion  float64       `json:"dispersion" doc:"Variance of the number of reports, relative to a Poisson one."`
	Increased   bool          `json:"increased" doc:"Whether the rate rose significantly."`
	Increases   []gateProblem `json:"increased_problems" doc:"Known problems that became significantly more frequent."`
	Missing     *gateMissing  `json:"missing" doc:"What a pass still needs; null if nothing."`
	Appeared    []gateProblem `json:"new_problems" doc:"Problems that no lower version in the release has, at most 50."`
	AppearedAll int           `json:"new_problems_count" doc:"Number of all such problems."`
	P           float64       `json:"p_value" doc:"Probability of such a rise of the rate if the update changed nothing."`
	Ratio       gateInterval  `json:"ratio" doc:"Rate after the update divided by the rate before, for all versions."`
	Reasons     []string      `json:"reasons" doc:"Explanation of the verdict, in sentences."`
	Release     string        `json:"release" doc:"The release."`
	Replaced    string        `json:"replaced_by" doc:"The higher version that ended the days after; empty: none."`
	Share       *float64      `json:"share" doc:"Estimated share of the machines with the update; null if unknown."`
	Nameless    int           `json:"unsymbolised_problems" doc:"Problems without function names: not compared."`
	Verdict     string        `json:"verdict" doc:"pass, worse or not enough data."`
}

// gateInterval is an estimate with its confidence interval.
type gateInterval struct {
	High  *float64 `json:"high" doc:"Upper end of the 95 % confidence interval; null if unlimited."`
	Low   float64  `json:"low" doc:"Lower end of the interval."`
	Value *float64 `json:"value" doc:"The estimate; null if unknown."`
}

type gateWindow struct {
	Days        int          `json:"days" doc:"Number of days."`
	MachineDays float64      `json:"machine_days" doc:"Sum of the active machines of the release over these days."`
	Rate        gateInterval `json:"rate" doc:"Reports of all versions per 1,000 machine-days."`
	Reports     int64        `json:"reports" doc:"Reports of all versions of the package."`
	Since       string       `json:"since" doc:"First day (UTC), YYYYMMDD; empty if there is none."`
	Until       string       `json:"until" doc:"Last day, inclusive."`
	Systems     int64        `json:"version_machines" doc:"Distinct machines that reported the version itself in these days (stored reports)."`
	OwnRate     gateInterval `json:"version_rate" doc:"Reports of the version itself per 1,000 machine-days."`
	Own         int64        `json:"version_reports" doc:"Reports of the version itself."`
}

type gateProblem struct {
	After       int64   `json:"after" doc:"Reports of any version in the days after."`
	Before      int64   `json:"before" doc:"Reports of any version in the days before."`
	Function    string  `json:"function" doc:"Signature of the problem; redacted for callers who may not read reports."`
	Systems     int64   `json:"machines" doc:"Distinct machines that ever reported it with the version."`
	P           float64 `json:"p_value" doc:"Probability of such numbers if the update changed nothing."`
	Significant bool    `json:"significant" doc:"Whether it counts, after the correction for the number of problems."`
	Link        string  `json:"web_link" doc:"The page of the problem."`
}

type gateMissing struct {
	Days        *float64 `json:"days" doc:"Days that this takes at the present pace; null: no number helps."`
	MachineDays *float64 `json:"machine_days" doc:"Machine-days after the update; null: no number helps."`
}

func (a *answers) updateGate(ctx context.Context, in input) ([]any, error) {
	answer, err := a.problems.UpdateGate(ctx, a.releases, stats.GateQuestion{
		Package: in.text("package"), Version: in.text("version"), Against: in.text("against"),
		Release: crash.Release(in.text("release")),
	}, a.now())
	if err != nil {
		return nil, err
	}
	if !in.mayRead() {
		answer = answer.Labelled(privacy.RedactLabel)
		for id, b := range answer.Buckets {
			answer.Buckets[id] = privacy.RedactBucket(b)
		}
	}
	return []any{newUpdateGate(a.base, answer)}, nil
}

// EncodeGate returns the answer of the API to a question of the update gate, as JSON, for someone
// who may read reports. base is the address of the site.
func EncodeGate(base string, answer stats.GateAnswer) ([]byte, error) {
	p := paging{limit: maxPage}
	return encode(p.envelope(&url.URL{}, nil, []any{newUpdateGate(base, answer)}))
}

func newUpdateGate(base string, answer stats.GateAnswer) updateGate {
	g := updateGate{
		Known: answer.Known, Package: answer.Package, Releases: []gateRelease{}, Summary: answer.Headline(),
		Verdict: string(answer.Verdict), Version: answer.Version, Link: base + answer.Path(),
	}
	if g.Known == nil {
		g.Known = []string{}
	}
	problems := func(findings []stats.GateFinding) []gateProblem {
		list := []gateProblem{}
		for _, f := range stats.ListedFindings(findings) {
			list = append(list, gateProblem{
				After: f.After, Before: f.Before, Function: answer.Buckets[f.ID].Signature, Systems: f.Machines, P: f.P,
				Significant: f.Significant, Link: base + f.ID.Path(),
			})
		}
		return list
	}
	for _, r := range answer.Results {
		out := gateRelease{
			After:   newGateWindow(r.GatePlan.After, r.After, r.Dispersion),
			Against: r.Against, Choice: string(r.Choice),
			Before:     newGateWindow(r.GatePlan.Before, r.Before, r.Dispersion),
			Dispersion: r.Dispersion, Increased: r.Increased, Increases: problems(r.Increases),
			Appeared: problems(r.Appeared), AppearedAll: len(r.Appeared), P: r.P, Ratio: newGateInterval(r.Ratio()),
			Reasons: r.Reasons(), Release: string(r.Release), Replaced: r.Replaced, Nameless: r.Nameless,
			Verdict: string(r.Verdict),
		}
		if r.ShareKnown {
			out.Share = &r.Share
		}
		if !r.Enough {
			machineDays, days := r.Needed()
			out.Missing = &gateMissing{Days: finite(days), MachineDays: finite(machineDays)}
		}
		g.Releases = append(g.Releases, out)
	}
	return g
}

func newGateWindow(w stats.Window, c stats.Compared, dispersion float64) gateWindow {
	out := gateWindow{
		Days: w.Days(), MachineDays: c.MachineDays, Rate: newGateInterval(c.Rate(dispersion)), Reports: c.Reports,
		Systems: c.Machines, Own: c.Own,
		OwnRate: newGateInterval(stats.Sample{Reports: c.Own, MachineDays: c.MachineDays}.Rate(dispersion)),
	}
	if w.Days() > 0 {
		out.Since, out.Until = w.Since.Format(dateFormat), w.Until.Format(dateFormat)
	}
	return out
}

func newGateInterval(i stats.Interval) gateInterval {
	return gateInterval{High: finite(i.High), Low: i.Low, Value: finite(i.Value)}
}

// finite returns nil for a number that JSON cannot represent.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
