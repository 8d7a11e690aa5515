package gallery

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/privacy"
	"mishap/crash/similar"
	"mishap/notify/rules"
	adminview "mishap/views/admin"
	bugsview "mishap/views/bugs"
	eventsview "mishap/views/events"
	"mishap/views/layout"
	peopleview "mishap/views/people"
	problemsview "mishap/views/problems"
)

// decided returns the specimens of decisions and administration: merging, splitting, names,
// filings, accounts, my packages.
func decided() []specimen {
	b := bucket(0)
	return []specimen{
		{"My packages, nothing followed", problemsview.My(problemsview.MyPage{Shell: shell("My packages", viewer),
			Tracker: "Launchpad",
			Suggest: "vera"})},
		{"New since you last looked", problemsview.News(news(true))},
		{"New since you last looked, nothing", problemsview.News(news(false))},
		{"My packages, first visit", problemsview.My(my(crash.Visit{Last: now}, ""))},
		{"My packages", problemsview.My(my(crash.Visit{Seen: now.AddDate(0, 0, -1), Last: now},
			problemsview.ReadingPackages("grace")))},
		{"Merge, which", problemsview.FindMerge(problemsview.FindMergePage{Shell: shell("Merge", admin), Bucket: b,
			Text:    "nine",
			Problem: "No problem matches this.", Similar: []similar.Problem{{Bucket: bucket(1)}}})},
		{"Merge", problemsview.Merge(merge(""))},
		{"Merge, refused",
			problemsview.Merge(merge("Someone has merged one of these problems in the meantime. Reload the page."))},
		{"Name a problem", problemsview.Rename(problemsview.RenamePage{Shell: shell("Name", admin), Bucket: b,
			Name:    "Reading a short row",
			Problem: "Another problem has that name."})},
		{"Split, how to", problemsview.Split(problemsview.SplitPage{Shell: shell("Split off reports", admin), Bucket: b,
			Terms: make([]crash.Term, 3), Reports: reportList()})},
		{"Split, nothing to choose, mistake", problemsview.Split(problemsview.SplitPage{
			Shell: shell("Split off reports", admin), Bucket: b, Terms: []crash.Term{{Field: crash.TermFrom, Value: "x y"}},
			Problem: "This is not a version.",
			Reports: problemsview.ReportList{ID: "reports", Now: now, Empty: problemsview.NoReportsStored},
		})},
		{"Decisions", problemsview.Problem(decidedProblem())},
		{"Chosen problems", bugsview.Chosen(chosen())},
		{"Link chosen problems", bugsview.LinkBug(bugsview.LinkPage{
			Shell: shell("Link a bug", admin), Problems: b.ID.String(),
			BugLookup: bugsview.BugLookup{Text: "2101233", Number: 2101233, Warning: "The tracker did not answer."},
			Rows:      []bugsview.LinkRow{{Bucket: b}, {Bucket: bucket(1), Linked: true}},
		})},
		{"Filing log, empty", bugsview.Ledger(bugsview.LedgerPage{Shell: shell("Filing log", admin), First: true})},
		{"Filing log, every state", bugsview.Ledger(ledger())},
		{"Symbols, empty", adminview.SymbolsAdmin(adminview.SymbolsPage{Shell: shell("Symbols", admin)})},
		{"Symbols", adminview.SymbolsAdmin(symbols())},
		{"Endpoint, new", eventsview.NewEndpoint(eventsview.EndpointPage{Shell: shell("Add an endpoint", admin),
			Endpoint: crash.Endpoint{Kind: crash.EndpointMatrix}, Form: eventsview.EndpointForm{PerMinute: "20"}})},
		{"Endpoint", eventsview.Endpoint(endpoint())},
		{"Delivery", eventsview.Delivery(delivery())},
		{"Health, a problem", adminview.Health(shell("Health", admin),
			[]crash.HealthCheck{
				{Name: "Database"}, {Name: "Report counts",
					Problem: "Reports are stored, but they cannot be counted at the moment.",
					Detail:  "Counting has failed since 2026-11-21 11:40:00 UTC.",
					Remedy:  "correct what the last error says; counting then continues automatically"},
				{Name: "Bug tracker", Problem: "3 filings wait until the tracker accepts an access token of mishap.",
					Warning: true, Remedy: "connect the account again", Link: "/admin/tracker"}})},
		{"Tracker, connected", adminview.Tracker(trackerPage(bugsview.TrackerPage{
			Connection: crash.Connection{Source: crash.FromDatabase, Person: "ada",
				Since: now.AddDate(0, 0, -3), Token: "cMQ49S2ccX0s",
				TokenHealth: crash.TokenHealth{Account: "mishap-bot", LastSuccess: now.Add(-time.Minute)}}}, true))},
		{"Tracker, second step", adminview.Tracker(trackerPage(bugsview.TrackerPage{
			AuthorizeURL: "https://launchpad.net/+authorize-token",
			Expires:      now.Add(time.Hour), Pressed: "access-token", Problem: "mishap has not been authorised yet."}, false))},
		{"Erase a machine", adminview.Erase(adminview.ErasePage{Shell: shell("Erase a machine", admin),
			System:  "5a0123456789abcdef",
			Facts:   crash.MachineFacts{Reports: 41, Problems: 7, Only: 2, Cores: 1, Jobs: 3, First: day(-40), Last: day(-1)},
			Problem: "These are not the first 8 characters of the id of the machine; nothing was erased."})},
		{"Data", adminview.Data(dataPage())},
		{"Data, none", adminview.Data(adminview.DataPage{Shell: shell("Data", admin)})},
		{"Regrouping, preview", adminview.Regroup(adminview.RegroupPage{Shell: shell("Regrouping", admin),
			Run:    &crash.RegroupRun{ID: 2, Rules: 3, Dry: true, State: crash.RegroupDone, LookedAt: 1858, Moved: 12},
			Effect: crash.RegroupEffect{Changed: 2, Split: 1, New: 1},
			Moves: []crash.RegroupMove{{From: b.ID, FromLabel: b.Title, To: bucket(1).ID, ToLabel: "short rows", New: true,
				Reports: 12}},
		})},
		{"Privacy", adminview.Privacy(privacyPage(shell("Privacy", admin)))},
		{"Hold", problemsview.TriagePage(problemsview.TriageForm{Shell: shell("Hold", viewer), Kind: crash.MarkHold,
			Buckets: []crash.Bucket{b}, Problem: "A reason is one line of at most 500 characters."})},
		{"Hold, lifting", problemsview.TriagePage(problemsview.TriageForm{Shell: shell("Hold", viewer),
			Kind: crash.MarkHold, Buckets: []crash.Bucket{b}, Replaces: &hold})},
		{"Account", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", viewer), Tracker: "Launchpad",
			Tokens: peopleview.TokensView{Scopes: crash.Scopes[:2], Form: peopleview.TokenForm{Scopes: crash.Scopes[:1],
				Days: 90}}})},
		{"Account, own account at the tracker", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", admin), Tracker: "Launchpad", Name: "ada",
			Own: ownAccount(crash.TokenHealth{
				Account:     "ada",
				LastSuccess: now.Add(-time.Hour)}), Tokens: peopleview.TokensView{Form: peopleview.TokenForm{Days: 90}}})},
		{"Account, own account rejected, connecting again", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", admin), Tracker: "Launchpad", Name: "ada", Own: ownAccountAgain(),
			Tokens: peopleview.TokensView{Form: peopleview.TokenForm{Days: 90}}})},
		{"Authenticator app, secret, mistake", peopleview.SecondFactor(peopleview.SecondFactorPage{Shell: shell("App",
			viewer),
			Factor:  crash.SecondFactor{HasPassword: true, Secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"},
			Address: "otpauth://totp/mishap%20example:ada?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=mishap%20example",
			Pressed: peopleview.SecondFactorConfirm, Problem: "Wrong code."})},
		{"Authenticator app, on, recovery codes", peopleview.SecondFactor(peopleview.SecondFactorPage{Shell: shell("App",
			viewer),
			Factor:   crash.SecondFactor{HasPassword: true, Since: now, RecoveryCodes: 2},
			Recovery: []string{"abcd-efgh-ijkl-mnop", "qrst-uvwx-yz23-4567"}, Pressed: peopleview.SecondFactorOff,
			Problem: "Wrong password."})},
		{"Authenticator app, required", peopleview.SecondFactor(peopleview.SecondFactorPage{Shell: shell("App", admin),
			Required: true,
			Factor:   crash.SecondFactor{HasPassword: true}})},
		{"Authenticator app, no password", peopleview.SecondFactor(peopleview.SecondFactorPage{Shell: shell("App", viewer)})},
		{"Sign in, code", peopleview.SignInCode(shell("Sign in", visitor), "Wrong code.")},
		{"Account, ways to sign in", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", viewer),
			Tracker:     "Launchpad",
			CanPassword: true, PasswordProblem: "The two new passwords differ.", Services: services()[:1],
			Links: []peopleview.LinkMethod{{Source: crash.SourceOIDC, Name: "id.example.com"}},
			Identities: []crash.StoredIdentity{{ID: 1, GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
				Subject: "https://login.launchpad.net/+id/abc123", Name: "grace"}}}})},
		{"Account, app", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", viewer), Tracker: "Launchpad",
			SecondFactor: crash.SecondFactor{HasPassword: true, Since: now, RecoveryCodes: 10}})},
		{"Account, new token, mistake", peopleview.Account(peopleview.AccountPage{
			Sessions: signedIn, Shell: shell("Your account", admin), Tracker: "Launchpad", Name: "ad a",
			Problem: "The tracker has no account with " +
				"this name.",
			Tokens: peopleview.TokensView{
				Made: "mshp_not_a_real_token", Scopes: crash.Scopes, Form: peopleview.TokenForm{Scopes: crash.Scopes[:3], Days: 30},
				Tokens: []crash.APIToken{
					{ID: 1, Name: "watcher", Hint: "k7Qz09aB", Scopes: crash.Scopes[:1], Created: now.AddDate(0, -1, 0),
						Expires: now.AddDate(0, 2, 0), LastUsed: now, LastAddress: "2001:db8:12:34::5:6"},
					{ID: 2, Name: "nightly export", Hint: "k7Qz09aC", Scopes: crash.Scopes, Created: now.AddDate(0, -1, 0),
						Expires: now.AddDate(0, 0, 3)},
					{ID: 3, Name: "of the old form", Hint: "mishap_abcd", Scopes: crash.Scopes[:1],
						Created: now.AddDate(0, -3, 0), Expires: now.AddDate(0, 0, -1)},
				},
			},
		})},
	}
}

