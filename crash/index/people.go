package index

import (
	"slices"
	"strings"

	"mishap/crash"
)

// People says who takes care of a problem, and lists its tags. Only people who may read reports see
// it. A nil *People means nobody, and no tags.
type People struct {
	crash.Assigned
	TagList string // sorted, separated by blanks
}

// Assignee returns who takes care of the problem.
func (p *Problem) Assignee() crash.Assigned {
	if p.People == nil {
		return crash.Assigned{}
	}
	return p.People.Assigned
}

// Tags returns the tags of the problem, sorted.
func (p *Problem) Tags() []string {
	if p.People == nil {
		return nil
	}
	return strings.Fields(p.People.TagList)
}

// AssignedTo reports whether one of the names, whatever their case, takes care of the problem.
// Names at the tracker begin with a tilde.
func (p *Problem) AssignedTo(names []string) bool {
	return p.People != nil && slices.ContainsFunc(names, func(name string) bool {
		return name != "" && strings.EqualFold(name, p.People.Name)
	})
}

func samePeople(a, b *People) bool { return a == b || a != nil && b != nil && *a == *b }

// Tags returns the tags with the prefix text, those on the most problems first. Visitors see none.
func (n Names) Tags(text string) []string { return n.mostUsed(text, (*Problem).Tags) }

// Assignees returns the names of assignees with the prefix text, those with the most problems
// first. A text without a tilde also finds names at the tracker, which begin with one. Visitors see
// none.
func (n Names) Assignees(text string) []string {
	of := func(p *Problem) []string { return []string{p.Assignee().Name} }
	if strings.HasPrefix(text, "~") {
		return n.mostUsed(text, of)
	}
	return append(n.mostUsed(text, of), n.mostUsed("~"+text, of)...)
}
