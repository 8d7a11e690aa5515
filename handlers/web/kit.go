// Package web contains what all areas of the web side share: answers to errors, sessions, CSRF
// tokens, the current user, rendering, caches, and redaction for visitors. It imports none of the
// areas.
package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/alexedwards/scs/v2"
	"github.com/justinas/nosurf"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/span"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/doors"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/proxies"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// Config holds the configuration of the web side.
type Config struct {
	BaseURL        string                 // such as "https://crashes.example.org"
	AllowBugFiling bool                   // if false, pages do not show Create, and it is refused
	IngestURL      string                 // where machines post reports, such as "http://localhost:8081"
	CreateWait     time.Duration          // time limit of the tracker for Create; 0: 4 s
	SearchTime     time.Duration          // time limit of a search of the tracker for a review; 0: 4 s
	Version        string                 // of the program
	Cores          *cores.Store           // core dumps; nil: not on this machine
	AskForCores    bool                   // machines are asked for cores
	CorePackages   debuginfo.Patterns     // of which programs machines are asked for cores
	SourceLinks    grouping.LinkTemplates // to lines of source packages
	VersionLinks   grouping.LinkTemplates // to versions of source packages
	AssetsDir      string                 // development: serve assets from this folder
	Privacy        *privacy.Table         // who may read which fields; nil: the built-in table
	Retention      Retention              // how long data is stored

	TrustedProxies proxies.Networks // proxies whose X-Forwarded headers are trusted

	OpenID crash.OpenIDConfig // signing in with OpenID 2.0
	OIDC   crash.OIDCConfig   // signing in with OpenID Connect
	Proxy  ProxyConfig        // signing in by a header

	RequireApp  crash.AppPolicy   // who must have an authenticator app; empty: nobody
	LocalSignIn crash.LocalSignIn // whether people sign in with a password; empty: they do

	APIRatePerToken      int // requests a minute to the API with one token; 0: no limit
	APIRatePerAddress    int // requests a minute to the API from one address without a token; 0: no limit
	ExportRatePerAddress int // files and feeds a minute that visitors get from one address; 0: no limit

	Instances func() int // how many instances share these limits; nil: 1

	TrackerName           string // such as "Launchpad"
	ConfigFile            string // where WriteTokens writes
	TokensFromEnvironment bool   // the environment contains the access token and overrides the file
}

// Retention says for how many days data is stored; 0: forever.
type Retention struct {
	privacy.Periods
	CoresDays int
}

// Deps are the dependencies of a Kit. All but Tracker and Tracer are required.
type Deps struct {
	Store       *db.Store
	People      *people.Store
	Bugs        *bugs.Store
	Doors       *doors.Store
	Problems    *problems.Store
	Events      *events.Store
	Symbols     *symbols.Store
	Filer       *tracker.Filer
	Tracker     *launchpad.Client    // nil: Launchpad is not configured
	Credentials *tracker.Credentials // of the first tracker
	Config      Config
	Log         *slog.Logger
	Now         func() time.Time
	Registerer  prometheus.Registerer
	Tracer      *span.Tracer // records requests; nil: none
}

// Kit holds the sessions and caches of the web side, and the methods that answer requests. The areas have
// stores of their own.
type Kit struct {
	*Auditor
	store       *db.Store
	people      *people.Store
	bugs        *bugs.Store
	events      *events.Store
	tracker     *launchpad.Client
	credentials *tracker.Credentials

	Config Config
	Log    *slog.Logger
	Now    func() time.Time

	Base     *url.URL
	Sessions *scs.SessionManager
	metrics  *metrics
	tracer   *span.Tracer
	visitors *visitors

	pageCache *cache.Cache[string] // whole pages for visitors, by Kit.revision
	fileCache *cache.Cache[string] // files for visitors
	factCache *cache.Cache[string] // see [CachedFacts]
}

// Required is a dependency that must not be nil.
type Required struct {
	Name string
	Nil  bool
}

