package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/index"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// marker occurs in the reports, names and decisions of embargoed problems, and nowhere else.
const marker = "zyxwv"

// embargoedReports returns reports of two problems: one of a package of its own, and one of a package,
// release and machines that other problems have as well.
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

// embargoReaders are the accounts of TestEmbargoLeavesNoTrace. None may see all embargoed problems.
var embargoReaders = []struct {
	name   string
	role   crash.Role
	grants []crash.Grant
}{
	{name: "viewer", role: crash.RoleViewer},
	// triager has every right except the private right for the packages of the embargoed problems.
	{"triager", crash.RoleTriager, []crash.Grant{{Role: crash.RolePrivate,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "quill*"}}}},
	{"triager-of-other", crash.RoleNone, []crash.Grant{{Role: crash.RoleTriager,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "quillpad"}}}},
	// insider sees the first of the embargoed problems, but not the second.
	{"insider", crash.RoleTriager, []crash.Grant{{Role: crash.RolePrivate,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: marker}}}},
	{name: "ada-admin", role: crash.RoleAdmin},
}

// twin is a site of TestEmbargoLeavesNoTrace, with a client for each reader.
type twin struct {
	*handlertest.Pages
	address string
	clients map[string]*handlertest.Client
	tokens  map[string]string // of the triager and the insider, by name and scope
	public  crash.OopsID      // a report of a problem that is not embargoed
	hidden  []crash.OopsID    // reports of the embargoed problems; none on the other twin
}

// newTwin returns a site with some problems, and with those that will be embargoed if it is not the
// twin that never has them.
func newTwin(t *testing.T, embargoed bool) *twin {
	t.Helper()
	w := &twin{address: dbtest.URL(t), clients: map[string]*handlertest.Client{"": nil}, tokens: map[string]string{}}
	w.Pages = handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, w.address)})
	clock := handlertest.Today // advances, because reports of the same moment have no order
	w.Intake = intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}}, w.Store)
	w.Several(3, crashtest.Native)
	w.Several(2, crashtest.Python)
	w.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	w.Several(1, crashtest.Java)
	w.public = w.Accept("machine-x", crashtest.Oops())
	if embargoed {
		for i, report := range embargoedReports() {
			for n := range 4 {
				system := crash.SystemID(fmt.Sprintf("machine-%d", n)) // which sends other reports, too
				if n > 1 {
					system = crash.SystemID(fmt.Sprintf("zyxwv-%d-%d", i, n))
				}
				copied := maps.Clone(report)
				crashtest.Process(900 + 10*i + n)(copied)
				w.hidden = append(w.hidden, w.Accept(system, copied))
			}
		}
	}
	checktest.NoError(t, w.Store.WaitCounted(t.Context()))
	w.clients[""] = w.Visitor(t)
	for _, reader := range embargoReaders {
		dbtest.AddUserWithoutPrivate(t, w.Store, reader.name, reader.role, handlertest.Password)
		for _, g := range reader.grants {
			g.Source, g.Group = crash.SourceAccount, reader.name
			checktest.NoError(t, w.People.Grant(t.Context(), "", g))
		}
		w.clients[reader.name] = w.Visitor(t)
		w.clients[reader.name].SignIn(reader.name, handlertest.Password).Want(http.StatusSeeOther)
	}
	for _, name := range []string{"triager read", "triager read-private", "triager triage", "triager file",
		"triager assist", "insider read", "insider read-private", "insider assist", "insider read read-private",
		"ada-admin admin"} {
		reader, words, _ := strings.Cut(name, " ")
		person := dbtest.Must(w.People.ByName(t.Context(), reader))(t)
		var scopes []crash.Scope
		for _, word := range strings.Fields(words) {
			scopes = append(scopes, crash.Scope(word))
		}
		var err error
		w.tokens[name], _, err = w.People.AddToken(t.Context(), "", person, words, scopes, w.Store.Now().AddDate(0, 1, 0))
		checktest.NoError(t, err)
	}
	return w
}

