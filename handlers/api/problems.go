package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/privacy"
)

func (a *answers) problemResources() []resource {
	return []resource{
		a.mostCommonProblems(),
		{
			name: "bucket", method: http.MethodGet, access: public,
			summary: "One problem with its data.",
			doc: "The traces come from a representative report. They are null for callers who may not read " +
				"reports.",
			key: "Signature of the problem, or its SHA-1.", example: "%2Fusr%2Fbin%2Ftidewatch:11:parse:load:main",
			object: bucketObject{}, detail: a.bucket,
		},
		{
			name: "versions", method: http.MethodGet, access: public,
			summary: "The number of reports of a problem, by package version and release.",
			doc: "Versions are in dpkg's order, followed by a row for all of them. Each row also has a field for " +
				"each Ubuntu series, named after its codename; -1 means no reports.",
			params: []param{problemParam},
			object: versionRow{}, list: a.versions,
		},
		{
			name: "instances", method: http.MethodGet, access: public,
			summary: "The newest reports of a problem.",
			doc: "At most 100 reports in one answer. start continues after the last one, and next links to that " +
				"page.",
			params: []param{problemParam, {
				name: "start", kind: kindReport, doc: "Only reports that arrived before the report with this id.",
				example: "0196a1b2-0000-7000-8000-000000000000",
			}},
			object: instanceRow{}, window: a.instances,
		},
		{
			name: "average-instances", method: http.MethodGet, access: public,
			summary: "The number of reports of a problem per active machine, by day and release.",
			doc: "One object for each release, with the newest day first. A machine is active on a day if it " +
				"reported anything for that release in the 90 days before.",
			params: []param{problemParam},
			object: series{}, list: a.averageInstances,
		},
	}
}

// find returns the problem that a client identifies by SHA-1 or signature. It also accepts a
// signature that is percent-encoded once too often, or whose plus signs are not escaped. It
// returns NotFound if there is none.
func (a *answers) find(ctx context.Context, sent pair) (crash.BucketID, error) {
	var ids []crash.BucketID
	if id, err := crash.ParseBucketID(sent.value); err == nil {
		ids = append(ids, id)
	}
	for _, text := range []string{decodePercent(sent.value), sent.value, decodePlus(sent.value), decodePercent(sent.raw),
		"/" + sent.value} {
		ids = append(ids, crash.BucketIDOf(strings.ToValidUTF8(text, "\uFFFD")))
	}
	return a.Problems.FirstBucket(ctx, ids)
}

// metadata is the data of a bucket under the names that errors.ubuntu.com used.
type metadata struct {
	CreatedBug       string `json:"CreatedBug,omitempty" doc:"Number of the bug that mishap filed."`
	FirstSeen        string `json:"FirstSeen,omitempty" doc:"Lowest package version."`
	FirstSeenRelease string `json:"FirstSeenRelease,omitempty"`
	LastSeen         string `json:"LastSeen,omitempty" doc:"Highest package version."`
	LastSeenRelease  string `json:"LastSeenRelease,omitempty"`
	LaunchpadBug     string `json:"LaunchpadBug,omitempty" doc:"Number of a bug that was linked by hand."`
	Project          string `json:"Project,omitempty" doc:"Project of the bug, if its number is one in a project."`
	Tracker          string `json:"Tracker,omitempty" doc:"Tracker that has the bug; missing for Launchpad."`
	Source           string `json:"Source,omitempty" doc:"Binary package of the newest report, despite the name."`
}

