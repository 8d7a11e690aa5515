// Package panel shows the status of problems and the actions on their bugs, for the areas that show
// problems.
package panel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/similar"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/web"
	"mishap/tracker"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// Deps are what a Panel uses.
type Deps struct {
	Store    *db.Store
	Bugs     *bugs.Store
	Problems *problems.Store
	Symbols  *symbols.Store
	Filer    *tracker.Filer
}

// Panel shows the status of problems and the actions on their bugs.
type Panel struct {
	web *web.Kit
	Deps
}

// New returns a Panel.
func New(kit *web.Kit, d Deps) *Panel { return &Panel{kit, d} }

// BucketInPath returns the problem whose bucket id is in the path, with its status.
func (s *Panel) BucketInPath(r *http.Request) (crash.Bucket, error) {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return crash.Bucket{}, err
	}
	return s.Bucket(r.Context(), id)
}

// ProblemHandler answers a request about the problem whose bucket id is in the path.
type ProblemHandler func(w http.ResponseWriter, r *http.Request, b crash.Bucket) error

// OfProblem returns a handler that reads the problem first, with its status.
func (s *Panel) OfProblem(show ProblemHandler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		b, err := s.BucketInPath(r)
		if err != nil {
			return err
		}
		return show(w, r, b)
	}
}

// bugsViewOf returns the view of the bugs of a problem. Full pages also request new states of bugs
// that are stale.
func (s *Panel) bugsViewOf(r *http.Request, b crash.Bucket, bugs []crash.Bug) bugsview.BugsView {
	u := web.CurrentUser(r)
	cell := s.BugPart(r, b)
	cell.Whole = true
	if u.MayTriage(b.SourcePackage) {
		cell.Link = b.ID.Path() + "/link"
	}
	if !web.WantsPart(r) {
		s.RefreshStaleBugs(r, staleOnPage, bugs...)
	} else {
		cell.Next = b.ID.Path()
	}
	return bugsview.BugsView{Tracker: s.TrackerOf(bugs...),
		Bucket: b.ID, Cell: cell, Bugs: bugs, MayLink: u.MayTriage(b.SourcePackage),
		SignedIn: u.Role.Allows(crash.RoleViewer), CSRFToken: cell.CSRFToken, Now: s.web.Now(),
	}
}

// Trackers returns what lists call the trackers: the title of the only one, or "the trackers".
func (s *Panel) Trackers() string {
	if len(s.Filer.Sites().Members()) > 1 {
		return "the trackers"
	}
	return s.web.Config.TrackerName
}

// TrackerOf returns what pages call the tracker of bugs: its title, or "the trackers" if they are in several.
func (s *Panel) TrackerOf(bugs ...crash.Bug) string {
	title := ""
	for _, b := range bugs {
		m, ok := s.Filer.Sites().Member(b.Place.Tracker)
		switch {
		case !ok:
		case title == "":
			title = m.Title
		case title != m.Title:
			return "the trackers"
		}
	}
	return cmp.Or(title, s.web.Config.TrackerName)
}

// Buckets returns the problems with these ids, with their status.
func (s *Panel) Buckets(r *http.Request, ids []crash.BucketID) ([]crash.Bucket, error) {
	buckets := make([]crash.Bucket, 0, len(ids))
	for _, id := range ids {
		b, err := s.Bucket(r.Context(), id)
		if err != nil {
			return nil, err
		}
		buckets = append(buckets, b)
	}
	return buckets, nil
}

// Bucket returns the problem that the bucket with this id belongs to, with its status.
func (s *Panel) Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	b, err := s.Store.Bucket(ctx, id)
	if err != nil {
		return b, err
	}
	err = s.Store.Judge(ctx, &b)
	return b, err
}

