package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/handlers/handlertest"
)

// embargoedReports returns a problem of a package of its own, and one of a package, release and
// machines that other problems have as well.
func embargoedReports() []crashtest.Report {
	set := crashtest.Set
	own := crashtest.Recoverable(set("DuplicateSignature", "/usr/bin/zyxwv:zyxwv_write"),
		set("Package", "zyxwv 9.9-embargo"),
		set("SourcePackage", "zyxwv"), set("ExecutablePath", "/usr/bin/zyxwv"), set("DistroRelease", "Ubuntu 31.04"),
		set("Architecture", "s390x"), set("PackageArchitecture", "s390x"), set("ProblemType", "RecoverableProblem"))
	shared := crashtest.Python(set("Traceback", "Traceback (most recent call last):\n  File \"/usr/x.py\", line 3, in "+
		"zyxwv_free\n    x()\n  File \"/usr/x.py\", line 7, in zyxwv_use\n    y()\nValueError: zyxwv\n"),
		crashtest.Version("9.9-embargo"))
	return []crashtest.Report{own, shared}
}

// newTwin returns a site with some problems, and with those that will be embargoed if it is not the
// twin that never has them.
func newTwin(t *testing.T, embargoed bool) (p *pages, oops []crash.OopsID) {
	t.Helper()
	p = newPages(t)
	clock := today // advances, because reports of the same moment have no order
	p.intake = intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}}, p.Store)
	p.several(3, crashtest.Native)
	p.several(2, crashtest.Python)
	p.several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	p.several(1, crashtest.Java)
	oops = append(oops, p.accept("machine-x", crashtest.Oops()))
	if embargoed {
		for i, report := range embargoedReports() {
			for n := range 4 {
				system := crash.SystemID(fmt.Sprintf("machine-%d", n)) // which sends other reports, too
				if n > 1 {
					system = crash.SystemID(fmt.Sprintf("zyxwv-%d-%d", i, n))
				}
				copied := maps.Clone(report)
				crashtest.Process(900 + 10*i + n)(copied)
				oops = append(oops, p.accept(system, copied))
			}
		}
	}
	if err := p.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, oops
}

var (
	uuids = regexp.MustCompile(
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{12}\b|[0-9a-f-]{12,}</span><span>[0-9a-f-]+`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[.\d]*(Z|\+00:00| UTC)?`)
	secret   = regexp.MustCompile(`value="[A-Za-z0-9+/=_-]{40,}"|&#34;[A-Za-z0-9+/=]{40,}&#34;`)
	requests = regexp.MustCompile(`[A-Z0-9]{16}\b`)
	ages     = regexp.MustCompile(`(?i)(in )?\d+ (second|minute|hour)s?( ago)?|just now`)
)

// withoutDifferences returns an answer without what differs between two sites in any case.
func withoutDifferences(p *pages, a *handlertest.Answer) string {
	text := fmt.Sprintf("%d %s %s\n%s", a.Status, a.Header.Get("Content-Type"), a.Header.Get("Location"), a.Body)
	text = strings.ReplaceAll(text, strings.TrimPrefix(p.URL, "http://"), "SITE")
	text = strings.ReplaceAll(text, url.QueryEscape(p.URL), "SITE")
	for _, differing := range []*regexp.Regexp{uuids, times, secret, requests, ages} {
		text = differing.ReplaceAllString(text, "…")
	}
	return text
}

// sameAnswer reports whether two answers differ only in what withoutDifferences removes. It first
// compares the text before and in each tag, because applying the expressions to whole pages takes a
// third of the test's time.
func sameAnswer(there *pages, b *handlertest.Answer, here *pages, a *handlertest.Answer) bool {
	part := func(p *pages, a *handlertest.Answer, body string) string {
		return withoutDifferences(p, &handlertest.Answer{Status: a.Status, Header: a.Header, Body: body})
	}
	these, those := strings.Split(a.Body, "<"), strings.Split(b.Body, "<")
	if len(these) != len(those) || part(here, a, "") != part(there, b, "") {
		return false
	}
	for i := range these {
		if these[i] != those[i] && part(here, a, these[i]) != part(there, b, those[i]) {
			return false
		}
	}
	return true
}

