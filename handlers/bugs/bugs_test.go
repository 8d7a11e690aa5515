package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestMain(m *testing.M) { handlertest.Main(m) }

// created is the answer of the API. Comparing whole bodies below detects unknown members.
type created struct {
	Signature string  `json:"signature"`
	Report    *string `json:"report"`
	URL       *string `json:"url"`
	State     string  `json:"state"`
}

func TestCreateBugJSON(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)

	first := c.PostJSON(handlertest.CreatePath+"?format=json",
		map[string]string{"signature": url.PathEscape(b.Signature)}).Want(
		http.StatusCreated)
	bugs := site.Tracker.Bugs()
	if len(bugs) != 1 {
		t.Fatalf("got %d bugs in the tracker, want 1", len(bugs))
	}
	number := strconv.FormatInt(bugs[0].Number, 10)
	want := fmt.Sprintf(`{"signature":%q,"report":%q,"url":%q,"state":"filed"}`+"\n", b.Signature, number,
		site.Tracker.URL+"/bugs/"+number)
	checktest.Equal(t, "body", first.Body, want)
	checktest.Equal(t, "content type", first.Header.Get("Content-Type"), "application/json; charset=utf-8")
	checktest.Equal(t, "filed by", site.Bucket(t, b.ID).Bug.By, "ada-triager")
	for name, again := range map[string]*handlertest.Answer{
		"as it stands": c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}),
		"no slash": c.PostJSON(strings.TrimSuffix(handlertest.CreatePath, "/"),
			map[string]string{"signature": b.Signature}),
		"charset": c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature},
			handlertest.Header{Name: "Content-Type", Value: "Application/JSON; charset=UTF-8"}),
	} {
		if again.Want(http.StatusOK); again.Body != want {
			t.Errorf("%s: got %s, want %s", name, again.Body, want)
		}
	}
	checktest.Equal(t, "bugs in the tracker", len(site.Tracker.Bugs()), 1)
}

func TestCreateBugSignatures(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleTriager)
	for i, signature := range []string{
		"100% of /usr/bin/x:%41%zz", "%2Fusr%2Fbin%2Fx", "a+b c", "two\nlines \"quoted\" <b>&amp;</b>", "é→日本",
		strings.Repeat("long ", 4000) + "end",
	} {
		b := site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", signature), crashtest.Process(100+i)))
		if b.Signature != signature {
			t.Fatalf("stored signature: got %q, want %q", b.Signature, signature)
		}
		var got created
		c.PostJSON(handlertest.CreatePath, map[string]string{"signature": url.PathEscape(signature)}).
			Want(http.StatusCreated).JSON(&got)
		checktest.Equal(t, "encoded", got.Signature, signature)
		if decoded, err := url.PathUnescape(signature); err == nil && decoded != signature {
			continue // unescaped, this could name another signature
		}
		c.PostJSON(handlertest.CreatePath, map[string]string{"signature": signature}).Want(http.StatusOK).JSON(&got)
		checktest.Equal(t, "unescaped", got.Signature, signature)
	}
	// There is no bucket "/usr/bin/x", so the text is taken literally.
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": "%2Fusr%2Fbin%2Fx"}).Want(http.StatusOK)
}

