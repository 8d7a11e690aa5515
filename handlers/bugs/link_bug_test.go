package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestLinkBug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	number := site.Tracker.Add(trackertest.Bug{Title: "The very <bug>", Package: b.SourcePackage, Status: "Triaged",
		Importance: "High"})
	c := site.As(t, crash.RoleTriager)
	page := c.Get(b.ID.Path()).Want(http.StatusOK)
	if got := page.Attr(`#bugs .link-bug-link`, "href"); got != b.ID.Path()+"/link" {
		t.Errorf("link to the page that links bugs: got %q", got)
	}

	// The bug is shown before anything is linked.
	for _, text := range []string{fmt.Sprint(number), fmt.Sprintf(" #%d", number),
		fmt.Sprintf("%s/bugs/%d", site.Tracker.URL, number)} {
		found := c.Get(b.ID.Path() + "/link?bug=" + url.QueryEscape(text)).Want(http.StatusOK)
		found.WantText(".found-bug", "The very <bug>").WantText(".found-bug", "Triaged, High").WantText(".found-bug button",
			fmt.Sprintf("Link bug %d", number))
	}
	c.Part(b.ID.Path()+"/link?bug="+fmt.Sprint(number)).Want(http.StatusOK).WantText(".found-bug",
		"The very <bug>").WantNone("main")
	if got := site.Bucket(t, b.ID); got.Bug.Number != 0 {
		t.Fatalf("after viewing: got bug %d, want none", got.Bug.Number)
	}

	c.Post(b.ID.Path()+"/link", handlertest.BugForm(number)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	page = c.Get(b.ID.Path())
	page.WantText(".flash-done", fmt.Sprintf("Bug %d linked.", number)).WantText("#bugs .bug-link", fmt.Sprint(number)).
		WantText(".status-text", "Open in").WantText(".bug-list", "The very <bug>").WantText(".bug-list",
		"linked by ada-triager")
	site.Visitor(t).Get("/?period=year").WantText(`tbody [data-status="open"]`, fmt.Sprint(number))
	site.Visitor(t).Get(b.ID.Path()).WantText(".bug-list", "The very <bug>").WantNone(".link-bug-link, .bug-list form")
	if text := site.Visitor(t).Get(b.ID.Path()).Text(".bug-list"); strings.Contains(text, "ada") {
		t.Errorf("visitors: got %q, want no name of an account", text)
	}
	c.Get(b.ID.Path()+"/link?bug="+fmt.Sprint(number)).WantText(".found-bug",
		"already has that bug").WantNone(".found-bug form")
	c.Post(b.ID.Path()+"/link", handlertest.BugForm(number)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "was already linked")

	// Create returns the linked bug without filing anything.
	var created struct{ Report, State string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusOK).JSON(&created)
	if created.Report != fmt.Sprint(number) || len(site.Tracker.Bugs()) != 1 {
		t.Errorf("create: got %+v and %d bugs in the tracker, want %d and 1", created, len(site.Tracker.Bugs()), number)
	}
}

func TestLinkBugRefusals(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	for text, want := range map[string]string{
		"seven":                            "neither a bug number nor the address",
		"https://elsewhere.example/bugs/7": "belongs to none of the trackers",
	} {
		c.Get(b.ID.Path()+"/link?bug="+url.QueryEscape(text)).Want(http.StatusUnprocessableEntity).WantText(".error", want)
		c.Post(b.ID.Path()+"/link", handlertest.BugForm(text)).Want(http.StatusUnprocessableEntity).WantText("main", want)
	}
	c.Get(b.ID.Path()+"/link?bug=77").Want(http.StatusOK).WantText(".found-bug",
		"shows no bug 77").WantText(".found-bug button", "Link bug 77 anyway")
	c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(77)).Want(http.StatusNotFound)
	c.Post(b.ID.Path()+"/relink", handlertest.BugForm(77)).Want(http.StatusNotFound)
	unknown := crash.BucketIDOf("no such").Path()
	c.Get(unknown + "/link").Want(http.StatusNotFound)
	c.Post(unknown+"/link", handlertest.BugForm(7)).Want(http.StatusNotFound)

	site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpBug, Fault: trackertest.DropBefore, Times: 10})
	c.Get(b.ID.Path()+"/link?bug=78").Want(http.StatusOK).WantText(".found-bug",
		"cannot be reached").WantText(".found-bug button", "anyway")
	c.Post(b.ID.Path()+"/link", handlertest.BugForm(78)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "Its state will appear once").WantText(".bug-list", "not read yet")
}