// BugPart returns the bug cell of a bucket, which must have its status, for the current user.
func (s *Panel) BugPart(r *http.Request, b crash.Bucket) bugsview.BugPart {
	u := web.CurrentUser(r)
	p := bugsview.BugPart{
		Bucket: b.ID, Signature: b.Signature, Bug: b.Bug, Reason: b.Filing.Reason,
		MayFile:   s.web.Config.AllowBugFiling && u.MayTriage(b.SourcePackage),
		CSRFToken: nosurf.Token(r), Next: web.ReturnPath(r), Tracker: s.web.Config.TrackerName,
	}
	p.State, p.Status, p.Manual = s.bugState(u, b), b.Status, s.Store.ListedManual(b.ID)
	s.addGoal(r, b, &p, false)
	if web.IsPublic(r) {
		p.Manual = privacy.RedactManual(p.Manual)
	}
	switch p.State {
	case bugsview.BugCreate, bugsview.BugWaiting, bugsview.BugRefused, bugsview.BugImpossible:
		p.Review = p.MayFile && b.NoDraft() == ""
	case bugsview.BugNothing, bugsview.BugLinked, bugsview.BugSignIn, bugsview.BugCreating, bugsview.BugChecking:
	}
	if p.State == bugsview.BugWaiting && b.Filing.Problem == "tracker_credentials" && u.Role.Allows(crash.RoleAdmin) &&
		s.web.HasLaunchpad() {
		p.Connect = layout.PathTracker
	}
	if p.State == bugsview.BugImpossible && p.Reason == "" {
		p.Reason = b.NoFiling()
	}
	return p
}

// goal is what pages say about where the bug of a problem goes.
type goal struct {
	tracker, where string
	review         bool   // a person reviews each bug before it is sent
	public         bool   // everyone sees bugs there
	problem        string // why the bug cannot go there; empty: it can
}

// goalOf returns where the bug of a problem goes, as of the past ten seconds.
func (s *Panel) goalOf(r *http.Request, b crash.Bucket, upstream bool) (goal, error) {
	key := strings.Join([]string{strconv.FormatBool(upstream), b.SourcePackage, b.ProblemType, string(b.LastSeenRelease),
		b.LastSeenVersion}, "\n")
	return web.CachedFacts(s.web, r, key, func(r *http.Request) (goal, error) {
		to, err := s.Filer.Choose(r.Context(), b, upstream)
		if CodeOf(err) == "no_upstream" {
			return goal{}, nil
		}
		if e, ok := errors.AsType[*crash.Error](err); ok && (e.Kind == crash.Unprocessable || e.Code == "no_tracker") {
			return goal{tracker: to.Title, problem: e.Message}, nil
		}
		if err != nil {
			return goal{}, err
		}
		return goal{tracker: to.Title, where: to.Where(), review: to.Review, public: to.Kind.Private == ""}, nil
	})
}

// addGoal adds where the bug goes to a cell that offers to file it, and what is special about that. A cell whose goal
// cannot be read keeps what it has.
func (s *Panel) addGoal(r *http.Request, b crash.Bucket, p *bugsview.BugPart, upstream bool) {
	switch p.State {
	case bugsview.BugCreate, bugsview.BugWaiting, bugsview.BugRefused, bugsview.BugImpossible:
	case bugsview.BugNothing, bugsview.BugLinked, bugsview.BugSignIn, bugsview.BugCreating, bugsview.BugChecking:
		return
	}
	to, err := s.goalOf(r, b, upstream)
	if err != nil {
		s.web.Log.WarnContext(r.Context(), "cannot read where a bug goes", "request_id", web.RequestID(r), "error", err)
		return
	}
	if to.tracker != "" {
		p.Tracker, p.Where = to.tracker, to.where
	}
	p.Reviewed = to.review
	switch {
	case p.State != bugsview.BugCreate:
	case to.problem != "":
		p.State, p.Reason = bugsview.BugImpossible, to.problem
	case to.public && p.Manual.Embargo != nil:
		p.State, p.Reason = bugsview.BugImpossible, bugsview.EveryoneSees(to.tracker)
	}
}

// Upstream returns a problem with the bug and the filing for its upstream project instead of the distribution's.
func (s *Panel) Upstream(ctx context.Context, b crash.Bucket) (crash.Bucket, error) {
	number, filing, err := s.Bugs.Upstream(ctx, b.ID)
	b.Bug, b.Filing = crash.Bug{}, filing
	if number != 0 {
		b.Bug = crash.Bug{Number: number, Place: s.Filer.Sites().PlaceOf(ctx, number), URL: s.Filer.BugURL(ctx, number)}
	}
	return b, err
}

