// Package admin renders pages for administrators.
package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/views/bugs"
	"mishap/views/layout"
	"mishap/views/problems"
)

// Granted says what a group or an account has now.
func Granted(g crash.Grant) string {
	if g.Role == crash.RolePrivate {
		return grantees(g) + " the right to private data and embargoed problems of " + layout.ScopeName(g.Scope) + " now."
	}
	return grantees(g) + " the role " + layout.RoleFor(g.Role, g.Scope) + " now."
}

// Revoked says what a group or an account has no longer.
func Revoked(g crash.Grant) string {
	right := "a role"
	if g.Role == crash.RolePrivate {
		right = "the right to private data"
	}
	who := "The group " + g.Group + " no longer gives "
	if g.Source == crash.SourceAccount {
		who = "The account " + g.Group + " no longer has "
	}
	return who + right + " for " + layout.ScopeName(g.Scope) + "."
}

// ServiceTeamSet confirms a change of the team.
func ServiceTeamSet(name string, team crash.Team) string {
	return name + " belongs to " + layout.TeamName(team) + " now."
}

// TokensRevoked says how many tokens were revoked.
func TokensRevoked(n int) string {
	if n == 0 {
		return "There was no such token."
	}
	return crash.Counted(int64(n), "token", "tokens") + " revoked."
}

// grantees names who has a grant, with the verb "have".
func grantees(g crash.Grant) string {
	if g.Source == crash.SourceAccount {
		return "The account " + g.Group + " has"
	}
	return "Members of " + g.Group + " have"
}

// AuditPage shows records of the audit log.
type AuditPage struct {
	Checks  []crash.HealthCheck
	Shell   layout.Shell
	Filter  audit.Filter
	Problem string // why a filter is not valid
	Records []audit.Record
	After   audit.Cursor
	Next    audit.Cursor // zero: there are no older records
}

// moreFilters reports whether a filter is in use that is folded otherwise.
func (p AuditPage) moreFilters() bool {
	f := p.Filter
	f.Person, f.Action = "", ""
	return f != audit.Filter{} || p.Problem != ""
}

// AuditURL returns the address of the records that a filter selects, at path.
func AuditURL(path string, f audit.Filter, after audit.Cursor) string {
	query := map[string]string{"who": f.Person, "action": f.Action, "object": f.Object, "address": f.Address,
		"result": f.Result, "from": problems.IsoDay(f.Since), "to": auditLastDay(f)}
	if after.ID != 0 {
		query["after"] = strconv.FormatInt(after.At.UnixMicro(), 10) + "." + strconv.FormatInt(after.ID, 10)
	}
	return layout.Address(path, query)
}

func auditLastDay(f audit.Filter) string {
	if f.Until.IsZero() {
		return ""
	}
	return problems.IsoDay(f.Until.Add(-time.Nanosecond))
}

// auditActions returns all actions, sorted by their words.
func auditActions() []string {
	return slices.SortedFunc(maps.Keys(audit.Actions), func(a, b string) int {
		return strings.Compare(audit.Actions[a]+a, audit.Actions[b]+b)
	})
}

func auditWords(action string) string {
	words, _ := audit.Words(action)
	return words
}

var (
	auditedBucket = regexp.MustCompile(`^[0-9a-f]{40}$`)
	auditedReport = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// auditLink returns the page of an object, or "".
func auditLink(r audit.Record) string {
	switch {
	case auditedBucket.MatchString(r.Object):
		return "/problem/" + r.Object
	case auditedReport.MatchString(r.Object):
		return "/oops/" + r.Object
	case r.Action == "read.machine" && r.Object != "":
		return problems.SystemPath(crash.SystemID(r.Object))
	case strings.HasPrefix(r.Action, "user.") && r.Action != audit.SignInRefused, strings.HasPrefix(r.Action, "token."):
		return layout.PathPeople + "?" + url.Values{"person": {r.Object}}.Encode()
	case strings.HasPrefix(r.Action, "access."):
		return layout.PathPeople + "#rights"
	case strings.HasPrefix(r.Action, "rule."):
		return layout.PathRules
	case strings.HasPrefix(r.Action, "endpoint."), strings.HasPrefix(r.Action, "delivery."):
		return layout.PathEndpoints
	case r.Action == "routes.save":
		return layout.PathRoutes
	case strings.HasPrefix(r.Action, "door."), strings.HasPrefix(r.Action, "project."):
		return layout.PathDoors
	case strings.HasPrefix(r.Action, "template."):
		return layout.PathTemplates
	}
	return ""
}

// auditChange is one value before and after a change, or a detail without Before.
type auditChange struct{ Name, Before, After string }

// maxAuditValue is the largest length of a value on the page. Exports contain all of it.
const maxAuditValue = 300

// auditChanges returns the values that differ.
func auditChanges(r audit.Record) []auditChange {
	before, after := auditValues(r.Before), auditValues(r.After)
	names := maps.Clone(before)
	maps.Copy(names, after)
	var changes []auditChange
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			changes = append(changes, auditChange{strings.ReplaceAll(name, "_", " "), before[name], after[name]})
		}
	}
	return changes
}

