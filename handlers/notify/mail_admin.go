package notify

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/notify/mail"
	"mishap/views"
)

// adminMails is the number of mails on a page for administrators.
const adminMails = 50

// ShowMails shows what became of all mail. The query contains the state and the page.
func (s *Pages) ShowMails(w http.ResponseWriter, r *http.Request) error {
	settings, err := s.Events.MailSettings(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	return s.sendMails(w, r, http.StatusOK, views.MailAdminPage{Address: settings.Address})
}

func (s *Pages) sendMails(w http.ResponseWriter, r *http.Request, status int, p views.MailAdminPage) error {
	p.State = crash.MailState(r.URL.Query().Get("state"))
	if p.State != "" && !slices.Contains(crash.MailStates, p.State) {
		return crash.Errorf(crash.Invalid, "unknown_state", "%q is not the state of a mail.", p.State)
	}
	before, err := number(r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	if p.Mails, err = s.Events.Mails(r.Context(), p.State, 0, before, adminMails+1); err != nil {
		return err
	}
	if len(p.Mails) > adminMails {
		p.Mails = p.Mails[:adminMails]
		p.Next = views.MailsURL(p.State, p.Mails[adminMails-1].ID)
	}
	totals, err := s.Events.MailTotals(r.Context())
	if err != nil {
		return err
	}
	p.States, p.LastSuccess = totals.States, totals.LastSuccess
	p.On, p.From = s.Mailer.Enabled(), s.Mailer.From()
	p.Shell = s.Shell(r, "Mail")
	return s.Page(w, r, status, views.MailAdmin(p))
}

// TestRelay sends a test mail to an address that the administrator typed, and shows the relay's
// reply.
func (s *Pages) TestRelay(w http.ResponseWriter, r *http.Request) error {
	typed := r.PostFormValue("address")
	address, err := mail.ParseAddress(typed)
	if err != nil {
		return s.sendMails(w, r, http.StatusUnprocessableEntity, views.MailAdminPage{
			Address: crash.Truncate(typed, 254), Problem: web.AnswerTo(r, err).Message,
		})
	}
	return s.test(w, r, address, views.PathMailAdmin)
}

// RetryMail sends a mail again that has failed for good.
func (s *Pages) RetryMail(w http.ResponseWriter, r *http.Request) error {
	id, err := number(r.PathValue("id"))
	if err != nil {
		return web.ErrNoPage
	}
	if err := s.Events.RetryMail(r.Context(), id); err != nil {
		return err
	}
	return s.flash(w, r, views.FlashDone, "The mail will be sent within seconds.", views.PathMailAdmin)
}
