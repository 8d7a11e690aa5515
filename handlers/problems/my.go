package problems

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

const (
	myRows     = 25  // of each group that the page shows
	myOnlyRows = 200 // of one group that is shown alone
	// lateDays is how long after a crash its report still makes a problem new: machines send when they are online.
	lateDays = 30
)

// ShowMy is what the person follows: problems that are new since the last visit first, then regressions, then those without
// a bug. With an ending, or by Accept, it is the list as a file.
func (s *Lists) ShowMy(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.exportMy(w, r, format)
	}
	return s.myPage(w, r, http.StatusOK, views.FollowForm{Kind: crash.FollowPackage})
}

func (s *Lists) myPage(w http.ResponseWriter, r *http.Request, status int, form views.FollowForm) error {
	ctx, user := r.Context(), web.CurrentUser(r)
	choice, err := myChoice(r)
	if err != nil {
		return err
	}
	page := views.MyPage{Only: r.URL.Query().Get("only"), Tracker: s.Config.TrackerName, Form: form}
	if page.Only != "" && !slices.Contains(myGroups[:], page.Only) {
		return crash.Errorf(crash.Invalid, "unknown_group", "%.40q is not a group of this page.", page.Only)
	}
	follows, err := s.Accounts.Followed(ctx, user.ID)
	if err != nil {
		return err
	}
	if page.Visit, err = s.Accounts.Visit(ctx, user.ID); err != nil {
		return err
	}
	page.List = views.ListPage{Choice: choice}
	if len(follows) > 0 {
		if err := s.fillMy(r, &page, follows); err != nil {
			return err
		}
	}
	if name := user.TrackerName; name != "" && !slices.ContainsFunc(follows, func(f crash.Follow) bool {
		return f.Kind == crash.FollowPerson && f.Name == name
	}) {
		page.Suggest = name
	}
	page.Shell = s.Shell(r, "My packages")
	if len(follows) > 0 {
		page.Shell.Also = views.Alternates("My packages", views.PathMy, "period="+string(choice.Period))[1:] // readers of feeds do not sign in
	}
	page.List.Shell = page.Shell
	return s.Page(w, r, status, views.My(page))
}

