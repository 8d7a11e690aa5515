package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
)

// ShowUpdates shows the rules about what mishap writes to bugs by itself.
func (s *Pages) ShowUpdates(w http.ResponseWriter, r *http.Request) error {
	return s.sendUpdates(w, r, http.StatusOK, bugsview.UpdatesPage{
		Adding: crash.UpdateRule{QuietWeeks: crash.DefaultQuietWeeks}})
}

// validPattern is a name of a source package, in which "*" stands for any characters.
var validPattern = regexp.MustCompile(`^[a-z0-9*][a-z0-9+.*-]{0,127}$`)

// ChangeUpdates adds, saves, moves or deletes a rule.
func (s *Pages) ChangeUpdates(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.").Because(err)
	}
	rule, problem := ruleIn(r.PostForm)
	rule.Person = web.CurrentUser(r).Name
	do, message := r.PostForm.Get("do"), "Saved."
	refuse := func(problem string) error {
		page := bugsview.UpdatesPage{Problem: problem, Adding: crash.UpdateRule{QuietWeeks: crash.DefaultQuietWeeks}}
		if page.Pattern = rule.Pattern; do == "add" {
			page.Pattern, page.Adding = "", rule
		}
		return s.sendUpdates(w, r, http.StatusUnprocessableEntity, page)
	}
	var err error
	switch do {
	case "add", "save":
		rules, failed := s.Store.UpdateRules(r.Context())
		if failed != nil {
			return failed
		}
		known := slices.ContainsFunc(rules, func(k crash.UpdateRule) bool { return k.Pattern == rule.Pattern })
		if problem == "" && do == "add" && known {
			problem = "There is already a row for this name."
		}
		if problem != "" {
			return refuse(problem)
		}
		err = s.Bugs.SaveUpdateRule(r.Context(), rule)
	case "raise":
		message, err = "Moved up.", s.Bugs.RaiseUpdateRule(r.Context(), rule.Pattern, rule.Person)
	case "drop":
		message, err = "Deleted.", s.Bugs.DropUpdateRule(r.Context(), rule.Pattern, rule.Person)
	default:
		return crash.Errorf(crash.Invalid, "unknown_action", `The actions are "add", "save", "raise" and "drop".`)
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, bugsview.PathUpdates, message)
}

// ruleIn returns the rule in a form, and what is wrong with it.
func ruleIn(form url.Values) (rule crash.UpdateRule, problem string) {
	rule = crash.UpdateRule{Pattern: strings.TrimSpace(form.Get("pattern")), Again: form.Get("again") == "on",
		Quiet: form.Get("quiet") == "on", Section: form.Get("section") == "on"}
	weeks, err := strconv.Atoi(strings.TrimSpace(form.Get("weeks")))
	if rule.QuietWeeks = weeks; err != nil || weeks < 1 || weeks > crash.MaxQuietWeeks {
		rule.QuietWeeks, problem = crash.DefaultQuietWeeks, "The number of weeks has to be between 1 and "+
			strconv.Itoa(crash.MaxQuietWeeks)+"."
	}
	if !validPattern.MatchString(rule.Pattern) {
		problem = "Use the name of a source package: small letters, digits and + . -, with * for any characters."
	}
	return rule, problem
}

func (s *Pages) sendUpdates(w http.ResponseWriter, r *http.Request, status int, page bugsview.UpdatesPage) error {
	var err error
	if page.Rules, err = s.Store.UpdateRules(r.Context()); err != nil {
		return err
	}
	if page.Waiting, err = s.waitingUpdates(r, page.Rules); err != nil {
		return err
	}
	page.Tracker, page.FilingOn = s.web.Config.TrackerName, s.web.Config.AllowBugFiling
	page.Shell = s.web.Shell(r, "Updates of bugs")
	return s.web.Page(w, r, status, bugsview.Updates(page))
}

// waitingUpdates counts the bugs that would get an update if it were on for every package, and that
// get none by the rules.
func (s *Pages) waitingUpdates(r *http.Request, rules crash.UpdateRules) (waiting bugsview.WaitingUpdates, err error) {
	regressions, err := s.Bugs.UncommentedRegressions(r.Context())
	if err != nil {
		return waiting, err
	}
	again := map[int64]bool{}
	for _, b := range regressions {
		if !rules.For(b.SourcePackage).Again {
			again[b.Bug.Counts()] = true
		}
	}
	named, err := s.Bugs.NamedBugs(r.Context())
	if err != nil {
		return waiting, err
	}
	for _, b := range named {
		if !rules.For(b.Bucket.SourcePackage).Again {
			again[b.Number] = true
		}
	}
	waiting.Again = len(again)
	quiet, err := s.Bugs.QuietBugs(r.Context())
	if err != nil {
		return waiting, err
	}
	today := crash.Midnight(s.web.Now())
	for _, q := range quiet {
		rule := rules.For(q.SourcePackage)
		if last := q.LastSupported(today); !rule.Quiet && !last.IsZero() && !q.Commented.After(last) &&
			today.Sub(crash.Midnight(last)) >= time.Duration(rule.QuietWeeks)*7*24*time.Hour {
			waiting.Quiet++
		}
	}
	due, err := s.Bugs.DueSections(r.Context())
	for _, d := range due {
		if !rules.For(d.SourcePackage).Section {
			waiting.Section++
		}
	}
	return waiting, err
}
