package api

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db/problems"
)

// The constants of the formula that stops phased updates. They equal those of errors.ubuntu.com,
// because a program depends on the result; docs/api.md explains the formula.
const (
	maxCrashDays  = 15 // maximum number of days with crashes, for each version
	minCrashes    = 3  // minimum of crashes today for an increase
	minutesPerDay = 24 * 60
	minDifference = 1 // crashes above the number expected by now
)

type rateQuestion struct {
	date            time.Time // last day of the old version, and end of its mean
	percentage      float64   // share of machines that receive the new version
	phased          bool      // whether percentage is set
	excludeProposed bool
}

// verdict is the answer in the old fields. The pointers are nil for unknown values.
type verdict struct {
	increase   bool
	difference *float64
	average    *float64
	days       *int
}

// evaluate compares today's crashes of the new version with the number expected by now from the
// old version.
func evaluate(days []stats.VersionDay, q rateQuestion, now time.Time) verdict {
	now = now.UTC()
	newer, older := newestDays(days, q)
	today, ok := find(newer, now.Truncate(24*time.Hour))
	if !ok {
		return verdict{}
	}
	crashes := today.New
	if q.excludeProposed {
		if crashes -= today.NewProposed; crashes == 0 {
			return verdict{}
		}
	}
	difference := float64(crashes)
	if len(older) == 0 {
		return verdict{increase: true, difference: &difference}
	}
	first := older[len(older)-1].Day
	var counts []float64
	for day := first; day.Before(q.date); day = day.AddDate(0, 0, 1) {
		d, _ := find(older, day)
		n := d.Old
		if q.excludeProposed {
			n -= d.OldProposed
		}
		counts = append(counts, float64(n))
	}
	if crashes < minCrashes || len(counts) == 0 {
		return verdict{}
	}
	mean, deviation := meanAndDeviation(counts)
	expected := math.RoundToEven(mean + deviation)
	if q.phased {
		expected = expected * q.percentage / 100
	}
	minutes := float64(now.Hour()*60 + now.Minute())
	difference -= expected * (minutes / minutesPerDay)
	if !(difference > minDifference) {
		return verdict{}
	}
	period := len(counts)
	return verdict{increase: true, difference: &difference, average: &expected, days: &period}
}

// newestDays returns the latest days with crashes of each version, newest first, at most maxCrashDays.
func newestDays(days []stats.VersionDay, q rateQuestion) (newer, older []stats.VersionDay) {
	for _, d := range slices.Backward(days) {
		if d.New > 0 && len(newer) < maxCrashDays {
			newer = append(newer, d)
		}
		if d.Old > 0 && !d.Day.After(q.date) && len(older) < maxCrashDays {
			older = append(older, d)
		}
	}
	return newer, older
}

func find(days []stats.VersionDay, day time.Time) (stats.VersionDay, bool) {
	i := slices.IndexFunc(days, func(d stats.VersionDay) bool { return d.Day.Equal(day) })
	if i < 0 {
		return stats.VersionDay{}, false
	}
	return days[i], true
}

// meanAndDeviation returns the mean and the standard deviation of a whole population.
func meanAndDeviation(counts []float64) (mean, deviation float64) {
	for _, n := range counts {
		mean += n
	}
	mean /= float64(len(counts))
	var squares float64
	for _, n := range counts {
		squares += (n - mean) * (n - mean)
	}
	return mean, math.Sqrt(squares / float64(len(counts)))
}

// chartDays is the number of days in a chart, including today.
const chartDays = 360

type series struct {
	Color  string  `json:"color" doc:"Colour of the line in charts, always the same for a release."`
	Key    string  `json:"key" doc:"The release."`
	Values []point `json:"values"`
}

type point struct {
	X int64   `json:"x" doc:"The day, as milliseconds from 1970 to its midnight, UTC."`
	Y float64 `json:"y" doc:"Reports per active machine."`
}

func newPoint(day time.Time, y float64) point { return point{X: day.UnixMilli(), Y: y} }

// colour derives a colour from the public name of a release, so that new releases need no code.
func colour(r crash.Release) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(privacy.RedactLabel(r).Key()))
	n := h.Sum32()
	return fmt.Sprintf("#%02x%02x%02x", 40+n%160, 40+(n>>8)%160, 40+(n>>16)%160)
}