type bucketObject struct {
	ID        string   `json:"bucket_id" doc:"The same as signature, for clients of errors.ubuntu.com."`
	Metadata  metadata `json:"metadata"`
	Signature string   `json:"signature" doc:"The signature; redacted for callers who may not read reports."`
	Source    string   `json:"source_package" doc:"Source package, or \"unknown package\"."`
	Stack     *string  `json:"stacktrace"`
	Threads   *string  `json:"thread_stacktrace"`
	Trace     *string  `json:"traceback" doc:"Python traceback; if there is one, there are no stack traces."`

	Assignee *string  `json:"assignee,omitempty" doc:"The assignee; empty: nobody, or the caller may not read reports."`
	Tags     []string `json:"tags,omitempty" doc:"Its tags, sorted; empty if the caller may not read reports."`

	Evidence []passage `json:"evidence,omitempty" doc:"Text that the grouping rule read, unless a stack or traceback."`

	InFull *inFull `json:"stored_in_full,omitempty" doc:"If some reports are not stored in full: how many are."`
}

// inFull says how many reports of a problem are stored in full.
type inFull struct {
	Stored int64     `json:"stored" doc:"Number of reports in full."`
	Of     int64     `json:"of" doc:"Number of reports since then."`
	Since  time.Time `json:"since" doc:"When keep_bodies_per_problem was first set."`
}

// addInFull adds how many reports are stored in full, unless all are.
func (a *answers) addInFull(ctx context.Context, id crash.BucketID, out *bucketObject) error {
	b, err := a.Store.Bodies(ctx, id)
	if err == nil && b.Limited() {
		out.InFull = &inFull{b.Stored, b.All, b.Since}
	}
	return err
}

// passage is the part of a field that a grouping rule read.
type passage struct {
	Field string   `json:"field" doc:"Name of the field."`
	Text  string   `json:"text" doc:"The used lines with context; a line of dots marks omitted lines."`
	Used  []string `json:"used" doc:"The lines that the rule used."`
}

// passageLines is the maximum number of lines of a field in an answer.
const passageLines = 120

// passagesOf returns the passages that the grouping rule read in a report.
func passagesOf(f crash.Fields) []passage {
	var all []passage
	for _, p := range grouping.Explain(f).Passages {
		if p.IsStack() {
			continue // the trace fields contain stacks
		}
		var text strings.Builder
		for _, line := range p.Excerpt(f[p.Field], passageLines) {
			if line.Skipped > 0 {
				line.Text = "…"
			}
			text.WriteString(line.Text + "\n")
		}
		all = append(all, passage{Field: p.Field, Text: text.String(), Used: p.UsedLines(f[p.Field])})
	}
	return all
}

const unknownPackage = "unknown package"

func (a *answers) bucket(ctx context.Context, in input, key string) (any, error) {
	id, err := a.find(ctx, pair{value: key, raw: key})
	if err != nil {
		return nil, err
	}
	b, err := a.Store.Bucket(ctx, id)
	if err != nil {
		return nil, err
	}
	b = visibleBucket(in, b)
	out := bucketObject{ID: b.Signature, Signature: b.Signature, Source: b.SourcePackage, Metadata: metadata{
		FirstSeen: b.LowestVersion, LastSeen: b.HighestVersion, FirstSeenRelease: string(b.LowestRelease),
		LastSeenRelease: string(b.HighestRelease), Source: b.Package,
	}}
	if out.Source == "" {
		out.Source = unknownPackage
	}
	if place := b.Bug.Place; place.Tracker != crash.FirstTracker {
		out.Metadata.Tracker, out.Metadata.Project = place.Tracker, place.Project
	}
	switch number := crash.BugText(b.Bug.Number); {
	case b.Bug.Number == 0:
	case b.Bug.How == crash.Linked:
		out.Metadata.LaunchpadBug = number
	default:
		out.Metadata.CreatedBug = number
	}
	if signedIn.check(in.caller) == nil {
		if err := a.addPeople(ctx, b.ID, &out); err != nil {
			return nil, err
		}
		if err := a.addInFull(ctx, b.ID, &out); err != nil {
			return nil, err
		}
		err = a.addTraces(ctx, in, b.ID, &out)
	}
	return out, err
}

