package problems

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// PathUndoTriage is the address that undoes entries of the manual status.
const PathUndoTriage = "/problems/triage/undo"

// TriagePaths are the last parts of the addresses of the forms that change the manual status, by kind.
var TriagePaths = map[crash.MarkKind]string{crash.MarkMuted: "mute", crash.MarkWontFix: "wontfix",
	crash.MarkFixed: "fixed", crash.MarkEmbargo: "embargo", crash.MarkHold: "hold"}

// triagePath returns the address of the page that changes the manual status of one problem.
func triagePath(kind crash.MarkKind, id crash.BucketID) string {
	return id.Path() + "/" + TriagePaths[kind]
}

// UndoTriage returns the form of a message that undoes entries.
func UndoTriage(all []crash.Mark) *layout.Undo {
	if len(all) == 0 {
		return nil
	}
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = strconv.FormatInt(t.ID, 10)
	}
	return &layout.Undo{Action: PathUndoTriage, Field: "entries", Value: strings.Join(texts, ".")}
}

// ManualView holds the manual status of a problem for its page.
type ManualView struct {
	Bucket    crash.BucketID
	Status    crash.ManualStatus
	SignedIn  bool // signed-in people see who decided and why
	MayDecide bool
	CSRFToken string
	Now       time.Time
}

func (v ManualView) undo(t crash.Mark, release crash.Release) layout.PostFormArgs {
	return layout.PostFormArgs{ID: "undo-triage-" + strconv.FormatInt(t.ID, 10) +
		strings.ReplaceAll(string(release), " ", "-"), Action: PathUndoTriage, CSRFToken: v.CSRFToken,
		Class: "inline", Decides: true}
}

func (v ManualView) muteAction() string {
	if v.Status.Muted != nil {
		return "Change the mute…"
	}
	return "Mute…"
}

// TriageForm holds the form that changes the manual status of one problem, or of several.
type TriageForm struct {
	Shell     layout.Shell
	Kind      crash.MarkKind
	Buckets   []crash.Bucket
	Replaces  *crash.Mark // the mute that a new one replaces, or the embargo or hold to be lifted; nil: none
	Regressed bool        // the problem is a regression already
	Values    TriageValues
	Releases  []crash.Release // for the version of a mute
	Problem   string          // what is wrong with the values; empty: nothing
	Confirm   string          // versions with the fix of which Problem says that they were seen; empty: none
	Back      string          // address of the page to return to
	Blind     bool            // the person will not see the problem while it is embargoed
	Tracker   string          // for an embargo
}

// TriageValues holds the fields of the form as typed.
type TriageValues struct {
	Reason, Date, Reports, Machines, Days, Version, Release string
	Newer, Regression                                       bool
	Fixes                                                   []FixRow
}

// FixRow is the version with the fix in one release.
type FixRow struct {
	crash.FixedIn
	Hint string // a version in use that is free of the problem
}

func (v TriageValues) custom() bool {
	return v.Date+v.Reports+v.Machines+v.Days+v.Version+v.Release != "" || v.Newer || v.Regression
}

// kindTexts are the texts of the forms and of the history by kind.
var kindTexts = map[crash.MarkKind]struct {
	one        string // heading for one problem
	verb, many string // heading for several problems, around their number
	word, by   string // past participle, and the sentence about who set an embargo or a hold
	reason     string // an example
	hint, lift string // of the form that sets the mark, and of the one that lifts it; TRACKER stands for its name
}{
	crash.MarkMuted: {one: "Mute this problem", verb: "Mute", word: "muted",
		hint: "Muting hides the problem from lists. It returns when any condition below is met."},
	crash.MarkWontFix: {one: "Won’t fix this problem", verb: "Won’t fix", word: "won’t fix",
		hint: "The problem stays in lists, marked as won’t fix."},
	crash.MarkFixed: {one: "Fixed in a version", verb: "Mark", many: " as fixed", word: "marked fixed",
		hint: "Enter the version with the fix for each release. If the problem is seen there later, it is a regression."},
	crash.MarkEmbargo: {one: "Embargo this problem", verb: "Embargo", word: "embargoed",
		by: "Embargoed by ", reason: "such as: writes beyond a buffer",
		hint: "For suspected security issues. Only people with the private right for the package will see the " +
			"problem. Its bug in TRACKER will be private.",
		lift: "Everyone will see the problem and its history again. Private bugs in TRACKER stay private until you " +
			"change them there."},
	crash.MarkHold: {one: "Retention hold", verb: "Hold", word: "held", by: "Held by ",
		hint: "Its reports, daily counts and core dumps do not expire.",
		lift: "Expired reports, private fields and core dumps are deleted within a day."},
}