// Missing returns an error that names the dependencies that are nil, or nil if none is.
func Missing(required ...Required) error {
	var names []string
	for _, r := range required {
		if r.Nil {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("handlers: missing: %s", strings.Join(names, ", "))
}

func (d Deps) missing() error {
	return Missing([]Required{
		{"Store", d.Store == nil}, {"People", d.People == nil}, {"Bugs", d.Bugs == nil},
		{"Doors", d.Doors == nil},
		{"Problems", d.Problems == nil}, {"Events", d.Events == nil}, {"Symbols", d.Symbols == nil},
		{"Filer", d.Filer == nil}, {"Credentials", d.Credentials == nil},
		{"Log", d.Log == nil}, {"Now", d.Now == nil}, {"Registerer", d.Registerer == nil},
	}...)
}

// parseBase parses the base address and writes its host as browsers write origins.
func parseBase(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("handlers: base address %q is not an http or https address", address)
	}
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; strings.HasSuffix(u.Host, port) {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	return u, nil
}

// Do returns an http.HandlerFunc that calls h and answers with its error.
func (s *Kit) Do(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.serveError(w, r, err)
		}
	}
}

// Deadline returns middleware that limits each request to the time d.
func Deadline(d time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), d)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// detached returns a context with the deadline of ctx that does not end when the visitor of ctx
// leaves. It contains no session and no user, because other visitors share the result of the work.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(PageTime)
	}
	other := context.Background() //nolint:forbidigo // the work goes on when the visitor leaves
	return context.WithDeadline(db.ReadFor(db.SameRevision(other, ctx), db.ReaderOf(ctx)), at)
}

// PageTime is the time limit of a page.
const PageTime = 30 * time.Second

// NewKit returns a Kit. Its error names every missing dependency.
func NewKit(d Deps) (*Kit, error) {
	base, err := parseBase(d.Config.BaseURL)
	if err := errors.Join(err, d.missing()); err != nil {
		return nil, err
	}
	s := &Kit{
		Auditor: &Auditor{d.Store, d.Log},
		store:   d.Store, people: d.People, bugs: d.Bugs, events: d.Events,
		tracker: d.Tracker, credentials: d.Credentials,
		Config: d.Config, Log: d.Log, Now: d.Now, Base: base,
	}
	if s.Config.CreateWait == 0 {
		s.Config.CreateWait = 4 * time.Second
	}
	if s.Config.SearchTime == 0 {
		s.Config.SearchTime = 4 * time.Second
	}
	s.visitors = newVisitors()
	s.pageCache, s.factCache = cache.New[string](maxPageBytes, maxStalePage), cache.New[string](maxFactBytes, 0)
	s.fileCache = cache.New[string](maxPageBytes, maxStalePage)
	s.tracer = d.Tracer
	if s.metrics, err = newMetrics(d.Registerer); err != nil {
		return nil, err
	}
	if err := s.registerCacheMetrics(d.Registerer); err != nil {
		return nil, err
	}
	s.Sessions = s.newSessions()
	return s, nil
}

const (
	// PathAccount is the page of one's own account.
	PathAccount = "/account"

	apiPrefix     = "/api/1.0/" // errors below it are JSON
	pathCreateBug = apiPrefix + "create-bug-report"
)

// htmx sends this header and value to request a part of a page.
const (
	headerRequestType = "HX-Request-Type"
	requestTypePart   = "partial"
)

// WantsPart reports whether htmx will put the answer into an existing page. htmx sends HX-Request
// also for whole pages.
func WantsPart(r *http.Request) bool { return r.Header.Get(headerRequestType) == requestTypePart }

// isBoosted reports whether htmx has sent a plain form, whose page is still there.
func isBoosted(r *http.Request) bool { return r.Header.Get("HX-Boosted") != "" }

// IsForm reports whether a request has the media type of a form that a browser sends without
// scripts.
func IsForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (media == "application/x-www-form-urlencoded" || media == "multipart/form-data")
}

