package problems

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db/people"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

const (
	myRows     = 25              // rows of each group
	myOnlyRows = panel.MaxChosen // rows of a group that the page shows alone
	// lateDays is the number of days after a crash in which its report makes a problem new.
	// Machines send reports when they are online.
	lateDays = 30
)

// ShowMy shows the problems that the user follows: new ones since the last visit, then
// regressions, then those without a bug. With a file extension or Accept header it sends the
// list as a file.
func (s *Lists) ShowMy(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportMy(w, r, format)
	}
	return s.myPage(w, r, http.StatusOK, view.FollowForm{Kind: crash.FollowPackage})
}

func (s *Lists) myPage(w http.ResponseWriter, r *http.Request, status int, form view.FollowForm) error {
	ctx, user := r.Context(), web.CurrentUser(r)
	choice, _, ignored, err := s.choices.readPageChoice(r, myChoice(r.URL.Query()), false)
	if err != nil {
		return err
	}
	only := r.URL.Query().Get("only")
	if only != "" && !slices.Contains(myGroups[:], only) {
		only, ignored = "", append(ignored, "only")
	}
	page := view.MyPage{Only: only, Tracker: s.web.Config.TrackerName, Form: form, Ignored: ignoredNotice(ignored)}
	follows, err := s.People.Followed(ctx, user.ID)
	if err != nil {
		return err
	}
	if page.Visit, err = s.People.Visit(ctx, user.ID); err != nil {
		return err
	}
	page.List = view.ListPage{Choice: choice, Tracker: s.panel.Trackers()}
	if err := s.fillMy(r, &page, follows); err != nil {
		return err
	}
	if name := user.TrackerName; name != "" && !slices.ContainsFunc(follows, func(f crash.Follow) bool {
		return f.Kind == crash.FollowPerson && f.Name == name
	}) {
		page.Suggest = name
	}
	page.Shell = s.web.Shell(r, "My packages")
	if len(page.Followed)+len(page.Groups) > 0 {
		// The first alternate is the feed. Feed readers cannot sign in.
		page.Shell.Also = layout.Alternates("My packages", layout.PathMy, "period="+string(choice.Period))[1:]
	}
	page.List.Shell = page.Shell
	return s.web.Page(w, r, status, view.My(page))
}