// addPeople adds the assignee and the tags of a problem.
func (a *answers) addPeople(ctx context.Context, id crash.BucketID, out *bucketObject) error {
	b, err := a.Store.IndexWithStates(ctx)
	if err != nil {
		return err
	}
	name := ""
	if p, ok := b.Problem(id); ok {
		name, out.Tags = p.Assignee().Name, p.Tags()
	}
	out.Assignee = &name
	return nil
}

func (a *answers) addTraces(ctx context.Context, in input, id crash.BucketID, out *bucketObject) error {
	report, err := a.Store.RepresentativeReport(ctx, id)
	if crash.KindOf(err) == crash.NotFound {
		return nil // retention has deleted the reports
	}
	if err != nil {
		return err
	}
	readable := privacy.Readable(in.caller.user(), report.SourcePackage)
	visible := a.Privacy.Excerpts(report.Fields, readable)
	field := func(name string) *string {
		if text := visible[name]; text != "" {
			return &text
		}
		return nil
	}
	if out.Trace = field("Traceback"); out.Trace == nil {
		out.Stack, out.Threads = field("Stacktrace"), field("ThreadStacktrace")
	}
	out.Evidence = slices.DeleteFunc(passagesOf(report.Fields), func(p passage) bool {
		return a.Privacy.Excerpt(p.Field) > readable
	})
	return nil
}

func (a *answers) problemLink(id crash.BucketID) string { return a.base + id.Path() }

type instanceRow struct {
	Architecture string `json:"architecture"`
	Incident     string `json:"incident" doc:"Id of the report."`
	Version      string `json:"package_version"`
	Timestamp    string `json:"timestamp" doc:"When it arrived, UTC."`
	Release      string `json:"ubuntu_version"`
}

// maxInstances is the maximum number of reports of a problem in one answer.
const maxInstances = 100

func (a *answers) instances(ctx context.Context, in input) (window, error) {
	id, err := a.find(ctx, in.sent("id"))
	if crash.KindOf(err) == crash.NotFound {
		return window{}, nil
	}
	if err != nil {
		return window{}, err
	}
	return newWindow(in.report("start"), maxInstances, reportID,
		func(r crash.ReportRow) any { return newInstanceRow(in, r) },
		func(start crash.OopsID, limit int) ([]crash.ReportRow, error) {
			return a.Problems.BucketReports(ctx, id, start, limit)
		},
		func(start crash.OopsID, limit int) ([]crash.OopsID, error) {
			return a.Problems.BucketReportsFrom(ctx, id, start, limit)
		})
}

func reportID(r crash.ReportRow) crash.OopsID { return r.ID }

func newInstanceRow(in input, r crash.ReportRow) any {
	return instanceRow{
		Architecture: visibleLabel(in, r.Architecture), Incident: r.ID.String(), Version: visibleLabel(in, r.Version),
		Release:   string(visibleLabel(in, r.Release)),
		Timestamp: timestamp(r.ID.Received()),
	}
}

// listAddress returns the address of the front list with filters. It encodes spaces as %20, as
// clients expect.
func (a *answers) listAddress(pairs ...string) string {
	var b strings.Builder
	b.WriteString(a.base + "/")
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString(map[bool]string{true: "?", false: "&"}[i == 0])
		b.WriteString(pairs[i] + "=" + strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "+", "%20"))
	}
	return b.String()
}

// query is the query of an address: all parameters in their order, including repeated ones.
type query []pair

type pair struct{ name, value, raw string }

// parseQuery parses a query that may be written by hand. Semicolons are text, and invalid
// escapes stay unchanged.
func parseQuery(raw string) query {
	var q query
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		q = append(q, pair{name: decodePlus(name), value: decodePlus(value), raw: value})
	}
	return q
}

// last returns the last parameter with a name, which overrides earlier ones.
func (q query) last(name string) (pair, bool) {
	for i := len(q) - 1; i >= 0; i-- {
		if q[i].name == name {
			return q[i], true
		}
	}
	return pair{}, false
}

