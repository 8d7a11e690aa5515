package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/handlers/web"
)

// maxPage is the maximum number of objects in one answer, and the default.
const maxPage = 360

// meta describes the part of a list that an answer contains. In all answers, fields are sorted
// by name.
type meta struct {
	Limit    int     `json:"limit" doc:"Maximum number of objects in this answer."`
	Next     *string `json:"next" doc:"Path and query of the next part; null at the end."`
	Offset   int     `json:"offset" doc:"Number of preceding objects in the list."`
	Previous *string `json:"previous" doc:"Path and query of the previous part; null at the beginning."`
	Total    int     `json:"total_count" doc:"The length of the list."`
}

// envelope is the outer object of every list.
type envelope struct {
	Meta    meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// paging is the part of a list that a request selects.
type paging struct {
	limit, offset int
	limitText     string // limit that selects the objects of the list; empty if it only pages
}

// limitParam and offsetParam are the parameters of every list.
var (
	// limitParam and offsetParam are the parameters of every list.
	limitParam = param{
		name: "limit", kind: kindNumber, max: 1 << 30, example: "30",
		doc: "Maximum number of objects in one answer. 0 and values above 360 mean 360.",
	}
	offsetParam = param{
		name: "offset", kind: kindNumber, max: 1 << 30, example: "0",
		doc: "Number of objects to skip at the beginning of the list.",
	}
)

// paging reads limit and offset like errors.ubuntu.com. A malformed or negative number is Invalid.
func (res *resource) paging(q query) (paging, error) {
	var p paging
	for _, declared := range res.params {
		if declared.name == limitParam.name && declared.fallback > 0 {
			p.limitText = strconv.Itoa(declared.fallback)
		}
	}
	for _, x := range []struct {
		name string
		to   *int
	}{{"limit", &p.limit}, {"offset", &p.offset}} {
		sent, _ := q.last(x.name)
		if sent.value == "" {
			continue
		}
		n, err := strconv.Atoi(sent.value)
		if err != nil && isDigits(sent.value) {
			n, err = 1<<30, nil
		}
		if err != nil || n < 0 {
			return p, badPaging(x.name, sent.value)
		}
		*x.to = n
		if x.name == "limit" && res.ownLimit() {
			p.limitText = sent.value
		}
	}
	if p.limit == 0 || p.limit > maxPage {
		p.limit = maxPage
	}
	return p, nil
}

// badPaging returns the refusal with the text that existing clients know.
func badPaging(name, text string) error {
	advice := "a positive integer"
	if name == "offset" {
		advice = "an integer"
	}
	if _, err := strconv.Atoi(text); err == nil {
		advice = "a positive integer >= 0"
	}
	return crash.Errorf(crash.Invalid, "bad_"+name, "Invalid %s '%.40s' provided. Please provide %s.", name, text, advice)
}

// envelope returns the selected part of a list, with links to its neighbours.
func (p paging) envelope(u *url.URL, q query, objects []any) envelope {
	e := envelope{Meta: meta{Limit: p.limit, Offset: p.offset, Total: len(objects)}, Objects: []any{}}
	from := min(p.offset, len(objects))
	e.Objects = append(e.Objects, objects[from:min(from+p.limit, len(objects))]...)
	if p.offset+p.limit < len(objects) {
		e.Meta.Next = p.link(u, q, p.limit, p.offset+p.limit)
	}
	switch {
	case p.offset >= p.limit:
		e.Meta.Previous = p.link(u, q, p.limit, p.offset-p.limit)
	case p.offset > 0 && p.limitText == "": // with limitText, a shorter limit would select another list
		e.Meta.Previous = p.link(u, q, p.offset, 0)
	}
	return e
}

// link returns the address of another part of a list. The pairs in changed replace parameters of
// the request.
func (p paging) link(u *url.URL, q query, limit, offset int, changed ...pair) *string {
	text := strconv.Itoa(limit)
	if p.limitText != "" {
		text = p.limitText // the limit selects the list, not only the page
	}
	changed = append(changed, pair{name: "limit", value: text}, pair{name: "offset", value: strconv.Itoa(offset)})
	s := u.EscapedPath() + "?" + q.with(changed...)
	return &s
}

// marshal encodes v like json.Marshal, but does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// write sends a value in the format that the request prefers, with an entity tag.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, v any) error {
	return a.writeAs(w, r, formatOf(r), status, v)
}