// decide makes decisions about the problems that will be embargoed, and returns what replaces the
// parameters of [rightsCases] for each.
func (w *twin) decide(t *testing.T) []*strings.Replacer {
	t.Helper()
	admin, triager, fills := w.clients["ada-admin"], w.clients["triager"], []*strings.Replacer{}
	const sqlCandidate = `
		insert into candidates (id, bucket_id, rule_id, automatic, state, why, machines, created) overriding system value
		values (@id, @bucket, (select min(id) from rules), false, 'waiting', 'zyxwv', 1, now())`
	for i, report := range embargoedReports() {
		id := handlertest.BucketOf(t, report)
		for path, form := range map[string]url.Values{
			id.Path() + "/notes": {"text": {marker}}, id.Path() + "/assign": {"do": {"me"}},
			id.Path() + "/tags": {"tag": {marker}}, id.Path() + "/wontfix": {"reason": {marker}},
		} {
			admin.Post(path, form).Want(http.StatusSeeOther)
		}
		triager.Post("/my/follow", url.Values{"what": {"problem:" + id.String()}}).Want(http.StatusSeeOther)
		for _, path := range []string{"/reports/12", "/problems/70", "/reports/bthash/98dae815e401",
			"/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0"} {
			dbtest.Must(w.Bugs.ImportAddresses(t.Context(), []crash.OldAddress{{Path: path, Bucket: id}}, true))(t)
		}
		if i == 1 { // lists hide it, and it has a bug
			admin.Post(id.Path()+"/mute", url.Values{"reports": {"9"}, "reason": {marker}}).Want(http.StatusSeeOther)
			dbtest.Must(w.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: marker,
				URL: "https://bugs.example/4711", By: "ada"}))(t)
		}
		dbtest.Exec(t, w.address, sqlCandidate, pgx.NamedArgs{"id": 90 + i, "bucket": id[:]})
		event := crash.Event{Edge: marker, Kind: crash.EventNew, Bucket: &id, Title: marker, Package: marker, Source: marker}
		var to crash.Recipients
		for _, name := range []string{"viewer", "triager", "insider"} { // a notice each, which the inbox hides
			person := dbtest.Must(w.People.ByName(t.Context(), name))(t)
			to.People = append(to.People, crash.Recipient{User: person.ID, Reason: "you follow " + marker})
		}
		checktest.NoError(t, w.Store.InTx(t.Context(), func(tx pgx.Tx) error {
			event.Edge += id.String()
			_, err := w.Store.Publish(t.Context(), tx, event, to)
			return err
		}))
		value := func(sql string) string { return w.Value(t, sql, id[:]) }
		fills = append(fills, strings.NewReplacer("{problem}", id.String(), "{report}", w.hidden[4*i].String(),
			"{machine}", "zyxwv-"+strconv.Itoa(i)+"-2", "{source}", w.Bucket(t, id).SourcePackage, "{signature}",
			w.Bucket(t, id).Signature, "{candidate}", strconv.Itoa(90+i), "{entry}",
			value(`select max(id)::text from marks where bucket_id = $1`), "{note}",
			value(`select max(id)::text from notes where bucket_id = $1`), "{format}", "csv", "{token}", "x",
			"{delivery}", "x", "{id}", "1", "{number}", "4711"))
	}
	return fills
}

// embargoPaths are further addresses, besides those of [rightsCases], whose answers depend on problems.
var embargoPaths = []string{
	"/?period=year", "/?period=year&sort=package", "/?period=year&sort=first", "/?period=year&architecture=s390x",
	"/?period=year&release=Ubuntu+31.04", "/?period=year&release=Ubuntu+24.04", "/?period=year&muted=only",
	"/problems.csv?period=year&release=Ubuntu+31.04", "/problems.json?period=year", "/problems.atom?period=year",
	"/search?q=zyxwv", "/search?q=function:zyxwv_free", "/search?q=version:9.9-embargo", "/search?q=-tide",
	"/search?q=release%3A%22Ubuntu+24.04%22", "/search?q=is:muted", "/search?q=is:embargoed",
	"/search.json?q=-is:embargoed", "/search?q=tag:zyxwv", "/search?q=assigned:ada-admin",
	"/search.json?q=package:{source}", "/search.atom?q=-tide", "/search.csv?q=zyxwv",
	"/search/complete?q=", "/search/complete?q=zy", "/search/complete?q=frame:zy", "/search/complete?q=version:9",
	"/search/complete?q=release:", "/search/complete?q=arch:", "/search/complete?q=type:", "/search/complete?q=tag:",
	"/search/complete?q=program:", "/search/complete?q=x&of=package&package=zy",
	"/search/complete?q=x&of=version&version=9&package={source}",
	"/package/{source}?from=9.9-embargo&to=1.4.10-1", "/package/{source}.json", "/package/harbor-sync",
	"/package/harbor-sync.csv", "/release/Ubuntu%2031.04", "/release/Ubuntu%2024.04.csv", "/bug/{number}",
	"/bug/{number}.json", "/gate?package={source}&version=9.9-embargo", "/bucket/?id={signature}",
	"/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0",
	"/my.json", "/inbox.json", "/inbox.atom", "/account/searches", "/user/machine-0", "/user/machine-1.json",
	"/api/1.0/most-common-problems/?period=year&limit=100", "/api/1.0/most-common-problems/?package={source}&limit=100",
	"/api/1.0/most-common-problems/?q=zyxwv&period=year", "/api/1.0/average-crashes/?package={source}",
	"/api/1.0/average-crashes/?release=Ubuntu+31.04", "/api/1.0/average-crashes/?limit=100",
	"/api/1.0/rate-of-crashes/?release=Ubuntu+24.04", "/api/1.0/binary-package-versions/?binary_package={source}",
	"/api/1.0/instances-count/?limit=100", "/api/1.0/problems-count/", "/api/1.0/retracers-results/?limit=100",
	"/api/1.0/crash-signatures-for-bug/?bug={number}", "/api/1.0/dayoops/20260518/?details=1",
	"/api/1.0/package-version-new-buckets/?package={source}&previous_version=0.1&new_version=9.9-embargo",
	"/api/1.0/release-health/?release=Ubuntu+31.04&package={source}&version=9.9-embargo",
	"/api/1.0/update-gate/?package={source}&version=9.9-embargo", "/api/1.0/versions/?id={problem}",
	"/api/1.0/average-instances/?id={problem}", "/api/1.0/reports-for-system/?system=machine-1",
	"/problem/{problem}.atom", "/problem/{problem}/versions.json", "/oops/{report}.crash",
	"/problem/{public}/merge?q={problem}", "/problem/{public}/compare?with={problem}", "/problem/{public}?from={problem}",
	"/problem/{public}/compare?report={report}", "/problems/merge?problems={problem}.{public}",
	"/problems/mute?problems={problem}.{public}", "/problem/{public}", "/problem/{public}.json",
	"/problem/{public}/traits", "/release/Ubuntu%2024.04/concentrated", "/problem/{public}/split",
	"/oops/{oops}", "/oops/{oops}.json",
}

