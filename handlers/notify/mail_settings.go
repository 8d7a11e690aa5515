package notify

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
	"mishap/views"
)

// shownMails is the number of mails on the page of a person's choices.
const shownMails = 10

// ShowMailSettings shows the user's choices about mail.
func (s *Pages) ShowMailSettings(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	return s.sendMailSettings(w, r, http.StatusOK, views.MailSettingsPage{Settings: settings})
}

func (s *Pages) sendMailSettings(w http.ResponseWriter, r *http.Request, status int, p views.MailSettingsPage) error {
	var err error
	if p.Mails, err = s.Events.Mails(r.Context(), "", web.CurrentUser(r).ID, 0, shownMails); err != nil {
		return err
	}
	p.On, p.From = s.Mailer.Enabled(), s.Mailer.From()
	p.Shell = s.Shell(r, "Your notifications")
	return s.Page(w, r, status, views.MailSettings(p))
}

// SaveMailSettings saves the user's choices about mail.
func (s *Pages) SaveMailSettings(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if wrong := readChoices(r, &settings); wrong != "" {
		return s.sendMailSettings(w, r, http.StatusUnprocessableEntity,
			views.MailSettingsPage{Settings: settings, Wrong: wrong})
	}
	if err := s.Events.SaveMailSettings(r.Context(), settings); err != nil {
		return err
	}
	return s.flash(w, r, views.FlashDone, "Saved.", views.PathNotifications)
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
		return s.sendMailSettings(w, r, http.StatusUnprocessableEntity, views.MailSettingsPage{
			Settings: settings, Typed: crash.Truncate(typed, 254), Problem: web.AnswerTo(r, err).Message,
		})
	}
	if err != nil {
		return err
	}
	return s.flash(w, r, views.FlashDone, "A link is on its way. Open it to confirm the address.", views.PathNotifications)
}

// RemoveMailAddress removes the user's address.
func (s *Pages) RemoveMailAddress(w http.ResponseWriter, r *http.Request) error {
	if err := s.Events.RemoveMailAddress(r.Context(), web.CurrentUser(r).ID); err != nil {
		return err
	}
	return s.flash(w, r, views.FlashDone, "The address was removed. You get no mail.", views.PathNotifications)
}

// SendTestMail sends a test mail to the user's confirmed address, and shows the relay's reply.
func (s *Pages) SendTestMail(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if settings.Address == "" {
		return s.flash(w, r, views.FlashError, "Confirm an address first.", views.PathNotifications)
	}
	return s.test(w, r, settings.Address, views.PathNotifications)
}

// test sends a test mail and shows the relay's reply on a page.
func (s *Pages) test(w http.ResponseWriter, r *http.Request, address, page string) error {
	outcome, err := s.Mailer.Test(r.Context(), web.CurrentUser(r).ID, address)
	if kind := crash.KindOf(err); kind == crash.TooMany || kind == crash.Conflict {
		return s.flash(w, r, views.FlashError, web.AnswerTo(r, err).Message, page)
	}
	if err != nil {
		return err
	}
	kind := views.FlashDone
	if outcome.State != crash.MailSent {
		kind = views.FlashError
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
	return s.Page(w, r, http.StatusOK, views.ConfirmAddress(views.ConfirmAddressPage{
		Shell: s.Shell(r, "Confirm your mail address"), Address: address, Path: r.URL.EscapedPath(),
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
	return s.flash(w, r, views.FlashDone, "The address is confirmed. You get mail there.", views.PathNotifications)
}

const mailBadChoice = "The form contains a value that does not exist. Reload the page, then choose again."

// mailTested says what the relay replied to a test mail.
func mailTested(accepted bool, reply string) string {
	if accepted {
		return "The relay accepted the test mail: " + reply
	}
	return "The relay did not accept the test mail: " + reply
}
