package gallery

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	adminview "mishap/views/admin"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	peopleview "mishap/views/people"
	problemsview "mishap/views/problems"
)

// now is the time at which the gallery is viewed.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var (
	admin   = crash.User{ID: 1, Name: "ada", Role: crash.RoleAdmin}
	viewer  = crash.User{ID: 2, Name: "vera", Role: crash.RoleViewer, HasPassword: true}
	visitor = crash.User{}
)

func shell(title string, user crash.User) layout.Shell {
	return layout.Shell{Title: title, User: user, CSRFToken: "token", Path: "/", FilingOn: true, Now: now}
}

func specimens() []specimen {
	withFlashes := shell("", admin)
	withFlashes.Flash = []layout.Flash{
		{Kind: layout.FlashDone, Text: bugsview.BugUnlinked(2101233), Undo: &layout.Undo{Action: "/", Field: "bug",
			Value: "2101233"}},
		{Kind: layout.FlashError, Text: "Launchpad did not answer. Try again in a minute."},
	}
	withFlashes.Banner = layout.Banner{
		Text: bugsview.BannerRejected("Launchpad"), Href: "/admin/tracker", Link: "Connect",
	}
	lists := []specimen{
		{"List, empty", problemsview.List(list(shell("", visitor), nil))},
		{"List, nothing found", problemsview.List(nothingFound())},
		{"List for visitors", problemsview.List(list(shell("", visitor), bugStates(visitor)))},
		{"List, every state, with messages", problemsview.List(list(withFlashes, bugStates(admin)))},
		{"List, not all known yet", problemsview.List(partial())},
		{"Saved searches", problemsview.Saved(problemsview.SavedPage{Shell: shell("Saved searches", admin), MayShare: true,
			Searches: list(shell("", admin), nil).Saved})},
		{"Saved searches, none", problemsview.Saved(problemsview.SavedPage{Shell: shell("Saved searches", viewer)})},
		{"Bug cells", bugCells(bugStates(admin))},
		{"Problem for visitors", problemsview.Problem(problem(visitor))},
		{"Problem", problemsview.Problem(problem(viewer))},
		{"Problem, assigned in the tracker", problemsview.Problem(assigned())},
		{"Problem, not assigned to a typo", problemsview.Problem(refusedAssignee())},
		{"List, assigned and tagged", problemsview.List(assignedList())},
		{"Assign problems", problemsview.AssignChosen(assignChosen())},
		{"Problem, without names", problemsview.Problem(nameless(false))},
		{"Problem, core asked for", problemsview.Problem(nameless(true))},
		{"Problem, too much", problemsview.Problem(hugeProblem())},
		{"Problem, tracker unavailable", problemsview.Problem(trackerAway())},
		{"Review, searching the tracker", bugsview.Review(review(nil))},
		{"Review, tracker unavailable",
			bugsview.Review(review(&bugsview.ReviewSearch{Tracker: "Launchpad",
				Problem: "It did not answer within 4 seconds."}))},
		{"Review, found, mistakes", bugsview.Review(refusedReview())},
		{"Search, help", problemsview.Search(problemsview.SearchPage{Shell: shell("Search", visitor)})},
		{"Search, mistake", problemsview.Search(problemsview.SearchPage{Shell: shell("Search", visitor), Query: "colour:red",
			Problem: &index.QueryError{
				Length: 6, Message: "There is no field named colour."}})},
		{"Keyboard shortcuts", problemsview.Keys(shell("Keyboard shortcuts", visitor))},
		{"Error, not signed in", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 401, Message: "Reports are for people with an account.", SignIn: true})},
		{"Error, no permission", layout.ErrorPage(shell("Error", viewer),
			layout.ErrorView{Status: 403, Message: "This needs the role admin; yours is viewer. Ask an admin."})},
		{"Error, not found", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 404, Message: "There is no page at this address."})},
		{"Error, database unavailable", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 503, Message: "The database cannot be reached.", RequestID: "B5Z6BTVSNBPIG2Y6"})},
		{"Sign in", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Name: "ada", Problem: "Wrong name or password. Check both, and whether Caps Lock is on."})},
		{"Sign in elsewhere", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Problem: "You have cancelled " +
				"signing in.",
				Methods: []peopleview.SignInMethod{{Path: "/login/openid", Name: "Launchpad"},
					{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Send again", layout.Resume(shell("Send again?", viewer), "/problem/x/notes", url.Values{"text": {"What I wrote"}})},
		{"Sign in, password folded", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Local: crash.LocalHidden,
				Methods: []peopleview.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Sign in, password off", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Local: crash.LocalOff,
				Problem: "Signing in with a name and password is switched off here.",
				Methods: []peopleview.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Leaving to sign in", peopleview.LeavePage(shell("Sign in", visitor), "Launchpad",
			"https://login.launchpad.net/+openid")},
		{"Roles", adminview.Access(access())},
		{"Service accounts", peopleview.Services(services())},
		{"Service accounts, none", peopleview.Services(peopleview.ServicesPage{Shell: shell("Service accounts", admin)})},
		{"Service account", peopleview.Service(service(admin))},
		{"Service account, new token, of one's team", peopleview.Service(service(viewer))},
		{"API tokens of all", adminview.AllTokens(allTokens())},
		{"API tokens of all, none", adminview.AllTokens(adminview.AllTokensPage{Shell: shell("API tokens", admin)})},
		{"Audit log", adminview.Audit(auditLog())},
		{"Audit log, none", adminview.Audit(adminview.AuditPage{Shell: shell("Audit log", admin),
			Problem: "“x” is not a day."})},
		{"Roles, none", adminview.Access(adminview.AccessPage{Shell: shell("Roles", admin)})},
		{"Account without a role",
			peopleview.Account(peopleview.AccountPage{Shell: shell("Your account", crash.User{ID: 4, Name: "noel"}),
				Identities: []crash.StoredIdentity{{GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
					Subject: "https://login.launchpad.net/+id/abc123", Name: "noel"}}}})},
		{"Tracker, not connected", bugsview.AdminTrackerPage(bugsview.TrackerPage{Shell: shell("Tracker", admin),
			Tracker: "Launchpad", ConfigFile: "local_config.toml"})},
	}
	return slices.Concat(lists, things(), compared(), decided(), gates(), embargoes(), triageForms(), notices(),
		ruleStates())
}

