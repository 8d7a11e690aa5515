// Package panel shows the status of problems and the actions on their bugs, for the areas that show
// problems.
package panel

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/web"
	"mishap/tracker"
	bugsview "mishap/views/bugs"
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
	return bugsview.BugsView{Tracker: s.web.Config.TrackerName,
		Bucket: b.ID, Cell: cell, Bugs: bugs, MayLink: u.MayTriage(b.SourcePackage),
		SignedIn: u.Role.Allows(crash.RoleViewer), CSRFToken: cell.CSRFToken, Now: s.web.Now(),
	}
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
	if web.IsPublic(r) {
		p.Manual = privacy.RedactManual(p.Manual)
	}
	switch p.State {
	case bugsview.BugCreate, bugsview.BugWaiting, bugsview.BugRefused, bugsview.BugImpossible:
		p.Review = p.MayFile && b.NoDraft() == ""
	case bugsview.BugNothing, bugsview.BugLinked, bugsview.BugSignIn, bugsview.BugCreating, bugsview.BugChecking:
	}
	if p.State == bugsview.BugWaiting && b.Filing.Problem == "tracker_credentials" && u.Role.Allows(crash.RoleAdmin) {
		p.Connect = web.PathTracker
	}
	if p.State == bugsview.BugImpossible {
		p.Reason = b.NoFiling()
	}
	return p
}

// bugState returns the state of the bug cell of a bucket for a user.
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
	v := s.StatusViewOf(r, b, bugs)
	manual, _, err := s.Problems.Triage(r.Context(), b.ID)
	if err != nil {
		return v, err
	}
	v.Manual = s.ManualView(r, b, manual)
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

// StatusViewOf is like StatusView, without advice, for bugs that the caller has read.
func (s *Panel) StatusViewOf(r *http.Request, b crash.Bucket, bugs []crash.Bug) problemsview.StatusView {
	b = s.web.SeenBucket(r, b)
	return problemsview.StatusView{Status: b.Status, Bugs: s.bugsViewOf(r, b, bugs), Now: s.web.Now(),
		Admin: web.CurrentUser(r).Role.Allows(crash.RoleAdmin)}
}

// OnProblemPage reports whether htmx sends the request from the page of a problem.
func OnProblemPage(r *http.Request, id crash.BucketID) bool {
	from, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && from.Path == id.Path()
}

// Chosen returns the problems whose ids the parameter problems contains, with their status.
func (s *Panel) Chosen(r *http.Request) ([]crash.BucketID, []crash.Bucket, error) {
	ids, err := ChosenIDs(strings.Split(r.FormValue("problems"), "."))
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
		if len(ids) > web.ListSize {
			return nil, errTooMany
		}
	}
	if len(ids) == 0 {
		return nil, ErrNoneChosen
	}
	return ids, nil
}

// Errors of actions on chosen problems.
var (
	ErrNoneChosen = crash.Errorf(crash.Invalid, "none_chosen", "No problem is selected. Select at least one first.")
	errTooMany    = crash.Errorf(crash.Invalid, "too_many_chosen",
		"At most %d problems can be selected at once.", web.ListSize)
	ErrUnknownAction = crash.Errorf(crash.Invalid, "unknown_action",
		`The actions on selected problems are "create", "file", "link", "recheck", "assign", "merge", "mute", "wontfix" `+
			`and "fixed".`)
)

// CountEmbargoed returns how many of the problems are embargoed.
func (s *Panel) CountEmbargoed(r *http.Request, problems ...crash.Bucket) (int, error) {
	ids := make([]crash.BucketID, len(problems))
	for i, b := range problems {
		ids[i] = b.ID
	}
	return s.Problems.CountEmbargoed(r.Context(), ids)
}

// ManualView returns the manual status of a problem for the current user.
func (s *Panel) ManualView(r *http.Request, b crash.Bucket, m crash.ManualStatus) problemsview.ManualView {
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
