package tracker

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
)

// Kind is a kind of tracker: what it can do, and how bugs are filed in it. Package kinds lists all kinds.
type Kind struct {
	Name  string // in the configuration: "gitlab"
	Title string // for people: "GitLab"
	// API returns the address of the usual API, by that of the pages.
	API func(pages string) string
	New func(cfg Config, creds *Credentials) Tracker

	Form    string         // form of targets, for people: "group/project"
	Targets *regexp.Regexp // what all targets match, and "sandbox/trial", which tests use
	// PerProject says that each target is a project whose bugs have their own numbers. Otherwise the tracker numbers all
	// its bugs.
	PerProject bool
	// Address matches the path and query of a bug's page below the tracker's address. Its groups are the project, if bugs
	// are numbered in projects, and the number.
	Address *regexp.Regexp

	MaxTitle, MaxDescription int            // characters
	Markup                   string         // how the tracker shows descriptions, as a sentence; empty: as they are
	Tags                     *regexp.Regexp // valid tags; nil: bugs have none
	Private                  string         // what people read about bugs that not everyone sees; empty: there are none

	// Search is the path and query of the tracker's own search for bugs, with {target} and {words}; empty: unknown.
	Search string

	Mail   bool          // bugs are sent by mail, without a token
	Settle time.Duration // after an unknown outcome, the time until FindBug is sure that there is no bug
	// Late is how long a bug may be missing that the tracker has accepted; 0: it is there after Settle. After that time a
	// person decides whether it is sent again.
	Late   time.Duration
	Review bool // a person reviews each bug before it is sent
	PerDay int  // bugs that are filed at most, unless the configuration says otherwise; 0: any number

	// Hook checks and reads a call of the tracker's webhook, which is only a reason to read the bug: nothing else of
	// its body is believed. It returns Unauthenticated if the secret does not fit, and Invalid for a call that cannot
	// be read. Nil: the tracker has no webhooks.
	Hook func(h http.Header, body []byte, secret crash.Secret) (Change, error)
}

// PlainTags match the tags of trackers that do not limit their characters.
var PlainTags = regexp.MustCompile(`^[^\s,][^,\pC]{0,99}$`)

// expand replaces the placeholders of a target: the source package, the newest version, and the release without the
// name of its distribution.
func expand(target string, b crash.Bucket) string {
	escape := strings.NewReplacer("/", "%2F")
	release := strings.TrimSpace(strings.TrimPrefix(string(b.LastSeenRelease), releaseName(b.LastSeenRelease)))
	return strings.NewReplacer(
		"{source}", escape.Replace(b.SourcePackage),
		"{version}", escape.Replace(b.LastSeenVersion),
		"{release}", escape.Replace(cmp.Or(release, string(b.LastSeenRelease))),
	).Replace(target)
}

// releaseName returns the words of a release before the first that begins with a digit.
func releaseName(r crash.Release) string {
	words := strings.Fields(string(r))
	for i, word := range words {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.Join(words[:i], " ")
		}
	}
	return ""
}
