// Package events serves the inbox, the choices about mail, and links in mails. For administrators, it
// serves notification rules with their rehearsals, the problems that rules propose for filing, endpoints
// with their deliveries, and the page about mail.
package events

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/db"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/notify/mail"
	"mishap/notify/webhook"
	"mishap/tracker"
	view "mishap/views/events"
	"mishap/views/layout"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store  *db.Store
	Events *events.Store
	People *people.Store
	Filer  *tracker.Filer
	Mailer *mail.Mailer
	Sender *webhook.Client // tests endpoints
	// Checks returns what the health checks of this instance and of the site have found.
	Checks func(context.Context) []crash.HealthCheck
}

// Pages serves everything about notifications.
type Pages struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, panel *panel.Panel, exporter *export.Exporter, d Deps) *Pages {
	return &Pages{kit, panel, exporter, d}
}

func (s *Pages) flash(w http.ResponseWriter, r *http.Request, kind layout.FlashKind, message, path string) error {
	return s.web.RedirectWith(w, r, path, layout.Flash{Kind: kind, Text: message})
}

// idOrZero reads a number from a query or form. An empty text is 0.
func idOrZero(value string) (int64, error) {
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

const (
	inboxSize    = 50   // notices on a page
	exportedSize = 5000 // notices in a file
)

// ShowInbox shows the notices of the user. The query contains filters and the page.
func (s *Pages) ShowInbox(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportInbox(w, r, format)
	}
	filter, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	user := web.CurrentUser(r)
	p := view.InboxPage{Filter: filter, MailOn: s.Mailer.Enabled()}
	if p.Notices, err = s.Events.Inbox(r.Context(), user.ID, filter, inboxSize+1); err != nil {
		return err
	}
	if p.More = len(p.Notices) > inboxSize; p.More {
		p.Notices = p.Notices[:inboxSize]
	}
	if p.Kinds, p.Packages, err = s.Events.InboxFacets(r.Context(), user.ID); err != nil {
		return err
	}
	p.Shell = s.web.Shell(r, "Inbox")
	filter.Before = 0
	_, query, _ := strings.Cut(view.InboxURL(filter), "?")
	p.Shell.Also = layout.Alternates("Inbox", layout.PathInbox, query)
	return s.web.Page(w, r, http.StatusOK, view.Inbox(p))
}

func readFilter(q url.Values) (f crash.NoticeFilter, err error) {
	f = crash.NoticeFilter{Kind: crash.EventKind(q.Get("kind")), Package: q.Get("package"), Unread: q.Get("unread") != ""}
	for _, s := range []string{f.Package, string(f.Kind)} {
		if len(s) > web.MaxQueryText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return f, web.ErrBadCursor
		}
	}
	if f.Mail, err = idOrZero(q.Get("mail")); err != nil {
		return f, err
	}
	f.Before, err = idOrZero(q.Get("before"))
	return f, err
}

// ExportInbox sends the notices as a file or feed. The table changes without the revision of the data. So the
// time takes part in its entity tag.
func (s *Pages) ExportInbox(w http.ResponseWriter, r *http.Request, format string) error {
	filter, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	user := web.CurrentUser(r).ID
	version := s.web.Now().Format(time.RFC3339Nano)
	return s.exporter.Export(w, r, format, version, func(ctx context.Context) (export.Table, error) {
		notices, err := s.Events.Inbox(ctx, user, filter, exportedSize)
		return export.Table{Title: "Inbox", Path: view.InboxURL(filter), Columns: inboxColumns,
			Rows: export.RowsOf(notices, inboxRow)}, err
	})
}

// inboxColumns are the columns of the inbox.
var inboxColumns = []string{"notice", "at", "kind", "title", "package", "source_package", "release", "version",
	"machines", "text", "reason", "read", "mail", "problem"}

func inboxRow(n crash.Notice) export.Row {
	e := n.Event
	read, problem := "", ""
	if !n.Read.IsZero() {
		read = n.Read.UTC().Format(time.RFC3339)
	}
	if e.Bucket != nil {
		problem = e.Bucket.String()
	}
	return export.Row{
		Cells: []any{n.ID, n.At, string(e.Kind), e.Title, e.Package, e.Source, string(e.Release), e.Version, e.Machines,
			e.Text, n.Reason, read, string(n.Mail), problem},
		Path:  view.InboxURL(crash.NoticeFilter{Before: n.ID + 1}),
		Title: e.Kind.Label() + ": " + e.Title, Summary: e.Text, First: n.At, Last: n.At,
	}
}

// ReadNotices marks a notice as read, or also all older ones. The message has a form that undoes
// that.
func (s *Pages) ReadNotices(w http.ResponseWriter, r *http.Request) error {
	id, err := idOrZero(r.PostFormValue("notice"))
	if err != nil || id == 0 {
		return errBadChoice
	}
	n, at, err := s.Events.ReadNotices(r.Context(), web.CurrentUser(r).ID, id, r.PostFormValue("older") == "1")
	if err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: crash.Counted(n, "notification", "notifications") +
		" marked as read."}
	if n > 0 {
		message.Undo = &layout.Undo{Action: view.PathInboxUnread, Field: "at", Value: at.Format(time.RFC3339Nano)}
	}
	return s.web.RedirectWith(w, r, backToInbox(r), message)
}

// UnreadNotices undoes ReadNotices.
func (s *Pages) UnreadNotices(w http.ResponseWriter, r *http.Request) error {
	at, err := time.Parse(time.RFC3339Nano, r.PostFormValue("at"))
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return errBadChoice
	}
	if _, err := s.Events.UnreadNotices(r.Context(), web.CurrentUser(r).ID, at); err != nil {
		return err
	}
	return s.web.Done(w, r, backToInbox(r), "Marked as unread again.")
}

func backToInbox(r *http.Request) string {
	if path := web.ReturnPath(r); path == layout.PathInbox || strings.HasPrefix(path, layout.PathInbox+"?") {
		return path
	}
	return layout.PathInbox
}
