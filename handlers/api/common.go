package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
)

func (a *answers) mostCommonProblems() resource {
	return resource{
		name: "most-common-problems", method: http.MethodGet, access: public,
		summary: "The most common problems.",
		doc: "Without period, from and to: today (UTC). The packages of package, user and packageset may be " +
			"source or binary packages. If several of these parameters are given, user takes precedence, " +
			"then package. Rows with equal counts are sorted by signature.",
		params: []param{
			{
				name: "limit", kind: kindNumber, max: 1 << 30, ceiling: maxCommon, fallback: 30, example: "30",
				doc: "Number of problems; one answer has at most 360 of them.",
			},
			releaseParam,
			{name: "package", kind: kindText, doc: "Name of a binary or source package.", example: "tidewatch"},
			{
				name: "packageset", kind: kindText,
				doc:     "Name of a package set of the release. Default: of the newest release.",
				example: "ubuntu-desktop",
			},
			{
				name: "user", kind: kindText,
				doc:     "Name of a person or team: selects the packages to whose bugs they are subscribed.",
				example: "desktop-packages",
			},
			{name: "version", kind: kindText, doc: "Version of the package.", example: "1.4.2-1ubuntu1"},
			{name: "pkg_arch", kind: kindText, doc: "Architecture of the package.", example: "amd64"},
			{
				name: "period", kind: kindText,
				doc: "day or today; week (eight days: today and the previous seven; pages count seven); " +
					"month or year (of the calendar); or a " +
					"day, month or year as YYYYMMDD, YYYYMM or YYYY.",
				example: "week",
			},
			{
				name: "from", kind: kindDay,
				doc:     "First day, YYYYMMDD; requires to, and no period.",
				example: "20260501",
			},
			{name: "to", kind: kindDay, doc: "Last day, inclusive.", example: "20260518"},
			{
				name: "first_appearance", kind: kindFlag,
				doc: "Any text: only problems whose lowest version is version, which is required. With a release, " +
					"the lowest version in that release.",
				example: "1",
			},
			{
				name: "q", kind: kindQuery,
				doc:     "A search, in the language of the search page.",
				example: "frame:parse_row -state:fixed",
			},
			{
				name: "snap", kind: kindText,
				doc:     "True: only problems without a package. Any other text: also problems without a package.",
				example: "True",
			},
		},
		object: commonProblem{}, list: a.commonProblems,
	}
}

// maxCommon is the maximum length of a list of problems.
const maxCommon = 10_000

type commonProblem struct {
	Count        int64  `json:"count" doc:"Reports on the selected days."`
	FirstSeen    string `json:"first_seen" doc:"Lowest package version, of the given release if any; or empty."`
	FirstRelease string `json:"first_seen_release" doc:"Lowest release, or the requested release."`
	Function     string `json:"function" doc:"The signature; redacted for callers who may not read reports."`
	LastSeen     string `json:"last_seen" doc:"Highest package version, of the given release if any."`
	LastRelease  string `json:"last_seen_release" doc:"Highest release, or the requested release."`
	Package      string `json:"package" doc:"Binary package."`
	Rank         int    `json:"rank" doc:"1 for the first of the list."`
	Report       string `json:"report" doc:"Number of its bug, or empty."`
	Link         string `json:"web_link" doc:"The page of the problem; it ends in the SHA-1 of the signature."`
}

