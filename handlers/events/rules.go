package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/web"
	"mishap/notify/rules"
	view "mishap/views/events"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// ListRules shows the rules, the endpoints, and whether mail is sent.
func (s *Pages) ListRules(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	return s.sendRules(w, r, http.StatusOK, view.MailSummary{Address: settings.Address})
}

func (s *Pages) sendRules(w http.ResponseWriter, r *http.Request, status int, mail view.MailSummary) error {
	ctx := r.Context()
	all, err := s.Events.Rules(ctx)
	if err != nil {
		return err
	}
	activity, err := s.Events.Activity(ctx)
	if err != nil {
		return err
	}
	totals, err := s.Events.MailTotals(ctx)
	if err != nil {
		return err
	}
	mail.On, mail.From, mail.LastSuccess = s.Mailer.Enabled(), s.Mailer.From(), totals.LastSuccess
	mail.States = totals.States
	page := view.RulesPage{Mail: mail}
	if page.Stop, err = s.Events.StopState(ctx); err != nil {
		return err
	}
	if page.Endpoints, err = s.Events.Endpoints(ctx); err != nil {
		return err
	}
	page.Shell, page.Checks = s.web.Shell(r, "Rules and notifications"), s.Checks(ctx)
	for _, rule := range all {
		page.Rules = append(page.Rules, view.RuleRow{Rule: rule, Activity: activity[rule.ID], Shell: page.Shell})
	}
	return s.web.Page(w, r, status, view.Rules(page))
}

// ruleInPath returns the rule whose id is in the path. It returns NotFound for deleted rules,
// unless deleted is true.
func (s *Pages) ruleInPath(r *http.Request, deleted bool) (rules.Rule, error) {
	rule, err := s.Events.Rule(r.Context(), web.IDInPath(r))
	if err == nil && rule.Deleted != deleted {
		err = web.ErrNoPage
	}
	return rule, err
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
		return s.web.Done(w, r, layout.PathRules, ruleSwitched(rule.Name, rule.Enabled))
	}
	if rule, err = s.Events.Rule(r.Context(), rule.ID); err != nil {
		return err
	}
	activity, err := s.Events.Activity(r.Context())
	if err != nil {
		return err
	}
	return s.web.Part(w, r, view.RuleItem(view.RuleRow{Rule: rule, Activity: activity[rule.ID],
		Shell: s.web.BareShell(r, "Rules")}))
}

// DeleteRule returns a handler that deletes a rule, whose message has a form that undoes that, or one that restores it.
func (s *Pages) DeleteRule(deleted bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return s.setDeleted(w, r, deleted) }
}

func (s *Pages) setDeleted(w http.ResponseWriter, r *http.Request, deleted bool) error {
	rule, err := s.ruleInPath(r, !deleted)
	if err != nil {
		return err
	}
	if _, err := s.Events.DeleteRule(r.Context(), rule.ID, deleted, web.CurrentUser(r).Name); err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone,
		Text: "Restored “" + rule.Name + "”. It ignores what happened before."}
	if deleted {
		message.Text = "Deleted “" + rule.Name + "”."
		message.Undo = &layout.Undo{Action: view.RulePath(rule.ID, "/restore"), Field: "id",
			Value: strconv.FormatInt(rule.ID, 10)}
	}
	return s.web.RedirectWith(w, r, layout.PathRules, message)
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

func (s *Pages) rulePage(r *http.Request, rule rules.Rule) (page view.RulePage, err error) {
	page = view.RulePage{ID: rule.ID, Failure: rule.Failure}
	if page.Endpoints, err = s.Events.Endpoints(r.Context()); err != nil {
		return page, err
	}
	page.Endpoints = slices.DeleteFunc(page.Endpoints, func(e crash.Endpoint) bool { return !e.Disabled.IsZero() })
	names, err := s.Events.AccountNames(r.Context())
	if err != nil {
		return page, err
	}
	page.Values = formOf(rule, names)
	return page, nil
}