// trackerPage returns the page of the tracker with a connection. It has rows, or nothing but what is always there.
func trackerPage(connection bugsview.TrackerPage, rows bool) adminview.TrackerPage {
	connection.Shell, connection.Tracker, connection.ConfigFile = shell("Bug tracker", admin), "Launchpad",
		"local_config.toml"
	p := adminview.TrackerPage{TrackerPage: connection, HasLaunchpad: true, Updates: bugsview.UpdatesPage{
		Shell: connection.Shell, Adding: crash.UpdatePolicy{QuietWeeks: crash.DefaultQuietWeeks},
		Rules: crash.UpdatePolicies{{Pattern: crash.EveryPackage, Again: true, QuietWeeks: 12}}}}
	if !rows {
		p.Updates.Shell.FilingOn = false
		return p
	}
	p.Filings = ledger().Totals
	p.Templates = []crash.BugTemplate{{Package: "linux", ProblemType: "KernelOops", By: "ada",
		Changed: now.Add(-time.Hour)}}
	p.Updates.Waiting = bugsview.WaitingUpdates{Again: 2, Quiet: 1, Section: 140}
	p.Updates.Pattern, p.Updates.Problem = "linux*", "The number of weeks must be between 1 and 260."
	p.Updates.Rules = append(crash.UpdatePolicies{
		{Pattern: "linux-firmware", QuietWeeks: 12, Person: "ada", Changed: now.AddDate(0, 0, -3)},
		{Pattern: "linux*", Quiet: true, QuietWeeks: 6, Section: true, Person: "ada", Changed: now.Add(-time.Hour)}},
		p.Updates.Rules...)
	return p
}