// ExportMy sends the user's list as a file or feed.
func (s *Lists) ExportMy(w http.ResponseWriter, r *http.Request, format string) error {
	choice, err := readFilters(myChoice(r.URL.Query()))
	if err != nil {
		return err
	}
	follows, err := s.People.Followed(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	chosen, _, err := s.choices.selectFollowed(r, b, follows)
	if err != nil {
		return err
	}
	return s.exportList(w, r, format, exportedList{
		title: "My packages", path: layout.PathMy, filter: choice.FilterOn(s.web.Now()), match: chosen.match,
		private: fmt.Sprint(web.CurrentUser(r).ID, web.CurrentUser(r).Names(), follows),
	})
}

// myChoice returns the parameters of the page that lists have, too. The default period is a month.
func myChoice(q url.Values) url.Values {
	return url.Values{"period": {cmp.Or(q.Get("period"), string(crash.PeriodMonth))}, "muted": q["muted"]}
}

// packagesOf returns the source packages of a person, team or set, or the package itself. known
// is false until the tracker has answered.
func (s *choices) packagesOf(ctx context.Context, f crash.Follow) (names []string, known bool, err error) {
	switch f.Kind {
	case crash.FollowPerson:
		return s.Bugs.PackagesOfPerson(ctx, f.Name)
	case crash.FollowSet:
		return s.Bugs.PackagesOfSet(ctx, "", f.Name)
	case crash.FollowProblem, crash.FollowSearch:
		return nil, true, nil
	case crash.FollowPackage:
	}
	return []string{f.Name}, true, nil
}

// followIndex maps each package to the positions of the follows that include it.
type followIndex map[string][]int

func (s *choices) packagesFollowed(ctx context.Context, follows []crash.Follow) (followIndex, []view.Followed, error) {
	packages, list := followIndex{}, make([]view.Followed, len(follows))
	for i, f := range follows {
		list[i].Follow = f
		names, known, err := s.packagesOf(ctx, f)
		if crash.KindOf(err) == crash.NotFound {
			list[i].Nobody, known, err = true, true, nil
		}
		if err != nil {
			return nil, nil, err
		}
		list[i].Packages, list[i].Unknown = len(names), !known
		for _, name := range names {
			packages[name] = append(packages[name], i)
		}
	}
	return packages, list, nil
}

// fillMy fills the page with the followed problems and those assigned to the person, in groups.
func (s *Lists) fillMy(r *http.Request, page *view.MyPage, follows []crash.Follow) error {
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	chosen, followed, err := s.choices.selectFollowed(r, b, follows)
	if err != nil {
		return err
	}
	page.Followed = followed
	if i := slices.IndexFunc(followed, func(f view.Followed) bool { return f.Unknown }); i >= 0 {
		page.Notice = view.ReadingPackages(followed[i].Name)
	}
	filter := page.List.Choice.FilterOn(s.web.Now())
	rows, totals := b.All(filter, chosen.match)
	page.Problems, page.Reports, page.List.Hidden = len(rows), totals.Reports, totals.Hidden
	unread, err := s.newProblems(r, page, chosen, rows)
	if err != nil {
		return err
	}
	grouped := map[string][]index.Row{}
	for _, row := range rows {
		mine := row.AssignedTo(chosen.names)
		if mine {
			page.Mine++
		}
		for _, i := range chosen.positions(row.Problem) {
			followed[i].Problems++
			followed[i].Reports += row.Count
			if unread[row.ID] {
				followed[i].Unread++
			}
		}
		name := myGroup(row, unread[row.ID], mine)
		grouped[name] = append(grouped[name], row)
	}
	return s.fillGroups(r, page, b, filter, grouped, chosen.names)
}

// newProblems returns the problems that are new to the person since the previous visit, and adds to
// the page what is new about the followed ones.
func (s *Lists) newProblems(r *http.Request, page *view.MyPage, chosen *selection, rows []index.Row) (
	map[crash.BucketID]bool, error,
) {
	marked, news, err := s.updateMarks(r.Context(), web.CurrentUser(r).ID, page.Visit, chosen)
	if err != nil {
		return nil, err
	}
	for i, f := range page.Followed {
		if f.Kind == crash.FollowProblem {
			page.Followed[i].News = news[f.Name]
		}
	}
	var arrived []index.Row
	for _, row := range rows {
		if chosen.byArrival(row.Problem) {
			arrived = append(arrived, row)
		}
	}
	unread, err := newSince(r.Context(), s.People, page.Visit, arrived)
	if err != nil {
		return nil, err
	}
	for id := range unread {
		marked[id] = true
	}
	return marked, nil
}

// newSince returns the problems that are new since the previous visit: those first seen after
// it, and those without an earlier arrival.
func newSince(ctx context.Context, known *people.Store, visit crash.Visit, rows []index.Row) (map[crash.BucketID]bool,
	error) {
	if visit.Seen.IsZero() {
		return nil, nil
	}
	unread := map[crash.BucketID]bool{}
	var late []crash.BucketID
	for _, row := range rows {
		switch {
		case row.First().At.After(visit.Seen):
			unread[row.ID] = true
		case row.First().At.After(visit.Seen.AddDate(0, 0, -lateDays)):
			late = append(late, row.ID)
		}
	}
	if len(late) == 0 {
		return unread, nil
	}
	arrived, err := known.ArrivedSince(ctx, late, visit.Seen)
	for _, id := range arrived {
		unread[id] = true
	}
	return unread, err
}

// myGroups are the groups of the page, in display order.
var myGroups = [...]string{view.MyUnread, view.MyAssigned, view.MyRegression, view.MyUnfiled, view.MyFiled}

func myGroup(row index.Row, unread, mine bool) string {
	switch {
	case unread:
		return view.MyUnread
	case mine:
		return view.MyAssigned
	case row.State == crash.StateRegression:
		return view.MyRegression
	case row.Bug == 0:
		return view.MyUnfiled
	}
	return view.MyFiled
}

// fillGroups loads the rows that the page shows. It sorts unread problems by the group that they
// would otherwise be in.
func (s *Lists) fillGroups(r *http.Request, page *view.MyPage, b *index.Index, filter index.Filter,
	grouped map[string][]index.Row, names []string,
) error {
	slices.SortStableFunc(grouped[view.MyUnread], func(x, y index.Row) int {
		return slices.Index(myGroups[:], myGroup(x, false, x.AssignedTo(names))) -
			slices.Index(myGroups[:], myGroup(y, false, y.AssignedTo(names)))
	})
	var shown []index.Row
	groupOf := map[crash.BucketID]string{}
	for _, name := range myGroups {
		rows := grouped[name]
		if len(rows) == 0 || page.Only != "" && page.Only != name {
			continue
		}
		group := view.MyGroup{Name: name, Words: groupTitle(name, len(rows)), Count: len(rows)}
		limit := myRows
		if page.Only != "" {
			limit = myOnlyRows
		}
		for _, row := range rows[:min(limit, len(rows))] {
			shown, groupOf[row.ID] = append(shown, row), name
		}
		page.Groups = append(page.Groups, group)
	}
	list, err := s.listRows(r, b, filter, shown)
	if err != nil {
		return err
	}
	page.List.Rows = list // bars of all groups have one scale
	for i := range page.Groups {
		for _, row := range list {
			if groupOf[row.ID] == page.Groups[i].Name {
				page.Groups[i].Rows = append(page.Groups[i].Rows, row)
			}
		}
	}
	return nil
}

func groupTitle(group string, n int) string {
	switch group {
	case view.MyUnread:
		return "unread"
	case view.MyAssigned:
		return "assigned to you"
	case view.MyRegression:
		return crash.Plural(int64(n), "regression", "regressions")
	case view.MyUnfiled:
		return "without a bug"
	}
	return "with a bug"
}

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

func (s *choices) selectFollowed(r *http.Request, b *index.Index, follows []crash.Follow) (
	*selection, []view.Followed, error,
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
func (s *choices) marksOf(r *http.Request, b *index.Index, f *view.Followed) (
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
		f.Label, f.Path = view.DocumentTitle(p.Named()), p.ID.Path()
		return []crash.FollowMark{{Kind: f.Kind, Name: f.Name, Bucket: p.ID, Mark: problemMark(p)}}, false, nil
	case crash.FollowSearch:
		return s.searchMarks(r, f)
	case crash.FollowPackage, crash.FollowPerson, crash.FollowSet:
	}
	return nil, false, nil
}

func (s *choices) searchMarks(r *http.Request, f *view.Followed) (marks []crash.FollowMark, large bool, err error) {
	search, err := s.Problems.SavedSearch(r.Context(), web.CurrentUser(r).ID, f.Number(), false)
	if crash.KindOf(err) == crash.NotFound { // deleted since the follows were read
		f.Nobody, f.Path = true, view.PathSearches
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
		news = append(news, "bug "+crash.BugText(m.Bug))
	}
	if m.Highest != old.Highest && m.Highest != "" {
		news = append(news, "first seen in "+m.Highest)
	}
	for _, release := range m.Releases {
		if !slices.Contains(old.Releases, release) {
			news = append(news, "first seen in "+release)
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
	unread map[crash.BucketID]bool, news map[string]string, err error,
) {
	unread, news = map[crash.BucketID]bool{}, map[string]string{}
	if len(chosen.marks) == 0 {
		return unread, news, nil
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
			m.At = s.web.Now()
		case known && m.Mark != old.Mark:
			if change := problemNews(old.Mark, m.Mark); change != "" && fresh && old.News != "" {
				m.News, m.At = crash.Truncate(old.News+", "+change, maxNews), s.web.Now()
			} else if change != "" {
				m.News, m.At = change, s.web.Now()
			}
		}
		if !known || m != old {
			save = append(save, m)
		}
		if known && m.Bucket != old.Bucket {
			drop = append(drop, old)
		}
		if !visit.Seen.IsZero() && m.At.After(visit.Seen) {
			unread[m.Bucket] = true
			if m.Kind == crash.FollowProblem {
				news[m.Name] = m.News
			}
		}
	}
	return unread, news, s.People.SaveMarks(ctx, user, save, drop)
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
	marks, large, err := s.choices.marksOf(r, b, &view.Followed{Follow: f})
	if err != nil || large {
		return err
	}
	return s.People.SaveMarks(r.Context(), web.CurrentUser(r).ID, marks, nil)
}
