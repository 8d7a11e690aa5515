package problems

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/views"
)

// maxMarked is the largest number of problems that match a search for which mishap remembers which
// ones a person has seen. In larger lists, problems are new when they are seen for the first time.
const maxMarked = 2000

// selection selects the problems that a person follows: by package, one by one and by search, and
// those that are assigned to the person.
type selection struct {
	packages followIndex
	problems map[crash.BucketID][]int // positions of the follows that select a problem by itself
	names    []string                 // by which problems are assigned to the person
	marks    []crash.FollowMark       // of the selected problems, as they are now
	large    map[int]bool             // positions of searches with more than maxMarked problems
}

// match reports whether the selection contains a problem. It is called for every problem, so it looks up
// the package and the id only if the person follows packages or problems.
func (s *selection) match(p *index.Problem) bool {
	return p.AssignedTo(s.names) || len(s.packages) > 0 && len(s.packages[p.Package])+len(s.packages[p.Source]) > 0 ||
		len(s.problems) > 0 && len(s.problems[p.ID]) > 0
}

// positions returns the positions of the follows that select a problem, sorted.
func (s *selection) positions(p *index.Problem) []int {
	positions := slices.Concat(s.packages[p.Package], s.packages[p.Source], s.problems[p.ID])
	slices.Sort(positions)
	return slices.Compact(positions)
}

// byArrival reports whether a problem is new when it is seen for the first time: because of its
// package, its assignee or a large search. Others are new by their marks.
func (s *selection) byArrival(p *index.Problem) bool {
	return len(s.packages[p.Package])+len(s.packages[p.Source]) > 0 || p.AssignedTo(s.names) ||
		slices.ContainsFunc(s.problems[p.ID], func(i int) bool { return s.large[i] })
}

// selectFollowed returns the selection of a person, and a summary of each follow.
func (s *Lists) selectFollowed(r *http.Request, b *index.Index, follows []crash.Follow) (
	*selection, []views.Followed, error,
) {
	packages, list, err := s.packagesFollowed(r.Context(), follows)
	if err != nil {
		return nil, nil, err
	}
	chosen := &selection{packages: packages, problems: map[crash.BucketID][]int{},
		names: web.CurrentUser(r).Names(), large: map[int]bool{}}
	for i := range list {
		marks, large, err := s.marksOf(r, b, &list[i])
		if err != nil {
			return nil, nil, err
		}
		for _, m := range marks {
			chosen.problems[m.Bucket] = append(chosen.problems[m.Bucket], i)
		}
		if chosen.large[i] = large; !large {
			chosen.marks = append(chosen.marks, marks...)
		}
	}
	return chosen, list, nil
}

// marksOf returns the marks of a follow as they are now, and describes it. large is true if a
// search matches more problems than mishap remembers.
func (s *Lists) marksOf(r *http.Request, b *index.Index, f *views.Followed) (
	marks []crash.FollowMark, large bool, err error,
) {
	switch f.Kind {
	case crash.FollowProblem:
		id, err := crash.ParseBucketID(f.Name)
		if err != nil {
			return nil, false, err
		}
		f.Path = id.Path()
		p, ok := b.Problem(id)
		if !ok {
			return nil, false, nil // no report of it counts
		}
		p = web.SeenRow(r, index.Row{Problem: p}).Problem
		f.Label, f.Path = views.DocumentTitle(crash.Bucket{ID: p.ID, Signature: p.Signature, Rule: p.Rule,
			Title: p.Title, Name: p.Name, Executable: p.Executable}), p.ID.Path()
		return []crash.FollowMark{{Kind: f.Kind, Name: f.Name, Bucket: p.ID, Mark: problemMark(p)}}, false, nil
	case crash.FollowSearch:
		return s.searchMarks(r, f)
	case crash.FollowPackage, crash.FollowPerson, crash.FollowSet:
	}
	return nil, false, nil
}

