package trackertest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/tracker/trackertest"
)

// object reads an address of the API without credentials.
func object(t *testing.T, address string) map[string]any {
	t.Helper()
	status, _, body := send(t, http.MethodGet, address, nil)
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil || status != http.StatusOK {
		t.Fatalf("%s: got status %d, %s (%v)", address, status, body, err)
	}
	return v
}

func entries(t *testing.T, v map[string]any) []map[string]any {
	t.Helper()
	list, ok := v["entries"].([]any)
	if !ok {
		t.Fatalf("got %v, want a collection", v)
	}
	out := make([]map[string]any, len(list))
	for i, e := range list {
		out[i], _ = e.(map[string]any)
	}
	return out
}

// send sends a request without following redirects.
func send(t *testing.T, method, address string, form url.Values) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestBugLife(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	number := tr.Add(trackertest.Bug{Title: "t", Description: "d", Package: "tidewatch"})
	page := tr.URL + "/bugs/2100001"
	api := tr.APIURL + "/bugs/2100001"
	if number != 2100001 {
		t.Fatalf("got bug %d, want 2100001", number)
	}
	task := entries(t, object(t, api+"/bug_tasks"))[0]
	for name, want := range map[string]any{
		"status": "New", "importance": "Undecided", "is_complete": false, "date_closed": nil, "assignee_link": nil,
		"target_link": tr.APIURL + "/ubuntu/+source/tidewatch", "bug_target_display_name": "tidewatch (Ubuntu)",
	} {
		if task[name] != want {
			t.Errorf("%s of a new bug: got %v, want %v", name, task[name], want)
		}
	}

	// The form on the bug's page changes the bug as people would.
	tr.Advance(time.Hour)
	if _, _, body := send(t, http.MethodGet, page, nil); !strings.Contains(body, `<select name="status">`) ||
		!strings.Contains(body, `<option selected>New</option>`) {
		t.Errorf("page: got %s, want a form with the status", body)
	}
	status, header, _ := send(t, http.MethodPost, page, url.Values{
		"status": {"Confirmed"}, "importance": {"High"}, "fixed_in": {"1.2-3"}, "series": {"noble"},
		"series_status": {"Triaged"}, "comment": {"ok"},
	})
	if status != http.StatusSeeOther || header.Get("Location") != "/bugs/2100001" {
		t.Fatalf("saving: got %d to %q, want 303 to the page", status, header.Get("Location"))
	}
	tasks := entries(t, object(t, api+"/bug_tasks"))
	if len(tasks) != 2 || tasks[0]["status"] != "Fix Released" || tasks[0]["date_fix_released"] == nil ||
		tasks[0]["date_closed"] == nil ||
		tasks[0]["importance"] != "High" || tasks[1]["status"] != "Triaged" || tasks[1]["date_closed"] != nil ||
		tasks[1]["target_link"] != tr.APIURL+"/ubuntu/noble/+source/tidewatch" ||
		tasks[1]["bug_target_display_name"] != "tidewatch (Ubuntu Noble)" {
		t.Errorf("after an upload: got %v", tasks)
	}
	messages := entries(t, object(t, api+"/messages"))
	if len(messages) != 3 || messages[0]["content"] != "d" || messages[1]["owner_link"] != tr.APIURL+"/~janitor" ||
		!strings.HasPrefix(messages[1]["content"].(string), "This bug was fixed in the package tidewatch - "+
			"1.2-3\n\n---------------\ntidewatch (1.2-3) noble; urgency=") {
		t.Errorf("messages: got %v", messages)
	}
	if got := object(t, api); got["message_count"] != 3.0 || got["date_last_updated"] == got["date_created"] {
		t.Errorf("bug: got %v messages, updated %v, created %v", got["message_count"], got["date_last_updated"],
			got["date_created"])
	}
	if got := entries(t, object(t, api+"/messages?ws.size=1&ws.start=1")); len(got) != 1 || got[0]["subject"] != "Re: t" {
		t.Errorf("one page of messages: got %v", got)
	}

	for form, want := range map[string]string{
		"status=Fxied": "status:", "importance=Huge": "importance:", "information_type=Proprietary": "information_type:",
		"duplicate_of=2100001": "duplicate_of:", "duplicate_of=5": "duplicate_of:",
		"series=noble&series_status=x": "series_status:",
	} {
		values, _ := url.ParseQuery(form)
		if status, _, body := send(t, http.MethodPost, page, values); status != http.StatusBadRequest ||
			!strings.HasPrefix(body, want) {
			t.Errorf("%s: got %d %s, want 400 %s", form, status, body, want)
		}
	}
	if status, _, _ := send(t, http.MethodPost, tr.URL+"/bugs/7", nil); status != http.StatusNotFound {
		t.Errorf("no such bug: got %d, want 404", status)
	}

	// A browser sends a description with other line ends.
	send(t, http.MethodPost, page, url.Values{"description": {"First\r\n\r\nsecond"}})
	if got := object(t, api)["description"]; got != "First\n\nsecond" {
		t.Errorf("another description: got %q", got)
	}
	if status, _, _ := send(t, http.MethodPost, page, url.Values{"description": {""}}); status != http.StatusBadRequest {
		t.Errorf("no description: got %d, want 400", status)
	}

	// A reopened bug has no closing dates.
	send(t, http.MethodPost, page, url.Values{"status": {"In Progress"}})
	if task := entries(t, object(t, api+"/bug_tasks"))[0]; task["date_closed"] != nil || task["date_fix_released"] != nil {
		t.Errorf("reopened: got %v, want no closing dates", task)
	}
	// A private bug is invisible without a token.
	send(t, http.MethodPost, page, url.Values{"information_type": {"Private"}})
	for _, address := range []string{api, api + "/bug_tasks", api + "/messages"} {
		if status, _, _ := send(t, http.MethodGet, address, nil); status != http.StatusNotFound {
			t.Errorf("private, %s: got %d, want 404", address, status)
		}
	}
}

func TestSearchByChange(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	first, second := tr.Add(trackertest.Bug{Title: "a"}), tr.Add(trackertest.Bug{Title: "b"})
	tr.Advance(time.Hour)
	since := url.QueryEscape(time.Now().Add(30 * time.Minute).UTC().Format("2006-01-02T15:04:05+00:00"))
	search := tr.APIURL + "/ubuntu?ws.op=searchTasks&modified_since=" + since
	if got := entries(t, object(t, search)); len(got) != 0 {
		t.Errorf("nothing changed: got %v", got)
	}
	tr.Change(second, func(b *trackertest.Bug) { b.Importance = "Low" })
	if got := entries(t, object(t, search)); len(got) != 1 || got[0]["bug_link"] != tr.APIURL+"/bugs/2100002" {
		t.Errorf("after a change of %d, not of %d: got %v", second, first, got)
	}
	if status, _, body := send(t, http.MethodGet, tr.APIURL+"/ubuntu?ws.op=searchTasks&modified_since=yesterday",
		nil); status != http.StatusBadRequest || !strings.HasPrefix(body, "modified_since: ") {
		t.Errorf("no date: got %d %s, want 400", status, body)
	}
}

func TestNewMessage(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	tr.Add(trackertest.Bug{Title: "a"})
	if status, _, _ := send(t, http.MethodPost, tr.APIURL+"/bugs/2100001", url.Values{"ws.op": {"newMessage"},
		"content": {`"x"`}}); status != http.StatusUnauthorized {
		t.Errorf("without a token: got %d, want 401", status)
	}
	if got := tr.Bugs()[0].Messages; len(got) != 0 {
		t.Errorf("got %v, want no message", got)
	}
}
