package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// wantNoSecret fails the test if a public text contains a part of a secret.
func wantNoSecret(t *testing.T, where, text string, s crashtest.Secret) {
	t.Helper()
	for _, hide := range s.Hide {
		if at := strings.Index(text, hide); at >= 0 {
			t.Errorf("%s: %s shows %q: …%s…", s.Kind, where, hide, text[max(0, at-100):min(len(text), at+60)])
		}
	}
}

// TestSecretsInEveryOutput sends each kind of private data through each public output: pages, lists,
// searches, files, feeds, the API, events (of which mails and webhooks are made), bugs and logs. Package
// mail checks what it adds, and package privacy all kinds, of which a run that is not thorough has a quarter here.
func TestSecretsInEveryOutput(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	p := handlertest.NewPagesIn(t, handlertest.Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
		CreateWait: handlertest.Patience})
	set := crashtest.Set
	accept := func(r crashtest.Report) crash.BucketID {
		p.PID++
		signature := grouping.SignatureOf(r.Fields()).Signature
		if _, err := p.Intake.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprint(p.PID)),
			Fields: r.Fields()}); err != nil || signature == "" {
			t.Fatalf("accept: %v, signature %q", err, signature)
		}
		return crash.BucketIDOf(signature)
	}
	secrets := checktest.EveryNth(crashtest.Secrets(), 4, 0)
	var ids []crash.BucketID
	for i, s := range secrets {
		name := fmt.Sprintf("/usr/bin/harbor-%d", i)
		ids = append(ids,
			accept(crashtest.Python(set("ExecutablePath", name), set("Traceback", strings.Replace(
				crashtest.Python()["Traceback"], "invalid literal for int() with base 10: 'host-77'", s.Text, 1)))),
			accept(crashtest.Recoverable(set("DuplicateSignature", name+":"+s.Text), set("DialogBody", s.Text))),
			accept(crashtest.Native(set("ExecutablePath", name), set("Title", "harbor: "+s.Text))))
	}
	checktest.NoError(t, p.Store.WaitCounted(t.Context()))
	visitor := p.Visitor(t)
	paths := []string{"/?period=year", "/problems.json?period=year", "/problems.csv?period=year",
		"/problems.atom?period=year", "/search?q=harbor", "/search.json?q=harbor", "/search.csv?q=reefd",
		"/search.atom?q=harbor",
		"/package/reefd",
		"/package/harbor-sync", "/release/Ubuntu%2024.04", "/search/complete?q=frame:l", "/search/complete?q=program:h",
		"/api/1.0/most-common-problems/?period=2026&limit=1000"}
	for i, id := range ids {
		s := secrets[i/3]
		for _, path := range append([]string{id.Path()}, checktest.EveryNth([]string{id.Path() + "/versions.json",
			"/api/1.0/bucket/" + id.String() + "/"}, 2, i)...) {
			wantNoSecret(t, path, visitor.Get(path).Want(http.StatusOK).Body, s)
		}
		checktest.NoError(t, p.Store.InTx(t.Context(), func(tx pgx.Tx) error {
			e, err := p.Store.LockProblem(t.Context(), tx, id)
			wantNoSecret(t, "an event", fmt.Sprint(e), s)
			return err
		}))
	}
	for _, path := range paths {
		body := visitor.Get(path).Want(http.StatusOK).Body
		for _, s := range secrets {
			wantNoSecret(t, path, body, s)
		}
	}
	admin := p.As(t, crash.RoleAdmin)
	for i := range ids {
		if i%3 != i/3%3 { // each secret in a bug of one kind
			continue
		}
		b := p.Bucket(t, ids[i])
		admin.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
		bugs := p.Tracker.Bugs()
		bug := bugs[len(bugs)-1]
		wantNoSecret(t, "a bug", bug.Title+"\n"+bug.Description+"\n"+strings.Join(bug.Tags, " "), secrets[i/3])
	}
	for _, s := range secrets {
		wantNoSecret(t, "the log", log.String(), s)
	}
}

