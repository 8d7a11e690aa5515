package crash

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// InformationType says who will see a bug in the tracker.
type InformationType string

// The types that a bug can be filed with from here.
const (
	InformationDefault InformationType = ""                 // what the tracker takes by itself: Public, for a distribution
	InformationPublic  InformationType = "Public"           // everybody
	InformationPrivate InformationType = "Private Security" // the distribution's security team, and those who are subscribed
)

// Private reports whether only some people will see the bug.
func (t InformationType) Private() bool { return t == InformationPrivate }

// Draft is a bug as a person sees and changes it before it is filed.
type Draft struct {
	Title          string
	Description    string
	Tags           []string
	Package        string // source package that it is filed against
	OnDistribution bool   // it is filed against the distribution as a whole; Package is kept, for a change of mind
	Information    InformationType
	Subscribe      bool // the person wants to get the tracker's mail about it
}

// DraftField names a field of a Draft, as forms do.
type DraftField string

// The fields.
const (
	DraftTitle       DraftField = "title"
	DraftDescription DraftField = "description"
	DraftTags        DraftField = "tags"
	DraftTarget      DraftField = "target"
	DraftPackage     DraftField = "package"
	DraftInformation DraftField = "information_type"
	DraftSubscribe   DraftField = "subscribe"
)

// DraftProblems say what is wrong with a draft, as a sentence for each field that is.
type DraftProblems map[DraftField]string

// ReadTags reads tags that a person has typed with blanks or commas between them. Each counts once.
func ReadTags(s string) []string {
	var tags []string
	for _, tag := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// NoDraft says why no bug can be filed for the bucket even when a person says what it is filed against; empty when one can.
func (b Bucket) NoDraft() string {
	b.SourcePackage = "any"
	return b.NoFiling()
}

// BugTemplate is the text of bugs for a source package, a problem type, or both. The more of the two it names, the sooner
// it is taken: package and type, package, type, all.
type BugTemplate struct {
	Package     string // source package; empty: all
	ProblemType string // empty: all
	Body        string // empty: the shipped text
	By          string // who changed it last
	Changed     time.Time
}