func ownAccount(health crash.TokenHealth) *peopleview.OwnAccountView {
	return &peopleview.OwnAccountView{
		Shell: shell("", admin), Tracker: "Launchpad", TokensURL: "https://launchpad.net/~ada/+oauth-tokens",
		Own: crash.OwnAccount{User: 1, Token: "cMQ49S2ccX0s", Context: "None", Connected: now.AddDate(0, 0, -3),
			Preferred: true, Enabled: true, TokenHealth: health},
	}
}

// ownAccountAgain returns a rejected connection, while the person connects again.
func ownAccountAgain() *peopleview.OwnAccountView {
	v := ownAccount(crash.TokenHealth{Account: "ada", Dead: true, LastErrorAt: now.Add(-time.Minute),
		LastError: "Expired token (cMQ49S2ccX0s)."})
	v.AuthorizeURL, v.Expires = "https://launchpad.net/+authorize-token", now.Add(time.Hour)
	v.Problem = "mishap has not been authorised on the tracker's page yet. Do that first, then press again."
	return v
}

// my returns what a person follows, with a problem in each group that the visit allows.
func news(some bool) problemsview.NewsPage {
	page := problemsview.NewsPage{Shell: shell(problemsview.NewsTitle, admin), Mine: !some}
	if !some {
		return page
	}
	page.List = list(page.Shell, bugStates(admin))
	for i, reason := range []crash.NewsReason{crash.NewsAgain, crash.NewsNew, crash.NewsRising, crash.NewsUndecided} {
		page.Groups = append(page.Groups, problemsview.NewsGroup{Reason: reason, Count: 60,
			Rows: []*problemsview.ListRow{&page.List.Rows[i]}})
	}
	return page
}

func my(visit crash.Visit, notice string) problemsview.MyPage {
	cells := bugStates(viewer)
	page := problemsview.MyPage{
		Shell: shell("My packages", viewer), Visit: visit, Notice: notice, Tracker: "Launchpad", Problems: 4,
		Reports: 8773,
		Followed: []problemsview.Followed{
			{Follow: crash.Follow{Kind: crash.FollowPackage, Name: "tidewatch"}, Problems: 4, Unread: 1, Reports: 8773},
			{Follow: crash.Follow{Kind: crash.FollowPerson, Name: "grace"}, Unknown: true},
			{Follow: crash.Follow{Kind: crash.FollowPerson, Name: "nobody"}, Nobody: true},
			{Follow: crash.Follow{Kind: crash.FollowSet, Name: "desktop-core"}, Packages: 212},
			{Follow: crash.Follow{Kind: crash.FollowProblem, Name: bucket(0).ID.String()}, Label: bucket(0).Title,
				Path: bucket(0).ID.Path(), News: "now regression, first seen in 46.4-0ubuntu2", Unread: 1,
				Problems: 1, Reports: 12},
			{Follow: crash.Follow{Kind: crash.FollowSearch, Name: "7"}, Label: "For an SRU", Path: "/search?q=tag:sru"},
		},
		Form: problemsview.FollowForm{Kind: crash.FollowPackage, Name: "two words", Problem: "This is not a valid name."},
	}
	page.List = list(page.Shell, cells)
	page.List.Choice.Period = crash.PeriodMonth
	groups := []problemsview.MyGroup{
		{Name: problemsview.MyUnread, Words: "unread"}, {Name: problemsview.MyRegression,
			Words: "regressions"},
		{Name: problemsview.MyUnfiled, Words: "without a bug"}, {Name: problemsview.MyFiled, Words: "with a bug"},
	}
	if visit.Seen.IsZero() {
		groups = groups[1:]
	}
	for i, group := range groups {
		group.Rows, group.Count = page.List.Rows[2*i:2*i+2], 2
		page.Groups = append(page.Groups, group)
	}
	page.Groups[len(page.Groups)-1].Count = 40
	return page
}

func merge(problem string) problemsview.MergePage {
	sides := problemsview.NewMergeSides([]crash.Bucket{bucket(0), bucket(1)})
	return problemsview.MergePage{Shell: shell("Merge", admin), Sides: sides, Head: sides[0].ID, Reports: 6316,
		Machines: 2700,
		Problem:  problem,
		Bugs:     []crash.Bug{{Number: 2101233, Title: "tidewatch crashes", URL: "https://bugs.launchpad.net/bugs/2101233"}}}
}