// ExportMyFile is the person's list as a file, at its own address.
func (s *Lists) ExportMyFile(w http.ResponseWriter, r *http.Request) error {
	format := r.PathValue("format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	return s.exportMy(w, r, format)
}

// exportMy is the person's list as a file or feed.
func (s *Lists) exportMy(w http.ResponseWriter, r *http.Request, format string) error {
	choice, err := myChoice(r)
	if err != nil {
		return err
	}
	follows, err := s.Accounts.Followed(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	packages, _, err := s.packagesFollowed(r.Context(), follows)
	if err != nil {
		return err
	}
	return s.exportList(w, r, format, exportedList{
		title: "My packages", path: views.PathMy, filter: packages.filter(choice, s.Now()), own: fmt.Sprint(web.CurrentUser(r).ID, follows),
	})
}

// myChoice is the period that the page looks at: a month, unless the address says otherwise.
func myChoice(r *http.Request) (views.ListChoice, error) {
	q := r.URL.Query()
	period := crash.Period(q.Get("period"))
	if period == "" {
		period = crash.PeriodMonth
	}
	if period.Days() == 0 {
		return views.ListChoice{}, crash.Errorf(crash.Invalid, "unknown_period", "%.40q is not a period; the periods are day, week, month and year.", string(period))
	}
	return views.ListChoice{Period: period}, nil
}

// packagesOf are the source packages of a person, team or set; a package is its own. Not known: the tracker has not been
// asked yet.
func (s *Lists) packagesOf(ctx context.Context, f crash.Follow) (names []string, known bool, err error) {
	switch f.Kind {
	case crash.FollowPerson:
		return s.Bugs.PackagesOfPerson(ctx, f.Name)
	case crash.FollowSet:
		return s.Bugs.PackagesOfSet(ctx, "", f.Name)
	case crash.FollowPackage:
	}
	return []string{f.Name}, true, nil
}

// followedBy says for each package by which of the things followed it is.
type followedBy map[string][]int

// filter is the choice, narrowed to these packages.
func (p followedBy) filter(choice views.ListChoice, now time.Time) index.Filter {
	filter := choice.FilterOn(now)
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names) // the same list is remembered
	filter.Some, filter.Packages = true, strings.Join(names, " ")
	return filter
}

// packagesFollowed finds the packages behind all that a person follows.
func (s *Lists) packagesFollowed(ctx context.Context, follows []crash.Follow) (followedBy, []views.Followed, error) {
	packages, list := followedBy{}, make([]views.Followed, len(follows))
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

// fillMy puts the problems of what is followed into their groups.
func (s *Lists) fillMy(r *http.Request, page *views.MyPage, follows []crash.Follow) error {
	packages, followed, err := s.packagesFollowed(r.Context(), follows)
	if err != nil {
		return err
	}
	page.Followed = followed
	if i := slices.IndexFunc(followed, func(f views.Followed) bool { return f.Unknown }); i >= 0 {
		page.Notice = "The tracker is being asked which packages " + followed[i].Name + " has: look again in a moment."
	}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	filter := packages.filter(page.List.Choice, s.Now())
	rows, totals := b.All(filter, nil)
	page.Problems, page.Reports = len(rows), totals.Reports
	isNew, err := s.newTo(r.Context(), page.Visit, rows)
	if err != nil {
		return err
	}
	grouped := map[string][]index.Row{}
	for _, row := range rows {
		packages.count(followed, row, isNew[row.ID])
		name := myGroup(row, isNew[row.ID])
		grouped[name] = append(grouped[name], row)
	}
	return s.fillGroups(r, page, b, filter, grouped)
}

// count adds a problem to all that is followed and has its package.
func (p followedBy) count(followed []views.Followed, row index.Row, isNew bool) {
	by := p[row.Package]
	if row.Source != row.Package {
		by = append(slices.Clone(by), p[row.Source]...)
		slices.Sort(by)
		by = slices.Compact(by)
	}
	for _, i := range by {
		followed[i].Problems++
		followed[i].Reports += row.Count
		if isNew {
			followed[i].New++
		}
	}
}

// newTo finds the problems that came since the visit before: those that were seen first after it, and those of which
// nothing had arrived by then.
func (s *Lists) newTo(ctx context.Context, visit crash.Visit, rows []index.Row) (map[crash.BucketID]bool, error) {
	if visit.Seen.IsZero() {
		return nil, nil
	}
	isNew := map[crash.BucketID]bool{}
	var late []crash.BucketID
	for _, row := range rows {
		switch {
		case row.First.At.After(visit.Seen):
			isNew[row.ID] = true
		case row.First.At.After(visit.Seen.AddDate(0, 0, -lateDays)):
			late = append(late, row.ID)
		}
	}
	if len(late) == 0 {
		return isNew, nil
	}
	arrived, err := s.Accounts.ArrivedSince(ctx, late, visit.Seen)
	for _, id := range arrived {
		isNew[id] = true
	}
	return isNew, err
}

// myGroups are the groups of the page, in their order.
var myGroups = [...]string{views.MyNew, views.MyRegression, views.MyUnfiled, views.MyFiled}

func myGroup(row index.Row, isNew bool) string {
	switch {
	case isNew:
		return views.MyNew
	case row.State == crash.StateRegression:
		return views.MyRegression
	case row.Bug == 0:
		return views.MyUnfiled
	}
	return views.MyFiled
}

// fillGroups gathers what the rows show that the page has. What is new is in the order of the groups that it would else be in.
func (s *Lists) fillGroups(r *http.Request, page *views.MyPage, b *index.Index, filter index.Filter, grouped map[string][]index.Row) error {
	slices.SortStableFunc(grouped[views.MyNew], func(x, y index.Row) int {
		return slices.Index(myGroups[:], myGroup(x, false)) - slices.Index(myGroups[:], myGroup(y, false))
	})
	var shown []index.Row
	in := map[crash.BucketID]string{}
	for _, name := range myGroups {
		rows := grouped[name]
		if len(rows) == 0 || page.Only != "" && page.Only != name {
			continue
		}
		group := views.MyGroup{Name: name, Words: myWords(name, len(rows)), Count: len(rows)}
		most := myRows
		if page.Only != "" {
			most = myOnlyRows
		}
		for _, row := range rows[:min(most, len(rows))] {
			shown, in[row.ID] = append(shown, row), name
		}
		page.Groups = append(page.Groups, group)
	}
	list, err := s.listRows(r, b, filter, shown)
	if err != nil {
		return err
	}
	page.List.Rows = list // whose bars are measured by the same
	for i := range page.Groups {
		for _, row := range list {
			if in[row.ID] == page.Groups[i].Name {
				page.Groups[i].Rows = append(page.Groups[i].Rows, row)
			}
		}
	}
	return nil
}

func myWords(group string, n int) string {
	switch group {
	case views.MyNew:
		return "new since your last visit"
	case views.MyRegression:
		return crash.Plural(int64(n), "regression", "regressions")
	case views.MyUnfiled:
		return "without a bug"
	}
	return "with a bug"
}
