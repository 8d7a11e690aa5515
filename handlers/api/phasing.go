package api

import (
	"context"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db/problems"
)

// minNewSystems is the number of machines that a new problem must exceed to be listed.
const minNewSystems = 2

func (a *answers) phasingResources() []resource {
	version := func(name, doc string) param {
		return param{name: name, kind: kindText, required: true, doc: doc, example: "1.4.2-1ubuntu1"}
	}
	return []resource{
		{
			name: "package-rate-of-crashes", method: http.MethodGet, access: public,
			summary: "Whether a new version of a package crashes more often than the previous one.",
			doc: "This stops phased updates. docs/api.md has the formula of the five original fields; evidence " +
				"adds statistics per active machine.",
			params: []param{
				{name: "release", kind: kindText, required: true, doc: releaseParam.doc, example: releaseParam.example},
				{name: "package", kind: kindText, required: true, doc: packageParam.doc, example: packageParam.example},
				version("old_version", "The previous version."), version("new_version", "The new version."),
				{
					name: "phased_update_percentage", kind: kindNumber, max: 100,
					doc:     "Share of machines that receive the new version.",
					example: "10",
				},
				{
					name: "date", kind: kindDay, required: true,
					doc: "Day on which the new version was published. Only crashes of the old version before this day are " +
						"used.",
					example: "20260518",
				},
				{name: "exclude_proposed", kind: kindFlag, doc: "Omit crashes from the proposed pocket.", example: "True"},
			},
			object: crashRate{}, list: a.rateOfCrashes,
		},
		{
			name: "package-version-new-buckets", method: http.MethodGet, access: public,
			summary: "Problems seen on more than two machines with a new version of a package, but never with the " +
				"previous one.",
			doc: "This stops phased updates. If the archive does not have one of the versions, the answer " +
				"is 404. The field archive is unknown until the archive has been read.",
			params: []param{
				{name: "package", kind: kindText, required: true, doc: "Name of a source package.", example: "tidewatch"},
				version("previous_version", "The previous version."), version("new_version", "The new version."),
			},
			object: newBucket{}, list: a.newBuckets,
		},
	}
}

// crashRate is the answer of package-rate-of-crashes.
type crashRate struct {
	Difference *int64   `json:"difference" doc:"Crashes today above the number expected by now."`
	Evidence   evidence `json:"evidence"`
	Increase   bool     `json:"increase" doc:"Whether the new version crashes more often."`
	Average    *int64   `json:"previous_average" doc:"Expected crashes of the old version per day."`
	Days       *int64   `json:"previous_period_in_days" doc:"Number of days in this mean."`
	Link       *string  `json:"web_link" doc:"List of the new version's problems; null without an increase."`
}

func (a *answers) rateOfCrashes(ctx context.Context, in input) ([]any, error) {
	release, pkg, newer := in.text("release"), in.text("package"), in.text("new_version")
	if in.day("date").After(a.today().AddDate(1, 0, 0)) {
		return nil, crash.Errorf(crash.Invalid, "bad_date", "The parameter date is more than a year ahead.")
	}
	days, err := a.Problems.VersionDays(ctx, crash.Release(release), pkg, in.text("old_version"), newer)
	if err != nil {
		return nil, err
	}
	q := rateQuestion{
		date: in.day("date"), percentage: float64(in.number("phased_update_percentage")),
		phased:          in.given["phased_update_percentage"],
		excludeProposed: in.flag("exclude_proposed"),
	}
	v := evaluate(days, q, a.Now())
	out := crashRate{
		Increase: v.increase, Difference: truncated(v.difference), Average: truncated(v.average),
		Evidence: newEvidence(days, q, a.Now()),
	}
	if v.days != nil {
		n := int64(*v.days)
		out.Days = &n
	}
	if v.increase {
		link := a.listAddress("release", release, "package", pkg, "version", newer)
		out.Link = &link
	}
	return []any{out}, nil
}

// truncated returns the integer part of x, or nil for nil.
func truncated(x *float64) *int64 {
	if x == nil {
		return nil
	}
	n := int64(math.Trunc(*x))
	return &n
}

// newBucket is a problem that appeared with a version.
type newBucket struct {
	Archive  string   `json:"archive" doc:"published: the archive has both versions; unknown: it has not been read yet."`
	Evidence evidence `json:"evidence" doc:"Reports per active machine of the releases with the new version."`
	Function string   `json:"function" doc:"Signature of the problem; redacted for callers who may not read reports."`
	Reports  int64    `json:"reports" doc:"Number of reports with the new version."`
	Systems  int64    `json:"systems" doc:"Distinct machines with the new version."`
	Link     string   `json:"web_link" doc:"The page of the problem."`
}