// hidden are characters that nobody sees: some change the direction of text, others have no width.
const hidden = "\u202e\u200b\u2066\ufeff\u00ad"

// TestHiddenCharacters checks titles of pages, files, feeds, events, names of files and bugs.
func TestHiddenCharacters(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{CreateWait: handlertest.Patience})
	set := crashtest.Set
	report := crashtest.Native(set("ExecutablePath", "/usr/bin/tide"+hidden+"watch\x1b[31m"),
		set("Package", "tide"+hidden+"watch 1.4.9-2"))
	p.Accept("m", report)
	b := p.Bucket(t, handlertest.BucketOf(t, report))
	if !strings.Contains(b.Title, hidden) {
		t.Fatalf("got title %q, want it as it came", b.Title)
	}
	admin, visitor := p.As(t, crash.RoleAdmin), p.Visitor(t)
	for who, c := range map[string]*handlertest.Client{"admin": admin, "visitor": visitor} {
		page := c.Get(b.ID.Path()).Want(http.StatusOK)
		for _, at := range []string{"title", "h1"} {
			got := page.HTML().Find(at).First().Text()
			if strings.ContainsAny(got, hidden+"\x1b") || !strings.Contains(got, "tidewatch") {
				t.Errorf("%s: got %s %q, want no hidden characters", who, at, got)
			}
		}
		for _, format := range []string{"csv", "atom"} {
			file := c.Get("/package/" + url.PathEscape(b.Package) + "." + format).Want(http.StatusOK)
			text := file.Body
			if format == "atom" {
				text, _, _ = strings.Cut(text[strings.Index(text, "<entry>"):], "</title>")
			}
			if got := text + file.Header.Get("Content-Disposition"); strings.ContainsAny(got, hidden+"\x1b") ||
				!strings.Contains(got, "tidewatch") {
				t.Errorf("%s: got %s %q, want no hidden characters", who, format, got)
			}
		}
	}
	checktest.NoError(t, p.Store.InTx(t.Context(), func(tx pgx.Tx) error {
		e, err := p.Store.LockProblem(t.Context(), tx, b.ID)
		if strings.ContainsAny(e.Title, hidden+"\x1b") {
			t.Errorf("got an event with the title %q", e.Title)
		}
		return err
	}))
	admin.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	if got := p.Tracker.Bugs()[0].Title; strings.ContainsAny(got, hidden+"\x1b") {
		t.Errorf("got a bug with the title %q", got)
	}
}

