package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

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