func (a *answers) commonProblems(ctx context.Context, in input) ([]any, error) {
	limit := in.number("limit")
	if limit == 0 {
		return nil, nil
	}
	since, until, err := a.dateRange(in)
	if err != nil {
		return nil, err
	}
	if in.flag("first_appearance") && !in.given["version"] {
		return nil, crash.Errorf(crash.Invalid, "missing_version", "The parameter first_appearance asks for problems "+
			"that were seen first in a version: say which by the parameter version.")
	}
	packages, err := a.packageFilter(ctx, in)
	if err != nil {
		return nil, err
	}
	filter := index.Filter{
		Since: index.DayOf(since), Until: index.DayOf(until), Release: crash.Release(in.text("release")),
		Version:             in.text("version"),
		PackageArchitecture: in.text("pkg_arch"), New: in.flag("first_appearance"),
		ByPackages: packages != nil, Packages: strings.Join(packages, " "), Public: !in.mayRead(),
	}
	with, without := packageKinds(in)
	if from, err := a.problems.From(ctx); err != nil {
		return nil, err
	} else if since.Before(from) {
		return nil, errExpired(from)
	}
	if since.Before(a.today().AddDate(0, 0, -indexDays)) {
		if in.given["q"] {
			return nil, crash.Errorf(crash.Invalid, "bad_q", "Searches look at the days of the last %d days only.", indexDays)
		}
		problems, err := a.problems.CommonProblems(ctx, filter, with, without, limit)
		if err != nil {
			return nil, err
		}
		return a.storedProblems(ctx, in, filter.Release, problems)
	}
	b, err := a.store.IndexWithStates(ctx)
	if err != nil {
		return nil, err
	}
	var match func(*index.Problem) bool
	if q, ok := in.values["q"].(index.Query); ok {
		filter, match = narrowed(in, q, filter)
	}
	rows, _ := b.All(filter, match)
	if until.Before(since) {
		rows = nil
	}
	rows = firstRows(in, rows, with, without, limit)
	signatures, err := a.problems.WholeSignatures(ctx, rows)
	if err != nil {
		return nil, err
	}
	objects := make([]any, len(rows))
	for i, r := range rows {
		row := commonProblem{
			Count: r.Count, FirstSeen: r.LowestVersion(), FirstRelease: string(r.LowestRelease()), Function: r.Signature,
			LastSeen: r.HighestVersion(), LastRelease: string(r.HighestRelease()), Package: r.Package, Rank: i + 1,
			Link: a.problemLink(r.ID),
		}
		if signature := signatures[r.ID]; signature != "" {
			row.Function = visibleSignature(in, signature)
		}
		if r.Bug != 0 {
			row.Report = strconv.FormatInt(r.Bug, 10)
		}
		objects[i] = row
	}
	return objects, nil
}

// indexDays is the number of past days that the index always covers.
const indexDays = 399

// packageKinds reports, from the parameter snap, whether to list problems with a package and
// problems without one.
func packageKinds(in input) (with, without bool) {
	return in.text("snap") != "True", in.given["snap"]
}

// firstRows returns the first limit rows with a package, without one, or both. rows are sorted
// by count; the result has them as the caller may see them, and sorts rows of equal count by signature.
func firstRows(in input, rows []index.Row, with, without bool, limit int) []index.Row {
	var out []index.Row
	for _, r := range rows {
		if r.Package == "" && !without || r.Package != "" && !with {
			continue
		}
		if len(out) >= limit && r.Count != out[len(out)-1].Count {
			break
		}
		out = append(out, visibleRow(in, r))
	}
	slices.SortStableFunc(out, func(x, y index.Row) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Signature, y.Signature))
	})
	return out[:min(len(out), limit)]
}

// storedProblems returns the objects of problems from the database, for days that the index does
// not cover.
func (a *answers) storedProblems(ctx context.Context, in input, release crash.Release,
	problems []crash.Problem,
) ([]any, error) {
	objects := make([]any, len(problems))
	b, err := a.store.Index(ctx)
	if err != nil {
		return nil, err
	}
	for i := range problems {
		problems[i].Bucket = new(visibleBucket(in, *problems[i].Bucket))
	}
	slices.SortStableFunc(problems, func(x, y crash.Problem) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Signature, y.Signature))
	})
	for i, p := range problems {
		facts := index.Facts{}
		if known, ok := b.Problem(p.ID); ok {
			facts = visibleRow(in, index.Row{Problem: known, Facts: known.In(release)}).Facts
		}
		row := commonProblem{
			Count: p.Count, FirstSeen: facts.LowestVersion(), FirstRelease: string(facts.LowestRelease()), Function: p.Signature,
			LastSeen: facts.HighestVersion(), LastRelease: string(facts.HighestRelease()), Package: p.Package, Rank: i + 1,
			Link: a.problemLink(p.ID),
		}
		if p.Bug.Number != 0 {
			row.Report = strconv.FormatInt(p.Bug.Number, 10)
		}
		objects[i] = row
	}
	return objects, nil
}

