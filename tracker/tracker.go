// Package tracker files bugs in external trackers. A [Tracker] makes the calls to one of them; packages below,
// such as launchpad, implement it for each kind. [Filer] turns a click on Create into exactly one bug, even if
// answers are lost or instances die. [Credentials] returns the access token. Package watch reads changes from the
// tracker.
//
// It contains neither pages nor SQL: [Store] stores everything that must last.
//
// The packages treat every text of a tracker as hostile. They limit the length and remove control characters and
// our own secrets before they store, log or show a text.
package tracker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/span"
)

// Tracker is a tracker of some kind, in which mishap files bugs with one account. Its methods make single
// calls, or several to read; they repeat none. Unless they say otherwise, their errors are a *[CallError], or
// Unavailable with the code tracker_credentials if there is no access token. They are safe for concurrent use.
type Tracker interface {
	// Me returns the name of the account that the access token acts for.
	Me(ctx context.Context) (string, error)
	// Credentials returns those that calls are signed with.
	Credentials() *Credentials
	// As returns the same tracker with other credentials.
	As(creds *Credentials) Tracker

	// Create sends one bug, once, no byte of it after sendBy, and returns its number. With OutcomeUnknown the
	// bug may have been filed, with any other error it was not.
	Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error)
	// FindBug searches for the bug of an intent, which contains the intent's marker. One of our accounts,
	// present or former, or one of the senders filed it since a given time. FindBug includes closed bugs and
	// duplicates, and skips the bugs in others. It returns the lowest number, or 0 if there is certainly no such
	// bug. After an error the result is unknown.
	FindBug(ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string) (int64, error)
	// Subscribe subscribes an account of the tracker to a bug. It may be repeated.
	Subscribe(ctx context.Context, number int64, account string) error

	// ReadState reads the state of a bug, and the versions that have the fix if the tracker says so. A bug that
	// our account may not see gives a reading with Hidden. All texts but the description are cleaned and bounded.
	ReadState(ctx context.Context, number int64) (crash.BugReading, error)
	// Changed lists the bugs that our account filed and that have changed since a time, including closed bugs
	// and duplicates.
	Changed(ctx context.Context, since time.Time) ([]int64, error)
	// Comment adds a comment to a bug, and sends it once. With OutcomeUnknown it may have been added.
	Comment(ctx context.Context, number int64, text string) error
	// HasComment reports whether match returns true for one of the last comments of a bug, whoever wrote it. A
	// bug that our account may not see has none.
	HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error)
	// BugURL returns the address of the page of a bug.
	BugURL(number int64) string
}

// Editor is a [Tracker] that can change descriptions, unless others change them at the same time.
type Editor interface {
	Tracker
	// Description reads the description of a bug, and the version to pass to ChangeDescription. The text is raw,
	// and empty if the bug is private or a duplicate.
	Description(ctx context.Context, number int64) (text, version string, err error)
	// ChangeDescription replaces the description of a bug, unless anyone has changed the bug since this version.
	// With status 412, someone has. With OutcomeUnknown, the description may have been replaced; reading tells.
	ChangeDescription(ctx context.Context, number int64, version, text string) error
}

// Forwarder is a [Tracker] that can mark a bug as forwarded to another tracker.
type Forwarder interface {
	Tracker
	// Forward records the address of the upstream bug in a bug. It may be repeated.
	Forward(ctx context.Context, number int64, address string) error
}

// Prober is a [Tracker] that can tell whether it would take bugs.
type Prober interface {
	Tracker
	// Probe reads what filing a bug in the configured target needs, and returns what is in the way. It leaves the target
	// out if that is empty. It changes nothing.
	Probe(ctx context.Context) ([]Concern, error)
}

// Concern is something that prevents bugs from being filed, or makes that worse.
type Concern struct {
	Text  string // in lower case, without a full stop
	Key   string // of the [[tracker]] table, whose value to correct; empty: none
	Minor bool   // bugs can be filed
}

// ConcernOr returns a concern about a target that the tracker does not show to our account, if err is a refusal of the
// tracker, or else err.
func ConcernOr(target string, err error) ([]Concern, error) {
	e, ok := errors.AsType[*CallError](err)
	if !ok || e.Outcome != OutcomeRefused {
		return nil, err
	}
	return []Concern{{
		Text: "there is no “" + Clean(target, maxWords) + "”, or not for this account (" + e.Text + ")", Key: "target",
	}}, nil
}

// OpenRepository returns the concern about a repository of GitHub or Forgejo that takes no issues, by its JSON.
func OpenRepository(target string, repository []byte) []Concern {
	var r struct {
		Issues   *bool `json:"has_issues"`
		Archived bool  `json:"archived"`
	}
	if json.Unmarshal(repository, &r) == nil && (r.Archived || r.Issues != nil && !*r.Issues) {
		return []Concern{{Text: "the repository " + Clean(target, maxWords) + " takes no issues", Key: "target"}}
	}
	return nil
}

