package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestKnownClients sends the requests of known clients (§15) and reads the fields that they read.
func TestKnownClients(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.Visitor(t)

	t.Run("phased updates", func(t *testing.T) {
		rate := get(t, c,
			"package-rate-of-crashes/?format=json&exclude_proposed=True&release=Ubuntu%2024.04&package=tidewatch&old_version="+
				older+
				"&new_version="+newer+"&phased_update_percentage=10&date=20260518").Objects[0]
		link, _ := rate["web_link"].(string)
		if rate["increase"] != true || rate["previous_average"] != 0. || link != base+
			"/?release=Ubuntu%2024.04&package=tidewatch&version="+newer {
			t.Errorf("got %v", rate)
		}
		if a := c.Get(strings.TrimPrefix(link, base)); a.Status != http.StatusOK {
			t.Errorf("%s: got %d", link, a.Status)
		}
		for _, b := range get(t, c, "package-version-new-buckets/?format=json&package=tidewatch&previous_version="+older+
			"&new_version="+newer).Objects {
			if link, _ := b["web_link"].(string); b["function"] != odd ||
				c.Get(strings.TrimPrefix(link, base)).Status != http.StatusOK {
				t.Errorf("got %v", b)
			}
		}
	})
	t.Run("a team's gauge appends releases", func(t *testing.T) {
		query := "most-common-problems/?format=json&user=tide-team&limit=10&from=20260517&to=20260517"
		c.Get(api(query)).Want(http.StatusServiceUnavailable)
		h.read()
		for release, want := range map[string]float64{"": 4, "&release=Ubuntu%2024.04": 4,
			"&release=Ubuntu%2024.04&release=Ubuntu%2026.04": 0, "&release=Ubuntu%2026.04&release=Ubuntu%2024.04": 4} {
			var sum float64
			for _, o := range get(t, c, query+release).Objects {
				count, _ := o["count"].(float64)
				sum += count
			}
			if sum != want {
				t.Errorf("%s: got %v, want %v", release, sum, want)
			}
		}
	})
	t.Run("retracers", func(t *testing.T) {
		day := get(t, c, "retracers-results/?limit=1&format=json").Objects[0]
		value, _ := day["value"].(map[string]any)
		both, _ := value["Ubuntu 24.04"].(map[string]any)
		if day["date"] != "20260518" || both["success"] != 10. || both["failed"] != 1. {
			t.Errorf("got %v", day)
		}
		if day := get(t, c, "retracers-average-processing-time/?limit=1&format=json").Objects[0]; day["date"] != "20260518" {
			t.Errorf("got %v", day)
		}
		c.Get(api("retracers-results")).WantRedirect(http.StatusMovedPermanently, api("retracers-results/"))
		if got := len(get(t, c, "retracers-results/").Objects); got != 6 {
			t.Errorf("without a limit: got %d days, want the 6 with crashes", got)
		}
	})
	t.Run("old scripts", func(t *testing.T) {
		for _, o := range get(t, c, "most-common-problems/?limit=100&format=json").Objects {
			if o["function"] == "" {
				t.Errorf("got %v", o)
			}
		}
	})
	t.Run("own pages", func(t *testing.T) {
		key := h.bucket(nativeSignature()).ID.String()
		for _, path := range []string{
			"versions/?limit=0&id=" + key, "instances/?limit=100&id=" + key + "&start=", "average-instances/?limit=0&id=" + key,
			"average-crashes/?limit=0&release=&package=&version=",
			"most-common-problems/?format=json&limit=30&release=&package=&period=day&version=&pkg_arch=&user=&packageset=&snap=&from=&to=",
			"binary-package-versions/?format=json&binary_package=tidewatch&release=",
		} {
			if len(get(t, c, path).Objects) == 0 {
				t.Errorf("%s: got nothing", path)
			}
		}
	})
}

