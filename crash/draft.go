package crash

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// InformationType says who can see a bug in the tracker.
type InformationType string

// The information types that people can choose when they file a bug.
const (
	InformationDefault InformationType = ""                 // the tracker's default; for a distribution, Public
	InformationPublic  InformationType = "Public"           // visible to everyone
	InformationPrivate InformationType = "Private Security" // visible to the security team and subscribers
)

// Private reports whether the bug is hidden from the public.
func (t InformationType) Private() bool { return t == InformationPrivate }

// Draft is a bug that a person edits before filing it.
type Draft struct {
	Title          string
	Description    string
	Tags           []string
	Package        string // source package to file against
	OnDistribution bool   // file against the distribution as a whole; Package stays, in case the person changes their mind
	Information    InformationType
	Subscribe      bool // the person wants mail from the tracker about it
}

// DraftField is the name of a draft's field in forms.
type DraftField string

// The fields of a draft.
const (
	DraftTitle       DraftField = "title"
	DraftDescription DraftField = "description"
	DraftTags        DraftField = "tags"
	DraftTarget      DraftField = "target"
	DraftPackage     DraftField = "package"
	DraftInformation DraftField = "information_type"
	DraftSubscribe   DraftField = "subscribe"
)

// DraftProblems maps each invalid field of a draft to a sentence that says why.
type DraftProblems map[DraftField]string

// ReadTags parses tags separated by blanks or commas, without duplicates.
func ReadTags(s string) []string {
	var tags []string
	for _, tag := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// NoDraft says, in a sentence, why no bug can be filed for the bucket even if a person chooses the
// source package. It returns "" if one can.
func (b Bucket) NoDraft() string {
	b.SourcePackage = "any"
	return b.NoFiling()
}

// BugTemplate is the text of bugs for a source package, a problem type, or both. The most specific
// template applies: for a package and a type, then for a package, for a type, for all.
type BugTemplate struct {
	Package     string // source package; empty: all
	ProblemType string // empty: all
	Body        string // empty: the shipped text
	By          string // who changed it last
	Changed     time.Time
}
