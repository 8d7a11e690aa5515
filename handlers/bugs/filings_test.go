package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	admin.Get(handlertest.FilingsPath).Want(http.StatusOK).WantText(".empty", "No bugs have been requested yet")

	filed := handlertest.FileBug(t, site, 1)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	refused := handlertest.FileBug(t, site, 2)
	page := admin.Get(handlertest.FilingsPath).Want(http.StatusOK)
	page.WantText(".filing[data-state=filed] .bug-link",
		fmt.Sprint(filed.Bug.Number)).WantText(".filing[data-state=filed]", "sent to the tracker").
		WantText(".filing[data-state=filed]", "201").WantText(".filing[data-state=filed]", "ines").
		WantText(".filing[data-state=refused]", "403").WantText(".filing-states", "refused 1")
	admin.Get(handlertest.FilingsPath+"?state=refused").Want(http.StatusOK).WantNone(".filing[data-state=filed]").
		WantText("main",
			"403 Forbidden")
	admin.Get(handlertest.FilingsPath + "?state=given").Want(http.StatusBadRequest)
	admin.Get(handlertest.FilingsPath + "?after=nonsense").Want(http.StatusBadRequest)
	admin.Get(handlertest.FilingsPath + "/4711").Want(http.StatusNotFound)

	// On the page of the bucket, all signed-in people can read the ledger, but only admins have
	// buttons.
	site.As(t, crash.RoleViewer).Get(refused.ID.Path()).Want(http.StatusOK).WantText(".filing",
		"403").WantNone(".filing-form")
	site.Visitor(t).Get(refused.ID.Path()).Want(http.StatusOK).WantNone(".filing")
	admin.Get(refused.ID.Path()).Want(http.StatusOK).WantText(".filing-form button", "Retry now")
	site.As(t, crash.RoleTriager).Get(handlertest.FilingsPath).Want(http.StatusForbidden)
}

func TestManageFilings(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	b := handlertest.FileBug(t, site, 1)
	path := fmt.Sprintf("%s/%d", handlertest.FilingsPath, b.Filing.ID)

	admin.Post(path+"/give-up", url.Values{"reason": {" "}}).WantRedirect(http.StatusSeeOther, handlertest.FilingsPath)
	admin.Get(handlertest.FilingsPath).WantText("#flash", "Enter a reason").WantText(".filing", "refused")
	admin.Post(path+"/give-up", url.Values{"reason": {"a <b>test</b> machine"}}).WantRedirect(http.StatusSeeOther,
		handlertest.FilingsPath)
	admin.Get(handlertest.FilingsPath+"?state=abandoned").WantText("#flash", "given up").WantText(".filing",
		"a <b>test</b> machine").
		WantText(".filing-history", "ada-admin")
	admin.Post(path+"/give-up", url.Values{"reason": {"again"}}).WantRedirect(http.StatusSeeOther, handlertest.FilingsPath)
	admin.Get(path).Want(http.StatusOK).WantText("#flash", "cannot be given up")
	site.As(t, crash.RoleTriager).Get(b.ID.Path()).WantText(".bug-now button", "Create") // the bug can be requested again

	admin.Post(path+"/retry", nil).WantRedirect(http.StatusSeeOther, handlertest.FilingsPath)
	got := site.Bucket(t, b.ID)
	if got.Filing.State != crash.FilingFiled || got.Bug.Number == 0 || len(site.Tracker.Bugs()) != 1 {
		t.Errorf("retry: got %+v, want it filed", got.Filing)
	}
	admin.Get(path).WantText("#flash", fmt.Sprint(got.Bug.Number)).WantNone(".filing-form")
	for _, action := range []string{"/retry", "/give-up"} {
		admin.Post(handlertest.FilingsPath+"/99"+action, url.Values{"reason": {"r"}}).Want(http.StatusNotFound)
		site.As(t, crash.RoleTriager).Post(path+action, nil).Want(http.StatusForbidden)
	}
}