// lastDays returns the first and the last of the given number of days up to today.
func (a *answers) lastDays(days int) (since, until time.Time) {
	return crash.LastDays(a.Now(), days)
}

func errExpired(from time.Time) error {
	return crash.Errorf(crash.Invalid, "counts_expired", "The counts before %s have expired; request later days.",
		from.Format(time.DateOnly))
}

func (a *answers) today() time.Time { return a.Now().UTC().Truncate(24 * time.Hour) }

// chartReleases returns the releases that have a line in charts: the supported ones, and those
// with reports that lists name.
func (a *answers) chartReleases(reports map[crash.Release]int64) []crash.Release {
	reports = maps.Clone(reports)
	if reports == nil {
		reports = map[crash.Release]int64{}
	}
	for _, r := range crash.Releases().Supported(a.today()) {
		if a.series(r) != "" {
			reports[r] += 0
		}
	}
	return slices.DeleteFunc(crash.Releases().List(reports).Ascending(), func(r crash.Release) bool {
		return r == crash.OtherReleases
	})
}

func (a *answers) averageInstances(ctx context.Context, in input) ([]any, error) {
	id, err := a.find(ctx, in.sent("id"))
	if err != nil && crash.KindOf(err) != crash.NotFound {
		return nil, err
	}
	since, until := a.lastDays(chartDays)
	var counts map[crash.Release][]int64
	if err == nil {
		b, err := a.Store.Index(ctx)
		if err != nil {
			return nil, err
		}
		counts = b.ReleaseDays(id, index.DayOf(since), index.DayOf(until))
	}
	reports := map[crash.Release]int64{}
	for release, days := range counts {
		for _, n := range days {
			reports[release] += n
		}
	}
	releases := a.chartReleases(reports)
	active, err := a.Problems.ActiveMachines(ctx, releases, since, until)
	if err != nil {
		return nil, err
	}
	var objects []any
	for _, release := range releases {
		line := series{Color: colour(release), Key: string(privacy.RedactLabel(release)), Values: []point{}}
		for i, n := range slices.Backward(counts[release]) {
			if machines := active[release][i]; n > 0 && machines > 0 {
				line.Values = append(line.Values, newPoint(since.AddDate(0, 0, i), float64(n)/float64(machines)))
			}
		}
		objects = append(objects, line)
	}
	return objects, nil
}

const (
	recoverable = "RecoverableProblem"
	// oldStandardRelease is the release whose standard the first of two lines follows.
	oldStandardRelease = crash.Release("Ubuntu 12.04")
)

func (a *answers) averageCrashesResource() resource {
	return resource{
		name: "average-crashes", method: http.MethodGet, access: public,
		summary: "Reports of all types per active machine, by day and release.",
		doc: `Two objects for each release: "by 12.04 standards", which omits RecoverableProblem, and one for all types. ` +
			"The earliest day comes first.",
		params: []param{releaseParam, packageParam, {
			name: "version", kind: kindText, doc: "Version of the package; requires package.", example: "1.4.2-1ubuntu1",
		}},
		object: series{}, list: a.averageCrashes,
	}
}

func (a *answers) averageCrashes(ctx context.Context, in input) ([]any, error) {
	if in.given["version"] && !in.given["package"] {
		return nil, crash.Errorf(crash.Invalid, "missing_package", "A version needs the parameter package.")
	}
	since, until := a.lastDays(chartDays)
	f := problems.RateFilter{
		Since: since, Until: until, Release: crash.Release(in.text("release")), Package: in.text("package"),
		Version: in.text("version"), Apart: recoverable,
	}
	rates, err := a.Problems.Rates(ctx, f)
	if err != nil {
		return nil, err
	}
	reports := map[crash.Release]int64{}
	for _, r := range rates {
		reports[r.Release] += r.Reports
	}
	releases := []crash.Release{f.Release}
	if f.Release == "" {
		releases = slices.DeleteFunc(a.chartReleases(reports), func(r crash.Release) bool {
			return r == "" || r.EndOfLifeOn(a.today())
		})
	}
	var objects []any
	for _, release := range releases {
		label := string(privacy.RedactLabel(release))
		strict := series{Color: colour(release), Key: label + " (by 12.04 standards)", Values: []point{}}
		complete := series{Color: colour(release), Key: label, Values: []point{}}
		for _, r := range rates {
			if r.Release == release {
				strict.Values = append(strict.Values, newPoint(r.Day, float64(r.Reports-r.OfType)/float64(r.Machines)))
				complete.Values = append(complete.Values, newPoint(r.Day, r.PerMachine()))
			}
		}
		if release != oldStandardRelease {
			objects = append(objects, strict)
		}
		objects = append(objects, complete)
	}
	return objects, nil
}