// searchMarks returns a mark for each problem that matches a followed search.
func (s *Lists) searchMarks(r *http.Request, f *views.Followed) (marks []crash.FollowMark, large bool, err error) {
	search, err := s.Problems.SavedSearch(r.Context(), web.CurrentUser(r).ID, f.Number(), false)
	if crash.KindOf(err) == crash.NotFound { // deleted since the follows were read
		f.Nobody, f.Path = true, views.PathSearches
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f.Label, f.Path = search.Name, search.Path
	address, err := url.Parse(search.Path)
	if err != nil {
		return nil, false, fmt.Errorf("saved search %d: %w", search.ID, err)
	}
	l, err := s.readListOrigin(r, &origin{}, address)
	if err != nil {
		return nil, false, err
	}
	if l == nil { // such as a release without counted reports
		f.Nobody = true
		return nil, false, nil
	}
	b, filter, match, err := s.originRows(r, l)
	if err != nil {
		return nil, false, err
	}
	rows, _ := b.All(filter, match)
	for _, row := range rows {
		marks = append(marks, crash.FollowMark{Kind: f.Kind, Name: f.Name, Bucket: row.ID})
	}
	return marks, len(rows) > maxMarked, nil
}

// markedProblem is the mark of a followed problem.
type markedProblem struct {
	State    string   `json:"state,omitempty"`
	Bug      int64    `json:"bug,omitempty"`
	Highest  string   `json:"highest,omitempty"`
	Releases []string `json:"releases,omitempty"`
}

// problemMark returns the mark of a problem: what its followers want to know about. That a problem
// without a bug is not new any more is not among it.
func problemMark(p *index.Problem) string {
	m := markedProblem{State: string(p.State), Bug: p.Bug, Highest: p.HighestVersion()}
	if p.State == crash.StateNew || p.State == crash.StateUnfiled || p.State == crash.StateNone {
		m.State = ""
	}
	for _, release := range p.Releases() {
		if release != "" {
			m.Releases = append(m.Releases, string(release))
		}
	}
	slices.Sort(m.Releases)
	return m.text()
}

func (m markedProblem) text() string {
	b, err := json.Marshal(m)
	if err != nil {
		return "" // texts and numbers always encode
	}
	return string(b)
}

// problemNews says what has changed between two marks of a problem, or returns "" if nothing has
// that followers want to know about.
func problemNews(before, now string) string {
	var old, m markedProblem
	if json.Unmarshal([]byte(before), &old) != nil || json.Unmarshal([]byte(now), &m) != nil {
		return ""
	}
	var news []string
	if m.State != old.State && m.State != "" {
		news = append(news, "now "+m.State)
	}
	if m.Bug != old.Bug && m.Bug != 0 {
		news = append(news, "bug "+strconv.FormatInt(m.Bug, 10))
	}
	if m.Highest != old.Highest && m.Highest != "" {
		news = append(news, newsVersion(m.Highest))
	}
	for _, release := range m.Releases {
		if !slices.Contains(old.Releases, release) {
			news = append(news, newsVersion(release))
		}
	}
	return strings.Join(news, ", ")
}

// markKey identifies a mark. A problem has one mark for each follow, whatever it was merged into.
type markKey struct {
	kind   crash.FollowKind
	name   string
	bucket crash.BucketID
}

func keyOf(m crash.FollowMark) markKey {
	if m.Kind == crash.FollowProblem {
		m.Bucket = crash.BucketID{}
	}
	return markKey{m.Kind, m.Name, m.Bucket}
}

// updateMarks compares the marks of a selection with the stored ones, and stores what has changed.
// It returns which problems are new since the previous visit, and what is new about followed ones,
// by their names as follows.
func (s *Lists) updateMarks(ctx context.Context, user int64, visit crash.Visit, chosen *selection) (
	isNew map[crash.BucketID]bool, news map[string]string, err error,
) {
	isNew, news = map[crash.BucketID]bool{}, map[string]string{}
	if len(chosen.marks) == 0 {
		return isNew, news, nil
	}
	stored, err := s.People.Marks(ctx, user)
	if err != nil {
		return nil, nil, err
	}
	before := make(map[markKey]crash.FollowMark, len(stored))
	for _, m := range stored {
		before[keyOf(m)] = m
	}
	var save, drop []crash.FollowMark
	for _, m := range chosen.marks {
		old, known := before[keyOf(m)]
		m.News, m.At = old.News, old.At
		fresh := old.At.After(visit.Seen) && !visit.Seen.IsZero()
		switch {
		case !known && m.Kind == crash.FollowSearch:
			m.At = s.Now()
		case known && m.Mark != old.Mark:
			if change := problemNews(old.Mark, m.Mark); change != "" && fresh && old.News != "" {
				m.News, m.At = crash.Truncate(old.News+", "+change, maxNews), s.Now()
			} else if change != "" {
				m.News, m.At = change, s.Now()
			}
		}
		if !known || m != old {
			save = append(save, m)
		}
		if known && m.Bucket != old.Bucket {
			drop = append(drop, old)
		}
		if !visit.Seen.IsZero() && m.At.After(visit.Seen) {
			isNew[m.Bucket] = true
			if m.Kind == crash.FollowProblem {
				news[m.Name] = m.News
			}
		}
	}
	return isNew, news, s.People.SaveMarks(ctx, user, save, drop)
}

// maxNews is the largest length of what is new about a problem, in code points.
const maxNews = 300

// markFollowed stores how a problem or search is when following begins: nothing about it is new.
func (s *Lists) markFollowed(r *http.Request, f crash.Follow) error {
	if f.Kind != crash.FollowProblem && f.Kind != crash.FollowSearch {
		return nil
	}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	marks, large, err := s.marksOf(r, b, &views.Followed{Follow: f})
	if err != nil || large {
		return err
	}
	return s.People.SaveMarks(r.Context(), web.CurrentUser(r).ID, marks, nil)
}

// newsVersion says that a problem was seen in another version or release.
func newsVersion(name string) string { return "first seen in " + name }