// with encodes the query with parameters replaced; the changed ones come last.
func (q query) with(changed ...pair) string {
	var b strings.Builder
	add := func(p pair) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
next:
	for _, p := range q {
		for _, c := range changed {
			if c.name == p.name {
				continue next
			}
		}
		add(p)
	}
	for _, c := range changed {
		add(c)
	}
	return b.String()
}

func decodePlus(s string) string { return decodePercent(strings.ReplaceAll(s, "+", " ")) }

// decodePercent decodes %XX once. A percent sign that is not followed by two hex digits stays
// unchanged.
func decodePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, low := unhex(s[i+1]), unhex(s[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low)) //nolint:gosec // two hex digits
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

type kind string

const (
	kindText      kind = "text"      // any text of one to 200 characters
	kindSignature kind = "signature" // a signature of a problem, or its sha1
	kindNumber    kind = "number"    // from min to max
	kindDay       kind = "day"       // YYYYMMDD; hyphens and slashes are ignored
	kindFlag      kind = "flag"      // yes for any text
	kindPresence  kind = "presence"  // being present means yes, even without a text
	kindChoice    kind = "choice"    // one of the choices
	kindReport    kind = "report"    // the id of a report
	kindQuery     kind = "search"    // a search, as on the search page
)

// param describes one parameter. Reading, checking and documentation all use it.
type param struct {
	name     string
	kind     kind
	doc      string
	required bool
	example  string
	fallback int      // numbers: default value
	min, max int      // numbers: range
	ceiling  int      // numbers: larger values are reduced to this; 0 if there is no ceiling
	choices  []string // choices: valid values
}

const maxText = 200

// input is one request: the caller and the checked parameters.
type input struct {
	caller Caller
	values map[string]any
	given  map[string]bool // names of the parameters in the request
}

func (in input) text(name string) string   { s, _ := in.values[name].(string); return s }
func (in input) number(name string) int    { n, _ := in.values[name].(int); return n }
func (in input) flag(name string) bool     { return in.given[name] }
func (in input) day(name string) time.Time { t, _ := in.values[name].(time.Time); return t }
func (in input) sent(name string) pair     { p, _ := in.values[name].(pair); return p }

func (in input) report(name string) crash.OopsID { id, _ := in.values[name].(crash.OopsID); return id }

// read parses the parameters of a resource. It treats an empty parameter as missing, and ignores
// unknown ones because clients still send parameters of errors.ubuntu.com. A malformed value is
// Invalid.
func (res *resource) read(q query, caller Caller) (input, error) {
	in := input{caller: caller, values: map[string]any{}, given: map[string]bool{}}
	for _, p := range res.params {
		sent, present := q.last(p.name)
		if p.kind == kindPresence {
			in.given[p.name] = present
			continue
		}
		if sent.value == "" {
			if p.required {
				return in, p.missing()
			}
			if p.kind == kindNumber {
				in.values[p.name] = p.fallback
			}
			continue
		}
		value, err := p.parse(sent)
		if err != nil {
			return in, err
		}
		if name, ok := value.(string); ok {
			value = visibleLabel(in, name) // who may not see a label cannot ask for it
		}
		in.values[p.name], in.given[p.name] = value, true
	}
	return in, nil
}

func (p *param) missing() error {
	return crash.Errorf(crash.Invalid, "missing_"+p.name,
		"The parameter %s is missing: %s For example %s=%s.", p.name, p.doc, p.name, p.example)
}

func (p *param) bad(why string, args ...any) error {
	return crash.Errorf(crash.Invalid, "bad_"+p.name,
		"The parameter %s is invalid: %s", p.name, fmt.Sprintf(why, args...))
}

