package problems_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestMutedInLists checks every list of problems: each hides muted problems and says how many,
// shows them on request, and does so in files, too.
func TestMutedInLists(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	muted := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now().UTC())))
	other := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now().UTC()),
		crashtest.Set("DuplicateSignature", "another fault"),
		crashtest.Process(7)))
	c, visitor := site.As(t, crash.RoleTriager), site.Visitor(t)
	c.Post("/my/follow", url.Values{"what": {"package:" + muted.SourcePackage}})
	pages := map[string]string{ // the list, and the same with muted problems
		"/?period=year":                  "/?muted=show&period=year",
		"/search?q=type:Crash":           "/search?muted=show&period=year&q=type%3ACrash",
		"/package/" + muted.Package:      "/?muted=only&package=" + muted.Package + "&period=year",
		"/release/Ubuntu%2024.04":        "/?muted=only&period=month&release=Ubuntu+24.04",
		"/my?period=year":                "/my?muted=show&period=year",
		"/?period=year&state=none":       "/?muted=show&period=year&state=none",
		"/search?q=type:Crash&sort=last": "/search?muted=show&period=year&q=type%3ACrash&sort=last",
	}
	has := func(a *handlertest.Answer, b crash.Bucket) bool { return strings.Contains(a.Body, b.ID.Path()) }
	for page := range pages {
		if a := c.Get(page).Want(http.StatusOK).WantNone(".hidden-muted"); !has(a, muted) || !has(a, other) {
			t.Fatalf("%s does not list both problems at first", page)
		}
		visitor.Get(page)
	}
	c.Post(muted.ID.Path()+"/mute", url.Values{"preset": {"regression"}}).Want(http.StatusSeeOther)
	c.Get(muted.ID.Path()) // takes the message
	for page, show := range pages {
		for _, who := range []*handlertest.Client{c, visitor} {
			if who == visitor && strings.HasPrefix(page, "/my") {
				continue
			}
			a := who.Get(page).Want(http.StatusOK).WantText(".hidden-muted", "1 muted problem is hidden")
			if has(a, muted) || !has(a, other) {
				t.Errorf("%s: got the muted problem %v, the other one %v", page, has(a, muted), has(a, other))
			}
			if got := a.Attr(".hidden-muted a", "href"); got != show {
				t.Errorf("%s: got the link %q, want %q", page, got, show)
			}
			if a := who.Get(show).Want(http.StatusOK).WantText(".bug-now[data-muted] .word", "muted"); !has(a, muted) {
				t.Errorf("%s does not have the muted problem", show)
			}
		}
	}
	for path, want := range map[string][2]bool{ // with the muted problem, with the other one
		"/problems.csv?period=year":                     {false, true},
		"/problems.atom?period=year":                    {false, true},
		"/problems.json?period=year&muted=show":         {true, true},
		"/problems.csv?period=year&muted=only":          {true, false},
		"/search.csv?q=is:muted":                        {true, false},
		"/search.json?q=-is:muted":                      {false, true},
		"/search.json?q=type:Crash":                     {false, true},
		"/search.json?q=is:wontfix":                     {false, false},
		"/package/" + muted.Package + ".csv":            {false, true},
		"/package/" + muted.Package + ".csv?muted=only": {true, false},
		"/release/Ubuntu%2024.04.csv?muted=show":        {true, true},
		"/release/Ubuntu%2024.04.csv":                   {false, true},
		"/my.csv?period=year":                           {false, true},
		"/my.csv?period=year&muted=only":                {true, false},
		"/api/1.0/most-common-problems/?period=year":    {true, true}, // as its clients expect
	} {
		if a := c.Get(path).Want(http.StatusOK); has(a, muted) != want[0] || has(a, other) != want[1] {
			t.Errorf("%s: got the muted problem %v, the other one %v; want %v", path, has(a, muted), has(a, other), want)
		}
	}
	if csv := c.Get("/problems.csv?period=year&muted=only").Body; !strings.Contains(csv, ",muted,Muted until it "+
		"regresses.") {
		t.Errorf("got %s, want the manual status", csv)
	}
	c.Get("/?muted=maybe").Want(http.StatusOK).WantText(".notice", "muted")
	c.Get("/problems.csv?muted=maybe").Want(http.StatusBadRequest)
	c.Get("/package/" + muted.Package + ".csv?muted=maybe").Want(http.StatusBadRequest)
	c.Get("/my?muted=maybe").Want(http.StatusOK).WantText(".notice", "muted")
}
