package events_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail"
	"mishap/notify/mail/mailtest"
	view "mishap/views/events"
	"mishap/views/layout"
)

// TestMailPaths checks that mails link to pages that exist.
func TestMailPaths(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{mail.PathInbox: layout.PathInbox, mail.PathSettings: view.PathNotifications,
		mail.PathUnsubscribe: view.PathUnsubscribe, mail.PathConfirm: view.PathNotifications + "/confirm/"} {
		checktest.Equal(t, "link to", got, want)
	}
}

// choices is the form of choices as a browser sends it.
func choices(change url.Values) url.Values {
	form := url.Values{"mode": {"daily"}, "hour": {"7"}, "weekday": {"2"}, "zone": {"Europe/Paris"}, "quiet_from": {"22"},
		"quiet_to": {"6"}, "kind": {"new", "regressed"}}
	for name, values := range change {
		form[name] = values
	}
	return form
}

// TestMailSettings goes from an address to mail, and to no mail.
func TestMailSettings(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	site := handlertest.New(t, handlertest.Options{SMTPURL: server.URL})
	ada, eve := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	user := site.AddUser(t, crash.RoleViewer).ID
	round := func() {
		t.Helper()
		checktest.NoError(t, site.Mailer.Round(t.Context()))
	}
	const page = "/account/notifications"
	for _, bad := range []string{"", "ada", "ada@example.org\r\nBcc: eve@example.org"} {
		ada.Post(page+"/address", url.Values{"address": {bad}}).Want(http.StatusUnprocessableEntity).WantText(
			"#address-problem",
			"This is not an email address.")
	}
	ada.Post(page+"/test", nil).WantRedirect(http.StatusSeeOther, page)
	ada.Get(page).WantText(".flash-error", "Confirm an address first.")
	ada.Post(page+"/address", url.Values{"address": {"ada@example.org"}}).WantRedirect(http.StatusSeeOther, page)
	handlertest.Publish(t, site, crash.Event{Edge: "1", Kind: crash.EventNew, Title: "before the address"}, user)
	round()
	if n := len(server.Mails()); n != 1 {
		t.Fatalf("got %d mails, want only the link", n)
	}
	link := handlertest.LinkIn(t, server.Mails()[0], page+"/confirm/")
	site.Visitor(t).Get(link).Want(http.StatusSeeOther)
	eve.Get(link).Want(http.StatusForbidden)
	eve.Post(link, nil).Want(http.StatusForbidden)
	ada.Get(link).Want(http.StatusOK).WantText("main", "Should notifications go to ada@example.org?")
	ada.Get(page).WantText("#mail-address-heading ~ p", "not confirmed ada@example.org")
	ada.Post(link, nil).WantRedirect(http.StatusSeeOther, page)
	ada.Get(page).WantText(".flash-done", "Address confirmed.").WantText("main", "confirmed ada@example.org")

	for name, bad := range map[string]url.Values{"mode": {"mode": {"hourly"}}, "hour": {"hour": {"24"}},
		"weekday": {"weekday": {"-1"}}, "zone": {"zone": {"Mars/Olympus"}}, "local": {"zone": {"Local"}},
		"path": {"zone": {"../../etc/passwd"}}, "quiet": {"quiet_to": {""}}, "same": {"quiet_to": {"22"}}} {
		if a := ada.Post(page, choices(bad)); a.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got status %d, want 422", name, a.Status)
		}
	}
	ada.Post(page, choices(nil)).WantRedirect(http.StatusSeeOther, page)
	got, err := site.Events.MailSettings(t.Context(), user)
	if err != nil || got.Mode != crash.MailDaily || got.Hour != 7 || got.Weekday != 2 || got.Zone != "Europe/Paris" ||
		*got.Quiet != (crash.QuietHours{From: 22, To: 6}) || len(got.KindsOff) != len(crash.EventKinds)-2 {
		t.Errorf("saved: got %+v, %v", got, err)
	}
	form := ada.Get(page).HTML()
	if form.Find("#mail-choices input[name=kind][checked]").Length() != 2 ||
		form.Find("#mail-choices select[name=quiet_from] option[selected]").Text() != "22:00" {
		t.Error("the page does not show what was saved")
	}
	ada.Post(page+"/test", nil).Want(http.StatusSeeOther)
	ada.Get(page).WantText(".flash-done", "The relay accepted the test email: ").WantText(".mails", "test sent")
	server.OnRcpt(func(string) error { return mailtest.Permanent })
	ada.Post(page+"/test", nil).Want(http.StatusSeeOther)
	ada.Get(page).WantText(".flash-error", "550 5.1.1 No such mailbox")
	server.OnRcpt(nil)
	ada.Post(page, choices(url.Values{"mode": {"immediate"}, "quiet_from": {""}, "quiet_to": {""}})).Want(
		http.StatusSeeOther)
	handlertest.Publish(t, site, crash.Event{Edge: "2", Kind: crash.EventNew, Title: "after the address"}, user)
	round()
	mails := server.Mails()
	if last := mails[len(mails)-1]; !strings.Contains(last.Raw, "Subject: New: after the address") {
		t.Errorf("got %s", last.Raw)
	}
	ada.Get("/inbox").WantText("#notice-1", "not by mail").WantText("#notice-2", "sent by mail")
	ada.Post(page+"/remove", nil).Want(http.StatusSeeOther)
	ada.Get(page).WantText("main", "You get no mail yet.")
}