// upstreamPart returns the cell of the bug in the upstream project's tracker. Its state is BugNothing if the problem
// has none and cannot get one.
func (s *Panel) upstreamPart(r *http.Request, b crash.Bucket) (bugsview.BugPart, error) {
	if !s.web.Config.AllowBugFiling || !s.Filer.Sites().HasUpstream() {
		return bugsview.BugPart{}, nil
	}
	b, err := s.Upstream(r.Context(), b)
	if err != nil {
		return bugsview.BugPart{}, err
	}
	p := s.UpstreamBugPart(r, b)
	if p.State == bugsview.BugSignIn {
		p.State = bugsview.BugNothing
	}
	return p, nil
}

// UpstreamBugPart is BugPart for a problem as Upstream returns it.
func (s *Panel) UpstreamBugPart(r *http.Request, b crash.Bucket) bugsview.BugPart {
	p := s.BugPart(r, b)
	p.Upstream, p.Where, p.Reason = true, "", b.Filing.Reason
	p.State = s.bugState(web.CurrentUser(r), b)
	s.addGoal(r, b, &p, true)
	if p.State == bugsview.BugCreate && p.Where == "" || p.State == bugsview.BugImpossible && b.NoFiling() != "" {
		p.State = bugsview.BugNothing
	}
	p.Review = p.MayFile && p.Where != "" && p.State != bugsview.BugImpossible
	return p
}

func (s *Panel) bugState(u crash.User, b crash.Bucket) bugsview.BugState {
	if b.Bug.Number != 0 {
		return bugsview.BugLinked
	}
	switch b.Filing.State {
	case crash.FilingUncertain:
		return bugsview.BugChecking
	case crash.FilingSending, crash.FilingFiled:
		return bugsview.BugCreating
	case crash.FilingQueued:
		if b.Filing.Problem != "" {
			return bugsview.BugWaiting
		}
		return bugsview.BugCreating
	case crash.FilingAbandoned: // as if no bug had been requested
	case crash.FilingRefused:
		if u.MayTriage(b.SourcePackage) {
			return bugsview.BugRefused
		}
	}
	switch {
	case !s.web.Config.AllowBugFiling:
		return bugsview.BugNothing
	case b.NoFiling() != "" && u.MayTriage(b.SourcePackage):
		return bugsview.BugImpossible
	case b.NoFiling() != "":
		return bugsview.BugNothing
	case u.MayTriage(b.SourcePackage):
		return bugsview.BugCreate
	case u.Role == crash.RoleNone:
		return bugsview.BugSignIn
	}
	return bugsview.BugNothing
}

// AnswerBug sends the current bug cell, or the status around it if the request replaces that.
func (s *Panel) AnswerBug(w http.ResponseWriter, r *http.Request, status int, b crash.Bucket) error {
	if !problemsview.IsStatusTarget(r.Header.Get("HX-Target")) {
		p := s.BugPart(r, s.web.SeenBucket(r, b))
		target := r.Header.Get("HX-Target")
		p.Copy, p.InList = bugsview.CopyTargeted(target, b.ID), bugsview.ListTargeted(target)
		return s.web.Page(w, r, status, bugsview.BugAnswer(p))
	}
	v, err := s.StatusView(r, b)
	if err != nil {
		return err
	}
	return s.web.Page(w, r, status, problemsview.StatusPart(v))
}

// StatusView returns the status of a problem for the current user, with advice about filing.
func (s *Panel) StatusView(r *http.Request, b crash.Bucket) (problemsview.StatusView, error) {
	bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return problemsview.StatusView{}, err
	}
	manual, _, err := s.Problems.Triage(r.Context(), b.ID)
	if err != nil {
		return problemsview.StatusView{}, err
	}
	v, err := s.StatusViewOf(r, b, bugs, manual)
	if err != nil {
		return v, err
	}
	if v.Bugs.Cell.Review {
		facts, err := s.StackOf(r, b, true)
		if err != nil {
			return v, err
		}
		symbols, err := s.SymbolsOf(r.Context(), b)
		if err != nil {
			return v, err
		}
		v.Advice = s.Advise(facts.Advice, symbols)
	}
	return v, nil
}

