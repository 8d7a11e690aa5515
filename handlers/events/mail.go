package events

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/notify/mail"
	view "mishap/views/events"
	"mishap/views/layout"
)

// shownMails is the number of mails on the page of a person's choices.
const shownMails = 10

// ShowMailSettings shows the user's choices about mail.
func (s *Pages) ShowMailSettings(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	return s.sendMailSettings(w, r, http.StatusOK, view.MailSettingsPage{Settings: settings})
}

func (s *Pages) sendMailSettings(w http.ResponseWriter, r *http.Request, status int, p view.MailSettingsPage) error {
	var err error
	if p.Mails, err = s.Events.Mails(r.Context(), "", web.CurrentUser(r).ID, 0, shownMails); err != nil {
		return err
	}
	weekly, err := s.Events.WeeklyMails(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	for _, w := range weekly {
		p.Weekly = append(p.Weekly, view.WeeklyMail{ID: w.ID, Scope: w.WeeklyScope})
	}
	p.On = s.Mailer.Enabled()
	p.Shell = s.web.Shell(r, "Your notifications")
	return s.web.Page(w, r, status, view.MailSettings(p))
}

// SaveMailSettings saves the user's choices about mail.
func (s *Pages) SaveMailSettings(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if wrong := readChoices(r, &settings); wrong != "" {
		return s.sendMailSettings(w, r, http.StatusUnprocessableEntity,
			view.MailSettingsPage{Settings: settings, Wrong: wrong})
	}
	if err := s.Events.SaveMailSettings(r.Context(), settings); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathNotifications, "Saved.")
}

// readChoices reads the form of choices. It returns what is wrong with it, or an empty text.
func readChoices(r *http.Request, into *crash.MailSettings) string {
	if err := r.ParseForm(); err != nil {
		return mailBadChoice
	}
	form := r.PostForm
	mode := crash.MailMode(form.Get("mode"))
	hour, okHour := smallNumber(form, "hour", 23)
	day, okDay := smallNumber(form, "weekday", 6)
	if !slices.Contains(crash.MailModes, mode) || !okHour || !okDay {
		return mailBadChoice
	}
	into.Mode, into.Hour, into.Weekday = mode, hour, time.Weekday(day)
	zone := strings.TrimSpace(form.Get("zone"))
	// "Local" is the zone of the server, and other instances may have another one.
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || len(zone) > 60 {
		return "There is no such time zone. Write it like Europe/Paris."
	}
	into.Zone, into.Quiet = zone, nil
	if form.Get("quiet_from") != "" || form.Get("quiet_to") != "" {
		from, ok := smallNumber(form, "quiet_from", 23)
		to, ok2 := smallNumber(form, "quiet_to", 23)
		if !ok || !ok2 || from == to {
			return "Choose both ends of the quiet hours, at different times, or none."
		}
		into.Quiet = &crash.QuietHours{From: from, To: to}
	}
	into.KindsOff = slices.DeleteFunc(slices.Clone(crash.EventKinds), func(k crash.EventKind) bool {
		return slices.Contains(form["kind"], string(k))
	})
	return ""
}

// smallNumber reads a number from 0 to most from a form.
func smallNumber(form url.Values, name string, most int) (int, bool) {
	n, err := strconv.Atoi(form.Get(name))
	return n, err == nil && n >= 0 && n <= most
}

// AddWeeklyMail subscribes the user to a weekly report.
func (s *Pages) AddWeeklyMail(w http.ResponseWriter, r *http.Request) error {
	user := web.CurrentUser(r).ID
	scope, err := crash.ParseWeeklyScope(r.PostFormValue("of"), r.PostFormValue("name"))
	if err == nil {
		err = s.Events.AddWeeklyMail(r.Context(), user, scope)
	}
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.Conflict {
		settings, err2 := s.Events.MailSettings(r.Context(), user)
		if err2 != nil {
			return err2
		}
		return s.sendMailSettings(w, r, http.StatusUnprocessableEntity, view.MailSettingsPage{Settings: settings,
			WeeklyProblem: web.AnswerTo(r, err).Message})
	}
	if err != nil {
		return err
	}
	settings, err := s.Events.MailSettings(r.Context(), user)
	if err != nil {
		return err
	}
	said := "You get the weekly report of " + scope.Text() + " by mail."
	if settings.Address == "" || settings.Mode == crash.MailOff {
		said = "You are subscribed to the weekly report of " + scope.Text() + ", but you get no mail yet."
	}
	return s.web.Done(w, r, view.PathNotifications+"#weekly", said)
}

