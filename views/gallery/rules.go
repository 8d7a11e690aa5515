package gallery

import (
	"net/url"
	"time"

	"mishap/crash"
	"mishap/notify/rules"
	eventsview "mishap/views/events"
)

// ruleStates returns the pages of rules and candidates in every state.
func ruleStates() []specimen {
	rehearsal := rules.Rehearsal{Since: now.AddDate(0, 0, -29), Edges: 1200, Programs: 40, Proposed: 9, Filed: 3,
		Skipped: 2,
		Changed: 5,
		People:  map[string]int64{"ada": 31, "vera": 7},
		Notes:   []string{"Only the newest 5,000 problems were read."},
		Lines: []rules.RehearsalLine{
			{At: now, Exact: true, Event: crash.Event{Kind: crash.EventNew, Title: bucket(0).Title, Package: "tidewatch",
				Version: "46.4-0ubuntu2", Machines: 12}, Does: []string{"notify 3 people", "queue for filing"}},
			{At: now.AddDate(0, 0, -2), Event: crash.Event{Kind: crash.EventNew, Title: bucket(1).Title}},
		}}
	form := func(change func(*eventsview.RulePage)) eventsview.RulePage {
		p := eventsview.RulePage{Shell: shell("Rule", admin), FilingOn: true, Values: url.Values{"name": {"New in tidewatch"},
			"saved_name": {"New in tidewatch"}, "when": {"new"}, "machines": {"3"}, "scope": {"package"}, "names": {"tide*"},
			"followers": {"1"}, "bugs": {"queue"}, "enabled": {"1"}},
			Endpoints: []eventsview.RuleEndpoint{{ID: 1, Name: "Desktop team"}},
			Sentence: "When a problem of tide* is new and at least 3 machines report it, notify its followers and queue it " +
				"for filing."}
		change(&p)
		return p
	}
	row := func(id int64, change func(*eventsview.RuleRow)) eventsview.RuleRow {
		r := eventsview.RuleRow{Rule: rules.Rule{ID: id, Name: "New problems", Enabled: true, When: crash.EventNew,
			Machines: 3,
			Scope:    rules.Scope{Kind: rules.Everything}, Actions: rules.Actions{Followers: true, Queue: true}, Author: "ada",
			Editor: "ada"}, FilingOn: true, CSRFToken: "token", Now: now,
			Activity: rules.Activity{Last: now.Add(-time.Hour), Recent: 4}}
		change(&r)
		return r
	}
	return []specimen{
		{"Rules, none", eventsview.Rules(eventsview.RulesPage{Shell: shell("Rules", admin)})},
		{"Rules", eventsview.Rules(eventsview.RulesPage{Shell: shell("Rules", admin), Rules: []eventsview.RuleRow{
			row(1, func(*eventsview.RuleRow) {}),
			row(2, func(r *eventsview.RuleRow) { r.Enabled, r.Activity = false, rules.Activity{} }),
			row(3, func(r *eventsview.RuleRow) { r.Failure, r.FilingOn = "There is no account named “gone”.", false }),
		}})},
		{"Rule, new", eventsview.Rule(form(func(p *eventsview.RulePage) { p.Sentence = "" }))},
		{"Rule, mistakes", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.ID, p.Notice, p.Failure = 1, "The rule has changed since the rehearsal.", "There is no account named “gone”."
			p.Wrong = rules.Problems{"name": "Another rule has this name.", "machines": "Enter a number from 1 to 1,000,000.",
				"names": "Enter at least one name.", "people": "There is no account named nobody."}
		}))},
		{"Rule, rehearsed", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.Rehearsal, p.Rehearsed = &rehearsal,
				"1"
		}))},
		{"Rule, rehearsed, nothing", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.Rehearsal, p.Rehearsed, p.FilingOn = &rules.Rehearsal{Since: rehearsal.Since}, "1", false
		}))},
		{"Candidates, none", eventsview.Candidates(eventsview.CandidatesPage{Shell: shell("Candidates", admin)})},
		{"Candidates", eventsview.Candidates(candidates(admin, true))},
		{"Candidates, of other packages", eventsview.Candidates(candidates(viewer, true))},
		{"Candidates, filing is off", eventsview.Candidates(candidates(admin, false))},
	}
}

// candidates returns a candidate in each state.
func candidates(user crash.User, on bool) eventsview.CandidatesPage {
	page := eventsview.CandidatesPage{Shell: shell("Candidates", user), More: true}
	page.Shell.FilingOn = on
	for i, state := range []rules.CandidateState{rules.CandidateWaiting, rules.CandidateWaiting, rules.CandidateWaiting,
		rules.CandidateAutomatic, rules.CandidateFiling, rules.CandidateFiled, rules.CandidateDeclined} {
		b := bucket(i)
		c := eventsview.CandidateRow{Candidate: rules.Candidate{ID: int64(i + 1), Problem: b.ID, Rule: "New in tidewatch",
			State: state, Why: "It is new, and 12 machines report it.", Machines: 12, Created: now, DecidedBy: "ada",
			Decided: now},
			Bucket: b, Title: b.Title, FilingOn: on, MayDecide: user.Role.Allows(crash.RoleTriager), CSRFToken: "token",
			Now: now}
		switch {
		case i == 1:
			c.Failure, c.Trouble = "The tracker said: title is too long.", "The tracker did not answer. Try again."
		case i == 2:
			c.Cannot = "No source package is known."
		case state == rules.CandidateFiled:
			c.Bucket.Bug.Number = 2101233
		case state == rules.CandidateDeclined:
			c.Reason = "not ours"
		}
		if i < 4 {
			page.Waiting = append(page.Waiting, c)
		} else {
			page.Decided = append(page.Decided, c)
		}
	}
	return page
}