func (a *answers) newBuckets(ctx context.Context, in input) ([]any, error) {
	pkg, previous, newer := in.text("package"), in.text("previous_version"), in.text("new_version")
	facts, err := a.Bugs.ArchiveFacts(ctx, []crash.ArchiveWant{
		{Kind: crash.ArchiveVersion, Key: pkg + " " + previous}, {Kind: crash.ArchiveVersion, Key: pkg + " " + newer},
	})
	if err != nil {
		return nil, err
	}
	archive := "published"
	for i, version := range []string{previous, newer} {
		switch {
		case facts[i].Known() && !facts[i].Exists || !facts[i].Valid():
			return nil, crash.Errorf(crash.NotFound, "unknown_version", "The archive has no version %.100s of the source "+
				"package %.100s.", version, pkg)
		case !facts[i].Known():
			archive = "unknown"
		}
	}
	buckets, err := a.Problems.NewBuckets(ctx, pkg, previous, newer, minNewSystems)
	if err != nil {
		return nil, err
	}
	if len(buckets) == 0 {
		return nil, nil
	}
	machines, err := a.exposureOf(ctx, pkg, previous, newer)
	if err != nil {
		return nil, err
	}
	objects := make([]any, len(buckets))
	for i, b := range buckets {
		objects[i] = newBucket{
			Archive: archive, Evidence: machines.evidence(b.Reports), Function: visibleSignature(in, b.Signature),
			Reports: b.Reports, Systems: b.Systems, Link: a.problemLink(b.ID),
		}
	}
	return objects, nil
}

// versionRow is the row of one version, or of all. It also has a number for each series.
type versionRow struct {
	Version     string            `json:"version" doc:"A package version; All versions in the last row."`
	Pockets     map[string]string `json:"pockets" doc:"Pocket of the version by codename, or ? if unknown."`
	Derivatives int64             `json:"derivatives" doc:"Reports from releases that are not Ubuntu series; -1: none."`
	Total       int64             `json:"total" doc:"Reports from all releases; -1: none."`
	bySeries    map[string]int64
}

// MarshalJSON writes the numbers of the series beside the other fields.
func (v versionRow) MarshalJSON() ([]byte, error) {
	all := map[string]any{"version": v.Version, "pockets": v.Pockets, "derivatives": v.Derivatives, "total": v.Total}
	for series, n := range v.bySeries {
		all[series] = n
	}
	return marshal(all)
}

// noCount is the value of a missing count.
const noCount = -1

func (a *answers) versions(ctx context.Context, in input) ([]any, error) {
	id, err := a.find(ctx, in.sent("id"))
	if crash.KindOf(err) == crash.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	counts, err := a.Store.BucketVersions(ctx, id)
	if err != nil || len(counts) == 0 {
		return nil, err
	}
	b, err := a.Store.Bucket(ctx, id)
	if err != nil {
		return nil, err
	}
	published, err := a.Bugs.ArchiveFacts(ctx, []crash.ArchiveWant{{Kind: crash.ArchiveSource, Key: b.SourcePackage}})
	if err != nil {
		return nil, err
	}
	none := a.noCounts()
	all := newVersionRow("All versions", none)
	var rows []versionRow
	for i := len(counts) - 1; i >= 0; i-- { // the store lists the newest first
		c := counts[i]
		if len(rows) == 0 || rows[len(rows)-1].Version != visibleLabel(in, c.Version) {
			rows = append(rows, newVersionRow(visibleLabel(in, c.Version), none))
		}
		row := &rows[len(rows)-1]
		series := a.series(c.Release)
		row.count(series, c.Reports)
		all.count(series, c.Reports)
		if series != "" {
			row.Pockets[series] = pocketOr(published[0], series, c.Version, "?")
		}
	}
	objects := make([]any, 0, len(rows)+1)
	for _, row := range append(rows, all) {
		objects = append(objects, row)
	}
	return objects, nil
}

// pocketOr returns the pocket of a series that has a version, or unknown.
func pocketOr(f crash.ArchiveFact, series, version, unknown string) string {
	if pocket := crash.PocketOf(f.In(series), version); pocket != "" {
		return pocket
	}
	return unknown
}