// defaultDays is the number of days in daily counts without a limit.
const defaultDays = 30

func (a *answers) countResources() []resource {
	return []resource{
		a.averageCrashesResource(),
		{
			name: "instances-count", method: http.MethodGet, access: public,
			summary: "The number of reports per day, for each release with reports.",
			doc: "The limit applies to the days of each release and to the releases in one answer, as on " +
				"errors.ubuntu.com. Known releases come first, then the derivative and unknown ones with the " +
				"most reports. Reports without a release are omitted.",
			params: []param{daysParam()},
			object: releaseDays{}, list: a.instancesCount,
		},
		{
			name: "problems-count", method: http.MethodGet, access: public,
			summary: "The number of distinct problems on each day.",
			params:  []param{daysParam()},
			object:  dayValue{}, list: a.problemsCount,
		},
		{
			name: "retracers-results", method: http.MethodGet, access: public,
			summary: "The number of native crashes with and without function names in their stack, by day, release " +
				"and architecture.",
			doc: "success: stacks with function names, sent by the machine or found by mishap. failed: problems with " +
				"addresses only. Only days with such crashes are listed.",
			params: []param{daysParam()},
			key:    "A day, YYYYMMDD.", example: "20260518",
			object: tracedDay{}, list: a.tracedDays, detail: a.tracedDay,
		},
		{
			name: "retracers-average-processing-time", method: http.MethodGet, access: public,
			summary: "Retracing times. Always empty: the metric mishap_symbol_job_seconds has the times of symbolising.",
			params:  []param{daysParam()},
			object:  processingDay{}, list: a.processingTimes,
		},
		{
			name: "retracer-queue-length", method: http.MethodGet, access: public,
			summary: "Number of cores waiting for a retracer. Always empty: mishap has no queues of this kind.",
			params: []param{{
				name: "hours", kind: kindNumber, min: 1, max: 24 * 366, fallback: 48, doc: "Number of past hours.", example: "48",
			}},
			object: queueLength{}, list: func(context.Context, input) ([]any, error) { return nil, nil },
		},
	}
}

type dayValue struct {
	Date  string `json:"date" doc:"YYYYMMDD, UTC."`
	Value int64  `json:"value"`
}

type releaseDays struct {
	Color   string     `json:"color"`
	Release string     `json:"release"`
	Value   []dayValue `json:"value" doc:"Days with reports, latest first."`
}

// dateFormat is the format of days in the API.
const dateFormat = "20060102"

func (a *answers) instancesCount(ctx context.Context, in input) ([]any, error) {
	days := in.number("limit")
	if days == 0 {
		return nil, nil
	}
	since, until := a.lastDays(days)
	counts, err := a.Problems.ReleaseDays(ctx, since, until)
	if err != nil {
		return nil, err
	}
	byRelease, reports := map[crash.Release][]dayValue{}, map[crash.Release]int64{}
	for _, c := range counts {
		byRelease[c.Release] = append(byRelease[c.Release], dayValue{Date: c.Day.Format(dateFormat), Value: c.Reports})
		reports[c.Release] += c.Reports
	}
	var objects []any
	for _, release := range crash.Releases().List(reports).Ascending() {
		if release == "" || release == crash.OtherReleases {
			continue // as at errors.ubuntu.com
		}
		objects = append(objects, releaseDays{
			Color: colour(release), Release: string(visibleLabel(in, release)), Value: byRelease[release],
		})
	}
	return objects, nil
}

// processingDay is a day of retracing times, which are always empty.
type processingDay struct {
	Date  string                        `json:"date"`
	Value map[string]map[string]float64 `json:"value" doc:"Seconds by release and architecture."`
}

func (a *answers) processingTimes(_ context.Context, in input) ([]any, error) {
	var objects []any
	for day := range a.days(in.number("limit")) {
		value := map[string]map[string]float64{}
		for _, r := range crash.Releases().Supported(day) {
			if a.series(r) != "" {
				value[string(r)] = map[string]float64{}
			}
		}
		objects = append(objects, processingDay{Date: day.Format(dateFormat), Value: value})
	}
	return objects, nil
}