// embargoRequests returns addresses of all GET routes that may show a problem.
func embargoRequests(p *pages, ids []crash.BucketID, signatures []string, oops []crash.OopsID) []string {
	var paths []string
	for _, request := range publicRequests(p, ids, signatures) {
		paths = append(paths, request[strings.LastIndex(request, " ")+1:])
	}
	for _, name := range []string{"zyxwv", "harbor-sync", "tidewatch", "quillpad"} {
		paths = append(paths, "/package/"+name, "/package/"+name+"?from=9.9-embargo&to=1.4.10-1", "/search?q=package:"+name,
			"/search/complete?q="+name, "/search/complete?q=x&of=package&package="+name[:2],
			"/search/complete?q=x&of=version&version=9&package="+name, "/gate?package="+name+"&version=9.9-embargo",
			"/api/1.0/most-common-problems/?package="+name+"&limit=100", "/api/1.0/average-crashes/?package="+name,
			"/api/1.0/binary-package-versions/?binary_package="+name, "/search.json?q=package:"+name, "/package/"+name+".json")
	}
	for _, release := range []string{"Ubuntu 31.04", "Ubuntu 24.04", "Ubuntu 22.04"} {
		e := url.QueryEscape(release)
		paths = append(paths, "/release/"+url.PathEscape(release), "/?period=year&release="+e,
			"/problems.csv?period=year&release="+e,
			"/api/1.0/average-crashes/?release="+e, "/api/1.0/rate-of-crashes/?release="+e, "/search?q=release%3A%22"+e+"%22")
	}
	paths = append(paths, "/?period=year&sort=package", "/?period=year&sort=first", "/?period=year&architecture=s390x",
		"/search?q=zyxwv", "/search?q=function:zyxwv_free", "/search?q=version:9.9-embargo", "/search/complete?q=zy",
		"/search/complete?q=frame:zy", "/search/complete?q=version:9", "/search/complete?q=release:",
		"/search/complete?q=arch:s",
		"/my", "/my.json", "/inbox", "/inbox.json", "/account/searches", "/candidates", "/searches", "/account",
		"/notifications",
		"/user/machine-0", "/user/machine-1", "/user/zyxwv-0-2", "/user/zyxwv-1-3", "/user/machine-1.json",
		"/api/1.0/reports-for-system/machine-1/", "/api/1.0/retracers-results/?limit=100",
		"/api/1.0/instances-count/?limit=100")
	for _, id := range ids {
		for _, last := range []string{"/traits", "/compare", "/symbols", "/merge", "/rename", "/split", "/mute", "/wontfix",
			"/fixed",
			"/link", "/review", "/review/bugs", "/embargo", ".json", ".csv", ".atom"} {
			paths = append(paths, id.Path()+last)
		}
		paths = append(paths, "/problems/mute?problems="+id.String(), "/problems/merge?problems="+id.String(),
			"/problems/assign?problems="+id.String(), "/problems/chosen?problems="+id.String(),
			ids[len(ids)-1].Path()+"/merge?q="+id.String(), ids[len(ids)-1].Path()+"/compare?with="+id.String(),
			"/problems/merge?problems="+id.String()+"."+ids[len(ids)-1].String())
	}
	for _, id := range oops {
		paths = append(paths, "/oops/"+id.String(), "/oops/"+id.String()+".json", "/api/1.0/oops/"+id.String()+"/")
	}
	return paths
}