func (p *param) parse(sent pair) (any, error) {
	v := sent.value
	switch p.kind { //nolint:exhaustive // other kinds are short text
	case kindSignature:
		return sent, nil
	case kindQuery:
		return p.search(v)
	}
	if v = strings.ToValidUTF8(v, "\uFFFD"); strings.ContainsRune(v, 0) || utf8.RuneCountInString(v) > maxText {
		return nil, p.bad("it has to be a text of at most %d characters.", maxText)
	}
	switch p.kind {
	case kindFlag:
		return true, nil
	case kindNumber:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil && !strings.HasPrefix(v, "-") && isDigits(v) {
			n, err = p.max+1, nil // larger than max
		}
		switch {
		case err != nil || n < p.min:
			return nil, p.number(v)
		case p.ceiling != 0 && n > p.ceiling:
			return p.ceiling, nil
		case n > p.max:
			return nil, p.number(v)
		}
		return n, nil
	case kindDay:
		day, err := time.Parse("20060102", strings.NewReplacer("-", "", "/", "").Replace(v))
		if err != nil {
			return nil, p.bad("%.40q is not a day; write days as YYYYMMDD.", v)
		}
		return day, nil
	case kindChoice:
		for _, c := range p.choices {
			if c == v {
				return v, nil
			}
		}
		return nil, p.bad("%.40q is not one of %s.", v, strings.Join(p.choices, ", "))
	case kindReport:
		id, err := crash.ParseOopsID(v)
		if err != nil {
			return nil, p.bad("%.60q is not the id of a report.", v)
		}
		return id, nil
	case kindText, kindSignature, kindQuery, kindPresence:
	}
	return v, nil
}

// search parses a search. Its error states the position of the mistake.
func (p *param) search(text string) (any, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, p.bad("it is not readable.")
	}
	q, err := index.ParseQuery(text)
	if problem, ok := errors.AsType[*index.QueryError](err); ok {
		return nil, p.bad("%s (at character %d)", problem.Message, problem.At+1)
	}
	return q, err
}

func (p *param) number(v string) error {
	if p.name == "limit" || p.name == "offset" {
		return badPaging(p.name, v)
	}
	return p.bad("%.40q is not a number from %d to %d.", v, p.min, p.max)
}

func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// window is a part of a list of reports that is too long to load whole: the newest reports, or
// those older than the parameter start.
type window struct {
	objects []any
	last    crash.OopsID   // start of the next window; zero if there is none
	above   []crash.OopsID // reports from start upwards, at most size+1
	size    int            // maximum number of reports
}

// windowFunc returns the window that a request selects.
type windowFunc func(context.Context, input) (window, error)

// newWindow returns a window of size reports. below returns reports older than start, newest
// first; above returns the ids from start upwards.
func newWindow[T any](
	start crash.OopsID, size int, id func(T) crash.OopsID, object func(T) any,
	below func(start crash.OopsID, limit int) ([]T, error),
	above func(start crash.OopsID, limit int) ([]crash.OopsID, error),
) (w window, err error) {
	w.size = size
	rows, err := below(start, size+1)
	if err != nil {
		return w, err
	}
	if len(rows) > size {
		rows = rows[:size]
		w.last = id(rows[size-1])
	}
	for _, row := range rows {
		w.objects = append(w.objects, object(row))
	}
	if !start.IsZero() {
		w.above, err = above(start, size+1)
	}
	return w, err
}

// envelope returns the envelope of the window's objects. At either end, its links lead to the
// neighbouring window.
func (w window) envelope(p paging, u *url.URL, q query) envelope {
	e := p.envelope(u, q, w.objects)
	if e.Meta.Next == nil && !w.last.IsZero() && p.offset < len(w.objects) {
		e.Meta.Next = p.link(u, q, p.limit, 0, pair{name: "start", value: w.last.String()})
	}
	if n := min(len(w.above), w.size); e.Meta.Previous == nil && n > 0 {
		start := ""
		if len(w.above) > w.size {
			start = w.above[w.size].String()
		}
		e.Meta.Previous = p.link(u, q, p.limit, (n-1)/p.limit*p.limit, pair{name: "start", value: start})
	}
	return e
}
