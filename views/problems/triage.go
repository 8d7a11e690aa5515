package problems

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// Addresses that change the manual status of several problems.
const (
	PathWontFixChosen = "/problems/wontfix"
	PathFixedChosen   = "/problems/fixed"
	PathUndoTriage    = "/problems/triage/undo"
)

// TriageURL returns the address of the page that changes the manual status of problems.
func TriageURL(kind crash.MarkKind, ids []crash.BucketID) string {
	return chosenPath(kind) + "?problems=" + bugs.JoinIDs(ids)
}

func chosenPath(kind crash.MarkKind) string {
	switch kind {
	case crash.MarkWontFix:
		return PathWontFixChosen
	case crash.MarkFixed:
		return PathFixedChosen
	case crash.MarkMuted, crash.MarkEmbargo, crash.MarkHold:
	}
	return layout.PathMuteChosen
}

// TriagePath returns the address of the page that changes the manual status of one problem.
func TriagePath(kind crash.MarkKind, id crash.BucketID) string {
	last := map[crash.MarkKind]string{crash.MarkMuted: "mute", crash.MarkWontFix: "wontfix",
		crash.MarkFixed: "fixed"}
	return id.Path() + "/" + last[kind]
}

// JoinEntries joins the numbers of entries for the form that undoes them.
func JoinEntries(all []crash.Mark) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = strconv.FormatInt(t.ID, 10)
	}
	return strings.Join(texts, ".")
}

// UndoTriage returns the form of a message that undoes entries.
func UndoTriage(all []crash.Mark) *layout.Undo {
	if len(all) == 0 {
		return nil
	}
	return &layout.Undo{Action: PathUndoTriage, Field: "entries", Value: JoinEntries(all)}
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

// undo returns the form that undoes an entry, which has a line for each of its releases.
func (v ManualView) undo(t crash.Mark, release crash.Release) layout.PostFormArgs {
	return layout.PostFormArgs{ID: "undo-triage-" + strconv.FormatInt(t.ID, 10) +
		strings.ReplaceAll(string(release), " ", "-"), Action: PathUndoTriage, CSRFToken: v.CSRFToken,
		Class: "inline", Part: true, Target: layout.StatusTarget, Swap: layout.Morph}
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
	Chosen    bool        // selected rows of a list
	Replaces  *crash.Mark // the mute that a new one replaces; nil: not muted
	Regressed bool        // the problem is a regression already
	Values    TriageValues
	Releases  []crash.Release // for the version of a mute
	Problem   string          // what is wrong with the values; empty: nothing
	Confirm   string          // versions with the fix of which Problem says that they were seen; empty: none
	Back      string          // address of the list, for several problems

	InDialog bool // part of a dialog
	InList   bool // the dialog is on a page other than that of the problem
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

func (p TriageForm) heading() string {
	n := int64(len(p.Buckets))
	switch p.Kind {
	case crash.MarkWontFix:
		if p.Chosen {
			return "Won’t fix " + crash.Counted(n, "problem", "problems")
		}
		return "Won’t fix this problem"
	case crash.MarkFixed:
		if p.Chosen {
			return "Mark " + crash.Counted(n, "problem", "problems") + " as fixed"
		}
		return "Fixed in a version"
	case crash.MarkMuted, crash.MarkEmbargo, crash.MarkHold:
	}
	if p.Chosen {
		return "Mute " + crash.Counted(n, "problem", "problems")
	}
	return "Mute this problem"
}

// Heading returns the title of the page.
func (p TriageForm) Heading() string { return p.heading() }

func (p TriageForm) hint() string {
	switch p.Kind {
	case crash.MarkWontFix:
		return "The problem stays in lists, with this mark. The status that mishap derives does not change."
	case crash.MarkFixed:
		return "Enter the version that has the fix, for each release that has one. mishap says so if the problem is seen " +
			"in that version or a later one."
	case crash.MarkMuted, crash.MarkEmbargo, crash.MarkHold:
	}
	return "Lists hide a muted problem. It returns by itself, once, as soon as one of its conditions is met."
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
	return fixedPackages(slices.Sorted(maps.Keys(sources)))
}

func (p TriageForm) ids() []crash.BucketID {
	ids := make([]crash.BucketID, len(p.Buckets))
	for i, b := range p.Buckets {
		ids[i] = b.ID
	}
	return ids
}

const triageFormID = "triage-form"

func (p TriageForm) form() layout.PostFormArgs {
	form := layout.PostFormArgs{ID: "triage", CSRFToken: p.Shell.CSRFToken, Class: "triage-fields"}
	if p.Chosen {
		form.Action = chosenPath(p.Kind)
		return form
	}
	form.Action = TriagePath(p.Kind, p.Buckets[0].ID)
	if !p.InDialog {
		return form
	}
	form.Class += " closes-dialog"
	form.InPlace, form.Target, form.Swap, form.Failed = true, layout.StatusTarget, layout.Morph, "#"+triageFormID
	if p.InList {
		form.Target, form.Swap = "#dialog", "none"
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

func triageWord(k crash.MarkKind) string {
	switch k {
	case crash.MarkWontFix:
		return "won’t fix"
	case crash.MarkFixed:
		return "marked fixed"
	case crash.MarkMuted, crash.MarkEmbargo, crash.MarkHold:
	}
	return "muted"
}

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

// fixedPackages warns that the selected problems belong to several source packages.
func fixedPackages(names []string) string {
	shown := names[:min(len(names), 5)]
	out := "The selected problems belong to " + strconv.Itoa(len(names)) + " source packages (" + strings.Join(shown, ", ")
	if len(shown) < len(names) {
		out += ", …"
	}
	return out + "). Their versions differ: make sure that the version below is right for each of them."
}
