package stats

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

// quietDays is the number of days for which a newer version must be in use, without a report of the
// problem, before the problem counts as gone. The newer versions must also have enough reports.
const quietDays = 7

// BugAsOf returns a bug as it was at a time, as far as the tracker says when its tasks were closed: those that were
// closed later are open.
func BugAsOf(b crash.Bug, t time.Time) crash.Bug {
	open := func(tasks []crash.BugTask) []crash.BugTask {
		tasks = slices.Clone(tasks)
		for i := range tasks {
			if tasks[i].Complete && tasks[i].Closed.After(t) {
				tasks[i].Complete, tasks[i].Status, tasks[i].Closed = false, "", time.Time{}
			}
		}
		return tasks
	}
	b.State.Tasks = open(b.State.Tasks)
	if b.Master != nil {
		master := *b.Master
		master.Tasks = open(master.Tasks)
		b.Master = &master
	}
	return b
}

// Judge computes the status of a problem in each release. b contains the bug and the counts, seen
// the occurrences of the problem, and inUse the versions of its package that any report came from,
// with the number of these reports.
// Judge modifies none of them. It compares versions only within one release, in the order of its packages.
// It considers whole UTC days, so its result changes only with the facts or at midnight.
func Judge(b crash.Bucket, seen []crash.VersionSeen, inUse VersionsByRelease, now time.Time) crash.Status {
	j := newJudgement(b, seen, inUse, now)
	out := crash.Status{Read: j.read}
	for release, found := range j.seen {
		out.Releases = append(out.Releases, j.release(release, found))
	}
	out.Releases = append(out.Releases, j.fixedElsewhere()...)
	slices.SortFunc(out.Releases, func(a, b crash.ReleaseStatus) int { return b.Release.Compare(a.Release) })
	markEnded(out.Releases, j.today)
	if j.reading != nil {
		out.Tracker = j.trackerStatus(out.Releases)
	}
	out.Word, out.Note = j.state(out.Releases)
	return out
}

// markEnded marks releases whose support has ended, unless all have: they do not influence the
// result any more.
func markEnded(releases []crash.ReleaseStatus, today time.Time) {
	ended := func(r crash.ReleaseStatus) bool { return r.Reports > 0 && r.Release.EndOfLifeOn(today) }
	if !slices.ContainsFunc(releases, func(r crash.ReleaseStatus) bool { return r.Reports > 0 && !ended(r) }) {
		return
	}
	for i := range releases {
		releases[i].Ended = ended(releases[i])
	}
}

type judgement struct {
	b       crash.Bucket
	reading *crash.BugReading // nil: there is no bug, or no information about it
	unsaid  crash.StateWord   // if there is a bug but no reading: StateUnknown or StatePrivate
	hidden  bool              // with StatePrivate: our account cannot read the bug
	read    time.Time
	today   time.Time
	seen    map[crash.Release][]crash.VersionSeen
	inUse   VersionsByRelease
}

func newJudgement(b crash.Bucket, seen []crash.VersionSeen, inUse VersionsByRelease, now time.Time) *judgement {
	j := &judgement{b: b, today: crash.Midnight(now), seen: map[crash.Release][]crash.VersionSeen{}, inUse: inUse}
	for _, o := range seen {
		if o.Reports > 0 {
			j.seen[o.Release] = append(j.seen[o.Release], o)
		}
	}
	if b.Bug.Number == 0 {
		return j
	}
	state := b.Bug.State
	hidden, private := state.Hidden, state.Hidden || state.Private
	if state.DuplicateOf != 0 && b.Bug.Master != nil {
		state = *b.Bug.Master
		hidden, private = hidden || state.Hidden, private || state.Hidden || state.Private
	}
	j.read = state.Read
	switch {
	case state.Read.IsZero():
		j.unsaid = crash.StateUnknown
	case private:
		j.unsaid, j.hidden = crash.StatePrivate, hidden
	default:
		j.reading = &state.BugReading
	}
	return j
}