// Page sends a page or a part of one. It renders everything before it writes the first byte, so
// that an error never leaves half a page.
func (s *Kit) Page(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept, HX-Request-Type") // for files and feeds; for parts
	if CurrentUser(r).ID != 0 {
		h.Set("Cache-Control", "no-store") // Back must not show the page after signing out
	} else {
		h.Set("Cache-Control", "private, no-cache")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the visitor has left
	return nil
}

// Redirect sends the visitor to a local path: browsers with status 303, htmx with a header.
func Redirect(w http.ResponseWriter, r *http.Request, path string) error {
	if WantsPart(r) || isBoosted(r) {
		w.Header().Set("HX-Redirect", path)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// Shell returns what every page needs besides its content. It removes the pending messages from the
// session, unless only a part of the page is sent.
func (s *Kit) Shell(r *http.Request, title string) layout.Shell {
	shell := s.BareShell(r, title)
	if shell.InDialog {
		return shell
	}
	shell.Flash = s.takeFlashes(r)
	shell.Banner = s.banner(r)
	shell.Unread = s.unread(r)
	return shell
}

// unread returns how many notices the current user has not read. Pages show 0 if the database is
// unavailable; what they are about reports the error.
func (s *Kit) unread(r *http.Request) int64 {
	if IsPublic(r) {
		return 0
	}
	n, err := s.events.Unread(r.Context(), CurrentUser(r).ID)
	if err != nil {
		return 0
	}
	return n
}

// BareShell is like Shell, but leaves the session unchanged.
func (s *Kit) BareShell(r *http.Request, title string) layout.Shell {
	return layout.Shell{
		Title: title, User: CurrentUser(r), CSRFToken: nosurf.Token(r), Path: ReturnPath(r),
		FilingOn: s.Config.AllowBugFiling, Now: s.Now(), Look: LookOf(r),
		InDialog: WantsPart(r), Missing: func() string { return db.MissingIn(r.Context()).Text() },
	}
}

// headerMissing is the header of an answer that may lack the reports that arrived before a day, because an archive
// server cannot be reached.
const headerMissing = "Mishap-Missing-Before"

// SetMissing sets a header that says which reports an answer may lack, if there are any.
func SetMissing(w http.ResponseWriter, missing db.ArchivedList) {
	if len(missing) > 0 {
		w.Header().Set(headerMissing, missing.Until().Format(time.DateOnly))
	}
}

// ReturnPath returns the path to open after signing in: the requested page, or the page of the
// submitted form.
func ReturnPath(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return LocalPath(r.URL.RequestURI())
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return LocalPath(from.RequestURI())
	}
	return "/"
}

// LocalPath returns path if it is within this site, else "/". It prevents open redirects.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || len(path) > 2048 ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return "/"
	}
	return path
}

const sessionFlash = "flash"

// Flash stores a message for the next page of the current user. Without a user there is no session,
// and it drops the message.
func (s *Kit) Flash(r *http.Request, kind layout.FlashKind, text string) error {
	return s.flash(r, layout.Flash{Kind: kind, Text: text})
}

func (s *Kit) flash(r *http.Request, message layout.Flash) error {
	if CurrentUser(r).ID == 0 {
		return nil
	}
	b, err := json.Marshal(append(s.takeFlashes(r), message))
	if err != nil {
		return fmt.Errorf("flash: %w", err)
	}
	s.Sessions.Put(r.Context(), sessionFlash, string(b))
	return nil
}

// FlashNow shows a message at once, beside a part that htmx requested.
func FlashNow(r *http.Request, message layout.Flash) templ.Component {
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	return layout.FlashNow(message)
}

// RedirectWith redirects to a local path, whose page shows a message if it has a text.
func (s *Kit) RedirectWith(w http.ResponseWriter, r *http.Request, path string, message layout.Flash) error {
	if message.Text != "" {
		if err := s.flash(r, message); err != nil {
			return err
		}
	}
	return Redirect(w, r, path)
}