// StatusViewOf is like StatusView, without advice, for what the caller has read.
func (s *Panel) StatusViewOf(r *http.Request, b crash.Bucket, bugs []crash.Bug, manual crash.ManualStatus,
) (problemsview.StatusView, error) {
	upstream, err := s.upstreamPart(r, b)
	if err != nil {
		return problemsview.StatusView{}, err
	}
	b = s.web.SeenBucket(r, b)
	v := problemsview.StatusView{Status: b.Status, Bugs: s.bugsViewOf(r, b, bugs), Manual: s.manualView(r, b, manual),
		Now: s.web.Now(), Admin: web.CurrentUser(r).Role.Allows(crash.RoleAdmin)}
	v.Bugs.Cell.Manual = v.Manual.Status // the index may not know it yet
	v.Bugs.Upstream, v.Bugs.Cell.Beside = upstream, upstream.Changing()
	return v, nil
}

// OnProblemPage reports whether htmx sends the request from the page of a problem.
func OnProblemPage(r *http.Request, id crash.BucketID) bool {
	from, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && from.Path == id.Path()
}

// Chosen returns the problem in the path, or those whose ids the parameter problems contains, with their status.
func (s *Panel) Chosen(r *http.Request) ([]crash.BucketID, []crash.Bucket, error) {
	ids, err := ChosenIDs(strings.Split(cmp.Or(r.PathValue("id"), r.FormValue("problems")), "."))
	if err != nil {
		return nil, nil, err
	}
	buckets, err := s.Buckets(r, ids)
	return ids, buckets, err
}

// ChosenToTriage is like Chosen, without the problems about which the person may not decide, and returns
// the number of those. It returns Forbidden if none remains.
func (s *Panel) ChosenToTriage(r *http.Request) (
	ids []crash.BucketID, buckets []crash.Bucket, refused int64, err error,
) {
	if ids, buckets, err = s.Chosen(r); err != nil {
		return nil, nil, 0, err
	}
	buckets, refused, err = web.Triageable(r, buckets)
	return ids, buckets, refused, err
}

// ChosenIDs parses the ids of chosen problems, in their order and without duplicates.
func ChosenIDs(texts []string) ([]crash.BucketID, error) {
	var ids []crash.BucketID
	for _, text := range texts {
		if text == "" {
			continue
		}
		id, err := crash.ParseBucketID(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) == 0:
		return nil, ErrNoneChosen
	case len(ids) > MaxChosen:
		return nil, crash.Errorf(crash.Invalid, "too_many_chosen",
			"%d problems are selected. At most %d can be at once: select fewer.", len(ids), MaxChosen)
	}
	return ids, nil
}

// MaxChosen is the largest number of chosen problems: proxies accept addresses of 8 kB, which contain their ids.
// No page shows more problems to select from.
const MaxChosen = 180

// Errors of actions on chosen problems.
var (
	ErrNoneChosen    = crash.Errorf(crash.Invalid, "none_chosen", "No problem is selected. Select at least one first.")
	ErrUnknownAction = crash.Errorf(crash.Invalid, "unknown_action",
		`The actions on selected problems are "create", "file", "link", "recheck", "assign", "merge", "mute", "wontfix" `+
			`and "fixed".`)
)