// bucket returns problem number i.
func bucket(i int) crash.Bucket {
	signature := fmt.Sprintf("/usr/bin/tidewatch:11:tide_parse_row_%d:tide_load:on_open_clicked:main", i)
	return crash.Bucket{
		ID: crash.BucketIDOf(signature), Signature: signature, Rule: crash.RuleStacktrace, ProblemType: "Crash",
		Executable: "/usr/bin/tidewatch",
		Title:      fmt.Sprintf("tidewatch crashed with SIGSEGV in tide_parse_row_%d()", i), Package: "tidewatch",
		SourcePackage: "tidewatch",
		Reports:       int64(4211 / (i + 1)), Systems: int64(1902 / (i + 1)), FirstSeen: now.AddDate(0, -2, 0),
		LastSeen:         now.Add(-3 * time.Minute),
		FirstSeenVersion: "46.3-0ubuntu1", FirstSeenRelease: "Ubuntu 24.04", LastSeenVersion: "46.2-0ubuntu1",
		LastSeenRelease: "Ubuntu 24.04",
		LowestVersion:   "46.2-0ubuntu1", LowestVersionRelease: "Ubuntu 24.04", HighestVersion: "46.4-0ubuntu2",
		HighestVersionRelease: "Ubuntu 26.04",
	}
}

// bugStates returns bug cells in every state, as this person sees them.
func bugStates(user crash.User) []bugsview.BugPart {
	linked := crash.Bug{Number: 2101233, Title: "tidewatch crashes", URL: "https://bugs.launchpad.net/bugs/2101233",
		By: "ada", At: now}
	reasons := map[bugsview.BugState]string{
		bugsview.BugImpossible: "No source package is known.", bugsview.BugWaiting: "The tracker cannot be reached.",
		bugsview.BugRefused: "The tracker said: title is too long.",
	}
	var all []bugsview.BugPart
	add := func(p bugsview.BugPart) {
		b := bucket(len(all))
		p.Bucket, p.Signature, p.Next = b.ID, b.Signature, b.ID.Path()
		p.MayFile = user.Role.Allows(crash.RoleTriager)
		p.Review = p.MayFile && p.State == bugsview.BugCreate
		all = append(all, p)
	}
	if user.ID == 0 {
		add(bugsview.BugPart{State: bugsview.BugSignIn})
		add(bugsview.BugPart{State: bugsview.BugLinked, Bug: linked})
		return all
	}
	for _, state := range []bugsview.BugState{
		bugsview.BugNothing, bugsview.BugCreate, bugsview.BugImpossible, bugsview.BugCreating, bugsview.BugChecking,
		bugsview.BugWaiting,
		bugsview.BugRefused,
	} {
		add(bugsview.BugPart{State: state, Reason: reasons[state]})
	}
	for _, word := range []crash.StateWord{crash.StateOpen, crash.StateDisappeared, crash.StateFixed,
		crash.StateRegression, crash.StatePrivate} {
		add(bugsview.BugPart{State: bugsview.BugLinked, Bug: linked, Status: crash.Status{Word: word, Read: now}})
	}
	return all
}

// stateName returns the name of a cell's state. People who may not file see none.
func stateName(p bugsview.BugPart) string {
	if p.State == bugsview.BugNothing {
		return "nothing"
	}
	return strings.TrimSpace(string(p.State) + " " + string(p.Status.Word))
}
