package views

import (
	"strings"

	"mishap/crash"
)

const pathCreateBug = "/api/1.0/create-bug-report/"

// listWord returns the status of a problem in lists, and the class of the word. Lists show no word
// for what is normal.
func listWord(p *BugPart) (word, class string) {
	switch word := p.Status.Word; word {
	case crash.StateOpen:
		return strings.ToLower(p.Status.Tracker), ""
	case crash.StateRegression:
		return string(word), "word-bad"
	case crash.StateFixed:
		return fixedWord(p.Status), "word-good"
	case crash.StateDisappeared, crash.StateGone, crash.StateClosed, crash.StatePrivate, crash.StateTests:
		return string(word), ""
	case crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled, crash.StateNameless:
	}
	return "", ""
}

// fixedWord returns "fixed in 1.0.4-0ubuntu2", or "fixed" if the version is unknown or differs
// among releases.
func fixedWord(s crash.Status) string {
	version := ""
	for _, r := range s.Releases {
		if r.Fix == "" || version != "" && r.Fix != version {
			return "fixed"
		}
		version = r.Fix
	}
	if version == "" {
		return "fixed"
	}
	return "fixed in " + version
}

// rowMenuPath returns the address that the menu of a row leads to without scripts.
func rowMenuPath(p *BugPart) string {
	if p.Review {
		return reviewURL(*p)
	}
	return p.Bucket.Path() + "/link"
}

func rowMenuLabel(p *BugPart) string {
	if p.Review {
		return "Review…"
	}
	return "Link a bug…"
}