// BackTo returns the page to return to after a decision about problems: that of the problem in the path, else the page
// that the form names, else the one from which the visitor came.
func BackTo(r *http.Request, buckets []crash.Bucket) string {
	if r.PathValue("id") != "" {
		return buckets[0].ID.Path()
	}
	if back := r.FormValue("back"); back != "" {
		return web.LocalPath(back)
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host && from.Path != r.URL.Path {
		return web.LocalPath(from.RequestURI())
	}
	return "/"
}

// CountEmbargoed returns how many of the problems are embargoed.
func (s *Panel) CountEmbargoed(r *http.Request, problems ...crash.Bucket) (int, error) {
	ids := make([]crash.BucketID, len(problems))
	for i, b := range problems {
		ids[i] = b.ID
	}
	return s.Problems.CountEmbargoed(r.Context(), ids)
}

// manualView returns the manual status of a problem for the current user.
func (s *Panel) manualView(r *http.Request, b crash.Bucket, m crash.ManualStatus) problemsview.ManualView {
	u := web.CurrentUser(r)
	if web.IsPublic(r) {
		m = privacy.RedactManual(m)
	}
	return problemsview.ManualView{
		Bucket: b.ID, Status: m, SignedIn: u.Role.Allows(crash.RoleViewer), MayDecide: u.MayTriage(b.SourcePackage),
		CSRFToken: nosurf.Token(r), Now: s.web.Now(),
	}
}

// NewestFirst returns entries of a problem's history, of which all is sorted the other way.
func NewestFirst(all []crash.Mark, limit int) []crash.Mark {
	all = slices.Clone(all[max(0, len(all)-limit):])
	slices.Reverse(all)
	return all
}

// CodeOf returns the code of an error for people, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}

// BugsOf returns the bug cells of the problems of reports, keyed by the buckets of the reports.
func (s *Panel) BugsOf(r *http.Request, rows []crash.ReportRow) (map[crash.BucketID]bugsview.BugPart, error) {
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return nil, err
	}
	heads := map[crash.BucketID][]crash.BucketID{} // the buckets of each problem
	for _, row := range rows {
		if row.Bucket == nil {
			continue
		}
		if p, ok := b.Problem(*row.Bucket); ok && !slices.Contains(heads[p.ID], *row.Bucket) {
			heads[p.ID] = append(heads[p.ID], *row.Bucket)
		}
	}
	counts := make([]crash.ProblemCursor, 0, len(heads))
	for id := range heads {
		counts = append(counts, crash.ProblemCursor{ID: id})
	}
	problems, err := s.ProblemsOf(r.Context(), counts)
	if err != nil {
		return nil, err
	}
	cells := map[crash.BucketID]bugsview.BugPart{}
	for _, p := range problems {
		for _, id := range heads[p.ID] {
			cells[id] = s.BugPart(r, *p.Bucket)
		}
	}
	return cells, nil
}

// ProblemsOf returns the problems of some counts with their status, in the same order and without those
// that no longer exist.
func (s *Panel) ProblemsOf(ctx context.Context, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	if len(counts) == 0 {
		return nil, nil
	}
	problems, err := s.Problems.ProblemsByID(ctx, counts)
	if err != nil {
		return nil, err
	}
	buckets := make([]*crash.Bucket, len(problems))
	for i := range problems {
		buckets[i] = problems[i].Bucket
	}
	return problems, s.Store.Judge(ctx, buckets...)
}

// ListedProblems returns what ProblemsOf does, from the cache: a list of 50 problems then takes a fifth of the
// time. Callers must not change the buckets.
func (s *Panel) ListedProblems(r *http.Request, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	var key strings.Builder
	for _, c := range counts {
		key.Write(c.ID[:])
		key.WriteString(strconv.FormatInt(c.Count, 36) + " ")
	}
	problems, err := web.CachedFacts(s.web, r, key.String(), func(r *http.Request) ([]crash.Problem, error) {
		return s.ProblemsOf(r.Context(), counts)
	})
	return slices.Clone(problems), err
}

// ReportList returns a page of a list of reports that begins below after. It links to a next page
// if rows contains more than web.ListSize.
func (s *Panel) ReportList(r *http.Request, path string, after crash.OopsID,
	rows []crash.ReportRow) problemsview.ReportList {
	list := problemsview.ReportList{ID: "reports", Rows: web.HideMachines(r, rows), Now: s.web.Now()}
	if len(rows) > web.ListSize {
		list.Rows = list.Rows[:web.ListSize]
		list.Next = path + "?after=" + list.Rows[web.ListSize-1].ID.String()
	}
	if !after.IsZero() {
		list.First = path
	}
	return list
}

// HasBug reports whether the bug is linked to the problem.
func (s *Panel) HasBug(r *http.Request, id crash.BucketID, number int64) (bool, error) {
	if number == 0 {
		return false, nil
	}
	bugs, err := s.Bugs.BucketBugs(r.Context(), id)
	return slices.ContainsFunc(bugs, func(b crash.Bug) bool { return b.Number == number }), err
}

