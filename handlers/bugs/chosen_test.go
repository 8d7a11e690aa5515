package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

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
	if got := list.HTML().Find("input[type=checkbox][form=bulk]").Length(); got != 4 {
		t.Errorf("got %d boxes on the list, want 4", got)
	}
	site.As(t, crash.RoleViewer).Get("/?period=year").WantNone("input[form=bulk]").WantNone("#bulk")

	// Before anything is filed, a page lists what will be.
	form.Set("do", "create")
	confirm := c.Get(c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")).
		Want(http.StatusOK)
	confirm.WantText("h1", "Create 3 bugs in ").WantText("#confirm-create button", "Create 3 bugs").
		WantText(".confirm tbody", "tidewatch").WantText(".skipped", "source package of this problem is not known")
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
		if err := site.Bugs.SaveBugReading(t.Context(), read, "", time.Hour); err != nil {
			t.Fatal(err)
		}
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