// TestGivenUpWhileUncertain requests a bug again after its filing was abandoned with an unknown
// outcome. The earlier bug must be found by searching.
func TestGivenUpWhileUncertain(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.DropAfter)
	site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpSearch, Fault: trackertest.Error503, Times: 200})
	b := site.Save(t, handlertest.Numbered(1))
	_, _ = site.Filer.CreateBug(t.Context(), b.Signature, tracker.Options{Person: "ines", Wait: 50 * time.Millisecond})
	f := site.Bucket(t, b.ID).Filing
	for deadline := time.Now().Add(20 * time.Second); f.State != crash.FilingUncertain; f = site.Bucket(t, b.ID).Filing {
		if time.Now().After(deadline) {
			t.Fatalf("got %s, want uncertain", f.State)
		}
	}
	path := fmt.Sprintf("%s/%d", handlertest.FilingsPath, f.ID)
	admin.Part(path).Want(http.StatusOK).WantText(".filing", "unknown")
	admin.Post(path+"/give-up", url.Values{"reason": {"tired"}}).Want(http.StatusSeeOther)
	site.Tracker.ClearFaults()
	answer := admin.Post(path+"/retry", nil)
	answer.Want(http.StatusSeeOther)
	if got := site.Bucket(t, b.ID); got.Filing.State != crash.FilingFiled || len(site.Tracker.Bugs()) != 1 {
		t.Errorf("got %s and %d bugs, want the earlier bug", got.Filing.State, len(site.Tracker.Bugs()))
	}
}

func TestLedgerPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	site.Tracker.Revoke(site.Token.Token) // no filing can leave the queue
	const filings = 27
	for i := range filings {
		b := site.Save(t, handlertest.Numbered(i))
		_, _ = site.Filer.CreateBug(t.Context(), b.Signature, tracker.Options{Person: "ines"})
	}
	seen := map[string]bool{}
	page := admin.Get(handlertest.FilingsPath).Want(http.StatusOK)
	for range 3 {
		for _, n := range page.HTML().Find(".filing").EachIter() {
			id, _ := n.Attr("id")
			if seen[id] {
				t.Errorf("%s is listed twice", id)
			}
			seen[id] = true
		}
		next := page.HTML().Find(".paging a").First()
		if !strings.Contains(next.Text(), "Older") {
			break
		}
		href, _ := next.Attr("href")
		page = admin.Get(href).Want(http.StatusOK)
	}
	checktest.Equal(t, "filings on all pages", len(seen), filings)
}

// TestBannerAfterRestore checks that triagers and admins see that nothing is sent after a restore,
// and that admins can read more.
func TestBannerAfterRestore(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, url)})
	dbtest.Exec(t, url, "update filing_writer set restored = now(), backup_taken = '2026-11-20 03:00Z'")
	const banner = "restored from a backup of 2026-11-20 03:00 UTC"
	admin := site.As(t, crash.RoleAdmin)
	admin.Get("/").Want(http.StatusOK).WantText(".banner", banner).WantText(".banner a[href='/admin']", "More")
	admin.Get("/admin").Want(http.StatusOK).WantText(".attention", "filings reconcile --apply").WantNone(".banner")
	admin.Get("/admin").WantText("main", "No backup was made")
	dbtest.Exec(t, url, `insert into backups (taken, ended, place, bytes, reports) values
		(now() - interval '30 hours', now(), '/var/backups/mishap/new', 3145728, 7)`)
	admin.Get("/admin").WantText("main", "7 reports, 3.0 MiB, in /var/backups/mishap/new").
		WantText("main", "The last one was taken on")
	dbtest.Exec(t, url, "update backups set taken = now() - interval '4 days'")
	admin.Get("/admin").WantText("main", "The last backup is 4 days old.")
	site.As(t, crash.RoleTriager).Get("/").Want(http.StatusOK).WantText(".banner", banner).WantNone(".banner a")
	site.Visitor(t).Get("/").Want(http.StatusOK).WantNone(".banner")
	if b := handlertest.FileBug(t, site, 1); b.Filing.State != crash.FilingQueued || len(site.Tracker.Bugs()) != 0 {
		t.Errorf("got %s, want the filing to wait", b.Filing.State)
	}
	dbtest.Exec(t, url, "update filing_writer set restored = null, backup_taken = null")
	admin.Get("/").Want(http.StatusOK).WantNone(".banner")
}