// TestUnsubscribe checks RFC 8058: a POST without cookies, twice, and a GET that changes nothing.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	site := handlertest.New(t, handlertest.Options{SMTPURL: server.URL})
	user := site.AddUser(t, crash.RoleViewer).ID
	checktest.NoError(t, site.Events.AskForMailAddress(t.Context(), user, "ada@example.org"))
	checktest.NoError(t, site.Events.ConfirmMailAddress(t.Context(), user, "ada@example.org"))
	handlertest.Publish(t, site, crash.Event{Edge: "1", Kind: crash.EventNew, Title: "t"}, user)
	checktest.NoError(t, site.Mailer.Round(t.Context()))
	mails := server.Mails()
	link := handlertest.LinkIn(t, mails[len(mails)-1], "/unsubscribe/")
	post := func(path, media, body string) *handlertest.Answer {
		t.Helper()
		c := site.Visitor(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", media)
		return c.Do(req)
	}
	mode := func() crash.MailMode {
		t.Helper()
		settings := dbtest.Must(site.Events.MailSettings(t.Context(), user))(t)
		return settings.Mode
	}
	const form, body = "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click"
	page := site.Visitor(t).Get(link).Want(http.StatusOK).WantText("#unsubscribe button", "Unsubscribe")
	if page.Header.Get("Set-Cookie") != "" || page.Attr("#unsubscribe", "action") != link {
		t.Errorf("got cookie %q and action %q", page.Header.Get("Set-Cookie"), page.Attr("#unsubscribe", "action"))
	}
	for _, bad := range []string{"", "List-Unsubscribe=one-click", body + "&x=1", body + "&" + body, "x=1"} {
		post(link, form, bad).Want(http.StatusBadRequest)
	}
	post(link, "text/plain", body).Want(http.StatusBadRequest)
	post(link+"A", form, body).Want(http.StatusNotFound)
	post(link, form, body+strings.Repeat("A", 10_000)).Want(http.StatusBadRequest)
	if got := mode(); got != crash.MailImmediate {
		t.Fatalf("got mode %s before unsubscribing", got)
	}
	var multi bytes.Buffer
	w := multipart.NewWriter(&multi)
	checktest.NoError(t, w.WriteField("List-Unsubscribe", "One-Click"))
	checktest.NoError(t, w.Close())
	for range 2 {
		post(link, form, body).Want(http.StatusOK).WantText("[role=status]", "You get no more mail")
		post(link, w.FormDataContentType(), multi.String()).Want(http.StatusOK)
	}
	checktest.Equal(t, "mode", mode(), crash.MailOff)
	handlertest.Publish(t, site, crash.Event{Edge: "2", Kind: crash.EventNew, Title: "t"}, user)
	if err := site.Mailer.Round(t.Context()); err != nil || len(server.Mails()) != len(mails) {
		t.Errorf("got %d mails, %v, want no more than %d", len(server.Mails()), err, len(mails))
	}
}

// TestMailAdmin checks the administrators' page: a test, a failure, and sending it again.
func TestMailAdmin(t *testing.T) {
	t.Parallel()
	handlertest.New(t, handlertest.Options{}).As(t, crash.RoleAdmin).Get("/admin/rules").Want(http.StatusOK).WantText(
		".prose", "This site sends no mail")
	server := mailtest.New(t)
	site := handlertest.New(t, handlertest.Options{SMTPURL: server.URL})
	root := site.As(t, crash.RoleAdmin)
	user := site.AddUser(t, crash.RoleAdmin).ID
	checktest.NoError(t, site.Events.AskForMailAddress(t.Context(), user, "root@example.org"))
	checktest.NoError(t, site.Events.ConfirmMailAddress(t.Context(), user, "root@example.org"))
	server.OnRcpt(func(string) error { return mailtest.Permanent })
	handlertest.Publish(t, site, crash.Event{Edge: "1", Kind: crash.EventNew, Title: "t"}, user)
	checktest.NoError(t, site.Mailer.Round(t.Context()))
	page := root.Get("/admin/mail?state=failed").WantText(".mails", "550 5.1.1 No such mailbox").WantText(
		".filing-states [aria-current]", "failed")
	root.Post("/admin/mail/test", url.Values{"address": {"post master"}}).Want(http.StatusUnprocessableEntity).
		WantText("#test-problem", "address")
	root.Post("/admin/mail/test", url.Values{"address": {"postmaster@example.org"}}).
		WantRedirect(http.StatusSeeOther, "/admin/rules#mail")
	root.Get("/admin/rules").WantText(".flash-error", "The relay did not accept the test email: ")
	server.OnRcpt(nil)
	root.Post(page.Attr(".mails form", "action"), nil).Want(http.StatusSeeOther)
	checktest.NoError(t, site.Mailer.Round(t.Context()))
	if mails := server.Mails(); len(mails) != 1 || mails[0].To != "root@example.org" {
		t.Errorf("got %v, want the mail that failed", mails)
	}
	root.Get("/admin/mail?state=nonsense").Want(http.StatusBadRequest)
}