// writeAs sends a value in format f, with an entity tag.
func (a *API) writeAs(w http.ResponseWriter, r *http.Request, f format, status int, v any) error {
	body, err := encodeAs(f, v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaTypes[f])
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept")
	web.SetMissing(w, db.MissingIn(r.Context()))
	if status == http.StatusOK {
		sum := sha256.Sum256(body)
		tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if web.Matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client disconnected
	return nil
}

type format string

const (
	formatJSON format = "json"
	formatXML  format = "xml"
	formatYAML format = "yaml"
)

// mediaTypes are the values of Content-Type for each format.
var mediaTypes = map[format]string{
	formatJSON: "application/json", formatXML: "application/xml; charset=utf-8", formatYAML: "text/yaml; charset=utf-8",
}

// acceptedTypes are the media types by which Accept selects a format, the default first.
// Browsers prefer HTML and get JSON.
var acceptedTypes = []struct {
	media  string
	format format
}{
	{"application/json", formatJSON}, {"text/html", formatJSON}, {"application/xhtml+xml", formatJSON},
	{"application/xml", formatXML}, {"text/xml", formatXML},
	{"text/yaml", formatYAML}, {"application/yaml", formatYAML}, {"application/x-yaml", formatYAML},
}

// formatOf returns the format that a request selects by the parameter format, or else by Accept.
// The default is JSON.
func formatOf(r *http.Request) format {
	requested, _ := parseQuery(r.URL.RawQuery).last("format")
	if f := format(requested.value); mediaTypes[f] != "" {
		return f
	}
	media := make([]string, len(acceptedTypes))
	for i, o := range acceptedTypes {
		media[i] = o.media
	}
	preferred := web.Preferred(r.Header.Values("Accept"), media...)
	for _, o := range acceptedTypes {
		if o.media == preferred {
			return o.format
		}
	}
	return formatJSON
}

// encode encodes a value as JSON, indented by two spaces, without HTML escapes.
func encode(v any) ([]byte, error) {
	body, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSuffix(body, []byte("\n")), "", "  "); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return out.Bytes(), nil
}

// encodeAs encodes a value in a format. Because JSON is valid YAML, it writes JSON for both. XML
// has the elements and types of errors.ubuntu.com.
func encodeAs(f format, v any) ([]byte, error) {
	body, err := encode(v)
	if err != nil || f != formatXML {
		return body, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	root := "object"
	switch v.(type) {
	case envelope, objectsByKey, map[string]indexEntry:
		root = "response"
	}
	x := xmlWriter{}
	x.WriteString(xml.Header)
	x.element(root, plain, "")
	return x.Bytes(), nil
}

type xmlWriter struct{ bytes.Buffer }

// xmlName matches the names that become the name of an element; others become an attribute.
var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// element writes a value. hash is the type attribute of an object.
func (x *xmlWriter) element(name string, value any, hash string) {
	given := ""
	if !xmlName.MatchString(name) {
		name, given = "value", name
	}
	open := func(kind string) {
		x.WriteString("<" + name)
		if given != "" {
			x.WriteString(` name="`)
			x.text(given)
			x.WriteString(`"`)
		}
		if kind != "" {
			x.WriteString(` type="` + kind + `"`)
		}
		x.WriteString(">")
	}
	switch v := value.(type) {
	case nil:
		open("null")
	case bool:
		open("boolean")
		x.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case json.Number:
		kind := "integer"
		if strings.ContainsAny(v.String(), ".eE") {
			kind = "float"
		}
		open(kind)
		x.WriteString(v.String())
	case string:
		open("")
		x.text(v)
	case []any:
		open("list")
		for _, one := range v {
			switch one.(type) {
			case map[string]any:
				inner := "hash"
				if name == "objects" {
					inner = ""
				}
				x.element("object", one, inner)
			case []any:
				x.element("objects", one, "")
			default:
				x.element("value", one, "")
			}
		}
	case map[string]any:
		open(hash)
		for _, field := range slices.Sorted(maps.Keys(v)) {
			x.element(field, v[field], "hash")
		}
	}
	x.WriteString("</" + name + ">")
}

// text writes escaped text. Characters that XML does not allow become U+FFFD.
func (x *xmlWriter) text(s string) { _ = xml.EscapeText(x, []byte(s)) } // writes to a buffer do not fail

type resource struct {
	name    string
	summary string // one line
	doc     string // further details, in a few sentences
	access  access
	method  string  // GET, or POST for questions with a body
	params  []param // without limit and offset, unless the resource handles limit itself
	key     string  // description of the key in the address of a single object
	example string  // example of a key

	object any // zero value of the type of an object or answer
	body   any // zero value of the type of a question

	list     listFunc
	window   windowFunc // instead of list
	detail   detailFunc
	post     postFunc
	external bool              // served by package handlers; the table only describes it
	outcomes map[string]string // of an external resource: statuses of answers, with their meanings
	refused  []string          // further statuses of refusals of an external resource
}

func (res *resource) allow() string {
	if res.method == http.MethodGet {
		return "GET, HEAD"
	}
	return res.method
}

func (res *resource) listed() bool { return res.list != nil || res.window != nil }

// ownLimit reports whether the resource handles limit itself, before paging.
func (res *resource) ownLimit() bool {
	return slices.ContainsFunc(res.params, func(p param) bool { return p.name == limitParam.name })
}

// table returns all resources, in the order of the documentation.
func (a *answers) table() []resource {
	return slices.Concat(a.problemResources(), a.countResources(), a.phasingResources(), a.gateResources(),
		a.healthResources(),
		a.reportResources(), a.archiveResources(), a.bugResources(), a.statusResources(), a.symbolResources(),
		eraseResources())
}

// Parameters that several resources share.
var (
	releaseParam = param{name: "release", kind: kindText, doc: "A release, by the name in reports.",
		example: "Ubuntu 24.04"}
	packageParam = param{name: "package", kind: kindText, doc: "Name of a binary package.", example: "tidewatch"}
	problemParam = param{
		name: "id", kind: kindSignature, required: true, example: "/usr/bin/tidewatch:11:parse:load:main",
		doc: "Signature of a problem, or its SHA-1 (40 hex digits). A signature may be percent-encoded " +
			"twice.",
	}
)

// maxDays is the maximum number of days in a daily list: ten years.
const maxDays = 3660

// daysParam returns a limit that counts days.
func daysParam() param {
	return param{
		name: "limit", kind: kindNumber, max: maxDays, ceiling: maxDays, fallback: defaultDays, example: "30",
		doc: "Number of days, today (UTC) first; one answer has at most 360 objects.",
	}
}

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
				doc: "day or today; week (eight days with today; on pages seven); month or year (of the calendar). Or " +
					"YYYYMMDD, YYYYMM or YYYY.",
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
	Tracker      string `json:"tracker,omitempty" doc:"Name of the tracker that has the bug; missing for Launchpad."`
	Project      string `json:"project,omitempty" doc:"Project of the bug, if its number is one in a project."`
	Link         string `json:"web_link" doc:"The page of the problem; it ends in the SHA-1 of the signature."`
}

