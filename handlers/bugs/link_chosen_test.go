package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

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
	c.Get(place).Want(http.StatusOK).WantText("h1", "3 problems").WantNone("#link-chosen")

	// The bug is shown first. An error appears beside the field, together with the submitted text.
	c.Get(place+"&bug=seven").Want(http.StatusUnprocessableEntity).WantText(".error", "neither a bug number")
	look := c.Get(place + "&bug=" + fmt.Sprint(number)).Want(http.StatusOK)
	look.WantText(".found-bug", "The <bug> of all").WantText(".found-bug", "Triaged, High").WantText(".found-bug button",
		fmt.Sprintf("Link bug %d to 2 problems", number))
	look.WantText("tbody tr:first-child .bug", "already linked")
	if part := c.Part(place + "&bug=" + fmt.Sprint(number)).Want(http.StatusOK); part.HTML().Find("nav").Length() != 0 {
		t.Error("part: got a whole page")
	}

	done := c.Post("/problems/link", handlertest.FieldsOf(look, "#link-chosen")).Want(http.StatusSeeOther).
		Header.Get("Location")
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
	c.Post("/problems/link", handlertest.FieldsOf(look, "#link-chosen")).Want(http.StatusSeeOther)
	if got := site.Bucket(t, b.ID).Bug.Number; got != 77 {
		t.Errorf("got bug %d, want 77", got)
	}
}