// embargoForms are further requests that change something, besides those of [rightsCases].
var embargoForms = []rightsCase{
	{route: "POST /my/follow", need: viewer, form: "what=problem:{problem}"},
	{route: "POST /my/unfollow", need: viewer, form: "what=problem:{problem}"},
	{route: "POST /my/seen", need: viewer, form: "problem={problem}"},
	{route: "POST /inbox/read", need: viewer, form: "all=1"},
	{route: "POST /problems/link", need: someTriage, form: "problems={public}&bug={number}"},
	{route: "POST /problems/chosen", need: someTriage, form: "bucket={problem}&bucket={public}&do=recheck"},
	{route: "POST /problems/merge", need: someTriage, form: "problem={problem}&problem={public}&head={problem}"},
	{route: "POST /problems/merge", need: someTriage, form: "problem={problem}&problem={public}&head={public}"},
	{route: "POST /problem/{id}/embargo", need: someTriage, form: "do=set"},
	{route: "POST /problem/{id}/embargo", need: someTriage, form: "do=lift"},
	{route: "POST /problem/{id}/link", need: someTriage, path: "/problem/{public}/link", form: "bug={number}"},
	{route: "POST /login", need: everyone, form: "next=/problem/{problem}"},
}

// embargoCases returns requests to every route, about both problems. It fails the test if a route has
// no entry in [rightsCases], so a new route is covered by itself.
func embargoCases(t *testing.T, routes []string, fills []*strings.Replacer) (cases []rightsCase) {
	t.Helper()
	public, last := strings.NewReplacer("{public}", handlertest.BucketOf(t, crashtest.Native()).String()), []rightsCase{}
	seen := map[string]bool{}
	add := func(c rightsCase) {
		if c.path == "" {
			_, c.path, _ = strings.Cut(strings.Replace(c.route, "/problem/{id}", "/problem/{problem}", 1), " ")
		}
		for i, fill := range fills {
			if i > 0 && (c.json != nil || strings.Contains(c.route, "/problem/{id}/")) {
				break // equal for both: the problem in the address does not exist
			}
			filled := c
			filled.path, filled.form = public.Replace(fill.Replace(c.path)), public.Replace(fill.Replace(c.form))
			filled.json = maps.Clone(c.json)
			for name, value := range c.json {
				if text, ok := value.(string); ok {
					filled.json[name] = fill.Replace(text)
				}
			}
			key := fmt.Sprint(c.route[:4], filled.path, filled.form, filled.json)
			switch {
			case seen[key]:
			case c.route == "POST /logout":
				last = append(last, filled)
			default:
				cases = append(cases, filled)
			}
			seen[key] = true
		}
	}
	covered := map[string]bool{}
	for _, c := range slices.Concat(rightsCases, embargoForms) {
		covered[c.route] = true
		add(c)
		if strings.Contains(c.form, "problems={problem}") { // together with one that everyone sees
			c.form = strings.Replace(c.form, "{problem}", "{problem}.{public}", 1)
			add(c)
		}
	}
	for _, route := range routes {
		if !covered[route] {
			t.Errorf("route %s has no entry in rightsCases, so this test does not cover it", route)
		}
	}
	for _, path := range embargoPaths {
		add(rightsCase{route: "GET " + path, need: func(u crash.User, _ string) bool {
			return u.Role.Allows(crash.RoleViewer) || !needsSignIn("GET "+path)
		}, path: path})
	}
	return append(cases, last...)
}

// ask sends the request of a case as a reader, for whom "" is a visitor.
func (w *twin) ask(c rightsCase, reader string, headers ...handlertest.Header) *handlertest.Answer {
	if strings.HasPrefix(c.route, "GET ") {
		return w.clients[reader].Get(strings.ReplaceAll(c.path, "{oops}", w.public.String()), headers...)
	}
	return c.send(w.clients[reader], rightsPackage{fill: strings.NewReplacer()})
}

// differing matches what differs between two sites in any case: ids, times, secrets and ports.
var differing = regexp.MustCompile(
	`[0-9a-f-]{12,}|span>[0-9a-f-]{9,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[.\d]*(Z|\+00:00| UTC)?|` +
		`[A-Za-z0-9+/=_-]{40,}|…[A-Za-z0-9]{8}$|oauth_token=\w+|\b[A-Z0-9]{16}\b|` +
		`(?i)(in )?\d+ (second|minute|hour)s?( ago)?|just now|127\.0\.0\.1(:|%3A)\d+`)