// TestAccess checks who may read which resource (§12).
func TestAccess(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	id := h.ids[0].String()
	visitor, viewer := h.Visitor(t), h.As(t, crash.RoleViewer)
	for _, path := range []string{"oops/" + id + "/", "instance/?id=" + id, "reports-for-system/?system=machine-1",
		"system-image-versions/?image_type=device"} {
		var got refusal
		if visitor.Get(api(path)).Want(http.StatusUnauthorized).JSON(&got); got.Code != "not_signed_in" ||
			got.Message != got.Error {
			t.Errorf("%s: got %+v", path, got)
		}
		viewer.Get(api(path)).Want(http.StatusOK)
	}
	const secret = "harbour.csv" // occurs in the command line and the stack of every report
	for _, path := range []string{
		"bucket/" + h.bucket(nativeSignature()).ID.String() + "/", "instances/?id=" + h.bucket(nativeSignature()).ID.String(),
		"dayoops/20260518/?details=1", "most-common-problems/",
	} {
		if strings.Contains(visitor.Get(api(path)).Want(http.StatusOK).Body, secret) {
			t.Errorf("%s: a visitor can read private data", path)
		}
	}
	if !strings.Contains(viewer.Get(api("bucket/"+h.bucket(nativeSignature()).ID.String()+"/")).Body, secret) {
		t.Error("a signed-in person does not see the stack")
	}
	var oops struct {
		ID   string            `json:"oopsid"`
		Data map[string]string `json:"data"`
	}
	viewer.Get(api("oops/" + id + "/")).Want(http.StatusOK).JSON(&oops)
	if oops.ID != id || oops.Data["SAS"] != nativeSignature() || oops.Data["ProblemType"] != "Crash" ||
		oops.Data["SystemIdentifier"] != "machine-1" {
		t.Errorf("got %v", oops)
	}
	viewer.Get(api("oops/no-such-report/")).Want(http.StatusNotFound)
	viewer.Get(api("oops/" + crash.OopsID{1}.String() + "/")).Want(http.StatusNotFound)
	unknown := get(t, viewer, "instance/?id=no-such-report").Objects[0]["instance"]
	if got := unknown.(map[string]any); len(got) != 0 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("instance of an unknown report: got %v, want no fields", got)
	}
}

// TestMachines checks the resources about machines (§9.6).
func TestMachines(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.As(t, crash.RoleViewer)
	all := get(t, c, "reports-for-system/?system=machine-1").Objects
	if len(all) != 10 {
		t.Fatalf("got %d reports, want 10", len(all))
	}
	for i := 1; i < len(all); i++ {
		if all[i-1]["timestamp"].(string) < all[i]["timestamp"].(string) { //nolint:forcetypeassert // a panic fails the test
			t.Error("got another order, want the newest first")
		}
	}
	third, _ := all[2]["instance"].(string)
	rest := get(t, c, "reports-for-system/?system=machine-1&limit=4&start="+third).Objects
	if len(rest) != 4 || rest[0]["instance"] != all[3]["instance"] {
		t.Errorf("after the third report: got %v", rest)
	}
	if got := get(t, c, "reports-for-system/?system=nobody"); len(got.Objects) != 0 {
		t.Errorf("unknown machine: got %v", got)
	}
	days := map[string]int{"dayoops/20260518/": 16, "dayoops/20260517/": 5, "dayoops/20250101/": 0,
		"dayoops/20260518/?release=Ubuntu+26.04": 1, "dayoops/20260518/?release=Plan+9": 0, "dayoops/20260518/?limit=3": 3}
	for path, want := range days {
		var got struct {
			Value struct {
				Oopses []string `json:"oopses"`
			} `json:"value"`
		}
		c.Get(api(path)).Want(http.StatusOK).JSON(&got)
		if len(got.Value.Oopses) != want+map[bool]int{true: 2}[path == "dayoops/20260518/"] {
			t.Errorf("%s: got %d, want %d", path, len(got.Value.Oopses), want)
		}
		for _, id := range got.Value.Oopses {
			c.Get("/oops/" + id).Want(http.StatusOK)
		}
	}
	var set struct {
		Objects []any `json:"objects"`
	}
	if c.Get(api("dayoops/set/20260518;20260517/")).Want(http.StatusOK).JSON(&set); len(set.Objects) != 2 {
		t.Errorf("set: got %v", set)
	}
}