// Decided answers a form that decides: with a message for the page, which then shows its present state, or
// with a redirect to a local path, whose page shows the message.
func (s *Kit) Decided(w http.ResponseWriter, r *http.Request, path string, message layout.Flash) error {
	if !WantsPart(r) {
		return s.RedirectWith(w, r, path, message)
	}
	return s.Page(w, r, http.StatusOK, FlashNow(r, message))
}

// Done redirects to a local path, whose page says what was done.
func (s *Kit) Done(w http.ResponseWriter, r *http.Request, path, text string) error {
	return s.RedirectWith(w, r, path, layout.Flash{Kind: layout.FlashDone, Text: text})
}

func (s *Kit) takeFlashes(r *http.Request) []layout.Flash {
	if !VisitOf(r).session {
		return nil
	}
	var flashes []layout.Flash
	if text := s.Sessions.PopString(r.Context(), sessionFlash); text != "" {
		if err := json.Unmarshal([]byte(text), &flashes); err != nil {
			s.Log.ErrorContext(r.Context(), "cannot decode flash messages", "request_id", RequestID(r), "error", err)
		}
	}
	for _, f := range flashes {
		if f.Undo != nil {
			f.Undo.CSRFToken = nosurf.Token(r)
		}
	}
	return flashes
}

// banner returns the warning that admins see on every page while the tracker does not accept mishap,
// and triagers while it does not accept their own account. Both see it while nothing is sent after a
// restore. Everyone whose rights have expired is asked to sign in again. It is empty for all others.
func (s *Kit) banner(r *http.Request) layout.Banner {
	u := CurrentUser(r)
	if u.GroupsExpired {
		return layout.Banner{Text: crash.ErrGroupsExpired.Message, Href: layout.SignInURL(ReturnPath(r)), Link: "Sign in"}
	}
	if !u.Role.Allows(crash.RoleTriager) {
		return layout.Banner{}
	}
	key, configured := s.credentials.Configured()
	state, err := s.bugs.TrackerState(r.Context(), key, u.ID, configured)
	if err != nil {
		return layout.Banner{} // the page reports the error itself
	}
	admin := u.Role.Allows(crash.RoleAdmin)
	if restored := state.Restored; !restored.At.IsZero() {
		banner := layout.Banner{Text: "The database was restored from a backup of " +
			restored.BackupTaken.UTC().Format("2006-01-02 15:04 UTC") + ". mishap files no bugs and sends nothing until an " +
			"administrator has compared it with the tracker."}
		if admin {
			banner.Href, banner.Link = layout.PathAdmin, "More"
		}
		return banner
	}
	message := ""
	switch {
	case !s.Config.AllowBugFiling:
		return layout.Banner{}
	case state.OwnRejected:
		return layout.Banner{
			Text: s.Config.TrackerName + " no longer accepts your own account: mishap’s account files your bugs.",
			Href: PathAccount, Link: "Reconnect",
		}
	case !admin:
		return layout.Banner{}
	case !state.Connected:
		message = "mishap is not connected to " + s.Config.TrackerName + ": no bugs are created."
	case state.Rejected:
		message = bugsview.BannerRejected(s.Config.TrackerName)
	default:
		return layout.Banner{}
	}
	if state.Waiting > 0 {
		message += " " + crash.Counted(state.Waiting, "bug is", "bugs are") + " waiting; nothing is lost."
	}
	banner := layout.Banner{Text: message, Href: layout.PathTracker, Link: "Connect"}
	if s.tracker == nil {
		banner.Link = "More"
	}
	return banner
}

var errNoLaunchpad = crash.Errorf(crash.NotFound, "no_launchpad",
	"Launchpad is not configured here (tracker_url = \"none\"), so no account of it can be connected.")