// RemoveWeeklyMail ends a weekly report of the user.
func (s *Pages) RemoveWeeklyMail(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.RemoveWeeklyMail(r.Context(), web.CurrentUser(r).ID, web.IDInPath(r)); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathNotifications+"#weekly", "Removed.")
}

// SetMailAddress sends a link to an address that the user typed.
func (s *Pages) SetMailAddress(w http.ResponseWriter, r *http.Request) error {
	user, typed := web.CurrentUser(r).ID, r.PostFormValue("address")
	err := error(mail.ErrNoRelay)
	if s.Mailer.Enabled() {
		var address string
		if address, err = mail.ParseAddress(typed); err == nil {
			err = s.Events.AskForMailAddress(r.Context(), user, address)
		}
	}
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.TooMany || kind == crash.Conflict {
		settings, err2 := s.Events.MailSettings(r.Context(), user)
		if err2 != nil {
			return err2
		}
		return s.sendMailSettings(w, r, http.StatusUnprocessableEntity, view.MailSettingsPage{
			Settings: settings, Typed: crash.Truncate(typed, 254), Problem: web.AnswerTo(r, err).Message,
		})
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathNotifications, "A link is on its way. Open it to confirm the address.")
}

// RemoveMailAddress removes the user's address.
func (s *Pages) RemoveMailAddress(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.RemoveMailAddress(r.Context(), web.CurrentUser(r).ID); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathNotifications, "Address removed. You get no mail.")
}

// SendTestMail sends a test mail to the user's confirmed address, and shows the relay's reply.
func (s *Pages) SendTestMail(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if settings.Address == "" {
		return s.flash(w, r, layout.FlashError, "Confirm an address first.", view.PathNotifications)
	}
	return s.test(w, r, settings.Address, view.PathNotifications)
}

// test sends a test mail and shows the relay's reply on a page.
func (s *Pages) test(w http.ResponseWriter, r *http.Request, address, page string) error {
	outcome, err := s.Mailer.Test(r.Context(), web.CurrentUser(r).ID, address)
	if kind := crash.KindOf(err); kind == crash.TooMany || kind == crash.Conflict {
		return s.flash(w, r, layout.FlashError, web.AnswerTo(r, err).Message, page)
	}
	if err != nil {
		return err
	}
	kind := layout.FlashDone
	if outcome.State != crash.MailSent {
		kind = layout.FlashError
	}
	return s.flash(w, r, kind, mailTested(outcome.State == crash.MailSent, outcome.Reply), page)
}

var errForeignLink = crash.Errorf(crash.Forbidden, "foreign_mail_link", "%s", "This link belongs to another "+
	"account. Sign in with the account that asked for it.")

// confirmed returns the address in the link of a request, which must be the user's.
func (s *Pages) confirmed(r *http.Request) (string, error) {
	user, address, err := s.Mailer.Confirmed(r.Context(), r.PathValue("token"))
	if err == nil && user != web.CurrentUser(r).ID {
		err = errForeignLink
	}
	return address, err
}

// ShowConfirmAddress asks whether to confirm the address in a link.
func (s *Pages) ShowConfirmAddress(w http.ResponseWriter, r *http.Request) error {
	address, err := s.confirmed(r)
	if err != nil {
		return err
	}
	return s.web.Page(w, r, http.StatusOK, view.ConfirmAddress(view.ConfirmAddressPage{
		Shell: s.web.Shell(r, "Confirm your email address"), Address: address, Path: r.URL.EscapedPath(),
	}))
}

// ConfirmAddress confirms the address in a link.
func (s *Pages) ConfirmAddress(w http.ResponseWriter, r *http.Request) error {
	address, err := s.confirmed(r)
	if err != nil {
		return err
	}
	if err := s.Events.ConfirmMailAddress(r.Context(), web.CurrentUser(r).ID, address); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathNotifications, "Address confirmed. You get mail there.")
}

const mailBadChoice = "The form has an unknown value. Reload the page, then choose again."

