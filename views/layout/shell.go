// Package layout renders the shell around each page, and what pages of several areas share: parts, times,
// counts, signatures, addresses. Everything that the packages of views show comes in as a value. They have no
// access to requests, sessions or the database.
package layout

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
)

// Shell holds what every page needs besides its content.
type Shell struct {
	Title     string // of the document, without the name of the product
	User      crash.User
	CSRFToken string
	Flash     []Flash
	Banner    Banner      // message to admins on every page
	Path      string      // path and query of this page, to which sign-in returns
	Also      []Alternate // other formats of the page
	Search    string      // text of the search box
	Unread    int64       // notices that the user has not read, at most MaxUnread
	FilingOn  bool        // whether filing is switched on
	Now       time.Time   // for "3 min ago"
	Look      Look        // of this browser
	InDialog  bool        // the dialog of another page asks for the page, see [TitledPage]

	// Missing returns what the page may lack, because an archive cannot be reached; nil or empty: nothing. What the
	// page shows must have been read before.
	Missing func() string
}

func (s Shell) missing() string {
	if s.Missing == nil {
		return ""
	}
	return s.Missing()
}

// SignedIn reports whether the visitor is signed in.
func (s Shell) SignedIn() bool { return s.User.Role.Allows(crash.RoleViewer) }

// Banner is a sentence at the top of every page, shown while its cause lasts.
type Banner struct {
	Text string // empty: none
	Href string // page that fixes the cause or says more; empty: none
	Link string // text of the link
}

// FlashKind selects the style of a message.
type FlashKind string

// The kinds.
const (
	FlashDone  FlashKind = "done"
	FlashError FlashKind = "error"
)

// Flash is a message shown once above a page.
type Flash struct {
	Kind FlashKind
	Text string
	Undo *Undo // form that undoes the action; nil: none
}

// Undo is a form that undoes the action of a message.
type Undo struct {
	Action    string
	Field     string // name of the field that identifies the action, with its value
	Value     string
	CSRFToken string `json:"-"` // of the request that shows the message
}

func (s Shell) documentTitle() string {
	if s.Title == "" {
		return "mishap"
	}
	return crash.OneLine(s.Title) + " · mishap"
}

// onPath reports whether the current page has this path, or one below it.
func onPath(s Shell, path string) bool {
	here, _, _ := strings.Cut(s.Path, "?")
	return here == path || strings.HasPrefix(here, path+"/")
}

// A text of up to wholeRunes characters is never shortened. Of a longer one, the last endRunes are
// always visible.
const (
	wholeRunes = 12
	endRunes   = 9
)

// splitMiddle splits a text into a part that may be shortened and one that may not. The first is
// empty for a short text.
func splitMiddle(s string) (start, end string) {
	runes := []rune(s)
	if len(runes) <= wholeRunes {
		return "", s
	}
	cut := len(runes) - endRunes
	return string(runes[:cut]), string(runes[cut:])
}

// Addresses of pages to which those of several areas link.
const (
	PathSearch     = "/search"
	PathComplete   = "/search/complete"
	PathKeys       = "/keys"
	PathMy         = "/my"
	PathNews       = "/new"
	PathInbox      = "/inbox"
	PathCandidates = "/candidates"
	PathMuteChosen = "/problems/mute"

	PathAdmin     = "/admin"
	PathTracker   = "/admin/tracker"
	PathData      = "/admin/data"
	PathPeople    = "/admin/people"
	PathAccess    = "/admin/access" // of forms about rights; pages are at PathPeople
	PathAllTokens = "/admin/tokens"
	PathAudit     = "/admin/audit"
	PathEndpoints = "/admin/notifications"
	PathErasures  = "/admin/erasures"
	PathMailAdmin = "/admin/mail"
	PathFilings   = "/admin/filings"
	PathPrivacy   = "/admin/privacy"
	PathRegroup   = "/admin/regroup"
	PathRules     = "/admin/rules"
	PathServices  = "/admin/services"
	PathSymbols   = "/admin/symbols"
	PathTemplates = "/admin/templates"
	PathRoutes    = "/admin/routes"
	PathDoors     = "/admin/doors"
)