func auditDetails(r audit.Record) []auditChange {
	var details []auditChange
	values := auditValues(r.Detail)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		details = append(details, auditChange{Name: strings.ReplaceAll(name, "_", " "), After: values[name]})
	}
	return details
}

func auditValues(object json.RawMessage) map[string]string {
	var fields map[string]any
	if len(object) == 0 || json.Unmarshal(object, &fields) != nil {
		return map[string]string{}
	}
	texts := make(map[string]string, len(fields))
	for name, value := range fields {
		switch v := value.(type) {
		case string:
			texts[name] = crash.Truncate(v, maxAuditValue)
		case float64:
			if name == "bug" {
				v = float64(crash.NumberInTracker(int64(v)))
			}
			texts[name] = strconv.FormatFloat(v, 'f', -1, 64)
		case nil:
			texts[name] = ""
		case bool:
			texts[name] = fmt.Sprint(v)
		default:
			b, _ := json.Marshal(v) // it was JSON before
			texts[name] = crash.Truncate(string(b), maxAuditValue)
		}
	}
	return texts
}

// TrackerPage holds the page of the bug tracker: the connection, filings, templates and updates.
type TrackerPage struct {
	bugs.TrackerPage
	HasLaunchpad bool
	Trackers     []TrackerRow
	Checks       []crash.HealthCheck
	Filings      crash.FilingTotals
	Templates    []crash.BugTemplate
	Updates      bugs.UpdatesPage
}

// TemplatesPage holds the page on which an admin edits the texts of bugs.
type TemplatesPage struct {
	Shell    layout.Shell
	Editing  crash.BugTemplate // selected package and type, and the text as saved or as typed
	Own      bool              // a text is saved for exactly this package and type
	From     string            // source of the text if there is none: "the built-in template"
	Trackers []TemplateTracker
	Names    []TemplateName
	Problems []string
	Bucket   string // problem for the preview, as typed
	NoBucket string // why there is no preview
	Preview  *bugs.ReviewPreview
	Notice   string
}

// TemplateName is a value that templates can use.
type TemplateName struct{ Name, Means string }

// TemplateURL returns the address of the form for a template.
func TemplateURL(t crash.BugTemplate) string {
	query := url.Values{"package": {t.Package}, "type": {t.ProblemType}}
	if t.Tracker != "" {
		query.Set("tracker", t.Tracker)
	}
	return layout.PathTemplates + "?" + query.Encode()
}

func templateFor(t crash.BugTemplate) string {
	text := cmp.Or(t.Package, "all packages") + ", " + cmp.Or(t.ProblemType, "all types")
	if t.Package == "" && t.ProblemType == "" {
		text = "all packages and problem types"
	}
	if t.Tracker != "" {
		text += ", " + t.Tracker
	}
	return text
}

// TemplateTracker is a tracker for which there can be templates.
type TemplateTracker struct {
	Name, Title string
	Kind        string // for people
	Markup      string // how the kind shows the text, as a sentence; empty: as it is
}

// markup says how the kinds of trackers that get the text show it, one sentence each.
func (p TemplatesPage) markup() (sentences []string) {
	for _, t := range p.Trackers {
		if p.Editing.Tracker != "" && p.Editing.Tracker != t.Name {
			continue
		}
		sentence := cmp.Or(t.Markup, t.Kind+" shows the text as it is.")
		if !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

// For describes the scope of the text.
func (p TemplatesPage) For() string { return templateFor(p.Editing) }

func (p TemplatesPage) form() layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: "template-form", Action: layout.PathTemplates, CSRFToken: p.Shell.CSRFToken, Class: "template-form",
		Part: true, Target: "#template", Errors: "#template-trouble",
	}
}
