package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/notify/rules"
)

// formOf returns the fields of the form of a rule.
func formOf(rule rules.Rule, accounts map[int64]string) url.Values {
	a := rule.Actions
	v := url.Values{
		"name": {rule.Name}, "saved_name": {rule.Name}, "scope": {string(rule.Scope.Kind)},
		"names": {strings.Join(rule.Scope.Names, " ")}, "when": {string(rule.When)},
		"machines": {strconv.FormatInt(rule.Machines, 10)}, "assign": {a.Assign}, "tag": {a.Tag},
		"embargo": {string(a.Embargo)},
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
		"mute_regression": a.Mute != nil && a.Mute.Regression,
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

// readRule reads a rule from the form, and what is wrong with it.
func (s *Pages) readRule(r *http.Request, old rules.Rule) (rules.Rule, rules.Problems, error) {
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
	a := rules.Actions{Followers: on("followers"), Administrators: on("administrators"),
		Assign: strings.TrimSpace(form.Get("assign")), Tag: strings.TrimSpace(form.Get("tag")),
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
	known, err := s.Events.RuleEndpoints(r.Context())
	if err != nil {
		return rule, nil, err
	}
	for _, e := range known {
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
	text, err := json.Marshal([]any{rule.Scope, rule.When, rule.Machines, rule.Weeks, rule.Actions})
	if err != nil {
		return "" // these types always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}
