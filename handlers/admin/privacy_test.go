package admin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db/upkeep"
	"mishap/handlers/handlertest"
	"mishap/views/layout"
)

// marked returns a report in which each field that does not determine its problem has a value of its
// own, and the values by the names of the fields.
func marked() (report crashtest.Report, values map[string]string) {
	report, values = crashtest.Native(), map[string]string{}
	names := []string{"FooBar", "<b>hostile</b>", "procenviron", "ProcEnviron ", "Proc\nEnviron", "Grüße"}
	for _, row := range (*privacy.Table)(nil).Rows() {
		if _, used := report[row.Name]; !row.Fixed && (!used || row.Class == privacy.Private) {
			names = append(names, strings.Replace(row.Name, "*", "x", 1))
		}
	}
	for i, name := range names {
		if name != "ProcStatus" && name != "ProcMaps" && name != "Traceback" && name != "OopsText" &&
			name != "AssertionMessage" && name != "Failure" && name != "SystemIdentifier" { // the API has it of the sender
			values[name] = "Zqx" + strings.Repeat("abcdefghij"[i%10:i%10+1], 3) + "N" + string(rune('a'+i/26)) +
				string(rune('a'+i%26)) + "xqZ"
			report[name] = values[name]
		}
	}
	return report, values
}

// TestFieldsByReader requests every place where fields appear as every kind of reader. It checks that
// each place contains the values of exactly the fields that the reader may read there.
func TestFieldsByReader(t *testing.T) {
	t.Parallel()
	for what, changes := range map[string]string{
		"built-in":   "",
		"configured": "UserGroups=restricted InterpreterPath=private ErrorMessage=private FooBar=secret Dm*=restricted",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			table, err := privacy.Parse(changes, privacy.Unlisted.String())
			if err != nil {
				t.Fatal(err)
			}
			site := handlertest.New(t, handlertest.Options{Privacy: table})
			report, values := marked()
			b := site.Save(t, report) // the configuration is younger than the report
			id := site.Value(t, "select id from reports")
			readers := map[string]struct {
				client *handlertest.Client
				class  privacy.Class
			}{
				"visitor": {site.Visitor(t), privacy.Public},
				"viewer":  {site.AsWithoutPrivate(t, crash.RoleViewer), privacy.Restricted},
				"private": {site.As(t, crash.RoleAdmin), privacy.Private},
			}
			for reader, r := range readers {
				whole := map[string]bool{"/oops/" + id: true, "/oops/" + id + ".json": true, "/oops/" + id + ".crash": true,
					"/api/1.0/oops/" + id + "/": true, "/api/1.0/instance/?id=" + id: true}
				paths := []string{"/", b.ID.Path(), b.ID.Path() + "/traits", b.ID.Path() + "/compare?report=" + id,
					b.ID.Path() + "/bug", b.ID.Path() + "/review", "/api/1.0/bucket/" + b.ID.String() + "/", b.ID.Path() + ".csv",
					"/search?q=tidewatch", "/problems.csv", b.ID.Path() + "?facet=kernel"}
				for path := range whole {
					paths = append(paths, path)
				}
				for _, path := range paths {
					body := r.client.Get(path).Body
					for name, value := range values {
						readable := table.Class(name) <= r.class
						if strings.Contains(body, value) && !readable && table.Excerpt(name) > r.class {
							t.Errorf("%s, %s: contains %q, which is %s", reader, path, name, table.Class(name))
						}
						if !whole[path] || r.class == privacy.Public {
							continue
						}
						writable := !strings.HasSuffix(path, ".crash") || !strings.ContainsAny(name, "< \nß")
						if got := strings.Contains(body, value); got != readable && writable &&
							(got || table.Excerpt(name) > r.class || readable) {
							t.Errorf("%s, %s: contains %q: %v, want %v", reader, path, name, got, readable)
						}
					}
				}
				for name, value := range values {
					a := r.client.Get(b.ID.Path() + "?" + url.Values{"facet": {name}}.Encode())
					if strings.Contains(a.Body, value) && table.Class(name) > r.class && table.Excerpt(name) > r.class {
						t.Errorf("%s: comparison by %q contains the value", reader, name)
					}
				}
			}
		})
	}
}

