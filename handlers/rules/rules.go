// Package rules serves the rules of administrators, with their rehearsals, and the problems that
// rules propose for filing.
package rules

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/notify/rules"
	"mishap/views"
)

// Pages serves the pages of this package.
type Pages struct{ *web.Kit }

// New returns the handlers of this package.
func New(kit *web.Kit) *Pages { return &Pages{kit} }

// ListRules shows all rules.
func (s *Pages) ListRules(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Events.Rules(r.Context())
	if err != nil {
		return err
	}
	activity, err := s.activity(r)
	if err != nil {
		return err
	}
	page := views.RulesPage{Shell: s.Shell(r, "Rules")}
	for _, rule := range all {
		page.Rules = append(page.Rules, s.row(page.Shell, rule, activity))
	}
	return s.Page(w, r, http.StatusOK, views.Rules(page))
}

func (s *Pages) activity(r *http.Request) (map[int64]rules.Activity, error) {
	return s.Events.Activity(r.Context())
}

func (s *Pages) row(shell views.Shell, rule rules.Rule, activity map[int64]rules.Activity) views.RuleRow {
	return views.RuleRow{Rule: rule, Activity: activity[rule.ID], FilingOn: shell.FilingOn, CSRFToken: shell.CSRFToken,
		Now: shell.Now}
}

// ruleInPath returns the rule whose id is in the path. It returns NotFound for deleted rules,
// unless deleted is true.
func (s *Pages) ruleInPath(r *http.Request, deleted bool) (rules.Rule, error) {
	id, err := idInPath(r)
	if err != nil {
		return rules.Rule{}, err
	}
	rule, err := s.Events.Rule(r.Context(), id)
	if err == nil && rule.Deleted != deleted {
		err = web.ErrNoPage
	}
	return rule, err
}

func idInPath(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil || id < 1 {
		return 0, web.ErrNoPage
	}
	return id, nil
}

// SwitchRule switches a rule on or off.
func (s *Pages) SwitchRule(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ruleInPath(r, false)
	if err != nil {
		return err
	}
	rule.Enabled = r.PostFormValue("on") == "1"
	if _, err := s.Events.SaveRule(r.Context(), rule, web.CurrentUser(r).Name); err != nil {
		return err
	}
	if !web.WantsPart(r) {
		if err := s.Flash(r, views.FlashDone, ruleSwitched(rule.Name, rule.Enabled)); err != nil {
			return err
		}
		return web.Redirect(w, r, views.PathRules)
	}
	if rule, err = s.Events.Rule(r.Context(), rule.ID); err != nil {
		return err
	}
	activity, err := s.activity(r)
	if err != nil {
		return err
	}
	return s.Part(w, r, views.RuleItem(s.row(s.BareShell(r, "Rules"), rule, activity)))
}

// DeleteRule deletes a rule. The message has a form that undoes that.
func (s *Pages) DeleteRule(w http.ResponseWriter, r *http.Request) error {
	return s.setDeleted(w, r, true)
}

// RestoreRule undoes DeleteRule.
func (s *Pages) RestoreRule(w http.ResponseWriter, r *http.Request) error {
	return s.setDeleted(w, r, false)
}

func (s *Pages) setDeleted(w http.ResponseWriter, r *http.Request, deleted bool) error {
	rule, err := s.ruleInPath(r, !deleted)
	if err != nil {
		return err
	}
	if _, err := s.Events.DeleteRule(r.Context(), rule.ID, deleted, web.CurrentUser(r).Name); err != nil {
		return err
	}
	message := views.Flash{Kind: views.FlashDone, Text: "Restored “" + rule.Name + "”. It ignores what happened before."}
	if deleted {
		message.Text = "Deleted “" + rule.Name + "”."
		message.Undo = &views.Undo{Action: views.RulePath(rule.ID, "/restore"), Field: "id",
			Value: strconv.FormatInt(rule.ID, 10)}
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, views.PathRules)
}

// NewRule shows the form of a new rule.
func (s *Pages) NewRule(w http.ResponseWriter, r *http.Request) error {
	rule := rules.Rule{When: crash.EventNew, Machines: 3, Weeks: 4, Enabled: true,
		Scope:   rules.Scope{Kind: rules.Everything},
		Actions: rules.Actions{Followers: true, HourlyLimit: 5}}
	return s.showRule(w, r, rule)
}