// TestLinkBugOfAnotherPackage checks that linking a bug of another package asks first.
func TestLinkBugOfAnotherPackage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	tide, harbor := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleTriager)
	other := site.Tracker.Add(trackertest.Bug{Title: "Not ours", Package: "gannet"})
	bug := fmt.Sprint(other)
	question := tide.ID.Path() + "/link?bug=" + bug

	// A form without the answer leads to the question, whose form has it.
	c.Post(tide.ID.Path()+"/link", handlertest.BugForm(other)).WantRedirect(http.StatusSeeOther, question)
	part := c.Post(tide.ID.Path()+"/link", handlertest.BugForm(other), handlertest.AsPart...).Want(http.StatusOK)
	checktest.Equal(t, "in place", part.Header.Get("HX-Redirect"), question)
	checktest.Equal(t, "bug before the answer", site.Bucket(t, tide.ID).Bug.Number, 0)
	page := c.Get(question).Want(http.StatusOK).
		WantText(".found-bug", "This bug is for the source package gannet, but tidewatch crashed.").
		WantText(".found-bug button", "Link bug "+bug+" anyway").WantText(".found-bug a", "Cancel")
	checktest.Equal(t, "typed", page.Attr("#bug", "value"), bug)
	c.Part(question).WantText(".found-bug button[data-close]", "Cancel")
	c.Post(tide.ID.Path()+"/link", handlertest.FieldsOf(page, "#link-bug")).
		WantRedirect(http.StatusSeeOther, tide.ID.Path())
	checktest.Equal(t, "bug", site.Bucket(t, tide.ID).Bug.Number, other)

	// Several problems: only packages that the bug is not for are named.
	second := site.Tracker.Add(trackertest.Bug{Title: "Half ours", Package: tide.SourcePackage})
	place := "/problems/link?problems=" + tide.ID.String() + "." + harbor.ID.String()
	form := url.Values{"problems": {tide.ID.String() + "." + harbor.ID.String()}, "bug": {fmt.Sprint(second)},
		"back": {"/?period=day"}}
	c.Post("/problems/link", form).WantRedirect(http.StatusSeeOther, place+"&back=%2F%3Fperiod%3Dday&bug="+form.Get("bug"))
	page = c.Get(place+"&bug="+form.Get("bug")).WantText(".found-bug",
		"This bug is for the source package tidewatch, but "+harbor.SourcePackage+" crashed.").
		WantText(".found-bug button", "to 2 problems anyway").WantText(".found-bug a", "Cancel")
	c.Post("/problems/link", handlertest.FieldsOf(page, "#link-bug")).Want(http.StatusSeeOther)
	bugs, err := site.Bugs.BucketsOfBug(t.Context(), second)
	checktest.NoError(t, err)
	checktest.Equal(t, "problems of the bug", len(bugs), 2)

	// A bug of the package, of the distribution itself or of an unknown package raises no question.
	for _, b := range []trackertest.Bug{{Package: harbor.SourcePackage}, {Package: ""}} {
		number := site.Tracker.Add(b)
		c.Get(harbor.ID.Path() + "/link?bug=" + fmt.Sprint(number)).WantNone(".found-bug .error, .found-bug [name=other]")
		c.Post(harbor.ID.Path()+"/link", handlertest.BugForm(number)).WantRedirect(http.StatusSeeOther, harbor.ID.Path())
	}
}

func TestUnlinkBugAndUndo(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	var created struct{ Report string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated).JSON(&created)
	before := site.Bucket(t, b.ID)

	c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(created.Report)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	page := c.Get(b.ID.Path())
	page.WantText(".flash-done", "unlinked").WantNone(".bug-link")
	if got := site.Bucket(t, b.ID); got.Bug.Number != 0 || got.Filing.State != crash.FilingAbandoned ||
		!strings.Contains(got.Filing.Reason, "ada-triager") {
		t.Errorf("unlinked: got bug %d, filing %+v", got.Bug.Number, got.Filing)
	}
	if action, bug := page.Attr(".flash-done form", "action"), page.Attr(`.flash-done input[name=bug]`,
		"value"); action != b.ID.Path()+"/relink" || bug != created.Report {
		t.Fatalf("undo: got a form to %q for %q", action, bug)
	}
	c.Post(b.ID.Path()+"/relink", handlertest.BugForm(created.Report)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "linked again").WantText(".bug-link", created.Report)
	if got := site.Bucket(t, b.ID); got.Bug.How != crash.Filed || got.Bug.By != before.Bug.By ||
		!got.Bug.At.Equal(before.Bug.At) || got.Filing.State != crash.FilingFiled {
		t.Errorf("undone: got %+v, filing %s; want the state before: %+v", got.Bug, got.Filing.State, before.Bug)
	}

	// Unlinking in place returns the current bugs and a button to undo.
	part := c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(created.Report), handlertest.AsPart...).Want(http.StatusOK)
	part.WantNone("main").WantNone("#bugs .bug-link").WantText("#flash .flash-done", "unlinked")
	if part.Attr("#flash input[name=csrf_token]", "value") == "" {
		t.Error("undo in place: got no token in the form, want one")
	}
	// A new filing does not find a bug that was unlinked. Create files another one.
	var second struct{ Report string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated).JSON(&second)
	if second.Report == created.Report || len(site.Tracker.Bugs()) != 2 {
		t.Errorf("create again: got bug %s and %d in the tracker, want another one", second.Report, len(site.Tracker.Bugs()))
	}
}