// difference returns where two answers differ, other than by [differing]; empty: nowhere.
func difference(with, without *handlertest.Answer) string {
	texts := [2][]string{}
	for i, a := range []*handlertest.Answer{with, without} {
		text := fmt.Sprintf("%d\n%s\n%s\n%s", a.Status, a.Header.Get("Content-Type"), a.Header.Get("Location"), a.Body)
		texts[i] = strings.FieldsFunc(text, func(r rune) bool { return r == '<' || r == '\n' })
	}
	for i := range max(len(texts[0]), len(texts[1])) {
		var got, want string
		if i < len(texts[0]) {
			got = texts[0][i]
		}
		if i < len(texts[1]) {
			want = texts[1][i]
		}
		if got != want && differing.ReplaceAllString(got, "…") != differing.ReplaceAllString(want, "…") {
			return fmt.Sprintf("got %.500q\nwant, as without the problem, %.500q", got, want)
		}
	}
	return ""
}

// compare sends requests to both sites and fails the test where the answers differ.
func compare(t *testing.T, site, twin *twin, reader string, cases []rightsCase, headers ...handlertest.Header) {
	t.Helper()
	for _, c := range cases {
		here, there := site.ask(c, reader, headers...), twin.ask(c, reader, headers...)
		if here.Status >= 500 {
			t.Errorf("%s: %s %s: got status %d", reader, c.route, c.path, here.Status)
		}
		if diff := difference(here, there); diff != "" {
			t.Errorf("%q: %s %s %s:\n%s", reader, c.route, c.path, c.form, diff)
		}
	}
}

// stateOf returns a digest of every row about the problems with embargoed reports.
func (w *twin) stateOf(t *testing.T, ids []crash.BucketID) string {
	t.Helper()
	const sqlTables = `
		select string_agg(format('select ''%1$s'' as name, %1$I::text as value from public.%1$I where bucket_id = any ($1)',
			table_name), ' union all ' order by table_name)
		from information_schema.columns where table_schema = 'public' and column_name = 'bucket_id'`
	hidden := [][]byte{}
	for _, id := range ids {
		hidden = append(hidden, id[:])
	}
	return w.Value(t, `select string_agg(name || value, E'\n' order by name, value) from (`+
		w.Value(t, sqlTables)+`) as all_rows`, hidden)
}

// TestEmbargoLeavesNoTrace compares the answers of every route with those of a twin site on which the
// embargoed problems never existed. The triager, who has most rights, sends all requests; the others
// those that differ for them, and, unless the run is thorough, only some of these. Afterwards the problems have
// changed in no way.
func TestEmbargoLeavesNoTrace(t *testing.T) {
	t.Parallel()
	site, other := newTwin(t, true), newTwin(t, false)
	fills := site.decide(t)
	var ids []crash.BucketID
	for _, report := range embargoedReports() {
		ids = append(ids, handlertest.BucketOf(t, report))
	}
	cases := embargoCases(t, site.Routes(t), fills)
	those := func(u crash.User, start string) (some []rightsCase) {
		for _, c := range cases {
			if c.need(u, marker) && strings.HasPrefix(c.route, start) {
				some = append(some, c)
			}
		}
		return some
	}
	person := crash.User{ID: 1, Role: crash.RoleTriager, Private: crash.Packages{Names: []string{marker}}}
	readers := []string{"", "viewer", "triager"}
	tags := map[string]string{} // of answers before the embargo
	cached := []string{"/?period=year", "/search?q=zyxwv", "/package/zyxwv", "/release/Ubuntu%2031.04", ids[0].Path(),
		"/problems.csv?period=year", "/api/1.0/most-common-problems/?period=year&limit=100"}
	for _, reader := range readers {
		for _, path := range cached {
			a := site.clients[reader].Get(path).Want(http.StatusOK)
			if tags[reader+path] = a.Header.Get("ETag"); !strings.Contains(a.Body, marker) {
				t.Errorf("%q: %s: the problem cannot be seen before the embargo", reader, path)
			}
		}
	}
	for _, id := range ids {
		site.clients["ada-admin"].Post(id.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {marker}}).
			WantRedirect(http.StatusSeeOther, id.Path())
	}
	for _, reader := range readers {
		for _, path := range cached {
			old := handlertest.Header{Name: "If-None-Match", Value: tags[reader+path]}
			if a := site.clients[reader].Get(path, old); a.Status == http.StatusNotModified {
				t.Errorf("%q: %s: the answer from before the embargo is still valid", reader, path)
			}
		}
	}
	state, bugs := site.stateOf(t, ids), len(site.Tracker.Bugs())
	compare(t, site, other, "triager", those(person, "GET "))
	viewer := crash.User{ID: 1, Role: crash.RoleViewer}
	compare(t, site, other, "", checktest.EveryNth(those(crash.User{}, "GET "), 3, 0))
	compare(t, site, other, "viewer", checktest.EveryNth(those(viewer, "GET /problem/{id}"), 3, 1))
	compare(t, site, other, "triager-of-other", checktest.EveryNth(those(person, "GET /problem/{id}/"), 3, 2))
	compare(t, site, other, "triager-of-other", checktest.EveryNth(those(person, "POST /problem/{id}/"), 3, 0))
	asJSON := handlertest.Header{Name: "Accept", Value: "application/json"}
	compare(t, site, other, "triager", checktest.EveryNth(those(person, "GET "), 3, 1), asJSON)
	site.compareTokens(t, other, ids)
	site.checkInsider(t, ids)
	compare(t, site, other, "triager", those(person, "POST ")) // last: it signs out
	if got := site.stateOf(t, ids); got != state {
		t.Errorf("requests of people who must not see the problems have changed them: got\n%s\nwant\n%s", got, state)
	}
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), bugs)
	for _, id := range ids {
		site.clients["ada-admin"].Post(id.Path()+"/embargo", url.Values{"do": {"lift"}}).
			WantRedirect(http.StatusSeeOther, id.Path())
	}
	for _, reader := range []string{"", "viewer"} {
		site.clients[reader].Get("/faf/reports/12/").Want(http.StatusMovedPermanently)
		for _, path := range cached {
			if body := site.clients[reader].Get(path).Want(http.StatusOK).Body; !strings.Contains(body, marker) {
				t.Errorf("%q: %s: the problem cannot be seen after the embargo", reader, path)
			}
		}
	}
}