func TestCreateBugRefused(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience,
		Tracker: trackertest.New(t, trackertest.Options{Unpublished: []string{"gone"}})})
	b := site.Save(t, crashtest.Native())
	noSource := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature", "no source"),
		crashtest.Without("SourcePackage")))
	failed := site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature",
		"failed:/usr/bin/tide:amd64")))
	gone := site.Save(t, crashtest.Native(crashtest.Process(4), crashtest.Set("DuplicateSignature", "gone"),
		crashtest.Set("SourcePackage", "gone")))
	visitor, viewer, triager := site.Visitor(t), site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	good := map[string]string{"signature": b.Signature}
	for _, tt := range []struct {
		name    string
		client  *handlertest.Client
		body    any
		headers []handlertest.Header
		status  int
		code    string
	}{
		{"visitor", visitor, good, nil, 401, "not_signed_in"},
		{"visitor with nonsense", visitor, "x", []handlertest.Header{{Name: "Content-Type", Value: "text/plain"}}, 401,
			"not_signed_in"},
		{"no token", triager, good, []handlertest.Header{{Name: "X-CSRFToken"}}, 401, "bad_csrf_token"},
		{"wrong token", triager, good, []handlertest.Header{{Name: "X-CSRFToken", Value: "x"}}, 401, "bad_csrf_token"},
		{"foreign Referer", triager, good, []handlertest.Header{{Name: "Referer", Value: "https://evil.example/"}}, 401,
			"foreign_origin"},
		{"foreign Origin", triager, good, []handlertest.Header{{Name: "Origin", Value: "https://evil.example"}}, 401,
			"foreign_origin"},
		{"viewer", viewer, good, nil, 403, "role"},
		{"viewer with nonsense", viewer, "x", nil, 403, "role"},
		{"plain text", triager, good, []handlertest.Header{{Name: "Content-Type", Value: "text/plain"}}, 415, "media_type"},
		{"no media type", triager, good, []handlertest.Header{{Name: "Content-Type"}}, 415, "media_type"},
		{"too large", triager, map[string]string{"signature": strings.Repeat("x", 256<<10)}, nil, 413, "too_large"},
		{"not an object", triager, "x", nil, 400, "not_json"},
		{"a list", triager, []string{"signature"}, nil, 400, "not_json"},
		{"null", triager, nil, nil, 400, "not_json"},
		{"empty object", triager, map[string]string{}, nil, 400, "no_signature"},
		{"empty signature", triager, map[string]string{"signature": ""}, nil, 400, "no_signature"},
		{"number", triager, map[string]int{"signature": 1}, nil, 400, "no_signature"},
		{"null signature", triager, map[string]any{"signature": nil}, nil, 400, "no_signature"},
		{"unknown", triager, map[string]string{"signature": "no such thing"}, nil, 404, "unknown_bucket"},
		{"unknown, long", triager, map[string]string{"signature": strings.Repeat("x", 200<<10)}, nil, 404, "unknown_bucket"},
		{"no source package", triager, map[string]string{"signature": noSource.Signature}, nil, 422, ""},
		{"not retraced", triager, map[string]string{"signature": failed.Signature}, nil, 422, ""},
		{"refused by the tracker", triager, map[string]string{"signature": gone.Signature}, nil, 502, "tracker_refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.client.PostJSON(handlertest.CreatePath, tt.body, tt.headers...).Want(tt.status)
			var got handlertest.APIError
			a.JSON(&got)
			if got.Error == "" || got.Code == "" || tt.code != "" && got.Code != tt.code {
				t.Errorf("got %+v, want a message and the code %q", got, tt.code)
			}
			if tt.status == 401 && !strings.Contains(got.Error, "Unauthorized") {
				t.Errorf("got %q, want Unauthorized in it", got.Error)
			}
			if strings.Contains(a.Body, "mishap/") || strings.Contains(a.Body, "SQLSTATE") {
				t.Errorf("the answer reveals internal details: %s", a.Body)
			}
		})
	}
	checktest.Equal(t, "bugs in the tracker", len(site.Tracker.Bugs()), 0)
}

func TestCreateBugSwitchedOff(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{NoFiling: true})
	b := site.Save(t, crashtest.Native())
	for _, role := range handlertest.Roles {
		c := site.As(t, role)
		for _, path := range []string{"/", b.ID.Path()} {
			c.Get(path).Want(http.StatusOK).WantNone(".create-bug")
		}
		if role.Allows(crash.RoleTriager) {
			var got handlertest.APIError
			c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusForbidden).JSON(&got)
			if got.Code != "filing_off" {
				t.Errorf("got %+v, want filing_off", got)
			}
		}
	}
}

// TestCreateBugTrackerTrouble tests every failure of the tracker with each of the three kinds of
// request.
func TestCreateBugTrackerTrouble(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		fault     trackertest.Fault
		connected bool
		status    int
		state     string // of the part
		text      string // in the part
		flash     string
	}{
		{"filed", "", true, 201, "linked", "", "was created."},
		{"away", trackertest.DropBefore, true, 202, "checking", "Creating (checking the tracker)",
			"The bug is being created."},
		{"hangs", trackertest.HangBefore, true, 202, "creating", "Creating", "The bug is being created."},
		{"busy", trackertest.TooMany429, true, 503, "waiting", "Waiting for the tracker", "The bug was not created."},
		{"token no longer good", trackertest.ExpiredToken, true, 503, "waiting", "access token", "access token"},
		{"not connected", "", false, 503, "waiting", "not connected", "not connected"},
		{"refused", trackertest.Permission, true, 502, "refused", "Not created", "The bug was not created."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wait := handlertest.Patience // time for an outcome that does arrive
			if tt.fault == trackertest.HangBefore {
				wait = 100 * time.Millisecond
			}
			var site *handlertest.Site
			for i, form := range []string{"json", "part", "form"} {
				if i == 0 || tt.state == "waiting" { // a filing that waits comes before later ones
					site = handlertest.New(t, handlertest.Options{Disconnected: !tt.connected, CreateWait: wait, Settle: time.Hour})
				}
				if tt.fault != "" {
					site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: tt.fault, Times: 100})
				}
				c := site.As(t, crash.RoleTriager)
				b := site.Save(t, handlertest.Numbered(i))
				body := map[string]string{"signature": url.PathEscape(b.Signature)}
				switch form {
				case "json":
					a := c.PostJSON(handlertest.CreatePath, body).Want(tt.status)
					if got := a.Header.Get("Retry-After"); (got != "") != (tt.status == 202 || tt.status == 503) {
						t.Errorf("Retry-After: got %q with %d", got, tt.status)
					}
					var got created
					if a.JSON(&got); tt.status == 202 && (got.State != "filing" || got.Report != nil || got.URL != nil) {
						t.Errorf("got %s, want a filing without a bug", a.Body)
					}
				case "part":
					a := c.PostJSON(handlertest.CreatePath, body, handlertest.AsPart...).Want(tt.status)
					checktest.Equal(t, "state", a.Attr("#bug-"+b.ID.String()+"-now", "data-state"), tt.state)
					a.WantText(".bug-now", tt.text).WantNone("html > body > main")
					if canRetry := a.HTML().Find(".create-bug button").Length() == 1; canRetry != (tt.status >= 400) {
						t.Errorf("retry button: got %v with status %d", canRetry, tt.status)
					}
				case "form":
					c.Post(handlertest.CreatePath, url.Values{"signature": {body["signature"]}}).WantRedirect(http.StatusSeeOther,
						b.ID.Path())
					c.Get(b.ID.Path()).Want(http.StatusOK).WantText("#flash", tt.flash).WantText("#bug-"+b.ID.String(), tt.text)
					c.Get(b.ID.Path()).WantNone("#flash p")
				}
			}
		})
	}
}