// NeedLaunchpad refuses requests about accounts of Launchpad if it is not configured.
func (s *Kit) NeedLaunchpad(next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if s.tracker == nil {
			return errNoLaunchpad
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// HasLaunchpad reports whether Launchpad is one of the trackers.
func (s *Kit) HasLaunchpad() bool { return s.tracker != nil }

// The cookies of a look. Scripts may write them, too.
const (
	cookieTheme   = "theme"
	cookieChart   = "chart"
	cookieReports = "reports"
	cookieColumns = "columns"

	foldOpen      = "open"
	lookCookieAge = 365 * 24 * time.Hour
)

// LookOf returns the look that the browser of a request has chosen.
func LookOf(r *http.Request) layout.Look {
	value := func(name string) string {
		c, err := r.Cookie(name)
		if err != nil {
			return ""
		}
		return c.Value
	}
	look := layout.Look{
		OpenChart:   value(cookieChart) == foldOpen,
		OpenReports: value(cookieReports) == foldOpen,
		Columns:     layout.ChosenColumns(strings.Split(value(cookieColumns), ".")),
	}
	switch theme := layout.Theme(value(cookieTheme)); theme {
	case layout.ThemeLight, layout.ThemeDark:
		look.Theme = theme
	default:
	}
	return look
}

// lookCookies returns cookies from which LookOf reads a look without OpenReports.
func lookCookies(look layout.Look) []*http.Cookie {
	cookies := []*http.Cookie{
		{Name: cookieTheme, Value: string(look.Theme)}, {Name: cookieColumns, Value: look.Columns},
	}
	if look.OpenChart {
		cookies = append(cookies, &http.Cookie{Name: cookieChart, Value: foldOpen})
	}
	return cookies
}

// SetTheme stores the theme of a browser in a cookie and returns to the page it came from. It is safe by GET: it
// changes nothing but colours.
func (s *Kit) SetTheme(w http.ResponseWriter, r *http.Request) error {
	theme := r.URL.Query().Get("theme")
	switch theme {
	case "system":
		theme = ""
	case string(layout.ThemeLight), string(layout.ThemeDark):
	default:
		return crash.Errorf(crash.Invalid, "bad_theme", "%.40q is not a theme; the themes are system, light and dark.", theme)
	}
	return s.storeLook(w, r, cookieTheme, theme)
}

// SetColumns stores the columns that lists show on demand in a cookie and returns to the page it came from.
func (s *Kit) SetColumns(w http.ResponseWriter, r *http.Request) error {
	return s.storeLook(w, r, cookieColumns, layout.ChosenColumns(r.URL.Query()["column"]))
}

// storeLook sets a cookie of the look, or removes it if the value is empty.
func (s *Kit) storeLook(w http.ResponseWriter, r *http.Request, name, value string) error {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", SameSite: http.SameSiteLaxMode, Secure: s.Base.Scheme == "https",
		MaxAge: int(lookCookieAge.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
	w.Header().Set("Cache-Control", "no-store")
	return Redirect(w, r, LocalPath(r.URL.Query().Get("next")))
}

// kinds maps kinds of errors to HTTP statuses and default values of Retry-After (0: no header).
var kinds = map[crash.Kind]struct {
	status     int
	retryAfter time.Duration
}{
	crash.Invalid:          {http.StatusBadRequest, 0},
	crash.Unauthenticated:  {http.StatusUnauthorized, 0},
	crash.Forbidden:        {http.StatusForbidden, 0},
	crash.NotFound:         {http.StatusNotFound, 0},
	crash.Conflict:         {http.StatusConflict, 0},
	crash.TooLarge:         {http.StatusRequestEntityTooLarge, 0},
	crash.UnsupportedMedia: {http.StatusUnsupportedMediaType, 0},
	crash.Unprocessable:    {http.StatusUnprocessableEntity, 0},
	crash.TooMany:          {http.StatusTooManyRequests, time.Minute},
	crash.Refused:          {http.StatusBadGateway, 0},
	crash.Unavailable:      {http.StatusServiceUnavailable, 10 * time.Second},
}

// CodeNotReady is the code of the answer of /readyz while an instance cannot work.
const CodeNotReady = "not_ready"

// errorTimeout bounds rendering an error. It does not depend on the deadline of the request, which
// may be the cause of the error.
const errorTimeout = 5 * time.Second

// Errors of the middleware.
var (
	ErrNotSignedIn = crash.Errorf(crash.Unauthenticated, "not_signed_in",
		"Unauthorized: you are not signed in, or your session has ended. Sign in, then try again.")
	// ErrBadForm is returned for a form that is malformed or has a wrong content type.
	ErrBadForm = crash.Errorf(crash.Invalid, "bad_form", "The form could not be read. Reload the page and try again.")
	ErrNoPage  = crash.Errorf(crash.NotFound, "no_page", "There is no page at this address.")
	errTimeout = crash.Errorf(crash.Unavailable, "too_slow",
		"This took too long. Try again shortly.")
)

// Answer is an error in the form that visitors see.
type Answer struct {
	*crash.Error
	Status     int
	retryAfter time.Duration // 0: no Retry-After header
}

// AnswerTo returns the answer for err. The answer to an internal error contains only the request
// id.
func AnswerTo(r *http.Request, err error) Answer {
	if e, ok := errors.AsType[*crash.Error](err); ok && kinds[e.Kind].status != 0 {
		return answerByKind(e)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return answerByKind(errTimeout)
	}
	if _, ok := errors.AsType[*MethodError](err); ok {
		e := crash.Errorf(crash.Invalid, "method", "This address does not support %s.", methodName(r))
		return Answer{Error: e, Status: http.StatusMethodNotAllowed}
	}
	e := crash.Errorf(0, "internal",
		"Something went wrong. It has been logged as %s; trying again may help.", RequestID(r))
	return Answer{Error: e, Status: http.StatusInternalServerError}
}

func answerByKind(e *crash.Error) Answer {
	kind := kinds[e.Kind]
	return Answer{Error: e, Status: kind.status, retryAfter: cmp.Or(e.RetryAfter, kind.retryAfter)}
}

// serveError answers with err: a part for htmx, JSON for scripts, a page for people. Every error
// that a visitor sees goes through it.
func (s *Kit) serveError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the visitor has left
	}
	a := AnswerTo(r, err)
	s.LogError(r, err, a)
	for _, name := range []string{"ETag", "Last-Modified", "Content-Disposition"} {
		w.Header().Del(name) // they describe the answer that failed
	}
	a.Headers(w)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), errorTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	send := func(w http.ResponseWriter) error {
		s.auditRefusal(r, a)
		return s.sendError(w, r, a)
	}
	if needsSlot(r) {
		err = s.inSlot(ctx, w, r, send)
	} else {
		err = send(w)
	}
	if err != nil {
		if crash.KindOf(err) != crash.Unavailable {
			s.Log.ErrorContext(ctx, "cannot render error page", "request_id", RequestID(r), "error", err)
		}
		http.Error(w, a.Message, a.Status) //nolint:forbidigo // the error page failed; net/http would send an empty 200
	}
}