// ShowRule shows the form of a rule.
func (s *Pages) ShowRule(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ruleInPath(r, false)
	if err != nil {
		return err
	}
	return s.showRule(w, r, rule)
}

func (s *Pages) showRule(w http.ResponseWriter, r *http.Request, rule rules.Rule) error {
	page, err := s.rulePage(r, rule)
	if err != nil {
		return err
	}
	return s.sendRule(w, r, http.StatusOK, page)
}

func (s *Pages) rulePage(r *http.Request, rule rules.Rule) (page views.RulePage, err error) {
	page = views.RulePage{ID: rule.ID, Failure: rule.Failure, FilingOn: s.Config.AllowBugFiling}
	endpoints, err := s.Events.RuleEndpoints(r.Context())
	if err != nil {
		return page, err
	}
	for _, e := range endpoints {
		page.Endpoints = append(page.Endpoints, views.RuleEndpoint(e))
	}
	names, err := s.Events.AccountNames(r.Context())
	if err != nil {
		return page, err
	}
	page.Values = formOf(rule, names)
	return page, nil
}

func (s *Pages) sendRule(w http.ResponseWriter, r *http.Request, status int, page views.RulePage) error {
	title := "New rule"
	if page.ID != 0 {
		title = page.Values.Get("saved_name")
	}
	page.Shell = s.BareShell(r, title)
	if web.WantsPart(r) {
		return s.Page(w, r, status, views.RulePart(page))
	}
	page.Shell = s.Shell(r, title)
	return s.Page(w, r, status, views.Rule(page))
}

// CreateRule rehearses a new rule, or saves it once that was done.
func (s *Pages) CreateRule(w http.ResponseWriter, r *http.Request) error {
	return s.saveRule(w, r, rules.Rule{})
}

// ChangeRule does the same for an existing rule.
func (s *Pages) ChangeRule(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ruleInPath(r, false)
	if err != nil {
		return err
	}
	return s.saveRule(w, r, rule)
}

func (s *Pages) saveRule(w http.ResponseWriter, r *http.Request, old rules.Rule) error {
	if err := r.ParseForm(); err != nil {
		return crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.").Because(err)
	}
	page, err := s.rulePage(r, old)
	if err != nil {
		return err
	}
	title := page.Values.Get("saved_name")
	page.Values = r.PostForm
	page.Values.Set("saved_name", title)
	rule, wrong, err := s.readRule(r, old)
	if err != nil {
		return err
	}
	if page.Wrong = wrong; len(wrong) > 0 {
		return s.sendRule(w, r, http.StatusUnprocessableEntity, page)
	}
	rehearsed := fingerprint(rule)
	save := r.PostForm.Get("do") == "save"
	if save && r.PostForm.Get("rehearsed") == rehearsed {
		_, err := s.Events.SaveRule(r.Context(), rule, web.CurrentUser(r).Name)
		switch {
		case crash.KindOf(err) == crash.Conflict:
			page.Wrong = rules.Problems{"name": web.AnswerTo(r, err).Message}
			return s.sendRule(w, r, http.StatusUnprocessableEntity, page)
		case err != nil:
			return err
		}
		if err := s.Flash(r, views.FlashDone, "Saved “"+rule.Name+"”."); err != nil {
			return err
		}
		return web.Redirect(w, r, views.PathRules)
	}
	found, err := s.Events.Rehearse(r.Context(), rule)
	if err != nil {
		return err
	}
	page.Rehearsal, page.Sentence, page.Rehearsed = &found, rule.Sentence(), rehearsed
	status := http.StatusOK
	if save {
		page.Notice = "The rule has changed since it was rehearsed. Look at what it would have done, then save it."
		status = http.StatusUnprocessableEntity
	}
	return s.sendRule(w, r, status, page)
}

// ruleSwitched confirms that a rule was switched on or off.
func ruleSwitched(name string, on bool) string {
	if on {
		return "“" + name + "” is on. It ignores what happened before."
	}
	return "“" + name + "” is off."
}