// hostileTexts are texts that attackers and broken links put into addresses, percent-encoded.
var hostileTexts = []string{
	"%00", "a%00b", "%ff", "%c3%28", "%ed%a0%80", "%C0%AF", "%F4%90%80%80", "..", "%2e%2e", "%2F", "a%2F..%2Fb", "%0A",
	"%0d%0aX:%20y", "%7f", "%20", "%25", "%25%32%35",
	"'", "%22%3E%3Cscript%3E", "99999999999999999999999999", "-1", "0", "1e309", "%E2%80%AE", strings.Repeat("x", 5000),
	strings.Repeat("%ff", 1500),
	"00000000-0000-0000-0000-000000000000", strings.Repeat("f", 40), "x.csv", "%00.csv", "%ff.atom", "x.crash",
	"%00.crash", "NaN", "2026-13-45", "*", "(", `\`,
}

var routeParameter = regexp.MustCompile(`\{[a-z]+\}`)

// queryNames are all query parameters that any page reads.
var queryNames = []string{
	"release", "package", "source", "version", "pkg_arch", "type", "state", "packageset", "user", "period", "from", "to",
	"shown", "sort", "order", "new", "after", "via",
	"q", "of", "id", "next", "versions", "architecture", "complete", "core", "problems", "limit", "offset", "start",
	"system", "bug", "binary_package", "format", "date",
	"old_version", "new_version", "previous_version", "snap", "first_appearance", "hours", "run", "tab", "csrf_token",
	"page", "from_version", "details", "problem",
}

// hostileGroups are query parameters that a page reads together.
var hostileGroups = [][]string{{"period"}, {"from"}, {"after"}, {"via"}, {"q"}, {"id"}, {"of", "package"},
	{"of", "version"}, {"release"}, {"start", "limit", "offset"}}

var (
	// hostileResources are the resources of the API 1.0.
	hostileResources = []string{
		"most-common-problems", "versions", "instances", "average-instances", "average-crashes", "package-rate-of-crashes",
		"package-version-new-buckets", "instances-count", "problems-count", "retracers-results", "retracer-queue-length",
		"crash-signatures-for-bug", "reports-for-system", "instance", "binary-package-versions", "system-image-versions",
		"dayoops/20260518", "bucket/x",
	}
	// hostileForms are addresses of forms; {id} is a problem.
	hostileForms = []string{
		"/login", "/account", "/account/tokens", "/my/follow", "/my/unfollow", "/my/seen", "/problems/chosen",
		"/problems/merge", "/problems/link", "/admin/templates", "/admin/routes", "{id}/notes", "{id}/rename", "{id}/link",
		"{id}/split", "{id}/undo", "{id}/review", "/admin/regroup",
		"/admin/doors", "/admin/doors/switch", "/admin/doors/1",
	}
)

// hostile sends hostile requests as an administrator.
type hostile struct {
	t *testing.T
	c *handlertest.Client
}

var invalidText = regexp.MustCompile(`%00|%ff|%c3%28|%ed%a0%80|%C0%AF|%F4%90`)

// ask sends a request and returns the status of the answer.
func (h hostile) ask(method, path string) int {
	h.t.Helper()
	if u, err := url.Parse(path); err != nil || u.EscapedPath() == "" {
		h.t.Fatalf("%s is not an address: %v", path, err)
	}
	var a *handlertest.Answer
	if method == http.MethodGet {
		a = h.c.Get(path)
	} else {
		a = h.c.Post(path, nil)
	}
	h.check(method, path, a)
	what, _, _ := strings.Cut(path, "?")
	if !invalidText.MatchString(what) {
		return a.Status
	}
	switch a.Status { // invalid text must not match anything
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnauthorized, http.StatusUnsupportedMediaType,
		http.StatusMethodNotAllowed:
	default:
		if a.Status != http.StatusMovedPermanently || !strings.HasPrefix(path, "/api/1.0/") {
			h.t.Errorf("%s %.120s: got status %d, want 400 or 404", method, path, a.Status)
		}
	}
	return a.Status
}

// check fails the test if the server failed.
func (h hostile) check(method, what string, a *handlertest.Answer) {
	h.t.Helper()
	if a.Status >= 500 && a.Header.Get("Retry-After") == "" {
		h.t.Errorf("%s %.300s: got status %d: %.200s", method, what, a.Status, a.Body)
	}
}

// queries sends queries to a page in one request. Unless the status is that of the page without a
// query, a query may have been refused before others were read, so it then sends each by itself. A
// page ignores most of the parameters that other pages read, which saves most requests.
func (h hostile) queries(page string, usual int, queries []string) {
	h.t.Helper()
	refused := h.ask(http.MethodGet, page+"?"+strings.Join(queries, "&")) != usual
	if !refused && checktest.Rounds(1, 2) == 1 {
		return
	}
	for _, query := range queries {
		h.ask(http.MethodGet, page+"?"+query)
	}
}

// TestMoreHostileAddresses puts hostile texts into every path and query parameter of every route.
// Nothing may fail internally, and no invalid text may reach the database. Each path parameter of
// each route gets an eighth of the texts. Eight successive routes, which mostly share code, get all.
func TestMoreHostileAddresses(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{Disconnected: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	b := site.Save(t, crashtest.Native())
	h := hostile{t, site.As(t, crash.RoleAdmin)}
	good := map[string]string{"{id}": b.ID.String(), "{format}": "csv", "{name}": "tidewatch", "{number}": "1",
		"{note}": "1", "{system}": "machine-1"}
	fill := func(pattern string) string {
		return routeParameter.ReplaceAllStringFunc(pattern, func(name string) string { return good[name] })
	}
	routes := site.Routes(t)
	slices.Sort(routes)
	asked := map[string]bool{}
	for i, route := range routes {
		method, pattern, _ := strings.Cut(route, " ")
		if pattern == "/logout" || method == http.MethodHead {
			continue
		}
		if prefix, ok := strings.CutSuffix(pattern, "/*"); ok {
			for n, text := range hostileTexts {
				h.ask(method, prefix+"/"+text)
				if strings.HasPrefix(pattern, "/api/") {
					for _, resource := range checktest.EveryNth([]string{"bucket", "dayoops", "oops", "retracers-results",
						"versions"}, 2, n) {
						h.ask(method, prefix+"/"+resource+"/"+text+"/")
					}
				}
			}
		}
		for n, name := range routeParameter.FindAllString(pattern, -1) {
			for _, text := range checktest.EveryNth(hostileTexts, 8, i+n) {
				h.ask(method, fill(strings.Replace(pattern, name, text, 1)))
			}
		}
		if page := fill(pattern); method == http.MethodGet && !strings.HasSuffix(pattern, "*") && !asked[page] {
			asked[page] = true
			h.askPage(page)
		}
	}
	h.askAPI()
	h.sendForms(b.ID.Path())
	for _, word := range []string{"SQLSTATE", "level=ERROR", "invalid byte sequence", "panic"} {
		if text := log.String(); strings.Contains(text, word) {
			at := strings.Index(text, word)
			t.Errorf("the log contains %s: %s", word, text[max(0, at-300):min(len(text), at+200)])
		}
	}
}

// askPage puts hostile texts into all query parameters of a page.
func (h hostile) askPage(page string) {
	h.t.Helper()
	usual := h.ask(http.MethodGet, page)
	// A single check refuses both texts, so each parameter is normally tested with one of them.
	texts := []string{"a%00b", "%ff"}
	for round := range checktest.Rounds(1, len(texts)) {
		var queries []string
		for i, name := range queryNames {
			queries = append(queries, name+"="+texts[(i+round)%len(texts)])
		}
		for group := range slices.Chunk(queries, 9) {
			h.queries(page, usual, group)
		}
	}
	for _, text := range []string{"99999999999999999999999999", "-1", strings.Repeat("x", 300), "%0A",
		"%2F%2Fevil.example", "(", `%22`, "%E2%80%AE"} {
		var queries []string
		for _, names := range hostileGroups {
			queries = append(queries, strings.Join(names, "="+text+"&")+"="+text)
		}
		h.queries(page, usual, queries)
	}
}

// askAPI puts hostile texts into the query parameters of the API 1.0. Each parameter of each route
// gets a third of the texts.
func (h hostile) askAPI() {
	h.t.Helper()
	texts := []string{"%00", "%ff", "99999999999999999999999999", "-1", strings.Repeat("x", 300), "%0A", "("}
	for i, resource := range hostileResources {
		address := "/api/1.0/" + resource + "/?"
		for n, name := range []string{"release", "package", "period", "limit", "start", "q", "pkg_arch", "user",
			"packageset"} {
			for _, text := range checktest.EveryNth(texts, 3, i+n) {
				h.ask(http.MethodGet, address+"id=x&bug=1&system=x&binary_package=x&"+name+"="+text)
			}
		}
		for _, text := range texts {
			h.ask(http.MethodGet, address+"id="+text+"&bug="+text+"&system="+text+"&binary_package="+text+"&release="+text+
				"&package="+text+"&old_version="+text+"&new_version="+text+"&previous_version="+text+"&date=20260518")
		}
	}
}

// sendForms puts hostile texts into the fields of forms. Each field of each form gets one of the
// texts.
func (h hostile) sendForms(problem string) {
	h.t.Helper()
	for i, path := range hostileForms {
		path = strings.Replace(path, "{id}", problem, 1)
		for n, name := range []string{"username", "password", "next", "note", "text", "name", "number", "bug", "title",
			"problems", "value"} {
			for _, text := range checktest.EveryNth([]string{"\x00", "\xff", "9999999999999999999999"}, 3, i+n) {
				form := url.Values{"kind": {"package"}, "field": {"package"}, "username": {"x"}, "password": {"y"}}
				form.Set(name, text)
				h.check(http.MethodPost, fmt.Sprintf("%s with %s=%q", path, name, text), h.c.Post(path, form))
			}
		}
	}
}

// TestCrashFileByToken checks that scripts can fetch the crash file of a report with an API token.
func TestCrashFileByToken(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("m", crashtest.Native())
	visitor := p.Visitor(t)
	path := "/oops/" + id.String() + ".crash"
	token := func(scopes ...crash.Scope) handlertest.Header {
		user := p.AddUser(t, crash.RoleTriager)
		secret, _, err := p.People.AddToken(t.Context(), "", user, "test", scopes, time.Now().AddDate(0, 0, 10))
		checktest.NoError(t, err)
		return handlertest.Header{Name: "Authorization", Value: "Bearer " + secret}
	}
	anything := handlertest.Header{Name: "Accept", Value: "*/*"}
	for _, accept := range []string{"*/*", "text/plain", "application/json", "text/html"} {
		a := visitor.Get(path, token(crash.ScopeRead), handlertest.Header{Name: "Accept", Value: accept}).Want(http.StatusOK)
		if !strings.Contains(a.Body, "ProblemType: Crash") {
			t.Errorf("Accept %s: got %.200s, want the file", accept, a.Body)
		}
	}
	visitor.Get("/oops/"+id.String()+".json", token(crash.ScopeRead), anything).Want(http.StatusOK)
	visitor.Get(path, token(crash.ScopeFile), anything).Want(http.StatusForbidden)
	visitor.Get(path, handlertest.Header{Name: "Authorization", Value: "Bearer mishap_no"},
		anything).Want(http.StatusUnauthorized)
	visitor.Get(path, anything).Want(http.StatusUnauthorized)
	visitor.Get("/oops/"+crash.OopsID{1}.String()+".crash", token(crash.ScopeRead), anything).Want(http.StatusNotFound)
	visitor.Get(path+"?core=yes", token(crash.ScopeReadPrivate), anything).Want(http.StatusNotFound) // no core is stored
}

// TestMentionsInBrowser completes names in a note by key, by mouse and by touch, and checks what
// assistive technology gets.
func TestMentionsInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	for _, name := range []string{"berta", "bernd", "bert.x"} {
		dbtest.AddUser(t, site.Store, name, crash.RoleViewer, handlertest.Password)
	}
	b := site.Save(t, crashtest.Native())
	ctx := startWithAxe(t)
	const list, options, note = ".mentions", `.mentions [role="option"]`, "#new-note"
	value := func(want string) {
		t.Helper()
		checktest.Equal(t, "the note ", handlertest.Eval[string](ctx, t, `document.querySelector("#new-note").value`),
			want)
	}
	selected := func(name string) chromedp.Action[chromedp.Void] {
		return handlertest.Until(fmt.Sprintf(`(() => {
			const field = document.querySelector("#new-note");
			const option = document.getElementById(field.getAttribute("aria-activedescendant"));
			return document.activeElement === field && option?.textContent === %q &&
				option.getAttribute("aria-selected") === "true" && option.closest("[role=listbox]").id ===
				field.getAttribute("aria-controls") && document.querySelectorAll("[aria-selected=true]").length === 1;
		})()`, name))
	}
	says := func(text string) chromedp.Action[chromedp.Void] {
		return handlertest.Until(fmt.Sprintf(`document.querySelector(".notes [role=status]").textContent === %q`, text))
	}
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.Click("#notes > details > summary"))

	// Keys: the first name is selected, arrows move and wrap around, Enter inserts, a further name filters.
	handlertest.Do(ctx, t, handlertest.Type(note, "Ask @ber"), handlertest.WaitVisible(list), selected("bernd"),
		says("3 names. Arrow keys select, Enter inserts."))
	runAxe(ctx, t, "the list of names")
	handlertest.Do(ctx, t, handlertest.Press(kb.ArrowDown), selected("bert.x"), handlertest.Press(kb.ArrowUp),
		selected("bernd"), handlertest.Press(kb.ArrowUp), selected("berta"), handlertest.Press("\r"),
		handlertest.WaitHidden(list), says(""))
	value("Ask @berta ")
	handlertest.Do(ctx, t, handlertest.Press("or @bert."), selected("bert.x"), handlertest.Press("\t"),
		handlertest.WaitHidden(list), handlertest.Until(`document.activeElement?.id === "new-note"`))
	value("Ask @berta or @bert.x ")

	// Escape closes the list and leaves the text; so does a whole name, after which Enter is a line.
	handlertest.Do(ctx, t, handlertest.Press("and @b"), selected("bernd"), handlertest.Press(kb.Escape),
		handlertest.WaitHidden(list), handlertest.Press("er"), selected("bernd"), handlertest.Press("nd"),
		handlertest.WaitHidden(list), handlertest.Press("\r"))
	value("Ask @berta or @bert.x and @bernd\n")

	// An address or a path is no mention; an unknown name offers nothing but says so.
	handlertest.Do(ctx, t, handlertest.Press("x@ber /@ber @zz"), says("No names."), handlertest.WaitHidden(list))

	// The mouse, in the middle of a text, and a finger.
	handlertest.Eval[bool](ctx, t, `(() => {
		const field = document.querySelector("#new-note");
		field.value = "See  again";
		field.setSelectionRange(4, 4);
		return true;
	})()`)
	handlertest.Do(ctx, t, handlertest.Press("@BER"), handlertest.WaitVisible(list),
		handlertest.Click(options+":nth-child(2)"), handlertest.WaitHidden(list))
	value("See @bert.x again")
	handlertest.Do(ctx, t, chromedp.EmulateViewport(360, 740, chromedp.EmulateTouch), handlertest.Press(" @"),
		handlertest.WaitVisible(list), says("4 names. Arrow keys select, Enter inserts."))
	if got := handlertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
		t.Errorf("on a phone: got a page %v px wide", got)
	}
	handlertest.Do(ctx, t, handlertest.Tap(options+":nth-child(3)"), handlertest.WaitHidden(list))
	value("See @bert.x @bert.x again")

	// Leaving the field closes the list.
	handlertest.Do(ctx, t, handlertest.Press(" @"), handlertest.WaitVisible(list), handlertest.Focus("#q"),
		handlertest.WaitHidden(list))

	// Another note has a list of its own.
	site.As(t, crash.RoleTriager).Post(b.ID.Path()+"/notes", url.Values{"text": {"First."}})
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.Click(".note-folds summary"),
		handlertest.Focus("#note-1"), handlertest.Until(`(document.querySelector("#note-1").setSelectionRange(6, 6), true)`),
		handlertest.Press(" @bernd"), handlertest.WaitPresent("#note-1-names"), handlertest.WaitHidden("#note-1-names"),
		handlertest.Click(".note-folds .buttons button"), handlertest.WaitVisible(".mention"))
}