// decidedProblem returns a problem with decisions of every kind, one of them undone.
func decidedProblem() problemsview.ProblemPage {
	page := problem(admin)
	b, other := bucket(0), bucket(1)
	page.Decisions = problemsview.DecisionsView{Bucket: b, MayDecide: true, Now: now, Decisions: []crash.Decision{
		{ID: 4, Kind: crash.DecisionSplit, Cause: crash.CausePerson, Bucket: b.ID, Other: other.ID, OtherLabel: "short rows",
			Person: "ada", At: now.Add(-time.Minute), LookedAt: 2000, Moved: 12},
		{ID: 3, Kind: crash.DecisionMerged, Cause: crash.CausePerson, Bucket: other.ID, Other: b.ID, BucketLabel: other.Title,
			Person: "ada", Reason: "The same fault.", At: now.Add(-time.Hour), Finished: true},
		{ID: 2, Kind: crash.DecisionRenamed, Cause: crash.CausePerson, Bucket: b.ID, After: "Reading a short row",
			Person: "bob", At: now.AddDate(0, 0, -1), UndoneBy: "ada", UndoneAt: now, Finished: true},
		{ID: 1, Kind: crash.DecisionMerged, Cause: crash.CauseSymbolised, Bucket: other.ID, Other: b.ID,
			BucketLabel: other.Title, At: now.AddDate(0, 0, -3), Finished: true},
	}}
	return page
}

func chosen() bugsview.ChosenPage {
	page := bugsview.ChosenPage{Shell: shell("Chosen problems", admin)}
	for i, cell := range bugStates(admin)[1:] {
		page.Rows = append(page.Rows, bugsview.ChosenRow{Bucket: bucket(i + 1), Bug: cell})
	}
	return page
}

// ledger returns a filing in every state, with its history.
func ledger() bugsview.LedgerPage {
	page := bugsview.LedgerPage{Shell: shell("Filing log", admin), Next: "/admin/filings?after=1",
		Totals: crash.FilingTotals{
			States: map[crash.FilingState]int64{crash.FilingQueued: 1, crash.FilingFiled: 9}, Oldest: now.Add(-time.Hour),
			Parked: 1,
		}}
	for i, state := range []crash.FilingState{
		crash.FilingQueued, crash.FilingSending, crash.FilingUncertain, crash.FilingRefused, crash.FilingAbandoned,
		crash.FilingFiled,
	} {
		b := bucket(i)
		entry := crash.LedgerEntry{
			Filing: crash.Filing{ID: int64(i + 1), State: state, Attempts: i, Created: now.Add(-time.Hour), Updated: now,
				NotBefore: now.Add(time.Minute)},
			Heading: b.Title, Package: b.Package, Left: 3 * (i % 2),
			Lines: []crash.LedgerLine{
				{At: now.Add(-time.Hour), Action: "bug.create", Person: "ada"},
				{At: now.Add(-time.Minute), Ended: now, Call: "create", Outcome: "refused", Status: 400, RequestID: "OOPS-7",
					Text: strings.Repeat("title: too long. ", 1+i), Took: 812 * time.Millisecond},
			},
		}
		part := bugsview.FilingPart{LedgerEntry: entry, MayManage: true, Now: now}
		part.Bucket = b.ID
		if state == crash.FilingFiled {
			part.Bug, part.BugURL, part.SentAs = 2101233, "https://bugs.launchpad.net/bugs/2101233", "ada"
		}
		if state == crash.FilingSending {
			part.Fallback = "The tracker rejected ~ada (Expired token)."
		}
		if state == crash.FilingRefused {
			part.Reason, part.Trouble = "The tracker said: title is too long.", "The tracker did not answer."
		}
		page.Rows = append(page.Rows, part)
	}
	return page
}

// access returns the roles of two groups and three people.
func peoplePage() adminview.PeoplePage {
	kim := crash.StoredIdentity{UserID: 3, GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
		Subject: "https://login.launchpad.net/+id/abc123", Name: "kim", Groups: []string{"ubuntu-bugcontrol"}}}
	p := adminview.PeoplePage{
		Shell: shell("People", admin), Services: services(),
		Service: peopleview.ServiceForm{Name: "a b", Problem: "“a b” is not a valid name."},
		Tokens:  map[crash.TokenState]int64{crash.TokensValid: 2, crash.TokensSoon: 1},
		Form: adminview.GrantForm{Grant: crash.Grant{Group: "a,b"},
			Problem: "Add one group at a time."},
		Grants: []crash.Grant{
			{Source: crash.SourceLaunchpad, Group: "ubuntu-bugcontrol", Role: crash.RoleTriager, Created: now.AddDate(0, -1, 0),
				Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "linux-*"}},
			{Source: crash.SourceAccount, Group: "noel", Role: crash.RolePrivate, Created: now, Unconfirmed: true,
				Scope: crash.GrantScope{Kind: crash.GrantAll}},
			{Source: crash.SourceAccount, Group: "kim", Role: crash.RolePrivate, By: "ada", Created: now,
				Scope: crash.GrantScope{Kind: crash.GrantTeam, Name: "desktop-packages"}},
			{Source: crash.SourceOIDC, Group: "crash-admins", Role: crash.RoleAdmin, By: "ada", Created: now,
				Scope: crash.GrantScope{Kind: crash.GrantAll}},
		},
	}
	users := []crash.User{
		{ID: 1, Name: "ada", Role: crash.RoleAdmin, Manual: crash.RoleAdmin, LastLogin: now},
		{ID: 2, Name: "grace", Role: crash.RoleViewer, LastLogin: now, HasApp: true},
		{ID: 3, Name: "kim", Role: crash.RoleTriager, LastLogin: now}, {ID: 4, Name: "noel", Disabled: true},
	}
	p.People = crash.AccessOf(users, []crash.StoredIdentity{kim}, p.Grants, crash.RoleNone)
	return p
}