func TestSeveralBucketsOfABug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	first, second := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	number := site.Tracker.Add(trackertest.Bug{Title: "One for two", Package: first.SourcePackage})
	address := fmt.Sprintf("/bug/%d", number)
	visitor := site.Visitor(t)
	visitor.Get(address).Want(http.StatusNotFound)
	c.Post(first.ID.Path()+"/link", handlertest.BugForm(number))
	visitor.Get(address).WantRedirect(http.StatusSeeOther, first.ID.Path())
	anyway := handlertest.BugForm(number)
	anyway.Set("other", "yes")
	c.Post(second.ID.Path()+"/link", anyway)
	list := visitor.Get(address).Want(http.StatusOK)
	for _, b := range []crash.Bucket{first, second} {
		if got := list.HTML().Find(`.bug-problems a[href="` + b.ID.Path() + `"]`).Length(); got != 1 {
			t.Errorf("list: got %d links to %s, want 1", got, b.ID)
		}
	}

	want := []string{first.Signature, second.Signature}
	slices.Sort(want)
	for query, signatures := range map[string][]string{"": want, "&limit=0": want, "&limit=1": want[:1]} {
		var got struct {
			Objects []struct{ Signatures []string }
		}
		visitor.Get("/api/1.0/crash-signatures-for-bug/?bug=" + fmt.Sprint(number) + query).Want(http.StatusOK).JSON(&got)
		if len(got.Objects) != 1 || !slices.Equal(got.Objects[0].Signatures, signatures) {
			t.Errorf("%s: got %+v, want %q", query, got, signatures)
		}
	}
}