// assistantCalls returns calls of every tool for assistants, about the first problem and its report, and about lists
// that could contain it.
func assistantCalls(problem, report, public string) (calls []map[string]any) {
	for _, one := range []struct {
		tool string
		in   map[string]any
	}{
		{"search_problems", map[string]any{"period": "year", "limit": 50}},
		{"search_problems", map[string]any{"query": marker}},
		{"problem", map[string]any{"problem": problem}}, {"problem", map[string]any{"problem": public}},
		{"similar", map[string]any{"problem": problem}}, {"similar", map[string]any{"problem": public}},
		{"why_grouped", map[string]any{"problem": problem}}, {"why_grouped", map[string]any{"report": report}},
		{"report", map[string]any{"report": report}}, {"inbox", map[string]any{}},
		{"compare_versions", map[string]any{"package": marker}},
		{"compare_versions", map[string]any{"package": "harbor-sync"}},
		{"gate", map[string]any{"package": marker, "version": "9.9-embargo"}},
		{"gate", map[string]any{"package": "harbor-sync", "version": "9.9-embargo"}},
		{"note", map[string]any{"problem": problem, "text": "x"}},
		{"assign", map[string]any{"problem": problem, "assignee": "me"}},
		{"propose_bug", map[string]any{"problem": problem, "reason": "x"}},
	} {
		calls = append(calls, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": one.tool, "arguments": one.in}})
	}
	return append(calls, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

// compareTokens compares the answers to API tokens. Only those of the insider with the scope
// read-private are different: they see the first problem.
func (w *twin) compareTokens(t *testing.T, other *twin, ids []crash.BucketID) {
	t.Helper()
	paths := []string{"/api/1.0/most-common-problems/?period=year&limit=100", "/problems.json?period=year",
		"/search.csv?q=zyxwv", "/my.json", "/inbox.json", ids[0].Path() + ".json",
		"/api/1.0/bucket/" + ids[0].String() + "/", "/api/1.0/oops/" + w.hidden[0].String() + "/",
		"/admin/filings.csv", "/admin/symbols.csv", "/admin/audit.jsonl"} // the last needs read-private, too
	questions := map[string]map[string]any{
		"/api/1.0/create-bug-report/":  {"signature": ids[0].String()},
		"/api/1.0/set-problem-status/": {"signature": ids[0].String(), "kind": "wontfix"},
		"/api/1.0/problem-people/":     {"problem": ids[0].String(), "assignee": "me"},
	}
	calls := assistantCalls(ids[0].String(), w.hidden[0].String(), handlertest.BucketOf(t, crashtest.Native()).String())
	for _, call := range calls {
		here, there := w.Visitor(t).PostJSON("/mcp", call, asAssistant), other.Visitor(t).PostJSON("/mcp", call, asAssistant)
		if diff := difference(here, there); diff != "" || here.Status != http.StatusOK {
			t.Errorf("visitor: %v: got status %d\n%s", call, here.Status, diff)
		}
	}
	for name, token := range w.tokens {
		sees := false
		insider := slices.Contains([]string{"insider read-private", "insider read read-private"}, name)
		check := func(path string, here, there *handlertest.Answer) {
			sees = sees || here.Status == http.StatusOK && strings.Contains(here.Body, marker) &&
				!strings.HasPrefix(path, "/mcp") // these answers contain the question
			if diff := difference(here, there); diff != "" && !insider {
				t.Errorf("token of %s: %s:\n%s", name, path, diff)
			}
			if here.Status >= 500 || strings.Contains(here.Body, "zyxwv_free") {
				t.Errorf("token of %s: %s: got status %d and %s", name, path, here.Status, here.Body)
			}
		}
		for _, path := range paths {
			check(path, w.Visitor(t).Get(path, handlertest.Bearer(token)...), other.Visitor(t).Get(path,
				handlertest.Bearer(other.tokens[name])...))
		}
		for path, question := range questions {
			check(path, w.Visitor(t).PostJSON(path, question, handlertest.Bearer(token)...),
				other.Visitor(t).PostJSON(path, question, handlertest.Bearer(other.tokens[name])...))
		}
		seen := 0
		for _, call := range calls {
			here := w.Visitor(t).PostJSON("/mcp", call, append(handlertest.Bearer(token), asAssistant)...)
			check(fmt.Sprint("/mcp ", call), here, other.Visitor(t).PostJSON("/mcp", call, append(handlertest.Bearer(
				other.tokens[name]), asAssistant)...))
			if strings.Contains(here.Body, "zyxwv_write") {
				seen++
			}
		}
		if reads := name == "insider read read-private"; reads != (seen > 0) {
			t.Errorf("token of %s: an assistant sees the problem in %d answers", name, seen)
		}
		if sees != insider {
			t.Errorf("token of %s: sees an embargoed problem: %v", name, sees)
		}
	}
}

// checkInsider checks that a person with the private right for one package sees its problem
// everywhere, and nowhere the problem of another package.
func (w *twin) checkInsider(t *testing.T, ids []crash.BucketID) {
	t.Helper()
	own, report, insider := ids[0].Path(), "/oops/"+w.hidden[0].String(), w.clients["insider"]
	for _, path := range []string{own, own + ".json", own + ".csv", own + "/traits", own + "/mute",
		own + "/merge", own + "/review", report, report + ".json", report + ".crash", "/?period=year",
		"/problems.csv?period=year",
		"/problems.json?period=year", "/problems.atom?period=year", "/search?q=zyxwv", "/search.json?q=package:zyxwv",
		"/search/complete?q=package:zy", "/search/complete?q=frame:zy", "/search/complete?q=tag:zy", "/package/zyxwv",
		"/package/zyxwv.json", "/release/Ubuntu%2031.04", "/inbox", "/inbox.json", "/user/zyxwv-0-2",
		"/gate?package=zyxwv&version=9.9-embargo", "/candidates", "/problems/mute?problems=" + ids[0].String(),
		"/api/1.0/most-common-problems/?period=year&limit=100", "/api/1.0/bucket/" + ids[0].String() + "/",
		"/api/1.0/oops/" + w.hidden[0].String() + "/", "/api/1.0/update-gate/?package=zyxwv&version=9.9-embargo"} {
		a := insider.Get(path).Want(http.StatusOK)
		if !strings.Contains(a.Body, marker) {
			t.Errorf("%s: a person with the right does not see the problem", path)
		}
		if strings.Contains(a.Body, "zyxwv_free") || strings.Contains(a.Body, ids[1].String()) {
			t.Errorf("%s: a person with the right for one package sees the problem of another", path)
		}
	}
	insider.Get(ids[1].Path()).Want(http.StatusNotFound)
	insider.Get("/bug/4711").Want(http.StatusNotFound)
}

// secret is what visitors must not find out: a message, which nothing reveals as private, and data
// in the form of a home directory and of an address, which redaction recognises everywhere.
type secret struct{ message, home, mail string }

// secrets are two secrets that differ in every letter, sort differently, and have other lengths.
var secrets = [2]secret{
	{"code cerise at pier 7", "/home/wendeline", "wendeline@quay.example"},
	{"kumquat", "/home/bo", "bo@dock.example.org"},
}

// reports returns reports that have the secret in every field that visitors may not see.
func (s secret) reports() []crashtest.Report {
	set := crashtest.Set
	var hidden []crashtest.Option
	for _, field := range (*privacy.Table)(nil).Rows() {
		if name := field.Name; field.Class != privacy.Public && !slices.Contains([]string{"CoreDump", "VmCore",
			"Date", "Signal", "SignalName", "Stacktrace", "StacktraceTop", "ThreadStacktrace", "Traceback",
			"AssertionMessage", "OopsText", "ErrorMessage",
			"DialogBody", "DpkgTerminalLog", "Failure", "MachineType", "SnapChangeKind", "Snap", "PanicMessage",
			"JavaStackTrace", "StackTrace", "PreprocessedSource", "InterpreterPath", "PythonArgs", "VmCoreDmesg"}, name) {
			hidden = append(hidden, set(field.Name, s.message+" "+s.home+" "+s.mail))
		}
	}
	native := crashtest.Native(hidden...)
	return []crashtest.Report{
		native,
		crashtest.Python(set("Traceback", strings.Replace(crashtest.Python()["Traceback"], "invalid literal for int() with "+
			"base 10: 'host-77'", s.message+" "+s.home, 1))),
		crashtest.Recoverable(set("Title", "reefd: "+s.message), set("DialogBody", s.message)),
		crashtest.Package(set("ErrorMessage", s.message), set("DuplicateSignature", "package:brigwifi-dkms:failed")),
		crashtest.Native(set("ExecutablePath", s.home+"/bin/tide")),
		crashtest.Recoverable(set("DuplicateSignature", "labels:main"), set("Package", s.mail+" 1.0-"+s.mail),
			set("SourcePackage", s.mail), set("DistroRelease", "Ubuntu of "+s.mail), set("Architecture", s.mail),
			set("PackageArchitecture", s.mail), set("ProblemType", s.home)),
		crashtest.Assertion(set("AssertionMessage", s.home+"/src/buffer.c:120: take: for "+s.mail)),
	}
}

// attackerRequests returns what a visitor can ask to find out a secret: each field and operator of
// searches, each filter, order and completion of lists, and each parameter of the API, with the
// secret of the first server, parts of it, and what redaction leaves. Unless the run is thorough, each field
// and parameter gets one or two of these texts.
func attackerRequests(t *testing.T, site *handlertest.Site) []string {
	t.Helper()
	s := secrets[0] // the other server gives the opposite answers, if any depends on the secret
	guesses := []string{s.message, s.message[:1], s.message[:4], "*" + s.message[2:5] + "*", "load(): " + s.message[:1],
		s.home, s.home[:8], s.home + "/bin/tide", s.mail, s.mail[:3], s.mail[:4] + "*", "1.0-" + s.mail,
		"Ubuntu of " + s.mail, "[removed]", "*"}
	var paths []string
	add := func(path string, pairs ...string) {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		paths = append(paths, path+"?"+values.Encode())
	}
	fields := []string{""}
	for _, f := range index.Fields() {
		fields = append(fields, f.Name+":", f.Name+":>=", f.Name+":<")
	}
	for i, guess := range guesses {
		quoted := `"` + guess + `"`
		for _, field := range checktest.EveryNth(fields, 5, i) {
			add("/search.json", "q", field+quoted, "period", "year")
			if !strings.HasSuffix(field, "=") && !strings.HasSuffix(field, "<") {
				add("/search.json", "q", "-"+field+quoted, "period", "year")
				add("/search.json", "q", "is:provisional OR "+field+quoted, "period", "year")
				add("/search/complete", "q", field+guess)
				add("/api/1.0/most-common-problems/", "q", field+quoted, "period", "year", "limit", "100")
			}
		}
		add("/search", "q", quoted)
		add("/search", "q", "-"+quoted)
		add("/search.csv", "q", quoted)
		add("/search.atom", "q", "-title:"+quoted)
		for _, filter := range checktest.EveryNth([]string{"package", "source", "version", "pkg_arch", "type", "release",
			"user", "packageset"}, 4, i) {
			add("/problems.json", filter, guess, "period", "year")
			add("/", filter, guess, "period", "year")
		}
		for _, name := range []string{"package", "source", "version", "assignee", "tag"} {
			add("/search/complete", "of", name, name, guess, "package", guess)
		}
		add("/gate", "package", guess, "version", guess)
		for _, field := range checktest.EveryNth(fields, 5, i+1) {
			paths = append(paths, assistantPath("search_problems", map[string]any{"query": field + quoted, "period": "year"}),
				assistantPath("search_problems", map[string]any{"query": "-" + field + quoted, "period": "year"}))
		}
		paths = append(paths, assistantPath("compare_versions", map[string]any{"package": guess}),
			assistantPath("compare_versions", map[string]any{"package": "tidewatch", "version": guess, "release": guess}),
			assistantPath("gate", map[string]any{"package": guess, "version": guess}),
			assistantPath("gate", map[string]any{"package": "tidewatch", "version": guess, "release": guess}))
		for _, path := range []string{"/package/", "/release/"} {
			for _, format := range []string{"", ".json"} {
				paths = append(paths, path+url.PathEscape(guess)+format)
			}
		}
		add("/problem/0", "release", guess)
		for path, names := range map[string][]string{
			"most-common-problems/": {"release", "package", "packageset", "user", "version", "pkg_arch", "first_appearance",
				"snap"},
			"instances-count/": {"release", "version"}, "problems-count/": {"release"},
			"package-version-new-buckets/": {"package", "previous_version", "new_version"},
			"binary-package-versions/":     {"binary_package"}, "update-gate/": {"package", "version", "release", "against"},
			"release-health/":  {"release", "package", "version"},
			"average-crashes/": {"release", "package", "version"}, "retracers-results/": {"release"},
			"versions/": {"id"}, "instances/": {"id"}, "average-instances/": {"id"},
		} {
			var all []string
			for _, name := range names {
				all = append(all, name, guess)
			}
			for _, name := range checktest.EveryNth(names, 5, i) {
				add("/api/1.0/"+path, name, guess, "period", "2026", "limit", "20")
			}
			add("/api/1.0/"+path, append(all, "limit", "20")...)
		}
	}
	paths = checktest.EveryNth(paths, 9, 0)
	for _, sort := range []string{"count", "package", "first", "last", "problem", "bug"} {
		for _, order := range []string{"", "up"} {
			for _, path := range []string{"/", "/problems.json", "/problems.csv"} {
				add(path, "period", "year", "sort", sort, "order", order)
			}
		}
	}
	for _, period := range []string{"2026", "2025"} {
		add("/api/1.0/most-common-problems/", "period", period, "limit", "3")
		add("/api/1.0/most-common-problems/", "period", period, "limit", "100", "snap", "x")
	}
	paths = append(paths, "/", "/gate", "/release/Ubuntu%2024.04", "/package/harbor-sync", "/package/reefd",
		"/package/quillpad", "/package/brigwifi-dkms.csv")
	for i := range secrets[0].reports() {
		for _, path := range []string{"/problem/%d", "/problem/%d/versions.json", "/api/1.0/bucket/%d/",
			"/api/1.0/versions/?id=%d", "/api/1.0/instances/?id=%d", "/api/1.0/average-instances/?id=%d",
			"/problem/%d?via=%%2F%%3Fsort%%3Dproblem%%26period%%3Dyear"} {
			paths = append(paths, fmt.Sprintf(path, i))
		}
		for _, tool := range []string{"problem", "similar", "why_grouped"} {
			paths = append(paths, assistantPath(tool, map[string]any{"problem": fmt.Sprintf("/problem/%d", i)}))
		}
	}
	return append(paths, assistantPath("search_problems", map[string]any{"period": "year", "limit": 50}),
		assistantPath("search_problems", map[string]any{"period": "year", "sort": "first"}))
}

// assistantPath returns the path for assistants with the call of a tool.
func assistantPath(tool string, in map[string]any) string {
	call, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": in}})
	return "/mcp " + string(call)
}

// asAssistant is the header by which clients of assistants accept answers.
var asAssistant = handlertest.Header{Name: "Accept", Value: "application/json, text/event-stream"}

// visit requests a path as a visitor. After a blank, a path has the JSON that is posted there.
func visit(visitor *handlertest.Client, path string) *handlertest.Answer {
	path, body, posted := strings.Cut(path, " ")
	if !posted {
		return visitor.Get(path)
	}
	return visitor.PostJSON(path, json.RawMessage(body), asAssistant)
}

// changing matches what differs between any two servers: ids of reports, and the parts of pages that
// name them.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|http://127\.0\.0\.1:\d+|` +
	`, request [A-Z0-9]+|name="csrf_token" value="[^"]*"|"X-CSRF-Token":"[^"]*"`)

// TestVisitorsInferNothing plays an attacker: two servers have reports that differ in what visitors may
// not see only. All answers must be the same.
func TestVisitorsInferNothing(t *testing.T) {
	t.Parallel()
	type side struct {
		*handlertest.Pages
		visitor *handlertest.Client
		ids     []crash.BucketID
	}
	var sides [2]side
	for i, s := range secrets {
		p := handlertest.NewPages(t)
		sides[i] = side{Pages: p, visitor: p.Visitor(t)}
		for n, report := range s.reports() {
			// Problems with the same id have equal counts. Lists sort others of equal counts by id.
			for m := range max(1, n/2, n*(n/4)) {
				report := crashtest.Report(report.Fields())
				crashtest.Process(1000*n + m)(report)
				p.Accept(crash.SystemID(fmt.Sprintf("m-%d-%d", n, m)), report)
			}
			sides[i].ids = append(sides[i].ids, handlertest.BucketOf(t, report))
		}
		checktest.NoError(t, p.Store.WaitCounted(t.Context()))
	}
	inProblem := regexp.MustCompile(`/problem/(\d)\b|(/bucket/|id=)(\d)\b`)
	requests := attackerRequests(t, sides[0].Site)
	found := 0
	for _, request := range requests {
		var answers [2]string
		for i, side := range sides {
			path := inProblem.ReplaceAllStringFunc(request, func(m string) string {
				return m[:len(m)-1] + side.ids[m[len(m)-1]-'0'].String()
			})
			a := visit(side.visitor, path)
			if a.Status == http.StatusInternalServerError {
				t.Errorf("%s: got status %d", request, a.Status)
			}
			text := a.Body
			for n, id := range side.ids { // the id of a problem is a hash of the whole signature
				text = strings.ReplaceAll(text, id.String(), fmt.Sprintf("problem %d", n))
				text = strings.ReplaceAll(text, id.String()[:8], fmt.Sprintf("problem %d", n))
			}
			answers[i] = fmt.Sprint(a.Status, " ", changing.ReplaceAllString(text, ""))
			found += strings.Count(answers[i], "problem 1")
		}
		if a, b := answers[0], answers[1]; a != b {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			cut := func(s string) string { return s[max(0, min(len(s), at)-120):min(len(s), at+80)] }
			t.Errorf("%s: the answers depend on the secret:\n…%s…\n…%s…", request, cut(a), cut(b))
		}
	}
	if found == 0 {
		t.Error("no answer contains a problem")
	}
	t.Logf("%d requests", len(requests))
	reader := sides[0].As(t, crash.RoleViewer)
	body := reader.Get(handlertest.SearchFor(`package:harbor-sync "load(): c"`)).Body
	if !strings.Contains(body, sides[0].ids[1].String()) {
		t.Error("people who may read reports do not find the message of a title")
	}
}
