// Package notify serves the inbox, the choices about mail, links in mails, and the administrators'
// page about mail.
package notify

import (
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

// Pages serves everything about notices and mail.
type Pages struct {
	*export.Exporter
	*web.Kit
}

// New returns the handlers of this package.
func New(exporter *export.Exporter) *Pages { return &Pages{exporter, exporter.Kit} }

// flash redirects to a page with a message.
func (s *Pages) flash(w http.ResponseWriter, r *http.Request, kind views.FlashKind, message, path string) error {
	if err := s.Flash(r, kind, message); err != nil {
		return err
	}
	return web.Redirect(w, r, path)
}

// number reads a number from a query or form. An empty text is 0.
func number(value string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 {
		return 0, web.ErrBadCursor
	}
	return n, nil
}

var errBadChoice = crash.Errorf(crash.Unprocessable, "bad_choice", "%s", mailBadChoice)