func (s *Pages) sendRule(w http.ResponseWriter, r *http.Request, status int, page view.RulePage) error {
	title := "New rule"
	if page.ID != 0 {
		title = page.Values.Get("saved_name")
	}
	page.Shell = s.web.BareShell(r, title)
	if web.WantsPart(r) {
		return s.web.Page(w, r, status, view.RulePart(page))
	}
	page.Shell = s.web.Shell(r, title)
	return s.web.Page(w, r, status, view.Rule(page))
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
		return web.ErrBadForm.Because(err)
	}
	page, err := s.rulePage(r, old)
	if err != nil {
		return err
	}
	title := page.Values.Get("saved_name")
	page.Values = r.PostForm
	page.Values.Set("saved_name", title)
	rule, wrong, err := s.readRule(r, old, page.Endpoints)
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
		return s.web.Done(w, r, layout.PathRules, "Saved “"+rule.Name+"”.")
	}
	found, err := s.Events.Rehearse(r.Context(), rule, s.panel.Problems)
	if err != nil {
		return err
	}
	page.Rehearsal, page.Sentence, page.Rehearsed = &found, rule.Sentence(), rehearsed
	status := http.StatusOK
	if save {
		page.Notice = "The rule has changed since the preview. Check the new preview, then save."
		status = http.StatusUnprocessableEntity
	}
	return s.sendRule(w, r, status, page)
}

func ruleSwitched(name string, on bool) string {
	if on {
		return "“" + name + "” is on. It ignores what happened before."
	}
	return "“" + name + "” is off."
}

func formOf(rule rules.Rule, accounts map[int64]string) url.Values {
	a := rule.Actions
	v := url.Values{
		"name": {rule.Name}, "saved_name": {rule.Name}, "scope": {string(rule.Scope.Kind)},
		"names": {strings.Join(rule.Scope.Names, " ")}, "when": {string(rule.When)},
		"machines": {strconv.FormatInt(rule.Machines, 10)}, "assign": {a.Assign}, "tag": {a.Tag},
		"embargo": {string(a.Embargo)}, "duplicate": {string(rule.If.Duplicate)},
		"concentrated": {string(rule.If.Concentrated.Field)}, "concentrated_value": {rule.If.Concentrated.Value},
	}
	if rule.Weeks > 0 {
		v.Set("weeks", strconv.Itoa(rule.Weeks))
	}
	if a.HourlyLimit > 0 {
		v.Set("limit", strconv.Itoa(a.HourlyLimit))
	}
	for field, on := range map[string]bool{
		"followers": a.Followers, "administrators": a.Administrators, "mute": a.Mute != nil, "enabled": rule.Enabled,
		"mute_newer":      a.Mute != nil && a.Mute.Newer,
		"mute_regression": a.Mute != nil && a.Mute.Regression, "merge": a.Merge,
	} {
		if on {
			v.Set(field, "1")
		}
	}
	if a.Mute != nil && a.Mute.Days > 0 {
		v.Set("mute_days", strconv.Itoa(a.Mute.Days))
	}
	switch {
	case a.Queue:
		v.Set("bugs", "queue")
	case a.File:
		v.Set("bugs", "file")
	}
	var people []string
	for _, id := range a.Users {
		if name := accounts[id]; name != "" {
			people = append(people, name)
		}
	}
	slices.Sort(people)
	v.Set("people", strings.Join(people, " "))
	for _, id := range a.Endpoints {
		v.Add("endpoint", strconv.FormatInt(id, 10))
	}
	return v
}

