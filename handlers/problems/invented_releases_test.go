package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/handlers/handlertest"
)

// TestInventedReleases has anonymous machines send reports with hundreds of invented releases,
// types and architectures. All reports are counted and can be found. They do not displace known
// releases, and no list grows.
func TestInventedReleases(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Disconnected: true})
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	n := 0
	send := func(release crash.Release, changes ...crashtest.Option) {
		t.Helper()
		n++
		report := crashtest.Native(append([]crashtest.Option{crashtest.On(release), crashtest.Process(9000 + n),
			crashtest.At(time.Now())}, changes...)...)
		if _, err := in.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprintf("machine-%d", n)),
			Fields: report.Fields()}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		send("Ubuntu 24.04")
	}
	send("Linux Mint 22")
	for i := range 200 {
		odd := fmt.Sprintf("%03d", i)
		release := []string{"Plum " + odd, "zzz" + odd, "Ubuntu 98." + odd, "Linux Mint 22 " + odd}[i%4]
		send(crash.Release(release), crashtest.Set("ProblemType", "Odd"+odd), crashtest.Set("Architecture", "odd"+odd),
			crashtest.Set("PackageArchitecture", "odd"+odd))
		send(crash.Release(release))
	}
	// The type of a problem comes from its newest report. Reports of the same millisecond have no
	// order.
	for i := range 2 {
		send("Ubuntu 24.04", crashtest.Set("DuplicateSignature", fmt.Sprint("of a known type ", i)))
	}
	if err := site.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := site.As(t, crash.RoleViewer)
	home := c.Get("/").Want(http.StatusOK)
	for name, known := range map[string]string{"release": "Ubuntu 24.04", "pkg_arch": "amd64", "type": "Crash"} {
		options := home.HTML().Find(`select[name="` + name + `"] option`)
		if options.Length() > 20 {
			t.Errorf("%s: got %d options, want few", name, options.Length())
		}
		if first := options.Eq(1).AttrOr("value", ""); first != known {
			t.Errorf("%s: got %q first, want %q", name, first, known)
		}
	}
	bucket := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now())))
	if err := site.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	problem := c.Get(bucket.ID.Path()).Want(http.StatusOK)
	pkg := c.Get("/package/" + bucket.Package).Want(http.StatusOK)
	for name, most := range map[string]int{".legend li": 12, ".matrix thead th": 15, `select[name="release"] option`: 12} {
		for page, a := range map[string]*handlertest.Answer{"front page": home, "problem": problem, "package": pkg} {
			if got := a.HTML().Find(name).Length(); got > most {
				t.Errorf("%s of the %s: got %d, want at most %d", name, page, got, most)
			}
		}
	}
	if legend := problem.Text(".legend"); !strings.Contains(legend, "24.04") ||
		!strings.Contains(legend, "other releases") {
		t.Errorf("legend of the problem: got %q, want 24.04 and the other releases", strings.Join(strings.Fields(legend),
			" "))
	}
	heads := problem.HTML().Find(".matrix thead tr:nth-child(2) th")
	if heads.Eq(0).Text() != "24.04" || heads.Eq(1).Text() != "Linux Mint 22" {
		t.Errorf("columns of the problem: got %q, want the known releases first", heads.Text())
	}
	for _, path := range []string{"average-crashes/", "instances-count/", "average-instances/?id=" +
		url.QueryEscape(bucket.Signature)} {
		var list struct {
			Meta    struct{ Next *string }
			Objects []struct{ Key, Release string }
		}
		c.Get("/api/1.0/" + path).Want(http.StatusOK).JSON(&list)
		var names []string
		for _, o := range list.Objects {
			names = append(names, o.Key+o.Release)
		}
		if len(names) > 60 || list.Meta.Next != nil || !slices.Contains(names, "Ubuntu 24.04") ||
			!slices.Contains(names, "Linux Mint 22") {
			t.Errorf("%s: got %d objects: %q", path, len(names), names)
		}
	}
	var day struct{ Value map[string]any }
	var days struct{ Objects []struct{ Date string } }
	c.Get("/api/1.0/retracers-results/?limit=1").Want(http.StatusOK).JSON(&days)
	c.Get("/api/1.0/retracers-results/" + days.Objects[0].Date + "/").Want(http.StatusOK).JSON(&day)
	if len(day.Value) > 40 || day.Value["Ubuntu 24.04"] == nil || day.Value[string(crash.OtherReleases)] == nil {
		t.Errorf("retracers-results: got %d keys", len(day.Value))
	}
	offers := c.Part("/search/complete?q=release:").Want(http.StatusOK)
	if !strings.Contains(offers.Body, "Ubuntu 24.04") {
		t.Errorf("completion: got %s, want Ubuntu 24.04 in it", offers.Body)
	}
	// Values that lists omit are still counted and can be found.
	for _, path := range []string{"/?release=" + url.QueryEscape("Plum 000"), "/search?q=" +
		url.QueryEscape(`release:"Plum 000"`), "/release/" + url.PathEscape("Plum 000")} {
		c.Get(path).Want(http.StatusOK)
	}
	var found struct{ Objects []struct{ Count int } }
	c.Get("/api/1.0/most-common-problems/?release=" + url.QueryEscape("Plum 000")).Want(http.StatusOK).JSON(&found)
	sum := 0
	for _, o := range found.Objects {
		sum += o.Count
	}
	if sum != 2 {
		t.Errorf("reports of an invented release: got %d, want 2", sum)
	}
	if selected := c.Get("/?release="+url.QueryEscape("Plum 000")).Attr(`select[name="release"] option[selected]`,
		"value"); selected != "Plum 000" {
		t.Errorf("got %q selected, want the requested release", selected)
	}
	c.Get("/?release=nothing").Want(http.StatusOK).WantText("main .notice", "ignored: release")
}