func TestPrivacyPage(t *testing.T) {
	t.Parallel()
	table, err := privacy.Parse("JournalErrors=secret Acme*=private", "restricted")
	if err != nil {
		t.Fatal(err)
	}
	site := handlertest.New(t, handlertest.Options{Privacy: table})
	b := site.Save(t, crashtest.Native(crashtest.Set("JournalErrors", "a secret line"), crashtest.Set("AcmeNote", "note")))
	c := site.As(t, crash.RoleAdmin)
	page := c.Get(layout.PathPrivacy).Want(http.StatusOK).
		WantText("#changes + ul", "JournalErrors: secret instead of private").
		WantText("#changes + ul", "Acme*: private instead of restricted").
		WantText("#retention-table", "private_keep_days").WantText("main", "No problem is held.")
	if got, want := page.HTML().Find("#field-table tbody tr").Length(), len(table.Rows()); got != want {
		t.Errorf("got %d rows, want %d", got, want)
	}
	c.Post(layout.PathPrivacy+"/check", nil).WantRedirect(http.StatusSeeOther, layout.PathPrivacy)
	c.Post(layout.PathPrivacy+"/check", nil).Want(http.StatusConflict).WantText("[role=alert]", "has not ended yet")
	store := upkeep.NewRetention(site.Store, table)
	if err := store.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Part(layout.PathPrivacy).Want(http.StatusOK).WantNone("main").
		WantText("#privacy-runs", "Of 1 report, 1 has secret fields and 1 has private fields.").
		WantText("#found-secret", "JournalErrors 1")
	c.Post(layout.PathPrivacy+"/apply", nil).WantRedirect(http.StatusSeeOther, layout.PathPrivacy)
	if err := store.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Get(layout.PathPrivacy).WantText("#privacy-runs", "Removed secret fields from 1 of 1 reports.")
	c.Get("/oops/"+site.Value(t, "select id from reports")).WantText("#fields-system", "names of secret fields, which "+
		"mishap does not store")
	c.Post(b.ID.Path()+"/hold", url.Values{"do": {"set"}, "reason": {"court"}})
	c.Get(layout.PathPrivacy).WantText(".rule-list", "by ada-admin").WantText(".rule-list", "court").
		WantText("main", "1 report belongs to a held problem.")
}

// TestExpiredCounts checks that no page and no answer of the API claims zero reports for days whose counts
// have expired.
func TestExpiredCounts(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native(crashtest.At(time.Now().UTC())))
	c := site.As(t, crash.RoleAdmin)
	c.Get(layout.PathPrivacy).WantText("main", "No daily counts have expired.")
	old := time.Now().UTC().AddDate(-2, -6, 0).Format("20060102")
	c.Get("/api/1.0/most-common-problems/?period=" + old).Want(http.StatusOK)
	c.Get("/api/1.0/retracers-results/" + old + "/").Want(http.StatusOK)

	if _, err := upkeep.NewRetention(site.Store, nil).ExpireCounts(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	from := upkeep.CountsFrom(time.Now(), 2)
	c.Get(layout.PathPrivacy).WantText("main", "Daily counts before "+from.Format(time.DateOnly)+" have expired")
	for _, path := range []string{"/api/1.0/most-common-problems/?period=" + old,
		"/api/1.0/retracers-results/" + old + "/"} {
		if body := c.Get(path).Want(http.StatusBadRequest).Body; !strings.Contains(body, "counts_expired") {
			t.Errorf("%s: got %s, want counts_expired", path, body)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c, path := site.As(t, crash.RoleTriager), b.ID.Path()
	c.Get(path).WantText(".manual-actions", "Hold…")
	c.Get(path+"/hold").Want(http.StatusOK).WantText("h1", "Hold this problem")
	c.Post(path+"/hold", url.Values{"do": {"set"}, "reason": {strings.Repeat("x", 600)}}).
		Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "A reason is one line")
	c.Post(path+"/hold", url.Values{"do": {"lift"}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "not held")
	c.Post(path+"/hold", url.Values{"do": {"set"}, "reason": {"a <b>court</b>"}}).WantRedirect(http.StatusSeeOther, path)
	c.Get(path).WantText("#manual", "held").WantText("#manual", "a <b>court</b>").WantNone("#manual b")
	site.Visitor(t).Get(path).Want(http.StatusOK).WantNone(".manual-line")
	for _, list := range []string{"/?period=year", "/search?q=is:held", "/search?q=is:held+type:Crash"} {
		c.Get(list).Want(http.StatusOK).WantText("td .word", "held")
		visitor := site.Visitor(t).Get(list).Want(http.StatusOK).WantNone("td .word")
		if found := strings.Contains(visitor.Body, path); found != (list == "/?period=year") {
			t.Errorf("%s for a visitor: found the problem: %v", list, found)
		}
	}
	if body := c.Get("/search?q=-is:held").Want(http.StatusOK).Body; strings.Contains(body, path) {
		t.Error("-is:held finds the held problem")
	}
	c.Get(path+"/hold").WantText("h1", "Lift the hold of this problem")
	status := func(client *handlertest.Client) (held bool) {
		t.Helper()
		var answer struct {
			Held bool `json:"held"`
		}
		body := client.Get("/api/1.0/problem-status/" + b.ID.String() + "/").Body
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Held
	}
	if !status(c) || status(site.Visitor(t)) {
		t.Error("problem-status: want held for a triager, and not for a visitor")
	}
	c.Post(path+"/hold", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, path)
	if status(c) {
		t.Error("problem-status after the hold was lifted: got held")
	}
	got := site.Value(t, "select string_agg(action, ' ' order by id) from audit_events where action like 'problem.%'")
	if want := "problem.hold problem.lift-hold"; got != want {
		t.Errorf("audit log: got %q, want %q", got, want)
	}
}