type queueLength struct {
	Queue  string `json:"queue"`
	Values []struct {
		Timestamp string `json:"timestamp"`
		Value     int64  `json:"value"`
	} `json:"values"`
}

// days yields the last n days, today first.
func (a *answers) days(n int) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for i := range n {
			if !yield(a.today().AddDate(0, 0, -i)) {
				return
			}
		}
	}
}

// SetStatus is the name of the resource that changes the manual status of a problem.
const SetStatus = "set-problem-status"

func (a *answers) statusResources() []resource {
	return []resource{
		{
			name: "problem-status", method: http.MethodGet, access: public,
			summary: "The derived and manual status of a problem.",
			doc: "Neither changes the other. Names, reasons and entries are empty for callers " +
				"who may not read reports.",
			key: "Signature of the problem, or its SHA-1.", example: "%2Fusr%2Fbin%2Ftidewatch:11:parse:load:main",
			object: problemStatus{}, detail: a.problemStatus,
		},
		{
			name: SetStatus, method: http.MethodPost, access: triager, external: true,
			summary: "Changes the manual status of a problem.",
			doc: "The answer is that of problem-status. Repeating a request changes nothing. 409: replaces does not name " +
				"the present mute, the entry was undone already, or there is no embargo to lift. Callers without the " +
				"private right for the package can embargo a problem, and then get 404.",
			body: statusQuestion{}, object: problemStatus{},
			outcomes: map[string]string{"200": "The status after the change."}, refused: []string{"409"},
		},
	}
}

type problemStatus struct {
	Embargo   *embargo      `json:"embargo" doc:"The embargo; null: the problem is not embargoed."`
	Entries   []statusEntry `json:"entries" doc:"All decisions, oldest first; empty for callers who may not read reports."`
	Fixes     []watchedFix  `json:"fix_watch" doc:"What the reports say about each fix, the newest release first."`
	Fixed     []statusFix   `json:"fixed" doc:"Versions marked as fixed, by release, the newest release first."`
	Held      bool          `json:"held" doc:"Exempt from retention; false for callers who may not read reports."`
	Manual    string        `json:"manual_state" doc:"muted, wontfix, fixed-by-hand and seen-again, separated by blanks."`
	Text      string        `json:"manual_status" doc:"The manual status, explained."`
	Muted     *statusEntry  `json:"muted" doc:"The mute; null: the problem is not muted."`
	Returned  *statusEntry  `json:"returned" doc:"The mute that has ended within the last 30 days; null: none."`
	Signature string        `json:"signature" doc:"Redacted for callers who may not read reports."`
	State     string        `json:"state" doc:"The derived status, one word."`
	Status    string        `json:"status" doc:"The derived status, explained."`
	Link      string        `json:"web_link" doc:"The page of the problem."`
	WontFix   *statusEntry  `json:"wontfix" doc:"The decision that nobody intends to fix it; null: there is none."`
}

type watchedFix struct {
	After    string   `json:"after" doc:"With an empty version: the fix is in a higher version than this."`
	Before   int64    `json:"before" doc:"Reports of the problem from versions before the fix, in the past year."`
	Expected *float64 `json:"expected" doc:"Reports of the problem if it were as frequent as before; null: unknown."`
	High     *float64 `json:"expected_high" doc:"Upper end of the 95% interval; null: unknown."`
	Low      *float64 `json:"expected_low" doc:"Lower end of the 95% interval; null: unknown."`
	Judged   string   `json:"judged" doc:"UTC day of the verdict at the present pace; empty: unknown, or too far away."`
	Lacking  int64    `json:"lacking" doc:"So many more reports of the package without the problem would show the fix."`
	Machines int64    `json:"machines" doc:"Machines that reported anything of the package with the fix."`
	Of       int64    `json:"of" doc:"Reports of the package from the versions before the fix that had the problem."`
	Proposed bool     `json:"only_proposed" doc:"All reports with the fix come from the proposed pocket."`
	Release  string   `json:"release"`
	Reports  int64    `json:"reports" doc:"Reports of the package from versions with the fix, in the past year."`
	Seen     int64    `json:"seen" doc:"Reports of the problem from versions with the fix."`
	Since    string   `json:"since" doc:"UTC day of the first report with the fix; or empty."`
	Text     string   `json:"text" doc:"The verdict, explained."`
	Verdict  string   `json:"verdict" doc:"See triage.md: not in use, too early, fixed, not fixed …"`
	Version  string   `json:"version" doc:"Version with the fix; empty: unknown, see after."`
}