// RefreshStaleBugs requests that states of bugs older than the given age are read again soon. It
// does not wait for the tracker; if the request fails, it logs a warning.
func (s *Panel) RefreshStaleBugs(r *http.Request, age time.Duration, bugs ...crash.Bug) {
	var stale []crash.Bug
	for _, b := range bugs {
		if s.web.Now().Sub(b.State.Read) > age && s.web.Now().Before(b.State.Next) {
			stale = append(stale, b)
		}
	}
	if len(stale) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), refreshTimeout)
	defer cancel()
	if err := s.Bugs.RefreshBugs(ctx, NumbersOf(stale...), age); err != nil {
		s.web.Log.WarnContext(ctx, "cannot request new states of bugs", "request_id", web.RequestID(r), "error", err)
	}
}

// NumbersOf returns the numbers of bugs and of the bugs that they duplicate.
func NumbersOf(bugs ...crash.Bug) []int64 {
	numbers := make([]int64, 0, len(bugs))
	for _, b := range bugs {
		numbers = append(numbers, b.Number)
		if b.Master != nil {
			numbers = append(numbers, b.Master.Number)
		}
	}
	return numbers
}

// Ages at which the state of a bug that is shown becomes stale, and the time limit of
// RefreshStaleBugs.
const (
	staleOnPage    = 2 * time.Minute
	StaleOnList    = 30 * time.Minute
	refreshTimeout = 200 * time.Millisecond
)

// FilingPart returns the view of a filing for the current user.
func (s *Panel) FilingPart(r *http.Request, e crash.LedgerEntry) bugsview.FilingPart {
	p := bugsview.FilingPart{
		LedgerEntry: e, CSRFToken: nosurf.Token(r), Now: s.web.Now(),
		MayManage: s.web.Config.AllowBugFiling && web.CurrentUser(r).Role.Allows(crash.RoleAdmin),
	}
	if e.Bug != 0 {
		p.BugURL = s.Filer.BugURL(r.Context(), e.Bug)
	}
	return p
}

// maxFilings is the number of filings of a problem that are read for its page: merged problems may have several.
const maxFilings = 10

// BucketFilings returns the latest filing of a bucket, and the latest for its upstream project.
func (s *Panel) BucketFilings(r *http.Request, id crash.BucketID) (filings []bugsview.FilingPart, err error) {
	entries, err := web.CachedFacts(s.web, r, string(id[:]), func(r *http.Request) ([]crash.LedgerEntry, error) {
		return s.Bugs.Ledger(r.Context(), crash.LedgerFilter{Bucket: id, Limit: maxFilings})
	})
	if err != nil {
		return nil, err
	}
	for _, upstream := range []bool{false, true} {
		i := slices.IndexFunc(entries, func(e crash.LedgerEntry) bool { return e.Upstream == upstream })
		if i < 0 {
			continue
		}
		p := s.FilingPart(r, entries[i])
		p.Alone = true
		filings = append(filings, p)
	}
	return filings, nil
}

// FilingOptions returns how a bug is filed that the current user asks for. The field "as" of a form
// chooses their own account at the tracker or that of the application; without it, the person's
// preference counts.
func (s *Panel) FilingOptions(r *http.Request) (tracker.Options, error) {
	u := web.CurrentUser(r)
	opts := tracker.Options{Person: u.Name, Wait: s.web.Config.CreateWait}
	if u.ID == 0 {
		return opts, nil
	}
	own, err := s.Filer.OwnAccount(r.Context(), u.ID)
	if err != nil {
		return opts, err
	}
	if bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs)).Own {
		opts.Own = u.ID
	}
	return opts, nil
}

// FilingChoice returns the choice between the accounts that can file a bug of the current user.
func (s *Panel) FilingChoice(r *http.Request) (bugsview.FilingChoice, error) {
	own, err := s.Filer.OwnAccount(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return bugsview.FilingChoice{}, err
	}
	choice := bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs))
	choice.Tracker = s.web.Config.TrackerName
	return choice, nil
}

// ExplainBucket returns why the reports of a bucket are grouped, without anything that visitors may
// not see.
func (s *Panel) ExplainBucket(b crash.Bucket) problemsview.GroupingView {
	return problemsview.GroupingView{
		Rule: b.Rule, Signature: b.Signature,
		Address: strings.TrimSuffix(s.web.Config.BaseURL, "/") + b.ID.Path(),
	}
}

