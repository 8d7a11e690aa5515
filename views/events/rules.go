package events

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/notify/rules"
	"mishap/views/layout"
)

// RulePath returns the address of a rule, or of an action on it.
func RulePath(id int64, action string) string {
	return layout.PathRules + "/" + strconv.FormatInt(id, 10) + action
}

// RulesPage holds the page of rules and notifications.
type RulesPage struct {
	Shell     layout.Shell
	Checks    []crash.HealthCheck
	Rules     []RuleRow
	Stop      crash.NotificationStop
	Endpoints []crash.Endpoint
	Mail      MailSummary
}

// RuleRow is a rule in the list.
type RuleRow struct {
	rules.Rule
	Activity rules.Activity
	Shell    layout.Shell
}

func (r RuleRow) id() string { return "rule-" + strconv.FormatInt(r.ID, 10) }

// files reports whether the rule would file or queue bugs, which is switched off.
func (r RuleRow) filingOff() bool { return !r.Shell.FilingOn && (r.Actions.Queue || r.Actions.File) }

func (r RuleRow) switchForm() layout.PostFormArgs {
	return layout.PostFormArgs{ID: r.id() + "-switch", Action: RulePath(r.ID, "/switch"), CSRFToken: r.Shell.CSRFToken,
		Class:   "inline",
		InPlace: true, Target: "#" + r.id(), Failed: "#flash"}
}

func (r RuleRow) switchButton() layout.Button {
	text, on := "Switch on", "1"
	if r.Enabled {
		text, on = "Switch off", ""
	}
	return layout.Button{Text: text, Label: text + " “" + r.Name + "”", Fields: []string{"on", on}}
}

// RulePage is the form of a rule, and what it would have done.
type RulePage struct {
	Shell     layout.Shell
	ID        int64      // 0: a new rule
	Values    url.Values // the fields as typed
	Wrong     rules.Problems
	Endpoints []crash.Endpoint // that are on
	Sentence  string
	Rehearsed string // fingerprint of the rule that Rehearsal is about
	Rehearsal *rules.Rehearsal
	Notice    string
	Failure   string
}

func (p RulePage) path() string {
	if p.ID == 0 {
		return layout.PathRules
	}
	return RulePath(p.ID, "")
}

func (p RulePage) form() layout.PostFormArgs {
	return layout.PostFormArgs{ID: "rule-form", Action: p.path(), CSRFToken: p.Shell.CSRFToken, Class: "rule-form",
		Part:   true,
		Target: "#rule", Errors: "#rule-trouble"}
}

func (p RulePage) title() string {
	if p.ID == 0 {
		return "New rule"
	}
	return p.Values.Get("saved_name")
}

func (p RulePage) has(field, value string) bool { return slices.Contains(p.Values[field], value) }

// field describes a field of the form, for ruleField.
type ruleField struct {
	name, label, hint, value, wrong string
	number                          bool
	long                            bool
}

func (p RulePage) field(name, label, hint string) ruleField {
	return ruleField{name: name, label: label, hint: hint, value: p.Values.Get(name), wrong: p.Wrong[name]}
}

func (p RulePage) number(name, label, hint string) ruleField {
	f := p.field(name, label, hint)
	f.number = true
	return f
}

func (p RulePage) longField(name, label, hint string) ruleField {
	f := p.field(name, label, hint)
	f.long = true
	return f
}

// describedBy returns the ids of the elements that explain a field.
func (f ruleField) describedBy() string {
	var ids []string
	if f.wrong != "" {
		ids = append(ids, "rule-"+f.name+"-wrong")
	}
	if f.hint != "" {
		ids = append(ids, "rule-"+f.name+"-hint")
	}
	return strings.Join(ids, " ")
}

// rehearsed returns the sentences that sum up a rehearsal.
func rehearsed(r rules.Rehearsal) []string {
	var sums []string
	var notices int64
	for _, n := range r.People {
		notices += n
	}
	add := func(n int64, sum string) {
		if n > 0 {
			sums = append(sums, sum)
		}
	}
	add(notices, crash.Counted(notices, "notice", "notices")+" to "+
		crash.Counted(int64(len(r.People)), "person", "people"))
	add(r.Programs, crash.Counted(r.Programs, "delivery", "deliveries")+" to other programs")
	add(r.Filed, crash.Counted(r.Filed, "bug", "bugs")+" filed at once")
	add(r.Proposed, crash.Counted(r.Proposed, "problem", "problems")+" queued for filing")
	add(r.Skipped, crash.Counted(r.Skipped, "problem", "problems")+" not filed, because they have a bug")
	add(r.Changed, crash.Counted(r.Changed, "problem", "problems")+" muted, assigned or tagged")
	return sums
}

// busiest returns how many notices each person would have got, the most first.
func busiest(people map[string]int64) []string {
	names := slices.SortedFunc(maps.Keys(people), func(a, b string) int {
		return cmp.Or(cmp.Compare(people[b], people[a]), cmp.Compare(a, b))
	})
	names = names[:min(len(names), 10)]
	for i, name := range names {
		names[i] = name + ": " + crash.Count(people[name])
	}
	return names
}

// rehearsedAt formats the time of a line.
func rehearsedAt(l rules.RehearsalLine) string {
	if l.Exact {
		return l.At.UTC().Format("2 Jan 15:04")
	}
	return l.At.UTC().Format("2 Jan")
}

// CandidatesPage lists the candidates.
type CandidatesPage struct {
	Shell   layout.Shell
	Waiting []CandidateRow
	Decided []CandidateRow
	More    bool
}

// CandidateRow is a candidate in the list.
type CandidateRow struct {
	rules.Candidate
	Bucket    crash.Bucket
	Title     string // of the draft, or of the problem
	Cannot    string // why no bug can be filed; empty: one can
	Trouble   string // why approving failed
	MayDecide bool   // the person is a triager of the package
	Shell     layout.Shell
}

func (c CandidateRow) id() string { return "candidate-" + strconv.FormatInt(c.ID, 10) }

func (c CandidateRow) form(action string) layout.PostFormArgs {
	path := layout.PathCandidates + "/" + strconv.FormatInt(c.ID, 10) + "/" + action
	return layout.PostFormArgs{ID: c.id() + "-" + action, Action: path, CSRFToken: c.Shell.CSRFToken, Class: "inline",
		InPlace: true, Target: "#" + c.id()}
}

// proposer says which rule or person proposes the bug.
func (c CandidateRow) proposer() string {
	if c.Proposer != "" {
		return "Proposed by " + c.Proposer
	}
	return "Rule: " + c.Rule
}

func (c CandidateRow) open() bool {
	return c.State == rules.CandidateWaiting || c.State == rules.CandidateAutomatic
}

var ruleDuplicates = map[rules.Duplicate]string{
	rules.DuplicateEither: "does not matter",
	rules.DuplicateNever:  "only if the problem is no possible duplicate",
	rules.DuplicateOnly:   "only if the problem may be a duplicate",
}