// noCounts returns a row without counts: noCount for each series that rows name.
func (a *answers) noCounts() map[string]int64 {
	none := map[string]int64{}
	for _, release := range crash.Releases().All("Ubuntu") {
		if release.Compare(oldStandardRelease) >= 0 {
			none[release.Codename()] = noCount
		}
	}
	return none
}

func newVersionRow(version string, none map[string]int64) versionRow {
	return versionRow{
		Version: version, Pockets: map[string]string{}, Derivatives: noCount, Total: noCount, bySeries: maps.Clone(none),
	}
}

func (v *versionRow) count(series string, n int64) {
	add := func(to int64) int64 { return max(to, 0) + n }
	if series == "" {
		v.Derivatives = add(v.Derivatives)
	} else {
		if _, known := v.bySeries[series]; !known {
			v.bySeries[series] = noCount
		}
		v.bySeries[series] = add(v.bySeries[series])
	}
	v.Total = add(v.Total)
}

// series returns the codename of an Ubuntu release, or "" for other releases.
func (a *answers) series(r crash.Release) string {
	if !strings.HasPrefix(string(r), "Ubuntu ") {
		return ""
	}
	return r.Codename()
}

// evidence supplements the old fields: crashes per active machine with a 95% confidence
// interval, and the ratio of the new rate to the old one.
type evidence struct {
	New   rate   `json:"new" doc:"For the new version, from its first day until now."`
	Old   rate   `json:"old" doc:"For the old version, on the days before."`
	Ratio *ratio `json:"ratio" doc:"New rate divided by the old one; null: no days of a version, or no crashes."`
}

// rate is the number of crashes per machine.
type rate struct {
	Crashes  int64       `json:"crashes" doc:"Number of crashes; for a problem, of all its reports."`
	Interval *[2]float64 `json:"interval" doc:"95% interval per 1000 machine-days; null without machines."`
	Machines float64     `json:"machine_days" doc:"Sum of active machines per day; today counts in part."`
	Rate     *float64    `json:"per_1000_machine_days" doc:"Null if there are no machines."`
}

type ratio struct {
	Interval [2]*float64 `json:"interval" doc:"95% confidence interval; null: no limit. Above 1: it crashes more."`
	Ratio    *float64    `json:"ratio" doc:"Null if only the old version has no crashes."`
}

// newEvidence counts both versions over the newest days with crashes, which the old formula uses
// too, and the days between them. A day without a row has the machines of the day before. During
// a phased update, only the share of machines that receive the new version counts.
func newEvidence(days []stats.VersionDay, q rateQuestion, now time.Time) evidence {
	today := now.UTC().Truncate(24 * time.Hour)
	crashes := func(n, proposed int64) int64 {
		if q.excludeProposed {
			return n - proposed
		}
		return n
	}
	var e evidence
	newer, older := newestDays(days, q)
	share := 1.0
	if q.phased {
		share = q.percentage / 100
	}
	if len(newer) > 0 {
		for day, d := range eachDay(days, newer[len(newer)-1].Day, today) {
			e.New.Crashes += crashes(d.New, d.NewProposed)
			e.New.Machines += float64(d.Machines) * share * crash.Elapsed(day, now)
		}
	}
	if len(older) > 0 {
		for _, d := range eachDay(days, older[len(older)-1].Day, q.date.AddDate(0, 0, -1)) {
			e.Old.Crashes += crashes(d.Old, d.OldProposed)
			e.Old.Machines += float64(d.Machines)
		}
	}
	return e.withRates()
}

// withRates returns e with the rates and the ratio of its counts.
func (e evidence) withRates() evidence {
	e.New.setRates()
	e.Old.setRates()
	e.Ratio = compare(e.New, e.Old)
	e.New.Machines, e.Old.Machines = rounded(e.New.Machines), rounded(e.Old.Machines)
	return e
}

// rounded rounds x to six significant digits; the data has no greater precision.
func rounded(x float64) float64 {
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64); err == nil {
		return y
	}
	return x
}

// eachDay yields the days from one to another, including those without a row.
func eachDay(days []stats.VersionDay, from, to time.Time) func(func(time.Time, stats.VersionDay) bool) {
	return func(yield func(time.Time, stats.VersionDay) bool) {
		var last stats.VersionDay
		i := 0
		for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
			now := stats.VersionDay{Day: day}
			for ; i < len(days) && !days[i].Day.After(day); i++ {
				last = days[i]
			}
			if last.Day.Equal(day) {
				now = last
			}
			now.Machines = last.Machines
			if !yield(day, now) {
				return
			}
		}
	}
}

