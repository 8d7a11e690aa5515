package mcp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	view "mishap/views/problems"
)

// addTools adds all tools.
func (s *Server) addTools(to *sdk.Server) {
	add(s, to, searchProblems, (*Server).searchProblems)
	add(s, to, oneProblem, (*Server).problem)
	add(s, to, oneReport, (*Server).report)
	add(s, to, similarProblems, (*Server).similar)
	add(s, to, compareVersions, (*Server).compareVersions)
	add(s, to, updateGate, (*Server).gate)
	add(s, to, whyGrouped, (*Server).whyGrouped)
	add(s, to, inbox, (*Server).inbox)
	add(s, to, writeNote, (*Server).note)
	add(s, to, assignProblem, (*Server).assign)
	add(s, to, proposeBug, (*Server).proposeBug)
}

// The largest inputs of tools, in characters.
const (
	maxQuery     = 1000
	maxName      = 200
	maxReference = 500
)

func longest(p *jsonschema.Schema, n int) { p.MaxLength = &n }

func between(p *jsonschema.Schema, low, high, fallback int) {
	least, most := float64(low), float64(high)
	p.Minimum, p.Maximum, p.Default = &least, &most, []byte(strconv.Itoa(fallback))
}

func oneOf(p *jsonschema.Schema, fallback string, words ...string) {
	for _, w := range words {
		p.Enum = append(p.Enum, w)
	}
	p.Default = []byte(strconv.Quote(fallback))
}

// reference returns the id in a text: the text itself, or what follows a folder in an address.
func reference(text, folder string) string {
	text = strings.TrimSpace(text)
	if _, after, found := strings.Cut(text, folder); found {
		text = after
	}
	if end := strings.IndexAny(text, "/?#."); end >= 0 {
		text = text[:end]
	}
	return text
}

func problemID(text string) (crash.BucketID, error) {
	return crash.ParseBucketID(strings.ToLower(reference(text, "/problem/")))
}

func (s *Server) problemLink(id crash.BucketID) string { return s.base + id.Path() }

func (s *Server) reportLink(id crash.OopsID) string { return s.base + view.ReportPath(id) }

// stamp formats a time; the zero time is empty.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// occurrence is where a problem was seen.
type occurrence struct {
	Version string `json:"version,omitempty"`
	Release string `json:"release,omitempty"`
}

func (p *pen) occurrence(o crash.Occurrence) occurrence {
	return occurrence{p.line(o.Version), p.line(string(o.Release))}
}

// aboutProblem is what machines and people say about a problem in a list.
type aboutProblem struct {
	Title   string     `json:"title"`
	Program string     `json:"program,omitempty"`
	Package string     `json:"package,omitempty" jsonschema:"binary package"`
	Source  string     `json:"source_package,omitempty"`
	Type    string     `json:"problem_type,omitempty"`
	Status  string     `json:"status,omitempty"`
	First   occurrence `json:"first_seen_in"`
	Last    occurrence `json:"last_seen_in"`

	Assignee string   `json:"assignee,omitempty"`
	Tags     []string `json:"tags,omitempty"`
}

func (p *pen) about(b crash.Bucket) aboutProblem {
	return aboutProblem{Title: p.line(view.DocumentTitle(b)), Program: p.line(b.Executable), Package: p.line(b.Package),
		Source: p.line(b.SourcePackage), Type: p.line(b.ProblemType), Status: p.line(b.Status.Text()),
		First: p.occurrence(b.First()), Last: p.occurrence(b.Last())}
}

// bug is a bug of a problem.
type bug struct {
	Number string `json:"number"`
	Link   string `json:"link,omitempty"`
	Closed *bool  `json:"closed,omitempty" jsonschema:"missing: unknown, or not public"`
}

func newBug(b crash.Bug) bug {
	out := bug{Number: b.Text(), Link: b.URL}
	if !b.State.Read.IsZero() && !b.State.Private && !b.State.Hidden {
		out.Closed = new(b.State.Closed())
	}
	return out
}