// embargoes returns what forms ask before they touch an embargoed problem, or link a bug of another package.
func embargoes() []specimen {
	public := bugsview.LinkPage{Shell: shell("Link a bug", admin), Rows: []bugsview.LinkRow{{Bucket: bucket(0)}},
		BugLookup: bugsview.BugLookup{Text: "2101233", Number: 2101233,
			Found: crash.BugReading{Title: "tidewatch crashed"}, Publishes: true}}
	other := public
	other.Publishes, other.For, other.Crashed = false, []string{"gannet"}, []string{"tidewatch"}
	unsure := bugsview.LinkPage{Shell: public.Shell, Rows: public.Rows, Possible: []bugsview.PossibleBugs{
		{Tracker: "Debian", Bugs: []crash.Bug{{Number: crash.NumberAt(2, 1012345), Title: "tidewatch: crashes at startup",
			Place: crash.BugPlace{Tracker: "debian"}}}},
		{Tracker: "GNOME"},
	}}
	merged := merge("")
	merged.Embargoes = true
	return []specimen{
		{"Look for a bug whose outcome is unknown", bugsview.LinkBug(unsure)},
		{"Link a public bug to an embargoed problem", bugsview.LinkBug(public)},
		{"Link a bug of another package", bugsview.LinkBug(other)},
		{"Merge with an embargoed problem", problemsview.Merge(merged)},
	}
}

// services returns two service accounts, one of a team without members.
func services() []crash.ServiceAccount {
	return []crash.ServiceAccount{
		{Name: "phasing-bot", Team: crash.Team{Source: crash.SourceLaunchpad, Name: "ubuntu-sru"}, Members: 3, Tokens: 2,
			Expires: now.AddDate(0, 2, 0), LastUsed: now.Add(-time.Hour)},
		{Name: "orphan", Team: crash.Team{Source: crash.SourceOIDC, Name: "gone"}, Disabled: true},
	}
}

func service(reader crash.User) peopleview.ServicePage {
	p := peopleview.ServicePage{Shell: shell("phasing-bot", reader), Admin: reader.Role == crash.RoleAdmin,
		Service: crash.User{Name: "phasing-bot", Role: crash.RoleTriager,
			Team: crash.Team{Source: crash.SourceLaunchpad, Name: "ubuntu-sru"}},
		Base: "/service/phasing-bot", Reasons: []crash.RoleReason{{Role: crash.RoleTriager, ByHand: true,
			Scope: crash.GrantScope{Kind: crash.GrantAll}}},
		Tokens: peopleview.TokensView{Form: peopleview.NewTokenForm(), Scopes: crash.Scopes[:4]}}
	for _, t := range allTokens().Tokens {
		p.Tokens.Tokens = append(p.Tokens.Tokens, t.APIToken)
	}
	if !p.Admin {
		p.Members, p.Renewed, p.Tokens.Made = []string{"grace", "kim"}, true, "mshp_0000000000"
	}
	return p
}

func allTokens() adminview.AllTokensPage {
	team := crash.Team{Source: crash.SourceLaunchpad, Name: "ubuntu-sru"}
	token := func(id int64, name string, expires time.Time) crash.APIToken {
		return crash.APIToken{ID: id, Name: name, Hint: "x7Rq2b9K", Scopes: crash.Scopes[:2], Created: now.AddDate(0, -6, 0),
			Expires: expires}
	}
	used := token(1, "gate", now.AddDate(0, 1, 0))
	used.LastUsed, used.LastAddress = now.Add(-time.Minute), "2001:db8::7"
	return adminview.AllTokensPage{Shell: shell("API tokens", admin), More: true,
		Filter: crash.TokenFilter{State: crash.TokensAll}, Tokens: []crash.PersonToken{
			{APIToken: used, Person: "phasing-bot", Team: team},
			{APIToken: token(2, "soon", now.AddDate(0, 0, 3)), Person: "grace"},
			{APIToken: token(3, "old", now.AddDate(0, 0, -3)), Person: "noel", Disabled: true},
			{APIToken: token(4, "gone", now.AddDate(0, 1, 0)), Person: "noel", Revoked: now.Add(-time.Hour)},
		}}
}

func auditLog() adminview.AuditPage {
	record := func(kind audit.Kind, person, via, action, object, before, after string) audit.Record {
		return audit.Record{At: now, Kind: kind, Person: person, Via: via, Address: "192.0.2.7",
			RequestID: "4R7QXH2LZ5MB3W6T",
			Action:    action, Object: object, Before: json.RawMessage(before), After: json.RawMessage(after),
			Detail: json.RawMessage(`{}`), Result: audit.Done}
	}
	refused := record(audit.Person, "kim", "", audit.RequestRefused, "GET /admin/tracker", "", "")
	refused.Result, refused.Reason = audit.Refused, "role"
	return adminview.AuditPage{
		Shell: shell("Audit log", admin), Filter: audit.Filter{Person: "ada"}, Next: audit.Cursor{At: now, ID: 1},
		Records: []audit.Record{
			record(audit.Person, "ada", "", "user.role", "kim", `{"role": "viewer"}`, `{"role": "admin"}`),
			record(audit.Token, "ada", "nightly mshp_1a2b", "problem.tag", strings.Repeat("c0ffee01", 5), "", `{"tag": "sru"}`),
			record(audit.Person, "kim", "", "read.report", "0190163d-8694-739b-aea5-966c26f8ad91", "", ""), refused,
			record(audit.Rule, "", "Nothing new", "problem.triage", strings.Repeat("c0ffee01", 5), "", ""),
			record(audit.Command, "", "root", "user.password", "kim", "", `{"password": "changed"}`),
			record(audit.Job, "", "drop-old-audit", "audit.drop", "", "", ""),
		},
	}
}

var hold = crash.Mark{Kind: crash.MarkHold, Person: "ada", Reason: "court order 12/34", At: now.Add(-time.Hour)}

// privacyPage returns the page about fields with changed classes, a hold and a run in progress.
func privacyPage(shell layout.Shell) adminview.PrivacyPage {
	table, _ := privacy.Parse("JournalErrors=secret Acme*=restricted", "private")
	return adminview.PrivacyPage{
		Shell: shell, Rows: table.Rows(), Unlisted: table.Unlisted(), Secrets: privacy.SecretNames(),
	}
}