// setRates sets the rate and its interval.
func (r *rate) setRates() {
	m := stats.NewMachineRate(r.Crashes, r.Machines)
	if m.Known() {
		per := rounded(m.Per1000)
		r.Rate, r.Interval = &per, &[2]float64{rounded(m.Low), rounded(m.High)}
	}
}

// compare returns the ratio of the new rate to the old one, or nil if it is unknown.
func compare(newer, older rate) *ratio {
	x := stats.NewMachineRate(newer.Crashes, newer.Machines).Times(stats.NewMachineRate(older.Crashes, older.Machines))
	if !x.Known() {
		return nil
	}
	limit := func(x float64) *float64 {
		if math.IsInf(x, 1) {
			return nil
		}
		x = rounded(x)
		return &x
	}
	return &ratio{Ratio: limit(x.Ratio), Interval: [2]*float64{limit(x.Low), limit(x.High)}}
}

// maxOldDays is the maximum number of days before the new version in which the old version
// counts.
const maxOldDays = 90

// exposure is the number of machine-days of two versions of a source package, in the releases
// where the new one was seen.
type exposure struct{ newer, older float64 }

// exposureOf adds up the machines that were active in any of those releases, each once a day. The
// new version counts from its first day there until now. The old version counts from its first day,
// at most maxOldDays back, until the new one appeared.
func (a *answers) exposureOf(ctx context.Context, source, previous, newer string) (exposure, error) {
	var x exposure
	b, err := a.Store.Index(ctx)
	if err != nil {
		return x, err
	}
	spans := b.SourceSpans(source, newer, previous)
	type firsts struct{ newer, older time.Time }
	starts, since := map[crash.Release]firsts{}, a.today()
	for _, s := range spans {
		f := starts[s.Release]
		if s.Version == newer {
			f.newer = s.First
		}
		if s.Version == previous {
			f.older = s.First
		}
		starts[s.Release] = f
		if s.First.Before(since) {
			since = s.First
		}
	}
	today := a.today()
	newerDays, olderDays := map[crash.Release]problems.Days{}, map[crash.Release]problems.Days{}
	for release, f := range starts {
		if f.newer.IsZero() {
			continue
		}
		newerDays[release] = problems.Days{Since: f.newer, Until: today}
		if !f.older.IsZero() {
			oldest := f.newer.AddDate(0, 0, -maxOldDays)
			if f.older.After(oldest) {
				oldest = f.older
			}
			olderDays[release] = problems.Days{Since: oldest, Until: f.newer.AddDate(0, 0, -1)}
		}
	}
	newerMachines, err := a.Problems.DistinctMachines(ctx, newerDays, since, today)
	if err != nil {
		return x, err
	}
	olderMachines, err := a.Problems.DistinctMachines(ctx, olderDays, since, today)
	if err != nil {
		return x, err
	}
	x.newer = stats.MachineDays(newerMachines, since, a.Now())
	x.older = stats.MachineDays(olderMachines, since, a.Now())
	return x, nil
}

// evidence returns the evidence of a problem that the old version did not have.
func (x exposure) evidence(reports int64) evidence {
	return evidence{New: rate{Crashes: reports, Machines: x.newer}, Old: rate{Machines: x.older}}.withRates()
}