func TestCreateBugFormRefused(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	failed := site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature",
		"failed:/usr/bin/tide:amd64")))
	form := url.Values{"signature": {b.Signature}}
	visitor, viewer, triager := site.Visitor(t), site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)

	a := visitor.Post(handlertest.CreatePath, form, handlertest.Header{Name: "Referer", Value: site.URL + b.ID.Path()}).
		Want(
			http.StatusUnauthorized)
	checktest.Equal(t, "address of the form after signing in", a.Attr("#sign-in input[name=next]", "value"),
		handlertest.CreatePath)
	viewer.Post(handlertest.CreatePath, form).Want(http.StatusForbidden).WantText("main", "needs the role triager")
	triager.Post(handlertest.CreatePath, nil).Want(http.StatusBadRequest).WantText("main", "signature")
	triager.Post(handlertest.CreatePath, url.Values{"signature": {"no such thing"}}).Want(http.StatusNotFound)
	triager.Post(handlertest.CreatePath, url.Values{"signature": {failed.Signature}}).WantRedirect(http.StatusSeeOther,
		failed.ID.Path())
	triager.Get(failed.ID.Path()).WantText("#flash", "has no function names").WantNone(".create-bug")

	part := visitor.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature},
		append(handlertest.AsPart, handlertest.Header{Name: "Referer", Value: site.URL + b.ID.Path()})...)
	part.Want(http.StatusUnauthorized).WantText(".bug-now", "Unauthorized")
	checktest.Equal(t, "next link", part.Attr(".bug-now a", "href"), "/login?next="+url.QueryEscape(b.ID.Path()))
}

func TestBugPartChangesWhileFiling(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: time.Millisecond})
	b := site.Save(t, crashtest.Native())
	answer := make(chan struct{})
	site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow, Hold: answer})
	c := site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/bug"
	now := "#bug-" + b.ID.String() + "-now"

	a := c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature},
		handlertest.AsPart...).Want(http.StatusAccepted)
	if got := a.Attr(now, "hx-get"); got != path {
		t.Errorf("polls %q, want %q", got, path)
	}
	if a.Attr(now, "hx-trigger") == "" {
		t.Error("got a cell that does not poll, want one that does")
	}
	a.WantText(now+" noscript", "Check whether it is done")
	if !strings.Contains(a.Body, `<noscript><a href="`+b.ID.Path()+`">`) { // browsers with scripts treat this as text
		t.Errorf("got no link for browsers without scripts: %s", a.Body)
	}
	close(answer)
	for a = c.Part(path); a.Attr(now, "data-state") != "linked"; a = c.Part(path) {
		a.Want(http.StatusOK)
	}
	if got, want := a.Attr(now+" a", "href"), site.Tracker.Bugs()[0].Number; got != fmt.Sprintf("%s/bugs/%d",
		site.Tracker.URL, want) {
		t.Errorf("link: got %q, want bug %d", got, want)
	}
	if got := a.HTML().Find(now).AttrOr("hx-trigger", ""); got != "refresh" {
		t.Errorf("a linked cell polls: %q; want it to load only when another copy changes", got)
	}
	c.Get(path).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Part("/problem/" + strings.Repeat("0", 40) + "/bug").Want(http.StatusNotFound)
	c.Part("/problem/x/bug").Want(http.StatusNotFound)
}