func (j *judgement) state(releases []crash.ReleaseStatus) (crash.StateWord, string) {
	counting := crash.Pick(releases, func(r crash.ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	if j.b.Bug.Number != 0 {
		return j.stateOfBug(counting)
	}
	switch {
	case j.b.Reports == 0:
		return crash.StateTests, "Only test machines have reported it."
	case j.b.Provisional:
		return crash.StateNameless, "Function names are missing. Once they are known, the reports move to the problem " +
			"with these names."
	case len(counting) == 0 && j.longAgo():
		return crash.StateGone, "Not seen for more than a year."
	case len(counting) > 0 && len(is(counting, crash.StateGone)) == len(counting):
		return crash.StateGone, ""
	case !j.b.FirstSeen.IsZero() && j.today.Sub(crash.Midnight(j.b.FirstSeen)) < quietDays*24*time.Hour:
		return crash.StateNew, "First seen in the past week."
	}
	return crash.StateUnfiled, ""
}

// stateOfBug returns the state of a problem with a bug, and a sentence like state.
func (j *judgement) stateOfBug(counting []crash.ReleaseStatus) (crash.StateWord, string) {
	closedAndSeen := func(r crash.ReleaseStatus) bool { return r.Word == crash.StateClosed && r.Week > 0 }
	switch {
	case j.unsaid == crash.StateUnknown:
		return crash.StateUnknown, "The bug has not been read from the tracker yet."
	case j.hidden:
		return crash.StatePrivate, "The bug cannot be read: it is private or deleted."
	case j.unsaid == crash.StatePrivate:
		return crash.StatePrivate, "The bug is private."
	case len(is(counting, crash.StateRegression)) > 0:
		return crash.StateRegression, ""
	case len(is(counting, crash.StateOpen)) > 0:
		return crash.StateOpen, ""
	case slices.ContainsFunc(counting, closedAndSeen):
		return crash.StateClosed, ""
	case len(is(counting, crash.StateFixed)) > 0:
		return crash.StateFixed, ""
	case len(is(counting, crash.StateClosed)) > 0:
		return crash.StateClosed, ""
	}
	// Here, the problem is gone from every release, or was last seen so long ago that no release is
	// known.
	switch says := j.wholeBug(); {
	case says.verdict == crash.StateFixed:
		return crash.StateFixed, j.unseen("The bug is closed with a fix", len(counting))
	case says.verdict == crash.StateClosed && says.word == crash.PlainlyClosed:
		return crash.StateClosed, "The bug is closed; the tracker does not say whether it was fixed."
	case says.verdict == crash.StateClosed:
		return crash.StateClosed, j.unseen("The bug was closed as "+says.word+", without a fix", len(counting))
	case len(counting) == 0 && !j.longAgo():
		return crash.StateOpen, j.unseen("The bug is open", 0)
	}
	return crash.StateDisappeared, j.unseen("The bug is open", len(counting))
}

// unseen returns a sentence about the bug. If no release is known, it adds why.
func (j *judgement) unseen(what string, releases int) string {
	switch {
	case releases > 0:
		return what + "."
	case j.longAgo():
		return what + "; not seen for more than a year."
	}
	return what + "; it has no counted reports."
}

const occurrencesKnown = 366

// longAgo reports whether the problem was last seen so long ago that no occurrence is stored.
func (j *judgement) longAgo() bool {
	return j.b.Reports > 0 && j.today.Sub(crash.Midnight(j.b.LastSeen)) > occurrencesKnown*24*time.Hour
}

func is(releases []crash.ReleaseStatus, word crash.StateWord) []crash.ReleaseStatus {
	return crash.Pick(releases, func(r crash.ReleaseStatus) bool { return r.Word == word })
}

// release computes the status of the problem in one release in which it was seen.
func (j *judgement) release(release crash.Release, seen []crash.VersionSeen) crash.ReleaseStatus {
	r := crash.ReleaseStatus{Release: release, Word: crash.StateOpen}
	order := release.VersionOrder()
	for _, o := range seen {
		r.Reports += o.Reports
		r.Week += o.Week
		r.Last = crash.Later(r.Last, o.Last)
		if isComparable(release, o.Version) {
			r.Highest = order.Max(r.Highest, o.Version)
		}
	}
	j.newer(&r, seen)
	says := j.tracker(release)
	switch says.verdict {
	case crash.StateFixed:
		j.afterFix(&r, seen, says)
		if r.Word != crash.StateOpen || r.Unclear {
			return r
		}
	case crash.StateClosed:
		r.Word, r.Tracker = crash.StateClosed, says.word
		return r
	default: // open
	}
	if j.gone(r, seen) {
		r.Word = crash.StateGone
	}
	return r
}

// isComparable reports whether a version can be compared with others of the release. Reports
// without a release can come from any.
func isComparable(release crash.Release, version string) bool {
	return release != "" && release.VersionOrder().Valid(version)
}

// newer sets the versions in use that are higher than those with the problem, and how many more
// reports they need as evidence that they are free of it.
func (j *judgement) newer(r *crash.ReleaseStatus, seen []crash.VersionSeen) {
	if r.Highest == "" {
		return
	}
	var with int64 // reports of the problem
	lowest, order := r.Highest, r.Release.VersionOrder()
	for _, o := range seen {
		if isComparable(r.Release, o.Version) {
			with += o.Reports
			if order.Compare(o.Version, lowest) < 0 {
				lowest = o.Version
			}
		}
	}
	var of int64 // reports of the package from the versions with the problem, and those in between
	for _, k := range j.inUse[r.Release] {
		if order.Compare(k.Version, r.Highest) <= 0 {
			if order.Compare(k.Version, lowest) >= 0 {
				of += k.Reports
			}
			continue
		}
		r.NewerCount += k.Reports
		r.Newer = order.Max(r.Newer, k.Version)
		if r.NewerSince.IsZero() || k.Since.Before(r.NewerSince) {
			r.NewerSince = k.Since
		}
	}
	if r.Newer != "" {
		needed := reportsNeeded(with, max(of, with), perMachine(j.b.Reports, j.b.Systems), len(j.seen))
		r.Lacking = max(needed-r.NewerCount, 0)
	}
}

// gone reports whether newer versions are free of the problem, one of them has been in use for a
// week, and no report of the problem arrived in that time. A report whose version is not comparable
// may come from the newer version, if it is not older than that.
func (j *judgement) gone(r crash.ReleaseStatus, seen []crash.VersionSeen) bool {
	if !r.NewerFree() || r.Week > 0 || j.daysSince(r.Last) < quietDays || j.daysSince(r.NewerSince) < quietDays {
		return false
	}
	return !slices.ContainsFunc(seen, func(o crash.VersionSeen) bool {
		return !isComparable(r.Release, o.Version) && !o.Last.Before(crash.Midnight(r.NewerSince))
	})
}

func (j *judgement) daysSince(t time.Time) int {
	return int(j.today.Sub(crash.Midnight(t)) / (24 * time.Hour))
}

// afterFix decides between fixed and regression, if the tracker says that the release has a fix. If
// there are no versions to compare, it leaves the release open.
func (j *judgement) afterFix(r *crash.ReleaseStatus, seen []crash.VersionSeen, says trackerSays) {
	if r.Fix = says.fix; r.Fix == "" {
		r.FixAfter = j.knownAt(r.Release, says.closed)
	}
	order := r.Release.VersionOrder()
	recent := func(o crash.VersionSeen) bool {
		return says.closed.IsZero() || !o.Last.Before(crash.Midnight(says.closed))
	}
	hasFix := func(o crash.VersionSeen) bool {
		switch {
		case !isComparable(r.Release, o.Version):
			return false
		case r.Fix != "":
			return order.Compare(o.Version, r.Fix) >= 0
		case r.FixAfter != "":
			return order.Compare(o.Version, r.FixAfter) > 0 && recent(o)
		}
		return false
	}
	r.Word = crash.StateFixed
	for _, o := range seen {
		switch {
		case hasFix(o):
			r.Word, r.Again = crash.StateRegression, r.Again+o.Reports
			r.AgainAt = order.Max(r.AgainAt, o.Version)
		case o.Week > 0 && recent(o) && (!isComparable(r.Release, o.Version) || r.Fix == "" && r.FixAfter == ""):
			r.Unclear = true
		}
	}
	if r.Unclear = r.Unclear && r.Word == crash.StateFixed; r.Unclear {
		r.Word = crash.StateOpen
	}
}

// knownAt returns the highest version of the package in a release that any report had before time
// t, or "".
func (j *judgement) knownAt(release crash.Release, t time.Time) string {
	version := ""
	for _, k := range j.inUse[release] {
		if !t.IsZero() && !k.Arrived.After(t) {
			version = release.VersionOrder().Max(version, k.Version)
		}
	}
	return version
}

// fixedElsewhere returns the releases that have the fix, as the tracker says, and in which the
// problem was not seen.
func (j *judgement) fixedElsewhere() []crash.ReleaseStatus {
	if j.reading == nil {
		return nil
	}
	var out []crash.ReleaseStatus
	add := func(release crash.Release) {
		known := slices.ContainsFunc(out, func(r crash.ReleaseStatus) bool { return r.Release == release })
		if release == "" || known || len(j.seen[release]) > 0 {
			return
		}
		if says := j.tracker(release); says.verdict == crash.StateFixed {
			out = append(out, crash.ReleaseStatus{Release: release, Word: crash.StateFixed, Fix: says.fix})
		}
	}
	for _, distribution := range distributionsOf(tasksOf(j.reading.Tasks, j.b.SourcePackage)) {
		for _, f := range j.reading.Fixes {
			if f.Package == j.b.SourcePackage {
				add(crash.Releases().Named(distribution, f.Series))
			}
		}
		add(j.newestOf(distribution))
	}
	return out
}

// newestOf returns the newest release of a distribution in which the package is in use or the
// problem was seen.
func (j *judgement) newestOf(distribution string) crash.Release {
	var newest crash.Release
	take := func(r crash.Release) {
		if r.Distribution() == distribution && (newest == "" || cmp.Compare(r.Key(), newest.Key()) > 0) {
			newest = r
		}
	}
	for r := range j.seen {
		take(r)
	}
	for r := range j.inUse {
		take(r)
	}
	return newest
}

type trackerSays struct {
	verdict crash.StateWord // StateOpen, StateFixed or StateClosed; StateOpen if it says nothing about the release
	word    string          // the tracker's status of the task; empty: it says nothing about the release
	closed  time.Time       // with StateFixed: when it was closed
	fix     string          // with StateFixed: the version with the fix; empty: unknown
}

// tracker returns what the tracker says about a release. It uses the bug's task for that series, if
// there is one. Otherwise it uses the task for the whole package, which applies to the newest
// release of the distribution and later ones. A task never applies to other distributions,
// including derivatives.
func (j *judgement) tracker(release crash.Release) trackerSays {
	if j.reading == nil {
		return trackerSays{verdict: crash.StateOpen}
	}
	tasks, ofSeries := j.tasksFor(release)
	if len(tasks) == 0 {
		return trackerSays{verdict: crash.StateOpen}
	}
	says := verdictOf(tasks)
	if says.verdict != crash.StateFixed {
		return says
	}
	version, has := j.fixFor(release, ofSeries)
	if !has {
		return trackerSays{verdict: crash.StateOpen}
	}
	says.fix = version
	return says
}

// verdictOf combines tasks: open if any of them is open, otherwise fixed if any of them has a fix.
func verdictOf(tasks []crash.BugTask) trackerSays {
	if i := slices.IndexFunc(tasks, func(t crash.BugTask) bool { return !t.Complete }); i >= 0 {
		return trackerSays{verdict: crash.StateOpen, word: tasks[i].Status}
	}
	if !slices.ContainsFunc(tasks, func(t crash.BugTask) bool { return t.Status == crash.FixReleased }) {
		return trackerSays{verdict: crash.StateClosed, word: tasks[0].Status}
	}
	says := trackerSays{verdict: crash.StateFixed, word: crash.FixReleased}
	for _, t := range tasks {
		says.closed = crash.Later(says.closed, t.Closed)
	}
	return says
}

func (j *judgement) wholeBug() trackerSays {
	if len(j.reading.Tasks) == 0 {
		return trackerSays{verdict: crash.StateOpen}
	}
	return verdictOf(tasksOf(j.reading.Tasks, j.b.SourcePackage))
}

// trackerStatus returns the tracker's status of the task that counts. That is the task of the
// newest release among those that determine the state of the problem.
func (j *judgement) trackerStatus(releases []crash.ReleaseStatus) string {
	for _, want := range []crash.StateWord{crash.StateRegression, crash.StateOpen, crash.StateGone, crash.StateClosed,
		crash.StateFixed} {
		for _, r := range releases {
			if r.Word != want || r.Ended || r.Reports == 0 {
				continue
			}
			if tasks, _ := j.tasksFor(r.Release); len(tasks) > 0 {
				return verdictOf(tasks).word
			}
		}
	}
	return j.wholeBug().word
}

// tasksFor returns the tasks that apply to a release, and whether they are specific to its series.
func (j *judgement) tasksFor(release crash.Release) (tasks []crash.BugTask, ofSeries bool) {
	tasks = tasksOf(j.reading.Tasks, j.b.SourcePackage)
	if len(distributionsOf(tasks)) == 0 {
		return tasks, false // tasks of the program itself apply everywhere
	}
	distribution, codename := release.Distribution(), release.Codename()
	if release != "" {
		tasks = crash.Pick(tasks, func(t crash.BugTask) bool { return t.Distribution() == distribution })
	}
	inSeries := func(t crash.BugTask) bool { return codename != "" && t.Series() == codename }
	if found := crash.Pick(tasks, inSeries); len(found) > 0 {
		return found, true
	}
	return crash.Pick(tasks, func(t crash.BugTask) bool { return t.Series() == "" }), false
}

// tasksOf returns the tasks for a source package, else those for other packages, else all tasks.
func tasksOf(tasks []crash.BugTask, source string) []crash.BugTask {
	for _, of := range []func(crash.BugTask) bool{
		func(t crash.BugTask) bool { return source != "" && t.SourcePackage() == source },
		func(t crash.BugTask) bool { return t.SourcePackage() != "" },
	} {
		if picked := crash.Pick(tasks, of); len(picked) > 0 {
			return picked
		}
	}
	return tasks
}

func distributionsOf(tasks []crash.BugTask) []string {
	var out []string
	for _, t := range tasks {
		if d := t.Distribution(); d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// fixFor returns the version with the fix in a release, or "" if the tracker does not name it, and
// whether the release has the fix at all. The task for the release must be closed with a fix.
//
// A fix for another series is in this release only if this release is newer. A fix of an unknown
// series is in the newest release of the distribution, and wherever that version, or a higher one,
// is in use.
func (j *judgement) fixFor(release crash.Release, ofSeries bool) (version string, has bool) {
	var here, before, unplaced []string
	elsewhere := false
	distribution, order := release.Distribution(), release.VersionOrder()
	for _, f := range j.reading.Fixes {
		if f.Package != j.b.SourcePackage || !order.Valid(f.Version) {
			continue
		}
		switch to := crash.Releases().Named(distribution, f.Series); {
		case to != "" && to.Key() == release.Key():
			here = append(here, f.Version)
		case to == "":
			unplaced = append(unplaced, f.Version)
		case to.Key() < release.Key():
			before = append(before, f.Version)
		default:
			elsewhere = true
		}
	}
	if len(here) > 0 {
		return order.Max(here...), true
	}
	if ofSeries || release == "" || distribution == "" {
		return order.Max(unplaced...), true
	}
	newest := release.Key() == j.newestOf(distribution).Key() && !elsewhere
	for _, v := range unplaced {
		if newest || j.arrived(release, v) {
			before = append(before, v)
		}
	}
	if len(before) > 0 {
		return order.Max(before...), true
	}
	return "", newest && len(unplaced) == 0 || len(distributionsOf(j.reading.Tasks)) == 0
}

func (j *judgement) arrived(release crash.Release, version string) bool {
	order := release.VersionOrder()
	inUse := func(k VersionKnown) bool { return order.Compare(k.Version, version) >= 0 }
	return slices.ContainsFunc(j.inUse[release], inUse) ||
		slices.ContainsFunc(j.seen[release], func(o crash.VersionSeen) bool {
			return order.Valid(o.Version) && order.Compare(o.Version, version) >= 0
		})
}

// JudgeManual computes the manual status of a problem. all contains its entries, sorted by ID, and
// seen the versions in which it was seen. It is the only place that compares versions marked as
// fixed with reports; the derived status is Judge's.
func JudgeManual(all []crash.Mark, seen []crash.VersionSeen, now time.Time) crash.ManualStatus {
	m := crash.ManualStatus{Fixes: crash.StandingFixes(all)}
	for i := range all {
		t := &all[i]
		switch {
		case t.Kind == crash.MarkEmbargo && t.Stands() && m.Embargo == nil:
			m.Embargo = t
		case t.Kind == crash.MarkHold && t.Stands() && m.Hold == nil:
			m.Hold = t
		case t.Kind == crash.MarkMuted && t.Stands():
			m.Muted = t
		case t.Kind == crash.MarkWontFix && t.Stands():
			m.WontFix = t
		}
		if t.Kind.Restricts() {
			continue
		}
		switch { // a decision after the return shows that a person has noticed it
		case t.RecentlyReturned(now):
			m.Returned = t
		case m.Returned != nil && t.At.After(m.Returned.EndedAt):
			m.Returned = nil
		}
	}
	if m.Muted != nil {
		m.Returned = nil
	}
	for i := range m.Fixes {
		seenAgain(&m.Fixes[i], seen)
	}
	return m
}

// seenAgain sets how often a problem was seen in a version with the fix since the fix was stored.
func seenAgain(f *crash.ManualFix, seen []crash.VersionSeen) {
	for _, o := range seen {
		n := since(*f, o)
		if n == 0 {
			continue
		}
		f.Again += n
		f.Last = crash.Later(f.Last, o.Last)
		newer := o.Release.Compare(f.AgainIn)
		if f.AgainAt == "" || newer > 0 || newer == 0 && o.Release.VersionOrder().Compare(o.Version, f.AgainAt) > 0 {
			f.AgainIn, f.AgainAt = o.Release, o.Version
		}
	}
}

// since returns how many reports from a version with the fix came since the fix was stored. Of versions that the
// problem had not been seen in then, such as those of a problem that was merged into it later, reports count unless all
// are older.
func since(f crash.ManualFix, o crash.VersionSeen) int64 {
	before, known := f.By.Before[o.Release][o.Version]
	if !known && o.Last.Before(crash.Midnight(f.By.At)) || !f.Has(o.Release, o.Version) {
		return 0
	}
	return max(o.Reports-before, 0)
}

// Met returns the sentence that says which condition of a mute is met by the versions in which the
// problem was seen, or "" if none is. known contains the highest version per release when it was
// muted.
func Met(u crash.MuteUntil, seen []crash.FixedIn, known map[crash.Release]string) string {
	for _, o := range seen {
		order := o.Release.VersionOrder()
		if !order.Valid(o.Version) {
			continue
		}
		if u.Version != "" && (crash.FixedIn{Release: u.Release, Version: u.Version}).Has(o.Release, o.Version) {
			return crash.SeenIn(o.Release, o.Version)
		}
		if highest, before := known[o.Release]; u.Newer && (!before || order.Total(o.Version, highest) > 0) {
			return crash.SeenIn(o.Release, o.Version)
		}
	}
	return ""
}

// AdviceKind says whether filing a bug will help, and if not, why.
type AdviceKind string

// The kinds of advice, in order of precedence.
const (
	AdviceExists        AdviceKind = "exists"         // a bug exists, for this problem or a similar one
	AdviceNotSymbolised AdviceKind = "not symbolised" // without function names, nobody can work on the bug
	AdviceOldVersions   AdviceKind = "old versions"   // newer versions without the problem are in use
	AdviceOneMachine    AdviceKind = "one machine"    // only one machine reports it
	AdviceTests         AdviceKind = "tests"          // only test machines report it
	AdviceReady         AdviceKind = "ready"          // no reason against filing
)

// Advice is what the page says about filing, next to the Create button.
type Advice struct {
	Kind    AdviceKind
	Text    string // one sentence
	Missing bool   // it waits for symbols that the page /admin/symbols lists
}

// AdviceFacts are the facts on which Advise bases its advice.
type AdviceFacts struct {
	Bucket  crash.Bucket // with its status
	Named   bool         // the functions have names, or there is a traceback or message
	Similar crash.Bug    // a bug of a similar problem; Number 0: none
	Symbols crash.ProblemSymbols
}

// Advise says whether a bug for the problem will help, from the given facts only. The first reason
// against it decides. It takes statements about versions from the status of the problem.
func Advise(f AdviceFacts) Advice {
	b := f.Bucket
	switch {
	case b.Bug.Number != 0:
		return Advice{Kind: AdviceExists, Text: "No: bug " + b.Bug.Text() + " exists."}
	case b.Provisional || !f.Named:
		return withoutNames(f.Symbols)
	case f.Similar.Number != 0:
		return Advice{Kind: AdviceExists, Text: "Check first: bug " + f.Similar.Text() + " of a similar problem may be " +
			"about the same fault."}
	case b.LacksNames() && (f.Symbols.Job.State == crash.SymbolsPartial || f.Symbols.Job.State == crash.SymbolsWaiting):
		return withoutNames(f.Symbols)
	}
	if b.Status.Outdated() || b.Status.Word == crash.StateGone {
		return Advice{Kind: AdviceOldVersions, Text: outdated(b.Status)}
	}
	switch {
	case b.Reports == 0:
		return Advice{Kind: AdviceTests, Text: "No: only test machines have reported it."}
	case b.Systems == 1:
		text := "Perhaps not: only one machine has reported it"
		if b.Reports > 1 {
			text += fmt.Sprintf(", %d times", b.Reports)
		}
		return Advice{Kind: AdviceOneMachine, Text: text + ". The machine itself may be at fault."}
	case b.Systems == 0:
		return Advice{Kind: AdviceReady, Text: "Yes: no similar bug is known."}
	}
	return Advice{Kind: AdviceReady, Text: fmt.Sprintf("Yes: %d machines, and no similar bug is known.", b.Systems)}
}

// outdated says that the newest versions are free of the problem, using the problem's newest
// release.
func outdated(s crash.Status) string {
	text := "Probably not: it is probably fixed"
	if s.Word != crash.StateGone {
		text = "Probably not: only old versions are affected"
	}
	counting := s.Counting()
	if len(counting) == 0 {
		return text + ". It has not been seen for more than a year."
	}
	r := counting[0]
	text += fmt.Sprintf(". In %s it was seen up to %s, and %s is in use without it", r.Release.Short(), r.Highest, r.Newer)
	if n := len(counting) - 1; n == 1 {
		text += "; likewise in " + counting[1].Release.Short()
	} else if n > 1 {
		text += fmt.Sprintf("; likewise in %d other releases", n)
	}
	return text + "."
}

// withoutNames says why to wait with a bug for a problem whose functions lack names, or some of
// them.
func withoutNames(s crash.ProblemSymbols) Advice {
	a := Advice{Kind: AdviceNotSymbolised, Text: "Not yet: without function names, the bug would not show where " +
		"the fault is."}
	missing := missingNames(s.Missing)
	switch s.Job.State {
	case crash.SymbolsQueued, crash.SymbolsRunning:
		a.Text = "Wait for names: the crash is being symbolised."
		return a
	case crash.SymbolsWaiting, crash.SymbolsPartial, crash.SymbolsAsked:
		a.Missing = missing != ""
	default: // nothing could be added that helps
	}
	switch {
	case a.Missing && s.Job.State == crash.SymbolsPartial:
		a.Text = "Wait for names: some functions have none, because symbols of " + missing + " are missing."
	case a.Missing && s.Job.State == crash.SymbolsAsked:
		a.Text = "Wait for names: a machine was asked for its core dump, and symbols of " + missing + " are missing."
	case a.Missing:
		a.Text = "Wait for names: symbols of " + missing + " are missing."
	case s.Wanted.Person != "":
		a.Text = "Wait for names: the next machine that reports it will be asked for its core dump."
	case s.Job.State == crash.SymbolsAsked:
		a.Text = "Wait for names: a machine was asked for its core dump."
	case s.Job.State == crash.SymbolsWaiting:
		a.Text = "Wait for names: mishap has found none yet."
	case s.Job.State == crash.SymbolsPartial:
		a.Text = "Perhaps not: some functions have no names, so the bug may not show where the fault is."
	case s.Job.State == crash.SymbolsFailed, s.Job.State == crash.SymbolsExpired:
		a.Text = "Not yet: symbolising failed. Without function names, the bug would not show where the fault is."
	}
	return a
}

func missingNames(paths []string) string {
	const most = 2
	var names []string
	for _, p := range paths {
		if len(names) == most {
			return strings.Join(names, ", ") + " and others"
		}
		names = append(names, crash.Shorten(path.Base(p), 60))
	}
	return crash.JoinAnd(names)
}
