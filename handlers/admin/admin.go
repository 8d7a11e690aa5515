// Package admin serves the pages of administrators: the health of the instance, the connection to
// the tracker, templates of bugs, symbols, and regrouping.
package admin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/doors"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	view "mishap/views/admin"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store     *db.Store
	Bugs      *bugs.Store
	Doors     *doors.Store
	People    *people.Store
	Problems  *problems.Store
	Decisions *db.Decisions
	Symbols   *symbols.Store
	Filer     *tracker.Filer
	Tracker   *launchpad.Client
	Creds     *tracker.Credentials
	// Health returns what the checks of this instance have found, and Checks also those of the site.
	Health, Checks func(context.Context) []crash.HealthCheck
	// Write writes a new access token into the configuration file. It may return a *crash.Error.
	Write func(context.Context, crash.AccessToken) error
}

// Pages serves the pages of administrators.
type Pages struct {
	web      *web.Kit
	exporter *export.Exporter
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, exporter *export.Exporter, d Deps) *Pages { return &Pages{kit, exporter, d} }

// ShowHealth answers "ok" while the process runs.
func ShowHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "ok\n")
}

// ShowReady answers whether this instance can work, for load balancers. Anyone may ask, so it
// leaves out details.
func (s *Pages) ShowReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), HealthTimeout)
	defer cancel()
	var problems []string
	for _, c := range s.Health(ctx) {
		if c.Problem != "" {
			problems = append(problems, c.Problem)
		}
	}
	if len(problems) > 0 {
		return crash.Errorf(crash.Unavailable, web.CodeNotReady, "%s", strings.Join(problems, " "))
	}
	return writeText(w, "ready\n")
}

// HealthTimeout is the time limit of all checks together.
const HealthTimeout = 2 * time.Second

// ShowAdmin shows the page with the health checks.
func (s *Pages) ShowAdmin(w http.ResponseWriter, r *http.Request) error {
	return s.web.Page(w, r, http.StatusOK, view.Health(s.web.Shell(r, "Health"), s.Checks(r.Context())))
}

func writeText(w http.ResponseWriter, body string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(body)) // an error means that the visitor has left
	return nil
}

// auditSize is the number of records on a page of the audit log.
const auditSize = 50

// ShowAudit shows records of the audit log, newest first.
func (s *Pages) ShowAudit(w http.ResponseWriter, r *http.Request) error {
	filter, after, err := readAuditFilter(r.URL.Query())
	page := view.AuditPage{Shell: s.web.Shell(r, "Audit log"), Checks: s.Checks(r.Context()),
		Filter: filter, After: after}
	if crash.KindOf(err) == crash.Invalid {
		page.Problem = web.AnswerTo(r, err).Message
		return s.web.Page(w, r, http.StatusBadRequest, view.Audit(page))
	}
	if page.Records, err = upkeep.NewAuditLog(s.Store).List(r.Context(), filter, after, auditSize+1); err != nil {
		return err
	}
	if len(page.Records) > auditSize {
		page.Records = page.Records[:auditSize]
		last := page.Records[auditSize-1]
		page.Next = audit.Cursor{At: last.At, ID: last.ID}
	}
	return s.web.Page(w, r, http.StatusOK, view.Audit(page))
}

// ExportAudit sends the records that a filter selects as lines of JSON, newest first.
func (s *Pages) ExportAudit(w http.ResponseWriter, r *http.Request) error {
	filter, after, err := readAuditFilter(r.URL.Query())
	if err == nil && after.ID != 0 {
		err = crash.Errorf(crash.Invalid, "bad_filter", "The export has no pages. Leave out after=.")
	}
	if err == nil {
		err = s.web.AuditDownload(r, "read.log", r.URL.RawQuery)
	}
	if err != nil {
		return err
	}
	ctx, cancel := beginLines(w, r, "audit.jsonl")
	defer cancel()
	out := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(out)
	for record, err := range upkeep.NewAuditLog(s.Store).All(ctx, filter) {
		if err == nil {
			err = lines.Encode(record)
		}
		if err != nil {
			s.web.Log.WarnContext(ctx, "the export of the audit log was cut short", "request_id", web.RequestID(r), "error", err)
			panic(http.ErrAbortHandler) // the client must not take a part for everything
		}
	}
	_ = out.Flush() // an error means that the client has disconnected
	return nil
}

// beginLines begins a file of lines of JSON that may take long.
func beginLines(w http.ResponseWriter, r *http.Request, file string) (context.Context, context.CancelFunc) {
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
	w.Header().Set("Cache-Control", "no-store")
	return export.LongContext(w, r)
}