func mailTested(accepted bool, reply string) string {
	if accepted {
		return "The relay accepted the test email: " + reply
	}
	return "The relay did not accept the test email: " + reply
}

// adminMails is the number of mails on a page for administrators.
const adminMails = 50

// ShowMails shows what became of all mail. The query contains the state and the page.
func (s *Pages) ShowMails(w http.ResponseWriter, r *http.Request) error {
	var p view.MailAdminPage
	before, err := idOrZero(r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	if state := r.URL.Query().Get("state"); state != "" {
		if p.State, err = crash.ParseWord(state, crash.MailStates, "state of emails"); err != nil {
			return err
		}
	}
	if p.Mails, err = s.Events.Mails(r.Context(), p.State, 0, before, adminMails+1); err != nil {
		return err
	}
	if len(p.Mails) > adminMails {
		p.Mails = p.Mails[:adminMails]
		p.Next = view.MailsURL(p.State, p.Mails[adminMails-1].ID)
	}
	totals, err := s.Events.MailTotals(r.Context())
	if err != nil {
		return err
	}
	p.States, p.Shell = totals.States, s.web.Shell(r, "Mail log")
	return s.web.Page(w, r, http.StatusOK, view.MailAdmin(p))
}

// TestRelay sends a test mail to an address that the administrator typed, and shows the relay's
// reply.
func (s *Pages) TestRelay(w http.ResponseWriter, r *http.Request) error {
	typed := r.PostFormValue("address")
	address, err := mail.ParseAddress(typed)
	if err != nil {
		return s.sendRules(w, r, http.StatusUnprocessableEntity, view.MailSummary{
			Address: crash.Truncate(typed, 254), Problem: web.AnswerTo(r, err).Message,
		})
	}
	return s.test(w, r, address, layout.PathRules+"#mail")
}

// RetryMail sends a mail again that has failed for good.
func (s *Pages) RetryMail(w http.ResponseWriter, r *http.Request) error {
	id, err := idOrZero(r.PathValue("id"))
	if err != nil {
		return web.ErrNoPage
	}
	if err := s.Events.RetryMail(r.Context(), id); err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathMailAdmin, "The email will be sent within seconds.")
}

// maxUnsubscribeBytes is the largest body of a request to unsubscribe; the largest valid one is a
// multipart form with one short field.
const maxUnsubscribeBytes = 4 << 10

var errUnsubscribeBody = crash.Errorf(crash.Invalid, "bad_unsubscribe", "%s", "This address accepts only "+
	"List-Unsubscribe=One-Click.")

// ShowUnsubscribe asks whether to unsubscribe. It changes nothing, because programs that scan mail
// open links.
func (s *Pages) ShowUnsubscribe(w http.ResponseWriter, r *http.Request) error {
	return s.sendUnsubscribe(w, r, false)
}

// Unsubscribe unsubscribes the person in the token, as RFC 8058 describes: without cookies, a CSRF
// token or a redirect, and as often as the mail program likes. The token is signed, so no other site
// can make up a request.
func (s *Pages) Unsubscribe(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxUnsubscribeBytes)
	if !web.IsForm(r) {
		return errUnsubscribeBody
	}
	if err := r.ParseMultipartForm(maxUnsubscribeBytes); err != nil && r.PostForm == nil {
		return errUnsubscribeBody
	}
	if got := r.PostForm["List-Unsubscribe"]; len(r.PostForm) != 1 || len(got) != 1 || got[0] != "One-Click" {
		return errUnsubscribeBody
	}
	user, err := s.Mailer.Unsubscribed(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	if err := s.Events.Unsubscribe(r.Context(), user); err != nil {
		return err
	}
	return s.sendUnsubscribe(w, r, true)
}

func (s *Pages) sendUnsubscribe(w http.ResponseWriter, r *http.Request, done bool) error {
	if _, err := s.Mailer.Unsubscribed(r.Context(), r.PathValue("token")); err != nil {
		return err
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is a key to the subscription
	return s.web.Page(w, r, http.StatusOK, view.Unsubscribe(view.UnsubscribePage{
		Shell: s.web.BareShell(r, "Unsubscribe"), Path: r.URL.EscapedPath(), Done: done,
	}))
}