func (p TriageForm) several() bool { return len(p.Buckets) > 1 }

func (p TriageForm) lifts() bool { return p.Kind.Restricts() && p.Replaces != nil }

// Heading returns the title of the page.
func (p TriageForm) Heading() string {
	texts := kindTexts[p.Kind]
	switch {
	case p.several():
		return texts.verb + " " + crash.Counted(int64(len(p.Buckets)), "problem", "problems") + texts.many
	case p.lifts():
		return "Lift the " + string(p.Kind) + " of this problem"
	}
	return texts.one
}

func (p TriageForm) hint() string {
	if p.lifts() {
		return strings.ReplaceAll(kindTexts[p.Kind].lift, "TRACKER", p.Tracker)
	}
	return strings.ReplaceAll(kindTexts[p.Kind].hint, "TRACKER", p.Tracker)
}

// warning says that one version is about to be recorded for several source packages, whose versions
// have nothing to do with each other. It is empty if there is only one package.
func (p TriageForm) warning() string {
	if p.Kind != crash.MarkFixed {
		return ""
	}
	sources := map[string]bool{}
	for _, b := range p.Buckets {
		sources[cmp.Or(b.SourcePackage, b.Package)] = true
	}
	if len(sources) < 2 {
		return ""
	}
	names := slices.Sorted(maps.Keys(sources))
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		shown += ", …"
	}
	return "The selected problems belong to " + strconv.Itoa(len(names)) + " source packages (" + shown +
		"). Their versions differ: make sure that the version below is right for each of them."
}

func (p TriageForm) ids() []crash.BucketID {
	ids := make([]crash.BucketID, len(p.Buckets))
	for i, b := range p.Buckets {
		ids[i] = b.ID
	}
	return ids
}

func (p TriageForm) form() layout.PostFormArgs {
	form := layout.PostFormArgs{ID: "triage", CSRFToken: p.Shell.CSRFToken, Class: "triage-fields",
		Action: triagePath(p.Kind, p.Buckets[0].ID), Dialog: p.Shell.InDialog}
	if p.several() {
		form.Action = "/problems/" + TriagePaths[p.Kind]
	}
	return form
}

// mutedChoices are the values of the parameter muted of lists, with their labels.
var mutedChoices = []struct{ value, label string }{
	{"", "hidden"}, {MutedShow, "shown"}, {MutedOnly, "only these"},
}

// The values of the parameter muted of lists.
const (
	MutedShow = "show"
	MutedOnly = "only"
)

// triageSentence describes an entry of the history after its word.
func triageSentence(t crash.Mark) string {
	switch t.Kind {
	case crash.MarkMuted:
		return t.Until.String()
	case crash.MarkFixed:
		versions := make([]string, len(t.Fixes))
		for i, f := range t.Fixes {
			versions[i] = f.String()
		}
		return strings.Join(versions, ", ")
	case crash.MarkWontFix, crash.MarkEmbargo, crash.MarkHold:
	}
	return ""
}

func triageEnd(t crash.Mark) string {
	if t.Merged {
		return "ended when the problem was merged into another one"
	}
	if t.EndedWhy == "" {
		return "replaced"
	}
	return "returned: " + t.EndedWhy
}