// readAuditFilter reads a filter and a cursor from a query. Days are in UTC.
func readAuditFilter(q url.Values) (f audit.Filter, after audit.Cursor, err error) {
	value := func(name string) string {
		return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(crash.Truncate(q.Get(name), 300), "\x00", ""), ""))
	}
	f = audit.Filter{Person: value("who"), Action: value("action"), Object: value("object"), Address: value("address"),
		Result: value("result")}
	invalid := func(format string, args ...any) error {
		return crash.Errorf(crash.Invalid, "bad_filter", format, args...)
	}
	day := func(name string) (t time.Time) {
		if text := value(name); text != "" && err == nil {
			if t, err = time.Parse(time.DateOnly, text); err != nil {
				t, err = time.Time{}, invalid("%q is not a day such as 2026-11-23.", text)
			}
		}
		return t
	}
	f.Since = day("from")
	if until := day("to"); !until.IsZero() {
		f.Until = until.AddDate(0, 0, 1)
	}
	if _, known := audit.Words(f.Action); f.Action != "" && !known {
		err = invalid("%s", audit.UnknownAction(f.Action))
	}
	if f.Result != "" && f.Result != audit.Done && f.Result != audit.Refused {
		err = invalid("The result is done or refused, not %q.", f.Result)
	}
	if f.Address != "" {
		address, wrong := netip.ParseAddr(f.Address)
		if wrong != nil {
			return f, after, invalid("%q is not an address.", f.Address)
		}
		f.Address = address.String()
	}
	if text := q.Get("after"); text != "" && err == nil {
		micros, id, _ := strings.Cut(text, ".")
		at, wrong := strconv.ParseInt(micros, 10, 64)
		if after.ID, err = strconv.ParseInt(id, 10, 64); err != nil || wrong != nil || at < 0 || at > 1<<57 || after.ID < 1 {
			return f, audit.Cursor{}, web.ErrBadCursor
		}
		after.At = time.UnixMicro(at).UTC()
	}
	return f, after, err
}

// maxPeople is the number of accounts that the page of people lists at most.
const maxPeople = 50

// ShowPeople shows who has which role and why, rights of groups, service accounts and tokens.
func (s *Pages) ShowPeople(w http.ResponseWriter, r *http.Request) error {
	return s.sendPeople(w, r, http.StatusOK, view.PeoplePage{})
}

func (s *Pages) sendPeople(w http.ResponseWriter, r *http.Request, status int, page view.PeoplePage) (err error) {
	ctx := r.Context()
	page.Shell, page.Checks, page.Everyone = s.web.Shell(r, "People"), s.Checks(ctx), s.Store.Rights.Everyone
	page.Search = strings.TrimSpace(crash.Truncate(r.URL.Query().Get("person"), 100))
	page.Service.Role = cmp.Or(page.Service.Role, crash.RoleViewer)
	if page.Services, err = s.People.ServiceAccounts(ctx, 0); err != nil {
		return err
	}
	if page.Tokens, err = s.People.CountTokens(ctx); err != nil {
		return err
	}
	if page.Grants, err = s.People.Grants(ctx); err != nil {
		return err
	}
	users, err := s.People.Accounts(ctx)
	if err != nil {
		return err
	}
	identities, err := s.People.Identities(ctx, 0)
	if err != nil {
		return err
	}
	for _, p := range crash.AccessOf(users, identities, page.Grants, s.Store.Rights.Everyone) {
		if !strings.Contains(strings.ToLower(p.User.Name), strings.ToLower(page.Search)) {
			continue
		}
		if len(page.People) == maxPeople {
			page.More = true
			break
		}
		page.People = append(page.People, p)
	}
	return s.web.Page(w, r, status, view.People(page))
}

func formGrant(r *http.Request) crash.Grant {
	g := crash.Grant{Source: crash.Source(r.PostFormValue("source")),
		Group: crash.Truncate(r.PostFormValue("group"), 300), Role: crash.Role(r.PostFormValue("role"))}
	g.Scope.Kind = crash.GrantScopeKind(cmp.Or(r.PostFormValue("scope"), string(crash.GrantAll)))
	g.Scope.Name = strings.TrimSpace(crash.Truncate(r.PostFormValue("packages"), 300))
	return g
}

// CreateService creates a service account.
func (s *Pages) CreateService(w http.ResponseWriter, r *http.Request) error {
	form := peopleview.ServiceForm{Name: strings.TrimSpace(crash.Truncate(r.PostFormValue("name"), 100)),
		Role: crash.Role(r.PostFormValue("role")), Team: web.ReadTeam(r)}
	u, err := s.People.AddService(r.Context(), web.CurrentUser(r).Name, form.Name, form.Role, form.Team)
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.Conflict {
		form.Problem = web.AnswerTo(r, err).Message
		return s.sendPeople(w, r, http.StatusUnprocessableEntity, view.PeoplePage{Service: form})
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, peopleview.ServicePath(u.Name),
		"The service account "+u.Name+" is created. Create a token for it.")
}