// TestBanner checks that only admins see the banner, on every page, while the tracker rejects our
// credentials.
func TestBanner(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	admin.Get("/").Want(http.StatusOK).WantNone(".banner")
	site.Tracker.Fail(trackertest.OpCreate, trackertest.Permission)
	handlertest.FileBug(t, site, 1)
	admin.Get("/").Want(http.StatusOK).WantNone(".banner") // a missing permission does not mean bad credentials
	site.Tracker.Revoke(site.Token.Token)
	handlertest.FileBug(t, site, 2)
	for _, path := range []string{"/", handlertest.FilingsPath} {
		admin.Get(path).Want(http.StatusOK).WantText(".banner", "no longer accepts").WantText(".banner", "1 bug is waiting")
	}
	admin.Get("/").Want(http.StatusOK).WantText(".banner a[href='/admin/tracker']", "Connect")
	site.As(t, crash.RoleTriager).Get("/").Want(http.StatusOK).WantNone(".banner")
	site.Visitor(t).Get("/").Want(http.StatusOK).WantNone(".banner")

	// Connecting again releases the queue at once.
	admin.Post(handlertest.TrackerPath+"/request-token", nil)
	u, err := url.Parse(admin.Get(handlertest.TrackerPath).Attr("#authorize", "href"))
	if err != nil || !site.Tracker.Authorize(u.Query().Get("oauth_token"), "WRITE_PUBLIC") {
		t.Fatalf("authorise: %v", err)
	}
	admin.Post(handlertest.TrackerPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	admin.Get("/").Want(http.StatusOK).WantNone(".banner")
	checktest.NoError(t, site.Filer.StartDue(t.Context()))
	deadline := time.Now().Add(20 * time.Second)
	for site.Bucket(t, crash.BucketIDOf("/usr/bin/tidewatch:11:problem_2")).Bug.Number == 0 {
		if time.Now().After(deadline) {
			t.Fatal("got a queue that is still blocked, want it released")
		}
		_ = site.Filer.StartDue(t.Context())
	}
}

// TestFilingsInBrowser checks that the buttons of the ledger work in place and that the page fits
// on a phone.
func TestFilingsInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	handlertest.FileBug(t, site, 1)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	refused := handlertest.FileBug(t, site, 2)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.Permission)
	other := handlertest.FileBug(t, site, 3)
	entry := func(b crash.Bucket) string { return fmt.Sprintf("#filing-%d", b.Filing.ID) }
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleAdmin)
	handlertest.Do(ctx, t, chromedp.EmulateViewport(360, 800))
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+handlertest.FilingsPath), handlertest.WaitVisible(entry(refused)))
	handlertest.Eval[bool](ctx, t,
		`document.querySelectorAll("details").forEach((d) => { d.open = true }); window.stays = true`)
	if over := handlertest.Eval[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("at 360 px the page is %d px too wide", over)
	}
	handlertest.Do(ctx, t, chromedp.EmulateViewport(1600, 1000))
	handlertest.Do(ctx, t, handlertest.Click(entry(refused)+"-give-up button"),
		handlertest.WaitVisible(entry(refused)+" [role=alert]"))
	handlertest.Do(ctx, t, handlertest.Click(entry(other)+"-retry button"),
		handlertest.WaitVisible(entry(other)+"[data-state=filed]"))
	handlertest.Eval[bool](ctx, t, `document.querySelectorAll("details").forEach((d) => { d.open = true }); true`)
	handlertest.Do(ctx, t, handlertest.Type(entry(refused)+"-reason", "not ours\r"),
		handlertest.WaitVisible(entry(refused)+"[data-state=abandoned]"))
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
}