// TestLinkBugInBrowser links and unlinks a bug on the page of a problem. Only Undo reloads the
// page.
func TestLinkBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	number := fmt.Sprint(site.Tracker.Add(trackertest.Bug{Title: "The very <bug>", Package: b.SourcePackage}))
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible("#bugs .link-bug-link"))
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	handlertest.Do(ctx, t, handlertest.Click("#bugs .link-bug-link"), handlertest.WaitVisible("#dialog #bug"),
		handlertest.Type("#dialog #bug", "seven\r"), handlertest.WaitVisible("#dialog .error"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector("#dialog .error").innerText`); !strings.Contains(
		got, "neither a bug number") {
		t.Errorf("not a number: got %q", got)
	}
	handlertest.Eval[bool](ctx, t, `document.querySelector("#dialog #bug").value = ""; true`)
	handlertest.Do(ctx, t, handlertest.Type("#dialog #bug", number+"\r"), handlertest.WaitVisible(".found-bug button"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector(".found-bug").innerText`); !strings.Contains(got,
		"The very <bug>") {
		t.Errorf("found: got %q, want its title", got)
	}
	handlertest.Do(ctx, t, handlertest.WaitVisible(".found-bug button:focus"), handlertest.Press("\r"),
		handlertest.WaitVisible("#bugs .bug-list"), handlertest.WaitVisible("#flash .flash-done"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector("#bugs a.bug-link").innerText`); got != number {
		t.Errorf("linked: got %q, want %s", got, number)
	}
	handlertest.Do(ctx, t, handlertest.Click("#bugs .bug-list button"), handlertest.WaitVisible("#flash .flash-done "+
		"form button"), handlertest.WaitAbsent("#bugs a.bug-link"))
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	handlertest.Do(ctx, t, handlertest.Click("#flash .flash-done form button"),
		handlertest.WaitVisible("#bugs a.bug-link"))
	if got := site.Bucket(t, b.ID); fmt.Sprint(got.Bug.Number) != number || got.Bug.How != crash.Linked {
		t.Errorf("undone: got %+v, want %s linked", got.Bug, number)
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	var chosen []crash.Bucket
	form := url.Values{"do": {"file"}}
	for i := range 3 {
		chosen = append(chosen, site.Save(t, handlertest.Numbered(i)))
		form.Add("bucket", chosen[i].ID.String())
	}
	sourceless := site.Save(t, crashtest.Native(crashtest.Without("SourcePackage"), crashtest.Set("DuplicateSignature",
		"no source"), crashtest.Process(9)))
	form.Add("bucket", sourceless.ID.String())
	form.Add("bucket", chosen[0].ID.String()) // duplicates are ignored

	list := c.Get("/?period=year").Want(http.StatusOK)
	checktest.Equal(t, "boxes on the list", list.HTML().Find("input[type=checkbox][form=bulk]").Length(), 4)
	site.As(t, crash.RoleViewer).Get("/?period=year").WantNone("input[form=bulk]").WantNone("#bulk")

	// Before anything is filed, a page lists what will be.
	form.Set("do", "create")
	confirm := c.Get(c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")).
		Want(http.StatusOK)
	confirm.WantText("h1", "Create 3 bugs in ").WantText("#confirm-create button", "Create 3 bugs").
		WantText(".confirm tbody", "tidewatch").WantText(".skipped", "source package is unknown")
	if got := confirm.HTML().Find("#confirm-create [name=bucket]").Length(); got != 3 || len(site.Tracker.Bugs()) != 0 {
		t.Errorf("got %d problems in the form and %d bugs, want 3 and none", got, len(site.Tracker.Bugs()))
	}
	form.Set("do", "file")
	answer := c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther)
	place := answer.Header.Get("Location")
	if !strings.HasPrefix(place, handlertest.ChosenPath+"?problems="+chosen[0].ID.String()+".") {
		t.Fatalf("got %s", place)
	}
	deadline := time.Now().Add(20 * time.Second)
	waits := func() bool {
		return site.Bucket(t, chosen[0].ID).Filing.State != crash.FilingRefused ||
			site.Bucket(t, chosen[1].ID).Bug.Number == 0 || site.Bucket(t, chosen[2].ID).Bug.Number == 0
	}
	for waits() {
		if time.Now().After(deadline) {
			t.Fatal("got bugs that are not filed, want all filed")
		}
		_ = site.Filer.StartDue(t.Context())
	}
	page := c.Get(place).Want(http.StatusOK).WantText("#flash", "Creating 3 bugs.")
	page.WantText("#chosen-progress", "4 problems: all done").WantNone("#chosen-progress[hx-get]").
		WantText("#result-"+chosen[0].ID.String(), "not created").WantText("#result-"+chosen[1].ID.String(), "filed").
		WantText("#result-"+sourceless.ID.String(), "cannot be filed")
	page.WantText(fmt.Sprintf("#bug-%s", chosen[0].ID), "403 Forbidden").WantText(fmt.Sprintf("#bug-%s", sourceless.ID),
		"cannot be filed")
	for i, b := range chosen[1:] {
		if bug := site.Tracker.Bugs()[i]; !strings.Contains(bug.Description, b.ID.Path()) {
			t.Errorf("bug %d does not belong to row %d", bug.Number, i+2)
		}
	}
	form.Set("do", "recheck")
	place = c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")
	c.Get(place).WantText("#flash", "2 bugs will be read from the tracker").WantText("#chosen-progress",
		"2 of 4 problems done").
		WantText("#chosen-progress[hx-get]", "done").WantText("#result-"+chosen[0].ID.String(), "no bug").
		WantText("#result-"+chosen[1].ID.String(), "waiting to be read")
	for _, b := range chosen[1:] {
		read := crash.BugReading{Number: site.Bucket(t, b.ID).Bug.Number, Title: "x"}
		checktest.NoError(t, site.Bugs.SaveBugReading(t.Context(), read, "", time.Hour))
	}
	c.Get(place, handlertest.AsPart...).WantText("#chosen-progress", "4 problems: all done").
		WantText("#result-"+chosen[1].ID.String()+"[hx-swap-oob]", "read again")
	c.Get(handlertest.ChosenPath + "?since=x&problems=" + sourceless.ID.String()).Want(http.StatusBadRequest)

	c.Post(handlertest.ChosenPath, url.Values{"do": {"file"}}).WantRedirect(http.StatusSeeOther, "/")
	c.Get("/").WantText("#flash", "No problem is selected.")
	c.Post(handlertest.ChosenPath, url.Values{"do": {"dance"}, "bucket": {chosen[0].ID.String()}}).
		Want(http.StatusBadRequest)
	c.Post(handlertest.ChosenPath, url.Values{"do": {"file"}, "bucket": {"zz"}}).Want(http.StatusNotFound)
	c.Get(handlertest.ChosenPath).Want(http.StatusBadRequest)
	c.Get(handlertest.ChosenPath + "?problems=" + crash.BucketIDOf("unknown").String()).Want(http.StatusNotFound)
	site.As(t, crash.RoleViewer).Post(handlertest.ChosenPath, form).Want(http.StatusForbidden)
}

func TestLinkChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	form := url.Values{"do": {"link"}}
	var chosen []crash.Bucket
	for i := range 3 {
		chosen = append(chosen, site.Save(t, handlertest.Numbered(i)))
		form.Add("bucket", chosen[i].ID.String())
	}
	number := site.Tracker.Add(trackertest.Bug{Title: "The <bug> of all", Package: "tidewatch", Status: "Triaged",
		Importance: "High"})
	c.Post(chosen[0].ID.Path()+"/link", handlertest.BugForm(number)).Want(http.StatusSeeOther)

	place := c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")
	if !strings.HasPrefix(place, "/problems/link?problems="+chosen[0].ID.String()+".") {
		t.Fatalf("got %s", place)
	}
	c.Get(place).Want(http.StatusOK).WantText("h1", "3 problems").WantNone("#link-bug")

	// The bug is shown first. An error appears beside the field, together with the submitted text.
	c.Get(place+"&bug=seven").Want(http.StatusUnprocessableEntity).WantText(".error", "neither a bug number")
	look := c.Get(place + "&bug=" + fmt.Sprint(number)).Want(http.StatusOK)
	look.WantText(".found-bug", "The <bug> of all").WantText(".found-bug", "Triaged, High").WantText(".found-bug button",
		fmt.Sprintf("Link bug %d to 2 problems", number))
	look.WantText("tbody tr:first-child .bug", "already linked")
	if part := c.Part(place + "&bug=" + fmt.Sprint(number)).Want(http.StatusOK); part.HTML().Find("nav").Length() != 0 {
		t.Error("part: got a whole page")
	}

	fields := handlertest.FieldsOf(look, "#link-bug")
	fields.Set("back", "/?period=year")
	done := "/?period=year"
	c.Post("/problems/link", fields).WantRedirect(http.StatusSeeOther, done)
	page := c.Get(done).Want(http.StatusOK)
	page.WantText("#flash", fmt.Sprintf("Bug %d linked to 2 problems. 1 already had it.", number))
	for _, b := range chosen {
		page.WantText("#bug-"+b.ID.String(), fmt.Sprint(number))
		if got := site.Bucket(t, b.ID); got.Bug.Number != number || got.Bug.State.Read.IsZero() {
			t.Errorf("%s: got %+v, want bug %d with its details", b.ID, got.Bug, number)
		}
	}
	c.Get(place+"&bug="+fmt.Sprint(number)).WantText(".found-bug", "All of them already have that bug")

	// Undo removes the bug from problems that had none before.
	undo := url.Values{"bug": {fmt.Sprint(number)}}
	c.Post(page.Attr("#flash form", "action"), undo).Want(http.StatusSeeOther)
	c.Get(done).WantText("#flash", "unlinked from 2 problems")
	for i, b := range chosen {
		if got := site.Bucket(t, b.ID).Bug.Number; (got == number) != (i == 0) {
			t.Errorf("row %d after undoing: got bug %d", i, got)
		}
	}
	c.Post(page.Attr("#flash form", "action"), undo).Want(http.StatusSeeOther)
	c.Get(done).WantText("#flash", "unlinked from 0 problems")

	c.Post("/problems/link", url.Values{"problems": {chosen[0].ID.String()}, "bug": {"x"}}).Want(
		http.StatusUnprocessableEntity)
	c.Post("/problems/link", url.Values{"problems": {crash.BucketIDOf("no").String()}, "bug": {fmt.Sprint(number)}}).Want(
		http.StatusNotFound)
	c.Get("/problems/link").Want(http.StatusBadRequest)
	site.As(t, crash.RoleViewer).Get(place).Want(http.StatusForbidden)
}

// TestLinkChosenTrackerUnavailable checks that linking works while the tracker is unavailable.
func TestLinkChosenTrackerUnavailable(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpBug, Fault: trackertest.Lost502, Times: 100})
	place := "/problems/link?problems=" + b.ID.String() + "&bug=77"
	look := c.Get(place).Want(http.StatusOK).WantText(".found-bug", "cannot be reached").WantText(".found-bug button",
		"anyway")
	c.Post("/problems/link", handlertest.FieldsOf(look, "#link-bug")).Want(http.StatusSeeOther)
	checktest.Equal(t, "bug", site.Bucket(t, b.ID).Bug.Number, 77)
}