// dataPage returns the page about data with a run in progress, and everything else that it can have.
func dataPage() adminview.DataPage {
	return adminview.DataPage{
		Shell: shell("Data", admin), Held: 1234, CountsFrom: day(-2000), Changed: 2, Embargoed: 1, Version: 3,
		Regroups: []crash.RegroupRun{{ID: 2, Rules: 3, State: crash.RegroupRunning, Waiting: true, LookedAt: 12}},
		Workers: []crash.SymbolWorker{{Architectures: []string{"amd64", "i386"}, Seen: now},
			{Problem: "gdb is not installed.", Seen: now}},
		Symbols: symbols().Totals,
		Erasures: []crash.Erasure{{ID: 2, Digest: strings.Repeat("c0ffee", 10) + "0123", Person: "ada", Requested: day(0)},
			{ID: 1, Digest: strings.Repeat("decade", 10) + "4567", Blocked: true, Via: "root", Requested: day(-3),
				Finished: day(-3), Counts: crash.ErasedCounts{Reports: 41, Cores: 1, Problems: 7, Gone: 2}}},
		Removals: []privacy.Removal{
			{What: "Core dumps", Key: "cores_keep_days", Days: 7, Week: 3, All: 12},
			{What: "Private fields of reports", Key: "private_keep_days", Days: 42, Week: 1_000_000, All: 10_000_000,
				Least: true},
			{What: "Reports of type KernelOops", Key: "reports_keep_types", Days: 90, Week: 12, Unknown: true},
			{What: "Daily counts of problems", Key: "counts_keep_years", Years: 5, Week: 3000, All: 9_000_000},
			{What: "Problems with a count", All: 40_000},
		},
		Holds: []problemsview.MarkedProblem{{Mark: hold,
			Problem: bucket(1)}},
		Runs: []privacy.Run{{ID: 2, Kind: privacy.RunCheck, Person: "ada", Started: now.Add(-time.Minute), Estimate: 10_000,
			LookedAt: 2500, Secret: 300, Private: 2400, Found: privacy.Found{Secret: map[string]int64{"JournalErrors": 300},
				Private: map[string]int64{"ProcEnviron": 2400, "UserGroups": 2399}}}},
	}
}