// Grant gives a right to a group or an account.
func (s *Pages) Grant(w http.ResponseWriter, r *http.Request) error {
	form := view.GrantForm{Grant: formGrant(r)}
	err := s.People.Grant(r.Context(), web.CurrentUser(r).Name, form.Grant)
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.NotFound {
		form.Problem = web.AnswerTo(r, err).Message
		return s.sendPeople(w, r, http.StatusUnprocessableEntity, view.PeoplePage{Form: form})
	}
	if err != nil {
		return err
	}
	return s.afterAccess(w, r, view.Granted(form.Grant))
}

// Revoke takes a right of a group or an account away.
func (s *Pages) Revoke(w http.ResponseWriter, r *http.Request) error {
	g := formGrant(r)
	if err := s.People.RevokeGrant(r.Context(), web.CurrentUser(r).Name, g); err != nil {
		return err
	}
	return s.afterAccess(w, r, view.Revoked(g))
}

// ResetSecondFactor removes the authenticator app of a person who has lost it.
func (s *Pages) ResetSecondFactor(w http.ResponseWriter, r *http.Request) error {
	by, name := web.CurrentUser(r), r.PostFormValue("name")
	if strings.EqualFold(by.Name, name) {
		return crash.Errorf(crash.Conflict, "own_second_factor",
			"You can remove your own app with your password, on the page of your account.")
	}
	if err := s.People.ResetSecondFactor(r.Context(), by.Name, name); err != nil {
		return err
	}
	return s.afterAccess(w, r, "The authenticator app of "+name+" is removed, and "+name+" is signed out everywhere.")
}

// afterAccess redirects to the page of people, or to the account of a person who may not see it any more.
func (s *Pages) afterAccess(w http.ResponseWriter, r *http.Request, message string) error {
	u, err := s.People.ByID(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if !u.Role.Allows(crash.RoleAdmin) {
		return s.web.Done(w, r, web.PathAccount, message)
	}
	return s.web.Done(w, r, layout.PathPeople, message)
}

// maxTokens is the number of tokens that the page of all tokens lists at most.
const maxTokens = 500

// ListTokens shows the API tokens of all accounts.
func (s *Pages) ListTokens(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page := view.AllTokensPage{Shell: s.web.Shell(r, "API tokens"), Filter: crash.TokenFilter{
		Text: strings.TrimSpace(crash.Truncate(strings.ToValidUTF8(q.Get("text"), ""), 100)), Limit: maxTokens + 1}}
	page.Filter.Text = strings.ReplaceAll(page.Filter.Text, "\x00", "")
	var err error
	if page.Filter.State, err = crash.ParseTokenState(q.Get("state")); err != nil {
		return err
	}
	if q.Get("scope") != "" {
		if page.Filter.Scope, err = crash.ParseScope(q.Get("scope")); err != nil {
			return err
		}
	}
	if page.Tokens, err = s.People.AllTokens(r.Context(), page.Filter); err != nil {
		return err
	}
	if page.More = len(page.Tokens) > maxTokens; page.More {
		page.Tokens = page.Tokens[:maxTokens]
	}
	return s.web.Page(w, r, http.StatusOK, view.AllTokens(page))
}

// RevokeToken revokes a token of any account.
func (s *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	person, err := s.People.RevokeTokenOf(r.Context(), web.CurrentUser(r).Name, 0, web.IDInPath(r))
	if err != nil {
		return err
	}
	return s.afterTokens(w, r, "Token of "+person+" revoked.")
}

// RevokeTokens revokes all tokens that are expired or unused.
func (s *Pages) RevokeTokens(w http.ResponseWriter, r *http.Request) error {
	state := crash.TokenState(r.PostFormValue("state"))
	n, err := s.People.RevokeTokens(r.Context(), web.CurrentUser(r).Name, state)
	if err != nil {
		return err
	}
	if n == 0 {
		web.MarkUnchanged(r)
	}
	return s.afterTokens(w, r, view.TokensRevoked(n))
}

// afterTokens redirects to the list with the filter of before, and a message.
func (s *Pages) afterTokens(w http.ResponseWriter, r *http.Request, message string) error {
	path := layout.PathAllTokens
	if query := r.PostFormValue("filter"); query != "" && len(query) < 500 {
		path += "?" + query
	}
	return s.web.Done(w, r, web.LocalPath(path), message)
}