// Mailer sends mail for trackers that get bugs by mail.
type Mailer interface {
	// SendMail sends a mail once, and nothing of it after the deadline of ctx. Its error is [crash.Refused] if the
	// relay will never accept it, [crash.Unavailable] if it has certainly not accepted it, with RetryAfter if it asks
	// to send it later, and any other if it may have accepted it.
	SendMail(ctx context.Context, from, to string, message []byte) error
}

// Config says which tracker to use, and with which time-outs.
type Config struct {
	Name      string // in the configuration and the database: "gnome"; empty: crash.FirstTracker
	Title     string // for people; empty: Name
	Kind      *Kind
	Upstream  bool // bugs of upstream projects live there, besides those of the distribution
	Review    bool // a person reviews each bug before it is sent
	PerMinute int  // bugs that are filed at most; 0: any number
	PerDay    int

	URL         string            // OAuth endpoints and pages for people, "https://launchpad.net"
	APIURL      string            // REST API root with its version, "https://api.launchpad.net/devel"
	ConsumerKey string            // name of the application for the tracker; may hold blanks
	Target      string            // distribution that bugs are filed under, "ubuntu"
	BaseURL     string            // address of mishap, for links in bugs
	Linked      []string          // addresses besides BaseURL below which pages may be linked in bugs: those of trackers
	Version     string            // of mishap, for the User-Agent
	Token       crash.AccessToken // configured for this instance; zero: none
	Variant     string            // of the kind's API; empty: the usual one
	// WebhookSecret proves that calls of webhooks come from the tracker. Empty: it calls none.
	WebhookSecret crash.Secret
	Group         string // group of the tracker that private bugs are shown to; empty: none is known

	Timeout time.Duration // for one answer; 0: 75 s, since Launchpad may work for 65 s
	Settle  time.Duration // pause between an unknown outcome and the search for it; 0: the kind's, or 75 s
	Backoff time.Duration // first pause after a filing could not be sent, doubled each time; 0: 5 s
	Pause   time.Duration // shortest pause between two bugs of the queue; 0: 250 ms

	// Transport wraps the transport of every request, unless it is nil. With it, tests cancel
	// requests that the practice tracker never answers, so that Timeout can be long.
	Transport func(http.RoundTripper) http.RoundTripper

	Mail Mailer // for trackers that get bugs by mail; nil: there is no relay

	Tracer *span.Tracer // records steps of filings; nil: none

	Privacy *privacy.Table // which fields bugs may quote; nil: the built-in table

	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer // nil: no metrics
}

const (
	defaultTimeout = 75 * time.Second
	defaultSettle  = 75 * time.Second
	defaultBackoff = 5 * time.Second
	defaultPause   = 250 * time.Millisecond

	// MaxSending limits the time for connecting and writing a request, from before the claim of the
	// filing. After that, the request was sent completely or never will be, so other instances know
	// when to search.
	MaxSending = 10 * time.Second
)

// SearchMargin is how long before the first sending a search begins, since clocks differ.
const SearchMargin = 24 * time.Hour

// WithDefaults returns c with a value for every setting that may be left out.
func (c Config) WithDefaults() Config {
	c.URL = strings.TrimRight(c.URL, "/")
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Target = strings.Trim(c.Target, "/")
	c.Name = cmp.Or(c.Name, crash.FirstTracker)
	c.Title = cmp.Or(c.Title, c.Name)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.Kind != nil {
		c.Settle = cmp.Or(c.Settle, c.Kind.Settle)
	}
	c.Settle = cmp.Or(c.Settle, defaultSettle)
	c.Backoff = cmp.Or(c.Backoff, defaultBackoff)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.Version = cmp.Or(c.Version, "unknown")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// PerProject reports whether bugs are numbered in each project.
func (c Config) PerProject() bool { return c.Kind != nil && c.Kind.PerProject }

// Key identifies the tracker and the application in the database.
func (c Config) Key() crash.TrackerKey {
	return crash.TrackerKey{URL: c.URL, ConsumerKey: c.ConsumerKey}
}

// Markdown returns Markdown that shows a plain text as it is, but with links to pages of mishap and of the trackers.
func (c Config) Markdown(text string) string {
	return Markdown(text, slices.Concat(c.Linked, []string{c.BaseURL})...)
}

// OnAPI reports whether u has the scheme, host and port of the API. A Caller never follows
// other links.
func (c Config) OnAPI(u *url.URL) bool {
	api := c.API()
	return u.User == nil && strings.EqualFold(u.Scheme, api.Scheme) && strings.EqualFold(hostPort(u), hostPort(api))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname() + ":" + port
}

// API returns the parsed APIURL, or an empty one if it cannot be parsed.
func (c Config) API() *url.URL {
	api, err := url.Parse(c.APIURL)
	if err != nil {
		return &url.URL{}
	}
	return api
}
