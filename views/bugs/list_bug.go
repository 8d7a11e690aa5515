package bugs

import (
	"strings"

	"mishap/crash"
)

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

// manualWord is a word about the manual status in lists.
type manualWord struct{ word, title, class string }

// manualWords returns the words for lists. None is ever green: that is for the derived status.
func manualWords(m crash.ManualStatus) []manualWord {
	var words []manualWord
	if m.Muted != nil {
		words = append(words, manualWord{"muted", m.Muted.Text(false), "word-muted"})
	}
	if m.WontFix != nil {
		words = append(words, manualWord{"won’t fix", m.WontFix.Text(false), ""})
	}
	for i, f := range m.Fixes {
		switch {
		case m.SeenAgain() && f.Again > 0:
			return append(words, manualWord{"not fixed?", f.Text(false), "word-warn"})
		case i == len(m.Fixes)-1:
			words = append(words, manualWord{"marked fixed", f.Text(false), ""})
		}
	}
	return words
}

// The usual conditions of a mute, as values of the buttons of the form.
const (
	PresetWeek       = "week"
	PresetMonth      = "month"
	PresetNewer      = "newer"
	PresetRegression = "regression"
	PresetForever    = "forever"
)