// TestQuestions checks the resources that take a request body (§9.7).
func TestQuestions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.Visitor(t)
	recent := map[string]any{"release": "Ubuntu 24.04", "packages": []any{
		map[string]string{"package": "tidewatch", "last_seen": older}, map[string]string{"package": "tidewatch",
			"last_seen": newer},
		map[string]string{"package": "tidewatch", "last_seen": "9-1"}, map[string]string{"package": "nosuch",
			"last_seen": "1"},
	}}
	pockets := map[string]any{"packages_data": []any{
		map[string]string{"package": "tidewatch", "seen": older, "release": "Ubuntu 24.04"},
		map[string]string{"package": "tidewatch", "seen": "1.4.10-1", "release": "24.04"},
		map[string]string{"package": "tidewatch", "seen": "9-1", "release": "Ubuntu 24.04"},
		map[string]string{"package": "tidewatch", "seen": newer},
		map[string]string{"package": "Not a name!", "seen": newer, "release": "Ubuntu 24.04"},
	}}
	ask := func(resource string, body any) map[string]any {
		t.Helper()
		var answer map[string]any
		// The question changes nothing, so it needs no CSRF token.
		c.PostJSON(api(resource), body, handlertest.Header{Name: "X-CSRFToken"}).Want(http.StatusCreated).JSON(&answer)
		for _, value := range answer {
			if values, ok := value.(map[string]any); ok {
				return values
			}
		}
		return nil
	}
	for _, v := range ask("package-version-is-most-recent/", recent) {
		if v != true {
			t.Errorf("without known bugs: got %v, want true", v)
		}
	}
	ask("release-package-version-pockets/", pockets)
	h.read()
	for key, want := range map[string]any{"tidewatch " + older: false, "tidewatch " + newer: true, "tidewatch 9-1": true,
		"nosuch 1": true} {
		if got := ask("package-version-is-most-recent/", recent)[key]; got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
	for key, want := range map[string]any{
		"tidewatch " + older + " Ubuntu 24.04": "Release", "tidewatch 1.4.10-1 24.04": "Proposed",
		"tidewatch 9-1 Ubuntu 24.04": "",
		"tidewatch " + newer + " ":   "Not Found", "Not a name! " + newer + " Ubuntu 24.04": "",
	} {
		if got := ask("release-package-version-pockets/", pockets)[key]; got != want {
			t.Errorf("%q: got %v, want %v", key, got, want)
		}
	}
	for _, resource := range []string{"reports-state/", "package-version-is-most-recent/",
		"release-package-version-pockets/"} {
		var got refusal
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+api(resource), strings.NewReader("no json"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		c.Do(r).Want(http.StatusBadRequest).JSON(&got)
		if got.Error != "Request is not valid JSON." {
			t.Errorf("%s: got %+v", resource, got)
		}
		c.PostJSON(api(resource), []int{1}).Want(http.StatusBadRequest)
		c.Post(api(resource), nil).Want(http.StatusUnsupportedMediaType)
	}
}

// TestReportsState checks the states of bugs as the tracker reports them (§9.7).
func TestReportsState(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.save(1, now, crashtest.Native())
	c := h.Visitor(t)
	var got struct {
		Reports map[string][2]any `json:"reports"`
	}
	c.PostJSON(api("reports-state/"), map[string]any{"reports": []any{"7", 8, "x"}}).Want(http.StatusCreated).JSON(&got)
	for _, number := range []string{"7", "8", "x"} {
		if state, ok := got.Reports[number]; !ok || state != [2]any{nil, nil} {
			t.Errorf("%s: got %v, want an unknown state", number, state)
		}
	}

	// Create one bug and read it from the tracker.
	triager := h.As(t, crash.RoleTriager)
	var made struct {
		Report string `json:"report"`
	}
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": nativeSignature()}).Want(
		http.StatusCreated).JSON(&made)
	number := h.Tracker.Bugs()[0].Number
	state := func(release string, tasks ...crash.BugTask) [2]any {
		t.Helper()
		reading := crash.BugReading{Number: number, Tasks: tasks, DuplicateOf: 5}
		if len(tasks) == 0 {
			reading = crash.BugReading{Number: number, Hidden: true}
		}
		if err := h.Bugs.SaveBugReading(t.Context(), reading, "https://tracker.example/bugs/5", time.Hour); err != nil {
			t.Fatal(err)
		}
		got.Reports = nil
		c.PostJSON(api("reports-state/"), map[string]any{"reports": []any{made.Report}, "release": release}).Want(
			http.StatusCreated).JSON(&got)
		return got.Reports[made.Report]
	}
	whole := crash.BugTask{Target: "/ubuntu/+source/tidewatch", Status: "Fix Released", Complete: true}
	noble := crash.BugTask{Target: "/ubuntu/noble/+source/tidewatch", Status: "New"}
	other := crash.BugTask{Target: "/tidewatch", Status: "New"}
	for _, tt := range []struct {
		name, release string
		tasks         []crash.BugTask
		want          any
	}{
		{"private", "", nil, nil},
		{"all of Ubuntu complete", "", []crash.BugTask{whole, other}, true},
		{"one of Ubuntu open", "", []crash.BugTask{whole, noble}, false},
		{"the series decides", "Ubuntu 24.04", []crash.BugTask{whole, noble}, false},
		{"a series without a task", "Ubuntu 26.04", []crash.BugTask{whole}, true},
	} {
		if got := state(tt.release, tt.tasks...); got[0] != tt.want || tt.tasks != nil && got[1] != "5" {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	row := get(t, c, "most-common-problems/").Objects
	if len(row) != 1 {
		t.Fatalf("got %v", row)
	}
	var signatures list
	c.Get(api("crash-signatures-for-bug/?bug=" + made.Report)).Want(http.StatusOK).JSON(&signatures)
	if list, _ := signatures.Objects[0]["signatures"].([]any); len(list) != 1 || list[0] != nativeSignature() {
		t.Errorf("got %v", signatures)
	}
}