// Refusal returns the answer for err to a program whose protocol has refusals of its own, and logs and records it like
// every refusal.
func (s *Kit) Refusal(r *http.Request, err error) Answer {
	a := AnswerTo(r, err)
	s.LogError(r, err, a)
	s.auditRefusal(r, a)
	return a
}

// sendError writes an answer in the format that the request asks for. It writes nothing if it
// returns an error.
func (s *Kit) sendError(w http.ResponseWriter, r *http.Request, a Answer) error {
	switch formatOf(r) {
	case formatPart:
		return s.Page(w, r, a.Status, a.part(r))
	case formatJSON:
		refusal := apiError{Error: a.Message, Code: a.Code}
		if strings.HasPrefix(r.URL.Path, apiPrefix) {
			refusal.Message = a.Message
		}
		return WriteJSON(w, a.Status, refusal)
	case formatPage:
		if isBoosted(r) { // the form stays, with what was typed
			w.Header().Set("HX-Retarget", "#flash")
			w.Header().Set("HX-Reselect", ".flash")
			w.Header().Set("HX-Reswap", "innerHTML")
			return s.Page(w, r, a.Status, a.part(r))
		}
	}
	return s.Page(w, r, a.Status, layout.ErrorPage(s.BareShell(r, http.StatusText(a.Status)), layout.ErrorView{
		Status: a.Status, Message: a.Message, RequestID: RequestID(r),
		SignIn: a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0,
	}))
}

