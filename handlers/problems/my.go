package problems

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db/people"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

const (
	myRows     = 25  // rows of each group
	myOnlyRows = 200 // rows of a group that the page shows alone
	// lateDays is the number of days after a crash in which its report makes a problem new.
	// Machines send reports when they are online.
	lateDays = 30
)

// ShowMy shows the problems that the user follows: new ones since the last visit, then
// regressions, then those without a bug. With a file extension or Accept header it sends the
// list as a file.
func (s *Lists) ShowMy(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.exportMy(w, r, format)
	}
	return s.myPage(w, r, http.StatusOK, views.FollowForm{Kind: crash.FollowPackage})
}

func (s *Lists) myPage(w http.ResponseWriter, r *http.Request, status int, form views.FollowForm) error {
	ctx, user := r.Context(), web.CurrentUser(r)
	choice, only, ignored := myPageChoice(r)
	page := views.MyPage{Only: only, Tracker: s.Config.TrackerName, Form: form, Ignored: ignoredNotice(ignored)}
	follows, err := s.People.Followed(ctx, user.ID)
	if err != nil {
		return err
	}
	if page.Visit, err = s.People.Visit(ctx, user.ID); err != nil {
		return err
	}
	page.List = views.ListPage{Choice: choice, Tracker: s.Config.TrackerName}
	if err := s.fillMy(r, &page, follows); err != nil {
		return err
	}
	if name := user.TrackerName; name != "" && !slices.ContainsFunc(follows, func(f crash.Follow) bool {
		return f.Kind == crash.FollowPerson && f.Name == name
	}) {
		page.Suggest = name
	}
	page.Shell = s.Shell(r, "My packages")
	if len(page.Followed)+len(page.Groups) > 0 {
		// The first alternate is the feed. Feed readers cannot sign in.
		page.Shell.Also = views.Alternates("My packages", views.PathMy, "period="+string(choice.Period))[1:]
	}
	page.List.Shell = page.Shell
	return s.Page(w, r, status, views.My(page))
}