func (s *Pages) readRule(r *http.Request, old rules.Rule, endpoints []crash.Endpoint) (
	rules.Rule, rules.Problems, error,
) {
	form := r.PostForm
	on := func(field string) bool { return form.Get(field) == "1" }
	rule := old
	rule.Name = strings.Join(strings.Fields(form.Get("name")), " ")
	rule.When, rule.Enabled = crash.EventKind(form.Get("when")), on("enabled")
	rule.Scope = rules.Scope{Kind: rules.ScopeKind(form.Get("scope"))}
	if rule.Scope.Kind != rules.Everything {
		rule.Scope.Names = words(form.Get("names"))
	}
	rule.Machines = number(form.Get("machines"))
	rule.Weeks = 0
	if rule.When == crash.EventQuiet {
		rule.Weeks = int(number(form.Get("weeks")))
	}
	rule.If = rules.Conditions{Duplicate: rules.Duplicate(form.Get("duplicate")), Concentrated: rules.Concentrated{
		Field: stats.FacetField(form.Get("concentrated")), Value: strings.TrimSpace(form.Get("concentrated_value"))}}
	a := rules.Actions{Followers: on("followers"), Administrators: on("administrators"),
		Assign: strings.TrimSpace(form.Get("assign")), Tag: strings.TrimSpace(form.Get("tag")), Merge: on("merge"),
		Embargo: rules.Embargo(form.Get("embargo")), Queue: form.Get("bugs") == "queue", File: form.Get("bugs") == "file"}
	if a.File {
		a.HourlyLimit = int(number(form.Get("limit")))
	}
	if on("mute") {
		a.Mute = &rules.Mute{Newer: on("mute_newer"), Regression: on("mute_regression")}
		if days := strings.TrimSpace(form.Get("mute_days")); days != "" {
			a.Mute.Days = int(number(days))
		}
	}
	for _, e := range endpoints {
		if slices.Contains(form["endpoint"], strconv.FormatInt(e.ID, 10)) {
			a.Endpoints = append(a.Endpoints, e.ID)
		}
	}
	users, unknown, err := s.Events.AccountIDs(r.Context(), words(form.Get("people")))
	if err != nil {
		return rule, nil, err
	}
	a.Users = users
	rule.Actions = a
	wrong := rule.Check()
	if f, _ := rule.If.Concentrated.Stats(); f != "" && !web.PermitsFacet(s.web, privacy.Restricted, f) {
		wrong["concentrated"] = "Not everybody who sees what the rule does may see this field. Choose another one."
	}
	if len(unknown) > 0 {
		wrong["people"] = rules.UnknownPeople(unknown)
		delete(wrong, "actions") // it may be only that this account is missing
	}
	if a.Assign != "" && !strings.HasPrefix(a.Assign, "~") && wrong["assign"] == "" {
		_, unknown, err := s.Events.AccountIDs(r.Context(), []string{a.Assign})
		if err != nil {
			return rule, nil, err
		}
		if len(unknown) > 0 {
			wrong["assign"] = rules.UnknownPeople(unknown)
		}
	}
	return rule, wrong, nil
}

// words splits a text at blanks and commas, without duplicates.
func words(text string) []string {
	var some []string
	for _, word := range strings.Fields(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), ",", " ")) {
		if !slices.Contains(some, word) {
			some = append(some, word)
		}
	}
	return some
}