// newWatchedFixes returns fixes for an answer.
func newWatchedFixes(in input, fixes []stats.FixWatch) []watchedFix {
	out := []watchedFix{}
	day := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.DateOnly)
	}
	number := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	for _, w := range fixes {
		if !in.mayRead() {
			w = w.Labelled(privacy.RedactLabel[string])
		}
		fix := watchedFix{
			After: w.After, Before: w.Before, Expected: number(w.Expected.Value), Judged: day(w.Judged), Lacking: w.Lacking,
			Machines: w.Machines, Of: w.Of, Proposed: w.OnlyProposed(), Release: string(w.Release), Reports: w.Reports,
			Seen: w.Seen, Since: day(w.Since), Text: w.Text(), Verdict: string(w.Verdict), Version: w.Fix,
		}
		if w.Before > 0 {
			fix.Low, fix.High = number(w.Expected.Low), number(w.Expected.High)
		}
		out = append(out, fix)
	}
	return out
}

type embargo struct {
	At     string `json:"at" doc:"Start, UTC."`
	Person string `json:"person" doc:"Name of the account or rule; empty: mishap itself."`
	Reason string `json:"reason"`
}

type statusEntry struct {
	At       string       `json:"at" doc:"When it was decided, UTC."`
	Ended    string       `json:"ended" doc:"When a condition of the mute was met, or it was replaced; or empty."`
	EndedWhy string       `json:"ended_why" doc:"Which condition was met; empty: none, or replaced."`
	Fixes    []statusFix  `json:"fixes" doc:"With fixed: the release; else empty."`
	ID       int64        `json:"id" doc:"Number of the entry, for undo and replaces."`
	Kind     string       `json:"kind" doc:"muted, wontfix or fixed."`
	Person   string       `json:"person" doc:"Name of the account or rule."`
	Reason   string       `json:"reason"`
	Undone   string       `json:"undone" doc:"When it was undone, UTC; or empty."`
	UndoneBy string       `json:"undone_by"`
	Until    *statusUntil `json:"until" doc:"With muted: its conditions; else null. Empty: until someone unmutes it."`
}

type statusUntil struct {
	Date       string `json:"date" doc:"A UTC day such as 2026-12-01; or empty."`
	Days       int    `json:"days" doc:"Period for reports and machines, in days; 0: any."`
	Machines   int64  `json:"machines" doc:"Number of machines that report it after the mute; 0: no such condition."`
	Newer      bool   `json:"newer" doc:"Whether a later version or another release ends the mute."`
	Regression bool   `json:"regression" doc:"It regresses."`
	Release    string `json:"release" doc:"Release of version; empty: any."`
	Reports    int64  `json:"reports" doc:"Number of further reports; 0: no such condition."`
	Version    string `json:"version" doc:"The mute ends in this version or a later one; or empty."`
}

type statusFix struct {
	Release      string `json:"release" doc:"Empty: every release."`
	SeenAgain    int64  `json:"seen_again" doc:"Reports from that version or later, since it was marked."`
	SeenAgainIn  string `json:"seen_again_release"`
	SeenAgainVer string `json:"seen_again_version" doc:"Highest version of these reports."`
	Version      string `json:"version"`
}

type statusQuestion struct {
	Confirm   bool           `json:"confirm,omitempty" doc:"With fixed: true accepts a version that was already affected."`
	Fixes     []fixQuestion  `json:"fixes,omitempty" doc:"With fixed: the versions with the fix."`
	Forever   bool           `json:"forever,omitempty" doc:"With muted and without until: until somebody unmutes it."`
	Hold      *bool          `json:"hold,omitempty" doc:"Instead of kind: true starts a retention hold, false ends it."`
	Kind      string         `json:"kind,omitempty" doc:"muted, wontfix, fixed, embargo or lift-embargo."`
	Reason    string         `json:"reason,omitempty" doc:"One line of at most 500 characters."`
	Replaces  int64          `json:"replaces,omitempty" doc:"With muted: number of the mute that this one replaces."`
	Signature string         `json:"signature" doc:"Signature of the problem, or its SHA-1."`
	Undo      int64          `json:"undo,omitempty" doc:"Instead of kind: number of the entry to undo."`
	Until     *untilQuestion `json:"until,omitempty" doc:"With muted: the first condition that is met ends the mute."`
}