// part returns the answer as a part of a page. Most forms show it among the messages; Create and
// forms with long texts show parts of their own.
func (a Answer) part(r *http.Request) templ.Component {
	if strings.TrimSuffix(r.URL.Path, "/") == pathCreateBug {
		return bugsview.BugTrouble(a.Message, ReturnPath(r), a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0)
	}
	if HoldsLongText(r.URL.Path) && a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0 {
		return bugsview.SignInElsewhere()
	}
	return layout.Flashes([]layout.Flash{{Kind: layout.FlashError, Text: a.Message}})
}

// LogError logs errors with status 500 and above, whose causes the answer leaves out.
func (s *Kit) LogError(r *http.Request, err error, a Answer) {
	if a.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn
	switch {
	case a.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case a.Code == CodeNotReady:
		level = slog.LevelDebug // load balancers ask every few seconds; the reason has a message of its own
	}
	s.Log.Log(r.Context(), level, "request failed",
		"request_id", RequestID(r), "status", a.Status, "code", a.Code, "error", err)
}

// ForPerson reports whether a form shows the answer as the reason why it was refused.
func (a Answer) ForPerson() bool {
	return a.Status < http.StatusInternalServerError && a.Kind != crash.NotFound
}

// Headers sets Retry-After and WWW-Authenticate where the answer needs them.
func (a Answer) Headers(w http.ResponseWriter) {
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(a.retryAfter.Seconds()))))
	}
	if a.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Session realm="mishap"`)
		w.Header().Add("WWW-Authenticate", `Bearer realm="mishap"`)
	}
}

// apiError is the body of every error of the API.
type apiError struct {
	Error string `json:"error"` // a sentence for people
	Code  string `json:"code"`  // a word for programs

	// Message repeats Error in API 1.0, for clients of errors.ubuntu.com.
	Message string `json:"error_message,omitempty"`
}

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error means that the client has left
	return nil
}

// answerFormat is the format of an answer: a page, a part of one, or JSON.
type answerFormat int

const (
	formatPage answerFormat = iota
	formatPart
	formatJSON
)

func formatOf(r *http.Request) answerFormat {
	accept := r.Header.Values("Accept")
	page := Preferred(accept, mediaHTML, mediaXHTML, "application/json") != "application/json"
	if ForFile(r) { // a client that accepts anything is a program
		preferred := Preferred(accept, "application/json", mediaHTML, mediaXHTML)
		page = preferred == mediaHTML || preferred == mediaXHTML
	}
	switch {
	case WantsPart(r):
		return formatPart
	case !page:
		return formatJSON
	case strings.HasSuffix(r.URL.Path, ".json") && SafeMethods[r.Method],
		strings.HasPrefix(r.URL.Path, "/api/") && (!IsForm(r) || !strings.HasPrefix(r.URL.Path, pathCreateBug)):
		return formatJSON
	}
	return formatPage
}

// MethodError is the error for a method that an address does not support.
type MethodError struct{}

func (*MethodError) Error() string { return "method not allowed" }

// methodName returns the method of a request for a message, or "this method" if it is not a known
// one.
func methodName(r *http.Request) string {
	if knownMethods[r.Method] {
		return r.Method
	}
	return "this method"
}