// ExportMyFile sends the user's list as a file, at an address of its own.
func (s *Lists) ExportMyFile(w http.ResponseWriter, r *http.Request) error {
	format := r.PathValue("format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	return s.exportMy(w, r, format)
}

// exportMy sends the user's list as a file or feed.
func (s *Lists) exportMy(w http.ResponseWriter, r *http.Request, format string) error {
	choice, err := myChoice(r)
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
	chosen, _, err := s.selectFollowed(r, b, follows)
	if err != nil {
		return err
	}
	return s.exportList(w, r, format, exportedList{
		title: "My packages", path: views.PathMy, filter: choice.FilterOn(s.Now()), match: chosen.match,
		private: fmt.Sprint(web.CurrentUser(r).ID, web.CurrentUser(r).Names(), follows),
	})
}

// myChoice reads the period of the page; the default is a month.
func myChoice(r *http.Request) (views.ListChoice, error) {
	q := r.URL.Query()
	period := crash.Period(q.Get("period"))
	if period == "" {
		period = crash.PeriodMonth
	}
	if period.Days() == 0 {
		return views.ListChoice{}, crash.Errorf(crash.Invalid, "unknown_period",
			"%.40q is not a period; the periods are day, week, month and year.", string(period))
	}
	muted, err := readMuted(q)
	return views.ListChoice{Period: period, ShowMuted: muted}, err
}

// myPageChoice reads the period and the group of the page. It replaces invalid values by the defaults
// and returns their names.
func myPageChoice(r *http.Request) (choice views.ListChoice, only string, ignored []string) {
	choice, err := myChoice(r)
	if err != nil {
		wrong := "period"
		if web.CodeOf(err) == errBadMuted {
			wrong = "muted"
		}
		choice, ignored = views.ListChoice{Period: crash.PeriodMonth}, append(ignored, wrong)
	}
	only = r.URL.Query().Get("only")
	if only != "" && !slices.Contains(myGroups[:], only) {
		only, ignored = "", append(ignored, "only")
	}
	return choice, only, ignored
}

// packagesOf returns the source packages of a person, team or set, or the package itself. known
// is false until the tracker has answered.
func (s *Lists) packagesOf(ctx context.Context, f crash.Follow) (names []string, known bool, err error) {
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

// packagesFollowed returns the packages that the user follows, and a summary of each follow.
func (s *Lists) packagesFollowed(ctx context.Context, follows []crash.Follow) (followIndex, []views.Followed, error) {
	packages, list := followIndex{}, make([]views.Followed, len(follows))
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
func (s *Lists) fillMy(r *http.Request, page *views.MyPage, follows []crash.Follow) error {
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	chosen, followed, err := s.selectFollowed(r, b, follows)
	if err != nil {
		return err
	}
	page.Followed = followed
	if i := slices.IndexFunc(followed, func(f views.Followed) bool { return f.Unknown }); i >= 0 {
		page.Notice = views.ReadingPackages(followed[i].Name)
	}
	filter := page.List.Choice.FilterOn(s.Now())
	rows, totals := b.All(filter, chosen.match)
	page.Problems, page.Reports, page.List.Hidden = len(rows), totals.Reports, totals.Hidden
	isNew, err := s.newProblems(r, page, chosen, rows)
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
			if isNew[row.ID] {
				followed[i].New++
			}
		}
		name := myGroup(row, isNew[row.ID], mine)
		grouped[name] = append(grouped[name], row)
	}
	return s.fillGroups(r, page, b, filter, grouped, chosen.names)
}

// newProblems returns the problems that are new to the person since the previous visit, and adds to
// the page what is new about the followed ones.
func (s *Lists) newProblems(r *http.Request, page *views.MyPage, chosen *selection, rows []index.Row) (
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
	isNew, err := newSince(r.Context(), s.People, page.Visit, arrived)
	if err != nil {
		return nil, err
	}
	for id := range isNew {
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
	isNew := map[crash.BucketID]bool{}
	var late []crash.BucketID
	for _, row := range rows {
		switch {
		case row.First().At.After(visit.Seen):
			isNew[row.ID] = true
		case row.First().At.After(visit.Seen.AddDate(0, 0, -lateDays)):
			late = append(late, row.ID)
		}
	}
	if len(late) == 0 {
		return isNew, nil
	}
	arrived, err := known.ArrivedSince(ctx, late, visit.Seen)
	for _, id := range arrived {
		isNew[id] = true
	}
	return isNew, err
}

// myGroups are the groups of the page, in display order.
var myGroups = [...]string{views.MyNew, views.MyAssigned, views.MyRegression, views.MyUnfiled, views.MyFiled}

func myGroup(row index.Row, isNew, mine bool) string {
	switch {
	case isNew:
		return views.MyNew
	case mine:
		return views.MyAssigned
	case row.State == crash.StateRegression:
		return views.MyRegression
	case row.Bug == 0:
		return views.MyUnfiled
	}
	return views.MyFiled
}

// fillGroups loads the rows that the page shows. It sorts new problems by the group that they
// would otherwise be in.
func (s *Lists) fillGroups(r *http.Request, page *views.MyPage, b *index.Index, filter index.Filter,
	grouped map[string][]index.Row, names []string,
) error {
	slices.SortStableFunc(grouped[views.MyNew], func(x, y index.Row) int {
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
		group := views.MyGroup{Name: name, Words: groupTitle(name, len(rows)), Count: len(rows)}
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
	case views.MyNew:
		return "new since your last visit"
	case views.MyAssigned:
		return "assigned to you"
	case views.MyRegression:
		return crash.Plural(int64(n), "regression", "regressions")
	case views.MyUnfiled:
		return "without a bug"
	}
	return "with a bug"
}