// dateRange reads the period or the range of days of a list. Other values are Invalid.
func (a *answers) dateRange(in input) (since, until time.Time, err error) {
	today := a.today()
	period := in.text("period")
	// Clocks of some machines are fast, so a month or year includes tomorrow if it contains it.
	untilTomorrow := func(first, last time.Time) (since, until time.Time, err error) {
		if tomorrow := today.AddDate(0, 0, 1); tomorrow.Before(last) {
			return first, tomorrow, nil
		}
		return first, last, nil
	}
	switch period {
	case "day", "today":
		return today, today, nil
	case "week":
		return today.AddDate(0, 0, -7), today, nil
	case "month":
		first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
		return untilTomorrow(first, first.AddDate(0, 1, -1))
	case "year":
		first := time.Date(today.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		return untilTomorrow(first, first.AddDate(1, 0, -1))
	case "":
	default:
		for layout, more := range map[string][3]int{"20060102": {0, 0, 1}, "200601": {0, 1, 0}, "2006": {1, 0, 0}} {
			if t, err := time.Parse(layout, period); err == nil && len(period) == len(layout) {
				return t, t.AddDate(more[0], more[1], more[2]).AddDate(0, 0, -1), nil
			}
		}
		return since, until, crash.Errorf(crash.Invalid, "bad_period",
			"%.40q is no period; periods are day, week, month, year, and days, months and years as YYYYMMDD, YYYYMM, "+
				"YYYY.", period)
	}
	switch {
	case in.given["from"] && in.given["to"]:
		return in.day("from"), in.day("to"), nil
	case in.given["from"] || in.given["to"]:
		return since, until, crash.Errorf(crash.Invalid, "half_a_range", "The parameters from and to belong together: "+
			"one of them is missing.")
	}
	return today, today, nil
}

// errNotKnownYet reports that the tracker has not yet sent the packages of a person or set.
var errNotKnownYet = func() *crash.Error {
	e := crash.Errorf(crash.Unavailable, "not_known_yet", "The packages of that person or package set have not "+
		"been read from the tracker yet. Please try again in a minute.")
	e.RetryAfter = time.Minute
	return e
}()

// packageFilter returns the packages that a list is limited to, or nil for all.
func (a *answers) packageFilter(ctx context.Context, in input) ([]string, error) {
	var names []string
	var known bool
	var err error
	switch {
	case in.given["user"]:
		name := strings.TrimPrefix(strings.TrimPrefix(in.text("user"), "https://launchpad.net/"), "~")
		names, known, err = a.bugs.PackagesOfPerson(ctx, name)
	case in.given["package"]:
		return []string{in.text("package")}, nil
	case in.given["packageset"]:
		names, known, err = a.bugs.PackagesOfSet(ctx, crash.Release(in.text("release")), in.text("packageset"))
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, errNotKnownYet
	}
	return append([]string{}, names...), nil // an empty list differs from nil
}

func (a *answers) problemsCount(ctx context.Context, in input) ([]any, error) {
	days := in.number("limit")
	if days == 0 {
		return nil, nil
	}
	since, until := a.lastDays(days)
	b, err := a.store.Index(ctx)
	if err != nil {
		return nil, err
	}
	var before map[time.Time]int64
	if known := a.store.IndexSince(); since.Before(known) {
		if before, err = a.problems.ProblemDays(ctx, since, known.AddDate(0, 0, -1)); err != nil {
			return nil, err
		}
		since = known
	}
	counts := b.ProblemDays(index.DayOf(since), index.DayOf(until))
	objects := make([]any, 0, days)
	for day := range a.days(days) {
		value := before[day]
		if at := len(counts) - 1 - len(objects); at >= 0 {
			value = counts[at]
		}
		objects = append(objects, dayValue{Date: day.Format(dateFormat), Value: value})
	}
	return objects, nil
}