// TestEmbargoLeavesNoTrace compares every answer to people without the private right with that of a
// twin site on which the embargoed problems never existed.
func TestEmbargoLeavesNoTrace(t *testing.T) {
	t.Parallel()
	site, oops := newTwin(t, true)
	twin, others := newTwin(t, false)
	var ids, hidden []crash.BucketID
	var signatures []string
	for _, report := range append(embargoedReports(), crashtest.Native(), crashtest.Python()) {
		signatures = append(signatures, grouping.SignatureOf(report.Fields()).Signature)
		ids = append(ids, bucketOf(t, report))
	}
	hidden = ids[:2]
	if _, err := site.Bugs.LinkBug(t.Context(), hidden[0], crash.Bug{Number: 4711, Title: "zyxwv",
		URL: "https://bugs.example/4711", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Triage.Set(t.Context(), crash.Triage{Bucket: hidden[1], Kind: crash.TriageMuted, Person: "ada",
		Until: crash.MuteUntil{Reports: 9}, Reason: "zyxwv"}); err != nil {
		t.Fatal(err)
	}
	paths := embargoRequests(site, ids, signatures, append(oops[1:], oops[0]))
	roles := []crash.Role{crash.RoleNone, crash.RoleViewer, crash.RoleTriager}
	type pair struct{ here, there *handlertest.Client }
	readers := map[crash.Role]pair{}
	for _, role := range roles {
		readers[role] = pair{site.Visitor(t), twin.Visitor(t)}
		if role != crash.RoleNone {
			readers[role] = pair{site.AsWithoutPrivate(t, role), twin.AsWithoutPrivate(t, role)}
		}
		if role != crash.RoleNone { // a notice, which must not show in the inbox or its count
			event := crash.Event{Edge: "zyxwv", Kind: crash.EventNew, Bucket: &hidden[0], Title: "zyxwv", Package: "zyxwv",
				Source: "zyxwv"}
			event.Edge += string(role)
			person, err := site.Accounts.ByName(t.Context(), "ada-"+string(role))
			if err != nil {
				t.Fatal(err)
			}
			to := crash.Recipients{People: []crash.Recipient{{User: person.ID, Reason: "you follow zyxwv"}}}
			if err := site.Store.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := site.Store.Publish(t.Context(), tx, event, to)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		seen := false
		// fills caches
		for _, path := range []string{"/?period=year", "/search?q=zyxwv", "/package/zyxwv", "/release/Ubuntu%2031.04"} {
			seen = strings.Contains(readers[role].here.Get(path).Body, "zyxwv_write") || seen
		}
		if !seen {
			t.Fatalf("%s: the problem cannot be seen before the embargo", role)
		}
	}
	admin := site.As(t, crash.RoleAdmin)
	for _, id := range hidden {
		form := url.Values{"do": {"set"}, "reason": {"zyxwv writes beyond its buffer"}}
		admin.Post(id.Path()+"/embargo", form).WantRedirect(http.StatusSeeOther, id.Path())
	}
	headers := [][]handlertest.Header{nil, {{Name: "Accept", Value: "application/json"}}}
	for _, role := range roles {
		for _, path := range paths {
			for i, header := range headers {
				if i > 0 && strings.HasPrefix(path, "/api/1.0/") {
					continue // the API always answers in JSON
				}
				same := path
				if strings.Contains(path, oops[0].String()) {
					same = strings.ReplaceAll(path, oops[0].String(), others[0].String())
				}
				here, there := readers[role].here.Get(path, header...), readers[role].there.Get(same, header...)
				if here.Status >= 500 {
					t.Errorf("%s: %s: got status %d", role, path, here.Status)
				}
				if sameAnswer(twin, there, site, here) {
					continue
				}
				if diff := cmp.Diff(withoutDifferences(twin, there), withoutDifferences(site, here)); diff != "" {
					t.Errorf("%s: %s %v differs from a site without the problem (-without +embargoed):\n%.3000s", role, path, header,
						diff)
				}
			}
		}
	}
	for _, path := range []string{hidden[0].Path(), "/?period=year", "/search?q=zyxwv", "/package/zyxwv"} {
		if body := admin.Get(path).Want(http.StatusOK).Body; !strings.Contains(body, "zyxwv_write") {
			t.Errorf("%s: a person with the private right does not see the problem", path)
		}
	}
	for _, id := range hidden {
		admin.Post(id.Path()+"/embargo", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, id.Path())
	}
	for _, role := range roles {
		for _, path := range []string{hidden[0].Path(), "/?period=year"} {
			if body := readers[role].here.Get(path).Want(http.StatusOK).Body; !strings.Contains(body, "zyxwv_write") {
				t.Errorf("%s: %s: the problem cannot be seen after the embargo", role, path)
			}
		}
	}
}

// TestEmbargoedBugIsPrivate checks that the bug of an embargoed problem is private, whatever was
// chosen, and that the embargo covers what the problem is merged into.
func TestEmbargoedBugIsPrivate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b, other := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	triager, admin := site.AsWithoutPrivate(t, crash.RoleTriager), site.As(t, crash.RoleAdmin)
	triager.Get(b.ID.Path()+"/embargo").Want(http.StatusOK).WantText("main", "You will not see the problem any more")
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {strings.Repeat("x", crash.MaxReason+1)}}).
		Want(http.StatusUnprocessableEntity)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"writes"}}).WantRedirect(http.StatusSeeOther,
		"/")
	triager.Get(b.ID.Path()).Want(http.StatusNotFound)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).Want(http.StatusNotFound)
	body := map[string]string{"signature": b.Signature}
	triager.PostJSON(createPath, body).Want(http.StatusNotFound)
	admin.PostJSON(createPath, body).Want(http.StatusCreated)
	bugs := site.Tracker.Bugs()
	if len(bugs) != 1 || bugs[0].InformationType != "Private Security" {
		t.Fatalf("got bugs %+v, want one that is private", bugs)
	}
	admin.Get(b.ID.Path()).Want(http.StatusOK).WantText("#manual", "Embargoed by ada-triager")
	if _, err := site.Decisions.Merge(t.Context(), other.ID, []crash.BucketID{b.ID}, "ada-admin", ""); err != nil {
		t.Fatal(err)
	}
	triager.Get(other.ID.Path()).Want(http.StatusNotFound)
	admin.Post(other.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, other.ID.Path())
	triager.Get(other.ID.Path()).Want(http.StatusOK)
	if got := site.Tracker.Bugs()[0].InformationType; got != "Private Security" {
		t.Errorf("after the embargo: got a bug with %q, want it as before", got)
	}
}