var searchProblems = definition{
	name: "search_problems", title: "Search problems",
	description: "Find problems (groups of crash reports with the same cause), most reports first. Use it first, to " +
		"find the id of a problem, or to see what crashes in a package or release. The query is words and fields, all of " +
		"which must match, for example: " + exampleQuery + ". Fields: " + fieldNames() + ". OR, parentheses and - (not) " +
		"work.",
	full: limits{items: maxFound, line: 300, text: 300},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["query"], maxQuery)
		oneOf(in["period"], string(crash.PeriodMonth), "day", "week", "month", "year")
		oneOf(in["sort"], string(index.ByCount), string(index.ByCount), string(index.ByFirst), string(index.ByLast))
		between(in["limit"], 1, maxFound, 10)
		longest(in["after"], maxName)
	},
}

const (
	maxFound     = 50
	exampleQuery = `source:mesa release:"Ubuntu 24.04" frame:eglSwapBuffers state:new`
)

func fieldNames() string {
	var names []string
	for _, f := range index.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

type searchQuestion struct {
	Query  string `json:"query,omitempty" jsonschema:"search, as on the page of searches; empty: all problems"`
	Period string `json:"period,omitempty" jsonschema:"reports of which past period count"`
	Sort   string `json:"sort,omitempty" jsonschema:"by number of reports, or newest first by first or last report"`
	Limit  int    `json:"limit,omitempty"`
	After  string `json:"after,omitempty" jsonschema:"next of the answer before, to continue"`
}

type foundProblem struct {
	Problem  string `json:"problem" jsonschema:"id"`
	Link     string `json:"link"`
	Reports  int64  `json:"reports" jsonschema:"in the period"`
	Machines int64  `json:"machines" jsonschema:"that ever reported it"`
	State    string `json:"state,omitempty"`
	Rising   bool   `json:"rising,omitempty" jsonschema:"clearly more reports in the past week than in the week before"`
	New      bool   `json:"new,omitempty" jsonschema:"first seen in the past week"`
	First    string `json:"first_seen,omitempty"`
	Last     string `json:"last_seen,omitempty"`
	Bug      *bug   `json:"bug,omitempty"`

	Untrusted aboutProblem `json:"untrusted"`
}

type foundProblems struct {
	answer
	Link     string         `json:"link" jsonschema:"the page with this list"`
	Total    int64          `json:"total" jsonschema:"number of all problems that match"`
	Reports  int64          `json:"total_reports" jsonschema:"number of their reports in the period"`
	Muted    int64          `json:"muted,omitempty" jsonschema:"muted problems, left out; is:muted finds them"`
	Notice   string         `json:"notice,omitempty"`
	Problems []foundProblem `json:"problems"`
	Next     string         `json:"next,omitempty" jsonschema:"send it as after to get the problems that follow"`
}

func (s *Server) searchProblems(r *http.Request, in searchQuestion) (func(*pen) foundProblems, error) {
	values := url.Values{"q": {in.Query}, "period": {in.Period}, "sort": {in.Sort}, "after": {in.After}}
	if in.After == "" {
		values.Del("after")
	}
	page, err := s.Lists.FindProblems(r, values)
	if err != nil {
		return nil, err
	}
	rows := page.Rows[:min(len(page.Rows), in.Limit)]
	return func(p *pen) foundProblems {
		out := foundProblems{Link: s.base + page.Choice.URL(), Total: page.Totals.Problems, Reports: page.Totals.Reports,
			Muted: page.Hidden, Notice: page.Notice, Problems: []foundProblem{}}
		some := shown(p, rows, "problems")
		for _, row := range some {
			f := foundProblem{Problem: row.ID.String(), Link: s.problemLink(row.ID), Reports: row.Count,
				Machines: row.Systems, State: string(row.Status.Word), Rising: row.Rising, New: row.New,
				First: stamp(row.First.At), Last: stamp(row.Last.At), Untrusted: p.about(*row.Bucket)}
			f.Untrusted.First, f.Untrusted.Last = p.occurrence(row.First), p.occurrence(row.Last)
			if row.Bucket.Bug.Number != 0 {
				f.Bug = new(newBug(row.Bucket.Bug))
			}
			if row.People != nil {
				f.Untrusted.Assignee = p.line(row.People.Name)
				f.Untrusted.Tags = strings.Fields(row.People.TagList)
			}
			out.Problems = append(out.Problems, f)
		}
		if n := len(some); n > 0 && int64(page.First+n-1) < page.Totals.Problems {
			last := some[n-1]
			next := page.Choice.NextURL(page.First+n-1, crash.ProblemCursor{ID: last.ID, Count: last.Count})
			if u, err := url.Parse(next); err == nil {
				out.Next = u.Query().Get("after")
			}
		}
		out.answer = p.answer("Ask again with after = next.")
		return out
	}, nil
}

var oneProblem = definition{
	name: "problem", title: "One problem",
	description: "Everything about one problem: status, numbers of reports and machines, versions and releases, bugs, " +
		"and, with the right to read reports, the stack or traceback of a representative report, notes, assignee and " +
		"tags. Use it before judging, reporting or changing a problem.",
	full:   limits{items: 40, text: 6000, line: 500},
	bounds: func(in map[string]*jsonschema.Schema) { longest(in["problem"], maxReference) },
}

type problemQuestion struct {
	Problem string `json:"problem" jsonschema:"id of the problem, 40 hexadecimal digits, or the address of its page"`
}

type rate struct {
	Per1000 float64 `json:"per_1000_machine_days"`
	Low     float64 `json:"low" jsonschema:"95% interval"`
	High    float64 `json:"high"`
}

type versionOf struct {
	Version  string           `json:"version"`
	Reports  int64            `json:"reports"`
	Releases map[string]int64 `json:"releases,omitempty" jsonschema:"reports by release"`
	Mark     string           `json:"mark,omitempty"`
	Last     string           `json:"last_day,omitempty"`
}

type share struct {
	Name    string `json:"name"`
	Reports int64  `json:"reports"`
}

type noteOf struct {
	By   string `json:"by"`
	At   string `json:"at"`
	Text string `json:"text"`
}

type wholeProblem struct {
	answer
	Problem  string `json:"problem" jsonschema:"id"`
	Link     string `json:"link"`
	State    string `json:"state,omitempty"`
	Reports  int64  `json:"reports"`
	Machines int64  `json:"machines" jsonschema:"that ever reported it"`
	Week     int64  `json:"reports_past_week"`
	Before   int64  `json:"reports_week_before"`
	Rate     *rate  `json:"rate,omitempty" jsonschema:"of the past days, in the releases with the problem"`
	RateDays int    `json:"rate_days,omitempty"`
	First    string `json:"first_seen,omitempty"`
	Last     string `json:"last_seen,omitempty"`
	Bugs     []bug  `json:"bugs,omitempty"`
	Manual   string `json:"decided,omitempty" jsonschema:"what people decided: muted, won't fix, fixed in, embargoed"`
	Report   string `json:"report,omitempty" jsonschema:"id of the representative report; see the tool report"`
	ReportAt string `json:"report_link,omitempty"`
	Readable bool   `json:"may_read_reports" jsonschema:"false: texts are redacted, and there is no stack"`

	Untrusted struct {
		aboutProblem
		Signature     string      `json:"signature"`
		Highest       string      `json:"highest_version,omitempty"`
		Versions      []versionOf `json:"versions,omitempty"`
		Architectures []share     `json:"architectures,omitempty"`
		Fixes         []string    `json:"fixes,omitempty" jsonschema:"whether fixes work, as the reports say"`
		Stack         string      `json:"stack,omitempty" jsonschema:"stack or traceback of the representative report"`
		Notes         []noteOf    `json:"notes,omitempty" jsonschema:"by people, newest first"`
	} `json:"untrusted"`
}

func (s *Server) problem(r *http.Request, in problemQuestion) (func(*pen) wholeProblem, error) {
	id, err := problemID(in.Problem)
	if err != nil {
		return nil, err
	}
	page, err := s.Pages.ProblemFacts(r, id)
	if err != nil {
		return nil, err
	}
	return func(p *pen) wholeProblem { return s.newProblem(p, page) }, nil
}

func (s *Server) newProblem(p *pen, page *view.ProblemPage) wholeProblem {
	b, m := page.Bucket, page.Impact
	out := wholeProblem{Problem: b.ID.String(), Link: s.problemLink(b.ID), State: string(b.Status.Word),
		Reports: b.Reports, Machines: b.Systems, Week: m.Week, Before: m.WeekBefore, First: stamp(page.First.At),
		Last: stamp(page.Last.At), Manual: page.Status.Manual.Status.Words(), Readable: page.People.Person.ID != 0}
	if out.Rate = newRate(m.Rate); out.Rate != nil {
		out.RateDays = m.Days
	}
	for _, one := range shown(p, page.Status.Bugs.Bugs, "bugs") {
		out.Bugs = append(out.Bugs, newBug(one))
	}
	u := &out.Untrusted
	u.aboutProblem, u.Signature, u.Highest = p.about(b), p.line(b.Signature), p.line(b.HighestVersion)
	u.First, u.Last = p.occurrence(page.First), p.occurrence(page.Last)
	for _, row := range shown(p, page.Versions.Rows, "versions") {
		v := versionOf{Version: p.line(row.Version), Reports: row.Total, Mark: p.line(row.Mark),
			Releases: map[string]int64{}}
		if !row.Last.IsZero() {
			v.Last = row.Last.UTC().Format(time.DateOnly)
		}
		for i, n := range row.Counts {
			if n > 0 && len(v.Releases) < p.items {
				v.Releases[p.line(string(page.Versions.Releases[i]))] += n
			}
		}
		u.Versions = append(u.Versions, v)
	}
	for _, part := range page.Breakdowns {
		if part.Field == "architecture" {
			for _, one := range shown(p, part.Shares, "architectures") {
				u.Architectures = append(u.Architectures, share{p.line(one.Name), one.Reports})
			}
		}
	}
	for _, fix := range shown(p, page.Fixes.Fixes, "fixes") {
		u.Fixes = append(u.Fixes, p.line(fix.Text()))
	}
	if page.Stack != nil {
		out.Report, out.ReportAt = page.Stack.Report.String(), s.reportLink(page.Stack.Report)
		u.Stack = p.text("the stack", stackText(page.Stack))
	}
	u.Assignee = p.line(page.People.Assigned.Name)
	for _, t := range page.People.Tags {
		u.Tags = append(u.Tags, t.Tag)
	}
	notes := page.Notes.Notes
	if len(notes) > p.items {
		p.leave(fmt.Sprintf("%d of %d notes", len(notes)-p.items, len(notes)))
	}
	for i := len(notes) - 1; i >= 0 && len(u.Notes) < p.items; i-- {
		if now := notes[i].Texts[len(notes[i].Texts)-1]; now.Text != "" {
			u.Notes = append(u.Notes, noteOf{By: p.line(notes[i].Person), At: stamp(now.At),
				Text: p.text("notes", crash.Truncate(now.Text, max(p.limits.text/4, 100)))})
		}
	}
	more := "The page has everything."
	if out.Report != "" {
		more = "The tool report has the whole stack in the fields Stacktrace, ThreadStacktrace and Traceback. " + more
	}
	out.answer = p.answer(more)
	return out
}

// stackText returns the evidence in a report: the stack in one line per frame, else the text that explains the crash.
func stackText(stack *view.Stack) string {
	if len(stack.Frames) == 0 {
		return stack.Text
	}
	var b strings.Builder
	for _, f := range stack.Frames {
		fmt.Fprintf(&b, "#%d %s", f.Number, cmp.Or(crash.OneLine(f.Function), "??"))
		if f.File != "" {
			b.WriteString(" at " + crash.OneLine(f.File))
			if f.Line > 0 {
				b.WriteString(":" + strconv.Itoa(f.Line))
			}
		}
		if f.Module != "" {
			b.WriteString(" in " + crash.OneLine(f.Module))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var similarProblems = definition{
	name: "similar", title: "Similar problems",
	description: "Other problems that are like one, most similar first, each with the reason. Use it to find " +
		"duplicates, and bugs that may already describe the fault. It is a hint: compare both problems " +
		"before you rely on it.",
	full:   limits{items: 20, line: 300, text: 300},
	bounds: func(in map[string]*jsonschema.Schema) { longest(in["problem"], maxReference) },
}

type likeProblem struct {
	Problem  string  `json:"problem" jsonschema:"id"`
	Link     string  `json:"link"`
	Score    float64 `json:"score" jsonschema:"at most 1, for the same functions in the same order"`
	Reports  int64   `json:"reports"`
	Machines int64   `json:"machines"`
	State    string  `json:"state,omitempty"`
	Bug      *bug    `json:"bug,omitempty"`

	Untrusted struct {
		aboutProblem
		Why string `json:"why" jsonschema:"the reason why it is listed"`
	} `json:"untrusted"`
}

type likeProblems struct {
	answer
	Problem string        `json:"problem" jsonschema:"id"`
	Link    string        `json:"link"`
	Similar []likeProblem `json:"similar"`
}

func (s *Server) similar(r *http.Request, in problemQuestion) (func(*pen) likeProblems, error) {
	id, err := problemID(in.Problem)
	if err != nil {
		return nil, err
	}
	page, err := s.Pages.ProblemFacts(r, id)
	if err != nil {
		return nil, err
	}
	return func(p *pen) likeProblems {
		out := likeProblems{Problem: page.Bucket.ID.String(), Link: s.problemLink(page.Bucket.ID), Similar: []likeProblem{}}
		for _, like := range shown(p, page.Similar, "problems") {
			one := likeProblem{Problem: like.ID.String(), Link: s.problemLink(like.ID), Reports: like.Reports,
				Machines: like.Systems, State: string(like.Status.Word), Score: rounded(like.Score)}
			if like.Bug.Number != 0 {
				one.Bug = new(newBug(like.Bug))
			}
			one.Untrusted.aboutProblem, one.Untrusted.Why = p.about(like.Bucket), p.line(like.Reason())
			out.Similar = append(out.Similar, one)
		}
		out.answer = p.answer("Search the package for others.")
		return out
	}, nil
}

var whyGrouped = definition{
	name: "why_grouped", title: "Why reports are grouped",
	description: "Why the reports of a problem are grouped together, or why a report is in its problem: the rule, and, " +
		"with the right to read reports, which parts of the stack it used and ignored. Use it when a problem seems to mix " +
		"different faults, or when one fault has several problems. Name a problem or a report.",
	full: limits{items: 60, line: 300, text: 2000},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["problem"], maxReference)
		longest(in["report"], maxReference)
	},
}

type groupingQuestion struct {
	Problem string `json:"problem,omitempty" jsonschema:"id of the problem, or the address of its page"`
	Report  string `json:"report,omitempty" jsonschema:"id of the report, or the address of its page"`
}

type usedFrame struct {
	As   string `json:"as" jsonschema:"its part of the signature"`
	Text string `json:"text,omitempty"`
}

type ignoredFrame struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

type changedText struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type groupingAnswer struct {
	answer
	Problem string `json:"problem,omitempty" jsonschema:"id of the problem; missing: the report is in none"`
	Link    string `json:"link"`
	Rule    string `json:"rule,omitempty" jsonschema:"name of the rule; docs/grouping.md describes all rules"`
	Means   string `json:"rule_means"`
	Report  string `json:"report,omitempty" jsonschema:"id of the report that is explained"`
	Now     string `json:"present_rules,omitempty" jsonschema:"where the present rules would put the report, if elsewhere"`

	Untrusted struct {
		Signature string         `json:"signature,omitempty"`
		Field     string         `json:"read_from,omitempty" jsonschema:"the field that decided"`
		Used      []usedFrame    `json:"used,omitempty"`
		Ignored   []ignoredFrame `json:"ignored,omitempty"`
		Changed   []changedText  `json:"normalised,omitempty"`
	} `json:"untrusted"`
}

var errNeither = crash.Errorf(crash.Invalid, "missing_problem", "Name either a problem or a report.")

func (s *Server) whyGrouped(r *http.Request, in groupingQuestion) (func(*pen) groupingAnswer, error) {
	switch {
	case (in.Problem == "") == (in.Report == ""):
		return nil, errNeither
	case in.Report != "":
		return s.whyReport(r, in.Report)
	}
	id, err := problemID(in.Problem)
	if err != nil {
		return nil, err
	}
	page, err := s.Pages.ProblemFacts(r, id)
	if err != nil {
		return nil, err
	}
	return func(p *pen) groupingAnswer {
		out := groupingAnswer{Problem: page.Bucket.ID.String(), Link: s.problemLink(page.Bucket.ID)}
		if !page.Grouping.Report.IsZero() {
			out.Report = page.Grouping.Report.String()
		}
		return s.explain(p, out, page.Grouping, page.Grouping.Signature)
	}, nil
}

// whyReport explains the grouping of one report.
func (s *Server) whyReport(r *http.Request, text string) (func(*pen) groupingAnswer, error) {
	report, readable, err := s.readReport(r, text)
	if err != nil {
		return nil, err
	}
	why, err := s.panel.ExplainReport(r, report, readable)
	if err != nil {
		return nil, err
	}
	return func(p *pen) groupingAnswer {
		out := groupingAnswer{Link: s.reportLink(report.ID), Report: report.ID.String()}
		if report.Bucket != nil {
			out.Problem = report.Bucket.String()
		}
		signature := ""
		if why.Explained != nil {
			signature = why.Explained.Signature
		}
		return s.explain(p, out, why, signature)
	}, nil
}

func (s *Server) explain(p *pen, out groupingAnswer, g view.GroupingView, signature string) groupingAnswer {
	out.Rule, out.Means = string(g.Rule), g.Description()
	if g.Now != nil {
		out.Now = g.Now.Sentence()
		if !g.Now.None {
			out.Now += " " + g.Now.Bucket.String() + "."
		}
	}
	u := &out.Untrusted
	u.Signature = p.line(signature)
	if g.Explained != nil {
		u.Field = p.line(g.Explained.Field)
		var used, ignored []grouping.FrameUse
		for _, f := range g.Explained.Frames {
			if f.Used {
				used = append(used, f)
			} else {
				ignored = append(ignored, f)
			}
		}
		for _, f := range shown(p, used, "used parts") {
			one := usedFrame{As: p.line(f.As)}
			if f.Text != f.As {
				one.Text = p.line(f.Text)
			}
			u.Used = append(u.Used, one)
		}
		for _, f := range shown(p, ignored, "ignored parts") {
			u.Ignored = append(u.Ignored, ignoredFrame{p.line(f.Text), p.line(f.Why)})
		}
		for _, c := range shown(p, g.Explained.Changes, "normalised texts") {
			u.Changed = append(u.Changed, changedText{p.line(c.From), p.line(c.To)})
		}
	}
	out.answer = p.answer("The page has everything.")
	return out
}