// explainByExample extends ExplainBucket with what the rules read in one report of the bucket.
func (s *Panel) explainByExample(
	r *http.Request, b crash.Bucket, report crash.StoredReport, readable privacy.Class,
) (problemsview.GroupingView, error) {
	why, err := s.ExplainReport(r, report, readable)
	if err != nil {
		return problemsview.GroupingView{}, err
	}
	whole := s.ExplainBucket(b)
	whole.Report, whole.Explained, whole.Now = report.ID, why.Explained, why.Now
	return whole, nil
}

// ExplainReport returns why a report is in its bucket, and whether the present rules would choose
// another. It omits lines of fields above the class readable.
func (s *Panel) ExplainReport(
	r *http.Request, report crash.StoredReport, readable privacy.Class,
) (problemsview.GroupingView, error) {
	if report.TypedOnly {
		return problemsview.GroupingView{Rule: report.Rule}, nil
	}
	e := grouping.Explain(report.Fields)
	s.hidePassages(&e, readable)
	why := problemsview.GroupingView{Rule: report.Rule, Explained: &e}
	today, grouped := e.Bucket()
	if grouped == (report.Bucket != nil) && (!grouped || today == *report.Bucket) {
		return why, nil
	}
	why.Now = &problemsview.PresentGrouping{
		Bucket: today, None: !grouped, Rules: report.Rules, Decided: report.Rules == grouping.RulesVersion,
	}
	if grouped {
		_, err := s.Store.Bucket(r.Context(), today)
		if err != nil && !errors.Is(err, crash.NotFound) {
			return problemsview.GroupingView{}, err
		}
		why.Now.Known = err == nil
	}
	return why, nil
}

// hidePassages removes what an explanation quotes from fields above the class readable.
func (s *Panel) hidePassages(e *grouping.Explanation, readable privacy.Class) {
	all := len(e.Passages)
	e.Passages = slices.DeleteFunc(e.Passages, func(p grouping.Passage) bool {
		return s.web.Config.Privacy.Excerpt(p.Field) > readable
	})
	if len(e.Passages) < all || s.web.Config.Privacy.Excerpt(e.Field) > readable && e.Field != "" {
		e.Frames, e.Changes = nil, nil
	}
}

// stackFacts are the facts of the representative report of a bucket, for people who are signed in.
type stackFacts struct {
	Stack    *problemsview.Stack // nil: no report is stored
	Grouping problemsview.GroupingView
	Advice   *stats.AdviceFacts // for Panel.Advise; nil: no advice is due
	fields   crash.Fields       // of the report, for the size in the cache: the stack refers to their memory
}

// ReportStack returns the evidence in a report for readers up to a class.
func (s *Panel) ReportStack(report crash.StoredReport, readable privacy.Class) *problemsview.Stack {
	report.Fields = s.web.Config.Privacy.Excerpts(report.Fields, readable)
	stack := problemsview.NewStack(report)
	stack.Links = s.web.Config.SourceLinks
	stack.FacetNames = slices.DeleteFunc(stack.FacetNames, func(name string) bool {
		return !web.PermitsFacet(s.web, readable, stats.FacetField(name))
	})
	return stack
}

// StackOf returns the stack facts of a bucket that the current user may see, with those for advice about
// filing if advise is true.
func (s *Panel) StackOf(r *http.Request, b crash.Bucket, advise bool) (stackFacts, error) {
	readable := web.Readable(r, b.SourcePackage)
	key := string(b.ID[:]) + strconv.FormatBool(advise) + readable.String()
	return web.CachedFacts(s.web, r, key, func(r *http.Request) (stackFacts, error) {
		return s.readStack(r, b, readable, advise)
	})
}

func (s *Panel) readStack(
	r *http.Request, b crash.Bucket, readable privacy.Class, advise bool,
) (facts stackFacts, err error) {
	report, err := s.Store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case err == nil:
		facts.Stack, facts.fields = s.ReportStack(report, readable), report.Fields
		if facts.Grouping, err = s.explainByExample(r, b, report, readable); err != nil {
			return facts, err
		}
	case !errors.Is(err, crash.NotFound):
		return facts, err
	default:
		facts.Grouping = s.ExplainBucket(b)
	}
	if advise {
		advice, _, err := s.AdviceFacts(r.Context(), b, report.Fields)
		facts.Advice = &advice
		return facts, err
	}
	return facts, nil
}

