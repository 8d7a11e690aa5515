package gallery

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/views"
)

// now is the time at which the gallery is viewed.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var (
	admin   = crash.User{ID: 1, Name: "ada", Role: crash.RoleAdmin}
	viewer  = crash.User{ID: 2, Name: "vera", Role: crash.RoleViewer, HasPassword: true}
	visitor = crash.User{}
)

func shell(title string, user crash.User) views.Shell {
	return views.Shell{Title: title, User: user, CSRFToken: "token", Path: "/", FilingOn: true, Now: now}
}

func specimens() []specimen {
	withFlashes := shell("", admin)
	withFlashes.Flash = []views.Flash{
		{Kind: views.FlashDone, Text: views.BugUnlinked(2101233), Undo: &views.Undo{Action: "/", Field: "bug",
			Value: "2101233"}},
		{Kind: views.FlashError, Text: "Launchpad did not answer. Try again in a minute."},
	}
	withFlashes.Banner = views.Banner{
		Text: views.BannerRejected("Launchpad"), Href: "/admin/tracker", Link: "Connect",
	}
	lists := []specimen{
		{"List, empty", views.List(list(shell("", visitor), nil))},
		{"List, nothing found", views.List(nothingFound())},
		{"List for visitors", views.List(list(shell("", visitor), bugStates(visitor)))},
		{"List, every state, with messages", views.List(list(withFlashes, bugStates(admin)))},
		{"List, not all known yet", views.List(partial())},
		{"Saved searches", views.Saved(views.SavedPage{Shell: shell("Saved searches", admin), MayShare: true,
			Searches: list(shell("", admin), nil).Saved})},
		{"Saved searches, none", views.Saved(views.SavedPage{Shell: shell("Saved searches", viewer)})},
		{"Bug cells", bugCells(bugStates(admin))},
		{"Problem for visitors", views.Problem(problem(visitor))},
		{"Problem", views.Problem(problem(viewer))},
		{"Problem, assigned in the tracker", views.Problem(assigned())},
		{"Problem, not assigned to a typo", views.Problem(refusedAssignee())},
		{"List, assigned and tagged", views.List(assignedList())},
		{"Assign problems", views.AssignChosen(assignChosen())},
		{"Problem, without names", views.Problem(nameless(false))},
		{"Problem, core asked for", views.Problem(nameless(true))},
		{"Problem, too much", views.Problem(hugeProblem())},
		{"Problem, tracker unavailable", views.Problem(trackerAway())},
		{"Review, searching the tracker", views.Review(review(nil))},
		{"Review, tracker unavailable",
			views.Review(review(&views.ReviewSearch{Tracker: "Launchpad", Problem: "It did not answer within 4 seconds."}))},
		{"Review, found, mistakes", views.Review(refusedReview())},
		{"Search, help", views.Search(views.SearchPage{Shell: shell("Search", visitor)})},
		{"Search, mistake", views.Search(views.SearchPage{Shell: shell("Search", visitor), Query: "colour:red",
			Problem: &index.QueryError{
				Length: 6, Message: "There is no field named colour."}})},
		{"Keyboard shortcuts", views.Keys(shell("Keyboard shortcuts", visitor))},
		{"Error, not signed in", views.ErrorPage(shell("Error", visitor),
			views.ErrorView{Status: 401, Message: "Reports are for people with an account.", SignIn: true})},
		{"Error, no permission", views.ErrorPage(shell("Error", viewer),
			views.ErrorView{Status: 403, Message: "This needs the role admin; yours is viewer. Ask an admin."})},
		{"Error, not found", views.ErrorPage(shell("Error", visitor),
			views.ErrorView{Status: 404, Message: "There is no page at this address."})},
		{"Error, database unavailable", views.ErrorPage(shell("Error", visitor),
			views.ErrorView{Status: 503, Message: "The database cannot be reached.", RequestID: "B5Z6BTVSNBPIG2Y6"})},
		{"Sign in", views.SignInPage(shell("Sign in", visitor),
			views.SignInForm{Name: "ada", Problem: "Wrong name or password. Check both, and whether Caps Lock is on."})},
		{"Sign in elsewhere", views.SignInPage(shell("Sign in", visitor), views.SignInForm{Problem: "You have cancelled " +
			"signing in.",
			Methods: []views.SignInMethod{{Path: "/login/openid", Name: "Launchpad"},
				{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Send again", views.Resume(shell("Send again?", viewer), "/problem/x/notes", url.Values{"text": {"What I wrote"}})},
		{"Sign in, password folded", views.SignInPage(shell("Sign in", visitor), views.SignInForm{Local: crash.LocalHidden,
			Methods: []views.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Sign in, password off", views.SignInPage(shell("Sign in", visitor), views.SignInForm{Local: crash.LocalOff,
			Problem: "Signing in with a name and password is switched off here.",
			Methods: []views.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Leaving to sign in", views.LeavePage(shell("Sign in", visitor), "Launchpad",
			"https://login.launchpad.net/+openid")},
		{"Roles", views.Access(access())},
		{"Service accounts", views.Services(services())},
		{"Service accounts, none", views.Services(views.ServicesPage{Shell: shell("Service accounts", admin)})},
		{"Service account", views.Service(service(admin))},
		{"Service account, new token, of one's team", views.Service(service(viewer))},
		{"API tokens of all", views.AllTokens(allTokens())},
		{"API tokens of all, none", views.AllTokens(views.AllTokensPage{Shell: shell("API tokens", admin)})},
		{"Audit log", views.Audit(auditLog())},
		{"Audit log, none", views.Audit(views.AuditPage{Shell: shell("Audit log", admin), Problem: "“x” is not a day."})},
		{"Roles, none", views.Access(views.AccessPage{Shell: shell("Roles", admin)})},
		{"Account without a role",
			views.Account(views.AccountPage{Shell: shell("Your account", crash.User{ID: 4, Name: "noel"}),
				Identities: []crash.StoredIdentity{{GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
					Subject: "https://login.launchpad.net/+id/abc123", Name: "noel"}}}})},
		{"Tracker, not connected", views.AdminTrackerPage(views.TrackerPage{Shell: shell("Tracker", admin),
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
func bugStates(user crash.User) []views.BugPart {
	linked := crash.Bug{Number: 2101233, Title: "tidewatch crashes", URL: "https://bugs.launchpad.net/bugs/2101233",
		By: "ada", At: now}
	reasons := map[views.BugState]string{
		views.BugImpossible: "No source package is known.", views.BugWaiting: "The tracker cannot be reached.",
		views.BugRefused: "The tracker said: title is too long.",
	}
	var all []views.BugPart
	add := func(p views.BugPart) {
		b := bucket(len(all))
		p.Bucket, p.Signature, p.Next = b.ID, b.Signature, b.ID.Path()
		p.MayFile = user.Role.Allows(crash.RoleTriager)
		p.Review = p.MayFile && p.State == views.BugCreate
		all = append(all, p)
	}
	if user.ID == 0 {
		add(views.BugPart{State: views.BugSignIn})
		add(views.BugPart{State: views.BugLinked, Bug: linked})
		return all
	}
	for _, state := range []views.BugState{
		views.BugNothing, views.BugCreate, views.BugImpossible, views.BugCreating, views.BugChecking, views.BugWaiting,
		views.BugRefused,
	} {
		add(views.BugPart{State: state, Reason: reasons[state]})
	}
	for _, word := range []crash.StateWord{crash.StateOpen, crash.StateDisappeared, crash.StateFixed,
		crash.StateRegression, crash.StatePrivate} {
		add(views.BugPart{State: views.BugLinked, Bug: linked, Status: crash.Status{Word: word, Read: now}})
	}
	return all
}

// stateName returns the name of a cell's state. People who may not file see none.
func stateName(p views.BugPart) string {
	if p.State == views.BugNothing {
		return "nothing"
	}
	return strings.TrimSpace(string(p.State) + " " + string(p.Status.Word))
}