type untilQuestion struct {
	Date       string `json:"date,omitempty"`
	Days       int    `json:"days,omitempty"`
	Machines   int64  `json:"machines,omitempty"`
	Newer      bool   `json:"newer,omitempty"`
	Regression bool   `json:"regression,omitempty"`
	Release    string `json:"release,omitempty"`
	Reports    int64  `json:"reports,omitempty"`
	Version    string `json:"version,omitempty"`
}

type fixQuestion struct {
	Release string `json:"release,omitempty" doc:"Empty: every release."`
	Version string `json:"version"`
}

const setStatusShape = `{"signature": "…", "kind": "muted", "until": {"date": "2026-12-01"}, "reason": "…"}`

func (a *answers) problemStatus(ctx context.Context, in input, key string) (any, error) {
	id, err := a.find(ctx, pair{value: key, raw: key})
	if err != nil {
		return nil, err
	}
	return a.statusOf(ctx, in, id)
}

func (a *answers) statusOf(ctx context.Context, in input, id crash.BucketID) (problemStatus, error) {
	b, err := a.Store.Bucket(ctx, id)
	if err != nil {
		return problemStatus{}, err
	}
	if err := a.Store.Judge(ctx, &b); err != nil {
		return problemStatus{}, err
	}
	manual, all, err := a.Problems.Triage(ctx, b.ID)
	if err != nil {
		return problemStatus{}, err
	}
	fixes, err := a.Problems.WatchFixes(ctx, b, manual)
	if err != nil {
		return problemStatus{}, err
	}
	b = visibleBucket(in, b)
	out := problemStatus{
		Signature: b.Signature, State: string(b.Status.Word), Status: b.Status.Text(), Link: a.problemLink(b.ID),
		Fixed: []statusFix{}, Entries: []statusEntry{}, Fixes: newWatchedFixes(in, fixes),
	}
	if e := manual.Embargo; e != nil && in.mayRead() {
		out.Embargo = &embargo{At: e.At.UTC().Format(time.RFC3339), Person: e.Person, Reason: e.Reason}
	}
	if in.mayRead() {
		out.Held = manual.Hold != nil
		for _, t := range all {
			out.Entries = append(out.Entries, *newStatusEntry(&t))
		}
	} else {
		manual = privacy.RedactManual(manual)
	}
	out.Manual, out.Text = manual.Words(), manual.Text(in.mayRead())
	out.Muted, out.WontFix = newStatusEntry(manual.Muted), newStatusEntry(manual.WontFix)
	out.Returned = newStatusEntry(manual.Returned)
	for _, f := range manual.Fixes {
		out.Fixed = append(out.Fixed, statusFix{
			Release: string(f.Release), Version: f.Version, SeenAgain: f.Again, SeenAgainIn: string(f.AgainIn),
			SeenAgainVer: f.AgainAt,
		})
	}
	return out, nil
}

// newStatusEntry returns an entry for an answer, or nil for nil.
func newStatusEntry(t *crash.Mark) *statusEntry {
	if t == nil {
		return nil
	}
	at := func(when time.Time) string {
		if when.IsZero() {
			return ""
		}
		return when.UTC().Format(time.RFC3339)
	}
	e := &statusEntry{
		ID: t.ID, Kind: string(t.Kind), Person: t.Person, Reason: t.Reason, At: at(t.At), Undone: at(t.UndoneAt),
		UndoneBy: t.UndoneBy, Ended: at(t.EndedAt), EndedWhy: t.EndedWhy, Fixes: []statusFix{},
	}
	if t.Merged {
		e.EndedWhy = "It was merged into another problem."
	}
	for _, f := range t.Fixes {
		e.Fixes = append(e.Fixes, statusFix{Release: string(f.Release), Version: f.Version})
	}
	if u := t.Until; t.Kind == crash.MarkMuted {
		e.Until = &statusUntil{Days: u.Days, Machines: u.Machines, Newer: u.Newer, Regression: u.Regression,
			Release: string(u.Release), Reports: u.Reports, Version: u.Version}
		if !u.Date.IsZero() {
			e.Until.Date = u.Date.UTC().Format(time.DateOnly)
		}
	}
	return e
}

