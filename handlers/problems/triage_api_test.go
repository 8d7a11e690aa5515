package problems_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

const setStatusPath = "/api/1.0/set-problem-status/"

type statusAnswer struct {
	Code, Error   string
	Manual        string `json:"manual_state"`
	ManualStatus  string `json:"manual_status"`
	State         string
	Muted         *statusEntry
	WontFix       *statusEntry
	Entries       []statusEntry
	Fixed         []struct{ Release, Version string }
	Undone, Ended string
}

type statusEntry struct {
	ID             int64
	Person, Reason string
	Undone         string
	Until          struct {
		Date    string
		Reports int64
		Days    int
	}
}

// TestSetStatusByAPI mutes, replaces, undoes and marks by an API token, and reads the result.
func TestSetStatusByAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2")))
	file := handlertest.Bearer(handlertest.MakeToken(t, site.As(t, crash.RoleTriager), "triage", "read"))
	script := site.Visitor(t)
	set := func(status int, question map[string]any) (got statusAnswer) {
		t.Helper()
		question["signature"] = b.Signature
		script.PostJSON(setStatusPath, question, file...).Want(status).JSON(&got)
		return got
	}
	for code, question := range map[string]map[string]any{
		"unknown_triage":  {"kind": "closed"},
		"no_condition":    {"kind": "muted"},
		"bad_date":        {"kind": "muted", "until": map[string]any{"date": "soon"}},
		"past_date":       {"kind": "muted", "until": map[string]any{"date": "2020-01-01"}},
		"version_already": {"kind": "muted", "until": map[string]any{"version": "1.4-2"}},
		"bad_question":    {"kind": 7},
		"no_version":      {"kind": "fixed"},
		"fixes_of_other":  {"kind": "wontfix", "fixes": []any{map[string]string{"version": "2"}}},
		"undo_and_kind":   {"kind": "wontfix", "undo": 1},
	} {
		if got := set(http.StatusBadRequest, question); got.Code != code || got.Error == "" {
			t.Errorf("%v: got %+v, want %s", question, got, code)
		}
	}
	mute := map[string]any{"kind": "muted", "reason": "waits for upstream", "until": map[string]any{"reports": 50,
		"days": 7}}
	first := set(http.StatusOK, mute)
	if m := first.Muted; first.Manual != "muted" || m == nil || m.Until.Reports != 50 || m.Until.Days != 7 ||
		m.Person != "ada-triager" ||
		first.ManualStatus != "Muted by ada-triager until 50 more reports within 7 days: waits for upstream." {
		t.Fatalf("got %+v", first)
	}
	if again := set(http.StatusOK, mute); again.Muted.ID != first.Muted.ID || len(again.Entries) != 1 {
		t.Errorf("the same again: got %+v", again)
	}
	forever := map[string]any{"kind": "muted", "forever": true}
	if got := set(http.StatusConflict, forever); got.Code != "muted_already" {
		t.Errorf("another mute: got %+v", got)
	}
	forever["replaces"] = first.Muted.ID
	second := set(http.StatusOK, forever)
	if second.Muted == nil || second.Muted.ID == first.Muted.ID {
		t.Errorf("replaced: got %+v", second)
	}
	undone := set(http.StatusOK, map[string]any{"undo": second.Muted.ID})
	if undone.Muted == nil || undone.Muted.ID != first.Muted.ID {
		t.Errorf("undone: got %+v, want the first mute again", undone)
	}
	set(http.StatusConflict, map[string]any{"undo": second.Muted.ID})
	set(http.StatusNotFound, map[string]any{"undo": 4711})
	set(http.StatusOK, map[string]any{"kind": "wontfix"})
	fixed := map[string]any{"kind": "fixed",
		"fixes": []any{map[string]string{"release": "Ubuntu 24.04", "version": "1.4-2"}}}
	if got := set(http.StatusConflict, fixed); got.Code != "seen_already" || !strings.Contains(got.Error, "1 report") {
		t.Errorf("seen already: got %+v, want a conflict with the count", got)
	}
	fixed["confirm"] = true
	if got := set(http.StatusOK, fixed); got.Manual != "muted wontfix fixed-by-hand" {
		t.Errorf("confirmed: got %q, want no report since", got.Manual)
	}
	site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2"),
		crashtest.Process(99), crashtest.At(time.Now())))

	path := "/api/1.0/problem-status/" + b.ID.String() + "/"
	var read, public statusAnswer
	script.Get(path, file...).Want(http.StatusOK).JSON(&read)
	if read.Manual != "muted wontfix fixed-by-hand seen-again" || len(read.Fixed) != 1 || read.WontFix == nil ||
		len(read.Entries) != 4 {
		t.Errorf("got %+v", read)
	}
	a := script.Get(path).Want(http.StatusOK)
	a.JSON(&public)
	if public.Manual != read.Manual || len(public.Entries) != 0 || strings.Contains(a.Body, "ada") ||
		strings.Contains(a.Body, "upstream") {
		t.Errorf("a visitor got %s", a.Body)
	}
}

func TestSetStatusRights(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	question := map[string]any{"signature": b.ID.String(), "kind": "wontfix"}
	triager := site.As(t, crash.RoleTriager)
	site.Visitor(t).PostJSON(setStatusPath, question).Want(http.StatusUnauthorized)
	site.As(t, crash.RoleViewer).PostJSON(setStatusPath, question).Want(http.StatusForbidden)
	site.Visitor(t).PostJSON(setStatusPath, question, handlertest.Bearer(handlertest.MakeToken(t, triager, "read"))...).
		Want(http.StatusForbidden)
	if !handlertest.ManualStatus(t, site, b.ID).Empty() {
		t.Fatal("a refused request has changed the status")
	}
	triager.PostJSON(setStatusPath, question).Want(http.StatusOK)
	question["signature"] = "no such problem"
	triager.PostJSON(setStatusPath, question).Want(http.StatusNotFound)
}