// AdviceFacts returns the facts for advice about filing a bug for b, except those about symbols. It
// also returns similar problems that have a bug.
func (s *Panel) AdviceFacts(
	ctx context.Context, b crash.Bucket, report crash.Fields,
) (stats.AdviceFacts, []similar.Problem, error) {
	found, err := s.Problems.Similar(ctx, b, similar.Shown, true)
	if err != nil {
		return stats.AdviceFacts{}, nil, err
	}
	facts := stats.AdviceFacts{Bucket: b, Named: len(report) == 0 || grouping.Informative(report)}
	if len(found) > 0 && found[0].Likely {
		facts.Similar = found[0].Bug
	}
	return facts, found, nil
}

// SymbolsOf returns how far a problem is symbolised. It returns zero if it is no native crash.
func (s *Panel) SymbolsOf(ctx context.Context, b crash.Bucket) (crash.ProblemSymbols, error) {
	if b.ProblemType != "Crash" {
		return crash.ProblemSymbols{}, nil
	}
	return s.Symbols.ProblemSymbols(ctx, b.ID)
}

// SymbolsView returns the part of the page of a problem that says how far it is symbolised. It
// returns nil if there is nothing to say.
func (s *Panel) SymbolsView(r *http.Request, b crash.Bucket, symbols crash.ProblemSymbols) (*problemsview.SymbolsView,
	error) {
	triager := web.CurrentUser(r).MayTriage(b.SourcePackage)
	v := &problemsview.SymbolsView{Job: symbols.Job, MayPress: triager, CSRFToken: nosurf.Token(r),
		Path: problemsview.SymbolsPath(b.ID)}
	busy := symbols.Job.State == crash.SymbolsQueued || symbols.Job.State == crash.SymbolsRunning
	if b.LacksNames() && (triager && !busy || symbols.Wanted.Person != "") {
		why, err := s.WhyNoCore(r.Context(), b)
		if err != nil {
			return nil, err
		}
		v.Core = &problemsview.CoreView{Path: problemsview.CorePath(b.ID), Wanted: symbols.Wanted, MayAsk: triager,
			WhyNot: why}
	}
	if v.Core == nil && v.Job.State == "" {
		return nil, nil //nolint:nilnil // documented
	}
	return v, nil
}

// WhyNoCore says why no machine that reports a problem would be asked for its core. It returns ""
// if one would.
func (s *Panel) WhyNoCore(ctx context.Context, b crash.Bucket) (string, error) {
	switch {
	case !b.LacksNames():
		return "This problem needs no core dump: it is not a native crash without function names.", nil
	case !s.web.Config.AskForCores:
		return "Machines are not asked for core dumps: the configuration says cores = \"never\".", nil
	case !s.web.Config.CorePackages.Match(b.Executable, b.Package, b.SourcePackage):
		return "Machines are not asked for core dumps of this program: cores_packages excludes it.", nil
	}
	workers, err := s.Symbols.Workers(ctx)
	if err != nil {
		return "", err
	}
	var can []string
	for _, w := range workers {
		can = append(can, w.Architectures...)
	}
	switch {
	case len(workers) == 0:
		return "No running instance symbolises core dumps, so machines are not asked for any.", nil
	case len(can) == 0:
		return "No instance can symbolise core dumps, so machines are not asked for any.", nil
	}
	reported, _, err := s.Store.BucketArchitectures(ctx, b.ID)
	if err != nil {
		return "", err
	}
	var names []string
	for _, a := range reported {
		if slices.Contains(can, a.Name) {
			return "", nil
		}
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return "No instance can symbolise core dumps of " + strings.Join(names, ", ") + ", so machines are not asked for " +
		"any.", nil
}

// Advise returns advice about filing a bug. facts may be shared with other requests, and lack what
// is known about symbols; nil means that no advice is due.
func (s *Panel) Advise(facts *stats.AdviceFacts, symbols crash.ProblemSymbols) stats.Advice {
	if facts == nil {
		return stats.Advice{}
	}
	f := *facts
	f.Symbols = symbols
	return stats.Advise(f)
}