// signedIn are the sessions of a person, of whom little is known about the oldest.
var signedIn = peopleview.SessionsView{Current: "1", Sessions: []crash.Session{
	{ID: "1", Created: now.Add(-time.Hour), Used: now, Address: "192.0.2.7",
		Browser: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
	{ID: "2", Created: now.AddDate(0, 0, -8), Used: now.AddDate(0, 0, -2), Address: "2001:db8::4711",
		Browser: "Mozilla/5.0 (Android 16; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"},
	{ID: "3", Created: time.Unix(0, 0), Used: time.Unix(0, 0)},
}}

// notices returns the inbox and the pages about mail in every state.
func notices() []specimen {
	settings := func(change func(*eventsview.MailSettingsPage)) eventsview.MailSettingsPage {
		p := eventsview.MailSettingsPage{Shell: shell("Notifications", viewer), On: true,
			Settings: crash.DefaultMailSettings}
		change(&p)
		return p
	}
	filled := settings(func(p *eventsview.MailSettingsPage) {
		p.Settings.Address, p.Settings.Pending = "vera@example.org", "a.very.long.address.of.vera@subdomain.example.org"
		p.Settings.Mode, p.Settings.Zone = crash.MailWeekly, "Europe/Paris"
		p.Settings.Quiet = &crash.QuietHours{From: 22, To: 7}
		p.Settings.KindsOff = []crash.EventKind{crash.EventQuiet}
		p.Mails = mails()
		p.Weekly = []eventsview.WeeklyMail{{ID: 1, Scope: crash.WeeklyScope{Kind: crash.WeeklyMine}},
			{ID: 2, Scope: crash.WeeklyScope{Kind: crash.WeeklySet, Name: "desktop-core"}}}
	})
	mistakes := settings(func(p *eventsview.MailSettingsPage) {
		p.Typed, p.Problem = "vera", "This is not an email address."
		p.Wrong = "“Mars/Olympus” is not a time zone that this machine knows."
	})
	return []specimen{
		{"Inbox, empty", eventsview.Inbox(eventsview.InboxPage{Shell: shell("Inbox", viewer)})},
		{"Inbox", eventsview.Inbox(inbox())},
		{"Inbox, nothing matches", eventsview.Inbox(eventsview.InboxPage{Shell: shell("Inbox", viewer), MailOn: true,
			Filter: crash.NoticeFilter{Kind: crash.EventQuiet, Unread: true},
			Kinds:  map[crash.EventKind]int64{crash.EventNew: 2}})},
		{"Mail settings, mail is off",
			eventsview.MailSettings(settings(func(p *eventsview.MailSettingsPage) { p.On = false }))},
		{"Mail settings, no address", eventsview.MailSettings(settings(func(*eventsview.MailSettingsPage) {}))},
		{"Mail settings", eventsview.MailSettings(filled)},
		{"Mail settings, mistakes", eventsview.MailSettings(mistakes)},
		{"Confirm an address", eventsview.ConfirmAddress(eventsview.ConfirmAddressPage{Shell: shell("Confirm", viewer),
			Address: "vera@example.org", Path: "/"})},
		{"Unsubscribe", eventsview.Unsubscribe(eventsview.UnsubscribePage{Shell: shell("Unsubscribe", visitor), Path: "/"})},
		{"Unsubscribed", eventsview.Unsubscribe(eventsview.UnsubscribePage{Shell: shell("Unsubscribe", visitor),
			Done: true})},
		{"Mail log, none", eventsview.MailAdmin(eventsview.MailAdminPage{Shell: shell("Mail log", admin)})},
		{"Mail log, every state", eventsview.MailAdmin(eventsview.MailAdminPage{Shell: shell("Mail log", admin),
			Mails: mails(), Next: "/?before=1",
			States: map[crash.MailState]int64{crash.MailSent: 41_300, crash.MailFailed: 3}})},
	}
}

// inbox returns a notice of each kind, read and unread, with every fate by mail.
func inbox() eventsview.InboxPage {
	s := shell("Inbox", viewer)
	s.Unread = 120
	page := eventsview.InboxPage{Shell: s, MailOn: true, More: true, Kinds: map[crash.EventKind]int64{},
		Packages: map[string]int64{"tidewatch": 9}}
	fates := []crash.NoticeMail{crash.MailWaits, crash.MailHeld, crash.Mailed, crash.NotMailed}
	for i, kind := range crash.EventKinds {
		b := bucket(i)
		n := crash.Notice{ID: int64(100 - i), At: now.Add(-time.Duration(i) * time.Hour), Reason: "you follow tidewatch",
			Mail: fates[i%len(fates)], Event: crash.Event{Kind: kind, Title: b.Title, Text: "Seen again in 46.4-0ubuntu2.",
				Package: b.Package, Source: b.SourcePackage, Release: releases[1], Version: "46.4-0ubuntu2", Machines: int64(i),
				Bucket: &b.ID, At: now}}
		if kind.Urgent() || kind == crash.EventStorm {
			n.Event.Bucket = nil
		}
		if i%3 == 2 {
			n.Read = now
		}
		page.Notices, page.Kinds[kind] = append(page.Notices, n), 1
	}
	return page
}

func mails() []crash.Mail {
	replies := map[crash.MailState]string{
		crash.MailWaiting: "451 4.7.1 Greylisted, try later", crash.MailSent: "2.0.0 OK: queued",
		crash.MailFailed: "connecting to relay.example.org:465: tls: failed to verify certificate: x509: " +
			"certificate is valid " +
			"for mail.example.net, not relay.example.org. The certificate belongs to another name. Put a name of the " +
			"certificate into smtp_url.",
	}
	kinds := []crash.MailKind{crash.MailNotice, crash.MailSummary, crash.MailDigest, crash.MailReport, crash.MailConfirm,
		crash.MailTest}
	var all []crash.Mail
	for i, state := range crash.MailStates {
		all = append(all, crash.Mail{ID: int64(i + 1), Name: "vera", Kind: kinds[i], State: state, Reply: replies[state],
			Address: fmt.Sprintf("vera%d@example.org", i), Created: now.Add(-time.Hour), Due: now.Add(time.Hour), Attempts: i,
			Ended: now, Notices: i})
	}
	return all
}

// rulesPage returns the page of rules and notifications with every kind of endpoint, while all is stopped.
func rulesPage() eventsview.RulesPage {
	return eventsview.RulesPage{Shell: shell("Rules and notifications", admin), Mail: eventsview.MailSummary{On: true,
		From: "mishap@example.org", LastSuccess: now, States: map[crash.MailState]int64{crash.MailFailed: 1}, Address: "a b",
		Problem: "This is not an address."},
		Stop: crash.NotificationStop{Stopped: now.Add(-time.Hour), Person: "grace"},
		Endpoints: []crash.Endpoint{
			{ID: 1, Name: "Desktop team", Kind: crash.EndpointMattermost, Host: "https://chat.example.org", OwnerName: "ada",
				LastSuccess: now.Add(-time.Minute), SuccessStatus: 200},
			{ID: 2, Name: "Release dashboard", Kind: crash.EndpointWebhook, Host: "https://releases.example.org:8443",
				LastSuccess: now.AddDate(0, 0, -1), SuccessStatus: 204, LastFailure: now.Add(-time.Minute), FailureStatus: 503,
				Failures: 3, Waiting: 41_300},
			{ID: 3, Name: "Old room", Kind: crash.EndpointMatrix, Host: "https://matrix.example.org",
				Disabled:    now.AddDate(0, 0, -2),
				DisabledWhy: "It answered 410 Gone, which means that it wants no more events.", LastFailure: now.AddDate(0, 0, -2),
				FailureStatus: 410, Failures: 1},
			{ID: 4, Name: "New", Kind: crash.EndpointSlack, Host: "https://hooks.slack.example", OwnerName: "grace"},
		}}
}

// endpoint returns the page of an endpoint that fails, with deliveries in every state.
func endpoint() eventsview.EndpointPage {
	e := rulesPage().Endpoints[1]
	e.PerMinute, e.FailureAnswer, e.PreviousUntil = 60, "upstream <b>unavailable</b>\nid 4711", now.Add(time.Hour)
	page := eventsview.EndpointPage{Shell: shell(e.Name, admin), Endpoint: e, First: true, Next: "/?after=1",
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr",
		Test:   &crash.DeliveryOutcome{Status: 503, Problem: "It answered 503 Service Unavailable.", Answer: "no"},
		Took:   time.Second,
		Form: eventsview.EndpointForm{Name: e.Name, PerMinute: "0", Owners: []crash.User{admin},
			Wrong: map[string]string{"per_minute": "Enter a number from 1 to 600."}},
		States: map[crash.DeliveryState]int64{crash.DeliveryWaiting: 41_300, crash.DeliveryDelivered: 12}}
	for i, state := range []crash.DeliveryState{crash.DeliveryWaiting, crash.DeliveryDelivered, crash.DeliveryFailed,
		crash.DeliverySummarised} {
		page.Deliveries = append(page.Deliveries, crash.Delivery{ID: "4b8c3a52-0a64-4a2c-9e9a-1f0e6b8c7d01", State: state,
			Event: crash.Event{Title: bucket(i).Title}, Created: now.Add(-time.Minute), Due: now.Add(time.Hour), Attempts: i})
	}
	return page
}

// delivery returns a delivery with attempts of every kind.
func delivery() eventsview.DeliveryPage {
	b := bucket(1)
	return eventsview.DeliveryPage{Shell: shell("Delivery", admin), Endpoint: endpoint().Endpoint, Type: "problem.new",
		Delivery: crash.Delivery{ID: "4b8c3a52-0a64-4a2c-9e9a-1f0e6b8c7d01", State: crash.DeliveryWaiting, Resent: 1,
			Created: now.AddDate(0, 0, -1), Due: now.Add(time.Hour), Payload: `{"type":"problem.new","data":{"title":"x"}}`,
			Event: crash.Event{Bucket: &b.ID, Title: b.Title, Text: "A problem of mesa is new.", Kind: crash.EventNew}},
		Attempts: []crash.DeliveryAttempt{
			{Started: now.Add(-time.Second)},
			{Started: now.Add(-time.Hour), Ended: now.Add(-time.Hour + 20*time.Second),
				Problem: "There was no answer within 20 seconds."},
			{Started: now.Add(-2 * time.Hour), Ended: now.Add(-2*time.Hour + time.Millisecond), Status: 503,
				Problem: "It answered 503 Service Unavailable.", Answer: "upstream <b>unavailable</b>"},
			{Started: now.Add(-3 * time.Hour), Ended: now.Add(-3*time.Hour + time.Millisecond), Status: 204},
		}}
}

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
		p := eventsview.RulePage{Shell: shell("Rule", admin), Values: url.Values{"name": {"New in tidewatch"},
			"saved_name": {"New in tidewatch"}, "when": {"new"}, "machines": {"3"}, "scope": {"package"}, "names": {"tide*"},
			"followers": {"1"}, "bugs": {"queue"}, "enabled": {"1"}},
			Endpoints: []crash.Endpoint{{ID: 1, Name: "Desktop team"}},
			Sentence: "When a problem of tide* is new and at least 3 machines report it, notify its followers and queue it " +
				"for filing."}
		change(&p)
		return p
	}
	row := func(id int64, change func(*eventsview.RuleRow)) eventsview.RuleRow {
		r := eventsview.RuleRow{Rule: rules.Rule{ID: id, Name: "New problems", Enabled: true, When: crash.EventNew,
			Machines: 3,
			Scope:    rules.Scope{Kind: rules.Everything}, Actions: rules.Actions{Followers: true, Queue: true}, Author: "ada",
			Editor: "ada"}, Shell: shell("Rules", admin),
			Activity: rules.Activity{Last: now.Add(-time.Hour), Recent: 4}}
		change(&r)
		return r
	}
	all := rulesPage()
	all.Rules = []eventsview.RuleRow{
		row(1, func(*eventsview.RuleRow) {}),
		row(2, func(r *eventsview.RuleRow) { r.Enabled, r.Activity = false, rules.Activity{} }),
		row(3, func(r *eventsview.RuleRow) {
			r.Failure, r.Shell.FilingOn = "There is no account named “gone”.", false
		}),
	}
	return []specimen{
		{"Rules, none", eventsview.Rules(eventsview.RulesPage{Shell: shell("Rules and notifications", admin)})},
		{"Rules", eventsview.Rules(all)},
		{"Rule, new", eventsview.Rule(form(func(p *eventsview.RulePage) { p.Sentence = "" }))},
		{"Rule, mistakes", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.ID, p.Notice, p.Failure = 1, "The rule has changed since the preview.", "There is no account named “gone”."
			p.Wrong = rules.Problems{"name": "Another rule has this name.", "machines": "Enter a number from 1 to 1,000,000.",
				"names": "Enter at least one name.", "people": "There is no account named nobody."}
		}))},
		{"Rule, rehearsed", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.Rehearsal, p.Rehearsed = &rehearsal,
				"1"
		}))},
		{"Rule, rehearsed, nothing", eventsview.Rule(form(func(p *eventsview.RulePage) {
			p.Rehearsal, p.Rehearsed, p.Shell.FilingOn = &rules.Rehearsal{Since: rehearsal.Since}, "1", false
		}))},
		{"Candidates, none", eventsview.Candidates(eventsview.CandidatesPage{Shell: shell("Candidates", admin)})},
		{"Candidates", eventsview.Candidates(candidates(admin, true))},
		{"Candidates, of other packages", eventsview.Candidates(candidates(viewer, true))},
		{"Candidates, filing is off", eventsview.Candidates(candidates(admin, false))},
	}
}

func candidates(user crash.User, on bool) eventsview.CandidatesPage {
	page := eventsview.CandidatesPage{Shell: shell("Candidates", user), More: true}
	page.Shell.FilingOn = on
	for i, state := range []rules.CandidateState{rules.CandidateWaiting, rules.CandidateWaiting, rules.CandidateWaiting,
		rules.CandidateAutomatic, rules.CandidateFiling, rules.CandidateFiled, rules.CandidateDeclined} {
		b := bucket(i)
		c := eventsview.CandidateRow{Candidate: rules.Candidate{ID: int64(i + 1), Problem: b.ID, Rule: "New in tidewatch",
			State: state, Why: "It is new, and 12 machines report it.", Machines: 12, Created: now, DecidedBy: "ada",
			Decided: now},
			Bucket: b, Title: b.Title, MayDecide: user.Role.Allows(crash.RoleTriager), Shell: page.Shell}
		switch {
		case i == 0:
			c.Rule, c.Proposer, c.Why = "", "ada", "The same fault stopped three CI runs today."
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