func (a *answers) gateResources() []resource {
	return []resource{{
		name: "update-gate", method: http.MethodGet, access: public,
		summary: "Whether an update of a package made things worse.",
		doc: "The list has one object. It compares all reports of the package, per active machine, before and after the " +
			"update; docs/gate.md explains the statistics. " + stats.GateUnknown,
		params: []param{
			{name: "package", kind: kindText, required: true, doc: packageParam.doc, example: packageParam.example},
			{name: "version", kind: kindText, required: true, doc: "The version to check.", example: "1.4.2-1ubuntu1"},
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
	Version  string        `json:"version" doc:"The version that was checked."`
	Link     string        `json:"web_link" doc:"Page that shows this answer."`
}

type gateRelease struct {
	After       gateWindow    `json:"after" doc:"Days on which the version was the newest one, at most 56."`
	Against     string        `json:"against" doc:"The version that it was compared with; empty: none."`
	Choice      string        `json:"against_choice" doc:"Why this version: named, previous, earlier, thin or none."`
	Before      gateWindow    `json:"before" doc:"Days on which that version was the newest one, at most 56."`
	Where       []gateWhere   `json:"concentrated" doc:"If the rate rose: where its crashes are concentrated."`
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
	High  *float64 `json:"high" doc:"Upper end of the 95% confidence interval; null if unlimited."`
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

	Seen int64 `json:"version_machines" doc:"Machines that reported the version itself in these days (stored reports)."`

	OwnRate gateInterval `json:"version_rate" doc:"Reports of the version itself per 1,000 machine-days."`
	Own     int64        `json:"version_reports" doc:"Reports of the version itself."`
}

type gateProblem struct {
	After  int64 `json:"after" doc:"Reports of any version in the days after."`
	Before int64 `json:"before" doc:"Reports of any version in the days before."`

	Where []gateWhere `json:"concentrated" doc:"Where it is concentrated, if significant; empty for visitors."`

	Function    string  `json:"function" doc:"Signature of the problem; redacted for callers who may not read reports."`
	Systems     int64   `json:"machines" doc:"Distinct machines that ever reported it with the version."`
	P           float64 `json:"p_value" doc:"Probability of such numbers if the update changed nothing."`
	Significant bool    `json:"significant" doc:"Whether it is significant, corrected for the number of problems."`
	Link        string  `json:"web_link" doc:"The page of the problem."`
}

// gateWhere is a value that machines have more often than others; docs/triage.md explains the numbers.
type gateWhere struct {
	There   int          `json:"elsewhere" doc:"Machines elsewhere with the value."`
	ThereOf int          `json:"elsewhere_of" doc:"Machines elsewhere that tell."`
	Field   string       `json:"field" doc:"Such as graphics, kernel or package:libc6."`
	Here    int          `json:"machines" doc:"Machines with the value."`
	HereOf  int          `json:"machines_of" doc:"Machines that tell."`
	Odds    gateInterval `json:"odds_ratio" doc:"Odds ratio; its interval is corrected for the number of comparisons."`
	Text    string       `json:"sentence" doc:"The same in words."`
	Value   string       `json:"value" doc:"Such as nvidia-550."`
}

func newGateWhere(c stats.Concentrations) []gateWhere {
	all := []gateWhere{}
	for _, f := range c.Found {
		all = append(all, gateWhere{There: f.There, ThereOf: f.ThereOf, Field: string(f.Field), Here: f.Here,
			HereOf: f.HereOf, Odds: newGateInterval(f.Odds), Text: f.Sentence(), Value: f.Value})
	}
	return all
}

type gateMissing struct {
	Days        *float64 `json:"days" doc:"Days until then at the current rate; null: never."`
	MachineDays *float64 `json:"machine_days" doc:"Machine-days needed after the update; null: no number is enough."`
}

func (a *answers) updateGate(ctx context.Context, in input) ([]any, error) {
	answer, err := a.Problems.UpdateGate(ctx, crash.Releases(), stats.GateQuestion{
		Package: in.text("package"), Version: in.text("version"), Against: in.text("against"),
		Release: crash.Release(in.text("release")),
	}, a.Now())
	if err != nil {
		return nil, err
	}
	if in.mayRead() {
		if err := a.Problems.ConcentrateGate(ctx, &answer); err != nil {
			return nil, err
		}
		for i := range answer.Where {
			w := &answer.Where[i]
			w.Concentrations = w.Only(func(field stats.FacetField) bool {
				names, excerpt := field.Sources()
				return a.Privacy.Permits(privacy.Restricted, names, excerpt)
			})
		}
	} else {
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
	problems := func(r stats.GateResult, findings []stats.GateFinding) []gateProblem {
		list := []gateProblem{}
		for _, f := range stats.ListedFindings(findings) {
			list = append(list, gateProblem{
				After: f.After, Before: f.Before, Function: answer.Buckets[f.ID].Signature, Systems: f.Machines, P: f.P,
				Significant: f.Significant, Link: base + f.ID.Path(), Where: newGateWhere(answer.WhereOf(r.Release, f.ID)),
			})
		}
		return list
	}
	for _, r := range answer.Results {
		out := gateRelease{
			After:   newGateWindow(r.GatePlan.After, r.After, r.Dispersion),
			Against: r.Against, Choice: string(r.Choice),
			Before:     newGateWindow(r.GatePlan.Before, r.Before, r.Dispersion),
			Dispersion: r.Dispersion, Increased: r.Increased, Increases: problems(r, r.Increases),
			Appeared:    problems(r, r.Appeared),
			Where:       newGateWhere(answer.WhereOf(r.Release, crash.BucketID{})),
			AppearedAll: len(r.Appeared), P: r.P, Ratio: newGateInterval(r.Ratio()),
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
		Seen: c.Machines, Own: c.Own,
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