// Address returns a path with those parts of a query that are not empty.
func Address(path string, query map[string]string) string {
	q := url.Values{}
	for name, value := range query {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Digits formats a number for an [Address]. It returns an empty text for 0.
func Digits[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// SearchURL returns the address of a search.
func SearchURL(query string) string { return PathSearch + "?" + url.Values{"q": {query}}.Encode() }

// PathCreateBug is the address to which Create sends its forms.
const PathCreateBug = "/api/1.0/create-bug-report/"

// Offers returns the attributes that make a control request suggestions for the typed text. Its
// datalist follows it.
func Offers(of string) templ.Attributes {
	return templ.Attributes{
		"list":          of + "-offers",
		"hx-get":        PathComplete + "?of=" + of,
		"hx-trigger":    "input changed delay:150ms",
		"hx-target":     "#" + of + "-offers",
		"hx-swap":       "innerHTML",
		"hx-sync":       "this:replace",
		"hx-push-url":   "false",
		"hx-status:4xx": "swap:none",
		"hx-status:5xx": "swap:none",
	}
}

// Poll returns the attributes with which an element replaces itself by the answer of url, every so often
// ("every 2s"), or none if it need not.
func Poll(url, often string, needed bool) templ.Attributes {
	if !needed {
		return nil
	}
	return templ.Attributes{"hx-get": url, "hx-trigger": often, "hx-swap": "outerHTML", "hx-sync": "this:drop",
		"hx-status:4xx": "swap:none", "hx-status:5xx": "swap:none"}
}

// InPlace returns the attributes that make a link or a form put the answer of url into the page, in
// place of target. Refusals appear among the messages. Without scripts the browser
// follows the link.
func InPlace(url, target string) templ.Attributes {
	return templ.Attributes{
		"hx-get":        url,
		"hx-target":     target,
		"hx-swap":       "outerHTML",
		"hx-push-url":   "true",
		"hx-status:4xx": "target:#flash swap:innerHTML",
		"hx-status:5xx": "target:#flash swap:innerHTML",
	}
}

// Step is like InPlace, but Back leads to where the visitor was before the first step.
func Step(url, target string) templ.Attributes {
	attributes := InPlace(url, target)
	delete(attributes, "hx-push-url")
	attributes["hx-replace-url"] = "true"
	return attributes
}

// RoleName returns the name of a role, or "none".
func RoleName(r crash.Role) string {
	if r == crash.RoleNone {
		return "none"
	}
	return string(r)
}

// SourceName names a way of signing in.
func SourceName(s crash.Source) string {
	switch s {
	case crash.SourceLaunchpad:
		return "Launchpad"
	case crash.SourceOIDC:
		return "OpenID Connect"
	case crash.SourceProxy:
		return "Proxy"
	case crash.SourceAccount:
		return "account"
	}
	return string(s)
}

// TeamName names a team with the place that knows it.
func TeamName(t crash.Team) string { return t.Name + " (" + SourceName(t.Source) + ")" }

// WhyRole says why somebody has a role.
func WhyRole(r crash.RoleReason) string {
	role := RoleFor(r.Role, r.Scope)
	switch {
	case r.ByHand:
		return role + ": given by hand"
	case r.Source == "":
		return role + ": everyone who signs in"
	}
	return role + ": member of " + r.Group + " (" + SourceName(r.Source) + ")"
}

// GroupsText lists groups, or says that there are none.
func GroupsText(groups []string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(groups, ", ")
}

// RoleFor names a role with its packages, if it does not apply to all.
func RoleFor(role crash.Role, scope crash.GrantScope) string {
	if scope.Kind == crash.GrantAll && role != crash.RolePrivate {
		return string(role)
	}
	return string(role) + " for " + ScopeName(scope)
}

// GroupsExpired says what to do about rights from groups that have expired.
const GroupsExpired = "Expired until you sign in there again."

// ScopeName names the packages of a grant within a sentence.
func ScopeName(s crash.GrantScope) string {
	switch s.Kind {
	case crash.GrantPackage:
		return s.Name
	case crash.GrantSet:
		return "the package set " + s.Name
	case crash.GrantTeam:
		return "the packages of " + s.Name
	case crash.GrantAll:
	}
	return "all packages"
}