// number reads a number of at most nine digits. It returns -1 for any other text, which no field
// accepts.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// fingerprint identifies what a rehearsal depends on: everything but the name and whether the rule
// is on.
func fingerprint(rule rules.Rule) string {
	text, err := json.Marshal([]any{rule.Scope, rule.When, rule.Machines, rule.Weeks, rule.If, rule.Actions})
	if err != nil {
		return "" // these types always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

const (
	shownCandidates = 25
	shownDecided    = 10
)

var errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "%s", view.CandidatesOff)

// ListCandidates shows the problems that rules and people propose for filing.
func (s *Pages) ListCandidates(w http.ResponseWriter, r *http.Request) error {
	waiting, err := s.Events.Candidates(r.Context(), shownCandidates+1)
	if err != nil {
		return err
	}
	decided, err := s.Events.DecidedCandidates(r.Context(), shownDecided)
	if err != nil {
		return err
	}
	page := view.CandidatesPage{Shell: s.web.Shell(r, "Candidates for filing"), More: len(waiting) > shownCandidates}
	waiting = waiting[:min(len(waiting), shownCandidates)]
	for i, c := range slices.Concat(waiting, decided) {
		row, err := s.candidate(r.Context(), page.Shell, c)
		if err != nil {
			return err
		}
		if i < len(waiting) {
			page.Waiting = append(page.Waiting, row)
		} else {
			page.Decided = append(page.Decided, row)
		}
	}
	return s.web.Page(w, r, http.StatusOK, view.Candidates(page))
}

// candidate returns a candidate with its problem and, while it waits, the title of the draft.
func (s *Pages) candidate(ctx context.Context, shell layout.Shell, c rules.Candidate) (view.CandidateRow, error) {
	row := view.CandidateRow{Candidate: c, Shell: shell}
	var err error
	if row.Bucket, err = s.Store.Bucket(ctx, c.Problem); err != nil {
		return row, err
	}
	row.MayDecide = shell.User.MayTriage(row.Bucket.SourcePackage)
	row.Title = problemsview.DocumentTitle(row.Bucket)
	if c.State != rules.CandidateWaiting && c.State != rules.CandidateAutomatic {
		return row, nil
	}
	if row.Cannot = row.Bucket.NoFiling(); row.Cannot != "" {
		return row, nil
	}
	draft, err := s.Filer.Propose(ctx, row.Bucket, false)
	switch {
	case crash.KindOf(err) == crash.Unprocessable:
		row.Cannot = err.Error()
	case err != nil:
		return row, err
	default:
		row.Title = draft.Title
	}
	return row, nil
}

// candidateInPath returns the number of the candidate in the path, and its problem, if the person may
// decide about it.
func (s *Pages) candidateInPath(r *http.Request) (id int64, b crash.Bucket, err error) {
	c, err := s.Events.Candidate(r.Context(), web.IDInPath(r))
	if err != nil {
		return 0, b, err
	}
	if b, err = s.Store.Bucket(r.Context(), c.Problem); err != nil {
		return 0, b, err
	}
	return c.ID, b, web.CheckTriage(r, b.SourcePackage)
}

// ApproveCandidate files the bug of a candidate.
func (s *Pages) ApproveCandidate(w http.ResponseWriter, r *http.Request) error {
	if !s.web.Config.AllowBugFiling {
		return errFilingOff
	}
	id, b, err := s.candidateInPath(r)
	if err != nil {
		return err
	}
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return err
	}
	result, failed := s.Filer.CreateBug(r.Context(), b.Signature, opts)
	// A tracker that cannot be reached gets the bug later.
	if failed != nil && crash.KindOf(failed) != crash.Unavailable {
		a := web.AnswerTo(r, failed)
		s.web.LogError(r, failed, a)
		if err := s.Events.FailCandidate(r.Context(), id, a.Message); err != nil {
			return err
		}
		return s.answerCandidate(w, r, id, layout.Flash{Kind: layout.FlashError, Text: a.Message}, a.Status)
	}
	if err := s.Events.ApproveCandidate(r.Context(), id, opts.Person); err != nil {
		return err
	}
	message := "The bug is being created."
	if result.State == crash.FilingFiled {
		message = view.CandidateFiled(result.Bug)
	}
	return s.answerCandidate(w, r, id, layout.Flash{Kind: layout.FlashDone, Text: message}, http.StatusOK)
}

// DeclineCandidate records that no bug is wanted.
func (s *Pages) DeclineCandidate(w http.ResponseWriter, r *http.Request) error {
	return s.decide(w, r, func(ctx context.Context, id int64, person string) error {
		return s.Events.DeclineCandidate(ctx, id, person, r.PostFormValue("reason"))
	})
}

// RestoreCandidate undoes DeclineCandidate.
func (s *Pages) RestoreCandidate(w http.ResponseWriter, r *http.Request) error {
	return s.decide(w, r, s.Events.RestoreCandidate)
}

func (s *Pages) decide(w http.ResponseWriter, r *http.Request, do func(context.Context, int64, string) error) error {
	id, _, err := s.candidateInPath(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCandidate(w, r, id, layout.Flash{}, http.StatusOK)
}

// answerCandidate shows the present state of a candidate in place, or redirects to the page.
func (s *Pages) answerCandidate(w http.ResponseWriter, r *http.Request, id int64, message layout.Flash,
	status int) error {
	if !web.WantsPart(r) {
		return s.web.RedirectWith(w, r, layout.PathCandidates, message)
	}
	c, err := s.Events.Candidate(r.Context(), id)
	if err != nil {
		return err
	}
	row, err := s.candidate(r.Context(), s.web.BareShell(r, "Candidates for filing"), c)
	if err != nil {
		return err
	}
	if message.Kind == layout.FlashError {
		row.Trouble, row.Failure = message.Text, ""
	}
	return s.web.Page(w, r, status, view.CandidateItem(row))
}