// setBug sets the number of the bug, and its place unless that is Launchpad.
func (p *commonProblem) setBug(number int64, places map[int]crash.BugPlace) {
	p.Report = crash.BugText(number)
	if place := places[crash.PlaceOf(number)]; place.Tracker != crash.FirstTracker {
		p.Tracker, p.Project = place.Tracker, place.Project
	}
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
			"that were seen first in a version: name it in the parameter version.")
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
	if from, err := a.Problems.From(ctx); err != nil {
		return nil, err
	} else if since.Before(from) {
		return nil, errExpired(from)
	}
	if since.Before(a.today().AddDate(0, 0, -indexDays)) {
		if in.given["q"] {
			return nil, crash.Errorf(crash.Invalid, "bad_q", "Searches look at the days of the last %d days only.", indexDays)
		}
		problems, err := a.Problems.CommonProblems(ctx, filter, with, without, limit)
		if err != nil {
			return nil, err
		}
		return a.storedProblems(ctx, in, filter.Release, problems)
	}
	b, err := a.Store.IndexWithStates(ctx)
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
	signatures, err := a.Problems.WholeSignatures(ctx, rows)
	if err != nil {
		return nil, err
	}
	places, err := a.Bugs.BugPlaces(ctx)
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
			row.setBug(r.Bug, places)
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
	b, err := a.Store.Index(ctx)
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
			row.setBug(p.Bug.Number, map[int]crash.BugPlace{crash.PlaceOf(p.Bug.Number): p.Bug.Place})
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
			"%.40q is not a period; periods are day, week, month, year, and days, months and years as YYYYMMDD, YYYYMM, "+
				"YYYY.", period)
	}
	switch {
	case in.given["from"] && in.given["to"]:
		return in.day("from"), in.day("to"), nil
	case in.given["from"] || in.given["to"]:
		return since, until, crash.Errorf(crash.Invalid, "half_a_range", "The parameters from and to must be given "+
			"together: one of them is missing.")
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
		names, known, err = a.Bugs.PackagesOfPerson(ctx, name)
	case in.given["package"]:
		return []string{in.text("package")}, nil
	case in.given["packageset"]:
		names, known, err = a.Bugs.PackagesOfSet(ctx, crash.Release(in.text("release")), in.text("packageset"))
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
	b, err := a.Store.Index(ctx)
	if err != nil {
		return nil, err
	}
	var before map[time.Time]int64
	if known := a.Store.IndexSince(); since.Before(known) {
		if before, err = a.Problems.ProblemDays(ctx, since, known.AddDate(0, 0, -1)); err != nil {
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