// SetStatus changes the manual status of a problem on behalf of a triager, whose rights the caller
// has checked.
func (a *API) SetStatus(w http.ResponseWriter, r *http.Request, caller Caller, person string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	var q statusQuestion
	if err := readQuestion(body, &q, setStatusShape); err != nil {
		return err
	}
	ctx := r.Context()
	id, err := a.from.find(ctx, pair{value: q.Signature, raw: q.Signature})
	if err != nil {
		return err
	}
	b, err := a.from.Store.Bucket(ctx, id)
	if err != nil {
		return err
	}
	if err := caller.user().CheckTriage(b.SourcePackage); err != nil {
		return err
	}
	if err := a.from.setStatus(ctx, q, id, person); err != nil {
		return err
	}
	out, err := a.from.statusOf(ctx, input{caller: caller}, id)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusOK, out)
}

// restrict sets or lifts an embargo or a hold.
func (a *answers) restrict(ctx context.Context, kind crash.MarkKind, set bool, q statusQuestion, id crash.BucketID,
	person string,
) error {
	if !set {
		return a.Problems.Lift(ctx, id, kind, person)
	}
	_, err := a.Problems.Set(ctx, crash.Mark{Bucket: id, Kind: kind, Person: person, Reason: q.Reason})
	return err
}

func (a *answers) setStatus(ctx context.Context, q statusQuestion, id crash.BucketID, person string) error {
	if q.Hold != nil {
		if q.Kind != "" || q.Undo != 0 {
			return crash.Errorf(crash.Invalid, "hold_and_kind", "Send either hold, kind or undo.")
		}
		return a.restrict(ctx, crash.MarkHold, *q.Hold, q, id, person)
	}
	if q.Undo != 0 {
		if q.Kind != "" {
			return crash.Errorf(crash.Invalid, "undo_and_kind", "Send either undo or kind, not both.")
		}
		_, all, err := a.Problems.Triage(ctx, id)
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.ID == q.Undo {
				_, err := a.Problems.Undo(ctx, q.Undo, person)
				return err
			}
		}
		return crash.Errorf(crash.NotFound, "unknown_triage_entry", "The problem has no entry %d.", q.Undo)
	}
	switch q.Kind {
	case "embargo", "lift-embargo":
		return a.restrict(ctx, crash.MarkEmbargo, q.Kind == "embargo", q, id, person)
	case string(crash.MarkHold):
		return crash.Errorf(crash.Invalid, "unknown_triage", "To exempt a problem from retention, send hold instead of kind.")
	}
	t := crash.Mark{Bucket: id, Kind: crash.MarkKind(q.Kind), Reason: q.Reason, Person: person, Replaces: q.Replaces,
		Confirmed: q.Confirm}
	for _, f := range q.Fixes {
		t.Fixes = append(t.Fixes, crash.FixedIn{Release: crash.Release(f.Release), Version: f.Version})
	}
	if t.Kind != crash.MarkFixed && len(q.Fixes) > 0 {
		return crash.Errorf(crash.Invalid, "fixes_of_other", "Send fixes only with the kind fixed.")
	}
	if t.Kind == crash.MarkMuted {
		var err error
		if t.Until, err = q.until(); err != nil {
			return err
		}
	}
	_, err := a.Problems.Set(ctx, t)
	return err
}

func (q statusQuestion) until() (u crash.MuteUntil, err error) {
	if q.Until != nil {
		u = crash.MuteUntil{Reports: q.Until.Reports, Machines: q.Until.Machines, Days: q.Until.Days,
			Version: q.Until.Version, Release: crash.Release(q.Until.Release), Newer: q.Until.Newer,
			Regression: q.Until.Regression}
		if q.Until.Date != "" {
			if u.Date, err = time.Parse(time.DateOnly, q.Until.Date); err != nil {
				return u, crash.Errorf(crash.Invalid, "bad_date", "%.40q is not a day like 2026-12-01.", q.Until.Date)
			}
		}
	}
	if none := u == (crash.MuteUntil{}); none != q.Forever {
		return u, crash.Errorf(crash.Invalid, "no_condition",
			"Send at least one condition in until, or forever: true without any.")
	}
	return u, nil
}