// TestManyClicksOneBug has fifty people click at once, on two instances.
func TestManyClicksOneBug(t *testing.T) {
	t.Parallel()
	one := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	two := handlertest.New(t, handlertest.Options{Store: one.Store, Tracker: one.Tracker,
		CreateWait: handlertest.Patience})
	b := one.Save(t, crashtest.Native())
	first := one.As(t, crash.RoleTriager)
	clients := make([]*handlertest.Client, 50)
	for i := range clients {
		clients[i] = handlertest.NewClient(t, []string{one.URL, two.URL}[i%2])
		for _, name := range []string{"sessionid", "csrftoken"} {
			clients[i].SetCookie(name, first.Cookie(name))
		}
	}
	var mu sync.Mutex
	statuses, numbers := map[int]int{}, map[string]bool{}
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			a := c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature})
			var got created
			a.JSON(&got)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
			if got.Report != nil {
				numbers[*got.Report] = true
			}
		})
	}
	wg.Wait()
	if want := (map[int]int{201: 1, 200: 49}); !cmp.Equal(statuses, want) {
		t.Errorf("statuses: got %v, want %v", statuses, want)
	}
	if got := len(one.Tracker.Bugs()); got != 1 || len(numbers) != 1 {
		t.Errorf("got %d bugs in the tracker and %v in the answers, want one", got, numbers)
	}
}

// TestCreateBugInBrowser tests the script behind Create in a real browser under the real policy.
func TestCreateBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: time.Millisecond})
	ada := site.AddUser(t, crash.RoleTriager)
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)

	t.Run("in place", func(t *testing.T) {
		b := site.Save(t, crashtest.Native())
		site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
			Delay: 200 * time.Millisecond})
		cell := "#bug-" + b.ID.String()
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible(cell+" button"))
		// It records every text of the cell and checks that the document is not reloaded.
		handlertest.Eval[bool](ctx, t, `window.stays = true; window.words = [];
			new MutationObserver(() => {
				const word = document.querySelector("`+cell+`").innerText.trim().split("\n")[0];
				if (words.at(-1) !== word) words.push(word);
			}).observe(document.querySelector("`+cell+`"), {subtree: true, childList: true, characterData: true}); true`)
		handlertest.Do(ctx, t, handlertest.Focus(cell+" button"))
		handlertest.Eval[bool](ctx, t, `const button = document.querySelector("`+cell+
			` button"); button.click(); button.click(); button.click(); true`)
		handlertest.Do(ctx, t, handlertest.WaitVisible(cell+" a.bug-link"))
		number := strconv.FormatInt(site.Tracker.Bugs()[0].Number, 10)
		checktest.Equal(t, "texts of the cell", handlertest.Eval[string](ctx, t, `words.join(", ")`),
			"Creating, "+number)
		if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
			t.Error("the page was reloaded, want it to stay")
		}
		handlertest.Do(ctx, t, // the focus returns to the cell
			handlertest.Until(`(document.activeElement.id || document.activeElement.className).startsWith("bug")`))
		checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
	})

	t.Run("no answer, then again", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature", "no answer: 100% <b>")))
		cell := "#bug-" + b.ID.String()
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible(cell+" button"))
		handlertest.Eval[bool](ctx, t,
			`window.realFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError("gone")); true`)
		handlertest.Do(ctx, t, handlertest.Click(cell+" button"), handlertest.WaitVisible(cell+" .no-answer"))
		if got := handlertest.Eval[string](ctx, t, `document.querySelector("`+cell+
			` button").textContent`); got != "Create bug in the practice tracker" {
			t.Errorf("button: got %q, want its label again", got)
		}
		if got := handlertest.Eval[string](ctx, t, `document.querySelector("`+cell+
			` .no-answer").textContent`); !strings.Contains(got, "did not answer") {
			t.Errorf("message: got %q, want one that the server did not answer", got)
		}
		handlertest.Eval[bool](ctx, t, `window.fetch = window.realFetch; true`)
		handlertest.Do(ctx, t, handlertest.Click(cell+" button"), handlertest.WaitVisible(cell+" a.bug-link"))
	})

	t.Run("signed out meanwhile", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature", "signed out")))
		cell := "#bug-" + b.ID.String()
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible(cell+" button"))
		checktest.NoError(t, site.People.Disable(t.Context(), "", ada.Name))
		handlertest.Do(ctx, t, handlertest.Click(cell+" button"), handlertest.WaitVisible(cell+` [data-state="trouble"] a`))
		want := "/login?next=%2Fproblem%2F" + b.ID.String()
		if got := handlertest.Eval[string](ctx, t, `document.querySelector("`+cell+` a").getAttribute("href")`); got != want {
			t.Errorf("sign-in link: got %q, want %q", got, want)
		}
	})
}
