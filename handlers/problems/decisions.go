package problems

import (
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
	"mishap/crash/privacy"
	"mishap/crash/similar"
	"mishap/db"
	"mishap/db/problems"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

const (
	maxDecisions = 100             // entries of the history on a page
	splitTimeout = 2 * time.Second // maximum time that a request moves reports; a job moves the rest
)

var errNoDecision = crash.Errorf(crash.NotFound, "unknown_decision", "There is no such entry in the history.")

func (s *Pages) decisionsView(r *http.Request, b crash.Bucket, triage []crash.Mark) (view.DecisionsView, error) {
	u := web.CurrentUser(r)
	v := view.DecisionsView{
		Bucket: b, MayDecide: u.MayTriage(b.SourcePackage), CSRFToken: nosurf.Token(r), Now: s.web.Now(),
	}
	if !u.Role.Allows(crash.RoleViewer) { // entries contain account names and report titles
		return v, nil
	}
	work, err := s.workOn(r, b.ID)
	v.Triage, v.Decisions = triage, work.decisions
	return v, err
}

// UndoDecision undoes a decision about a problem, or several merges of one request, separated by dots.
func (s *Decisions) UndoDecision(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	var decision crash.Decision
	var id int64
	texts := strings.Split(r.PostFormValue("decision"), ".")
	if len(texts) > maxMerge {
		return errNoDecision
	}
	for _, text := range texts {
		var err error
		if id, err = strconv.ParseInt(text, 10, 64); err != nil || id < 1 {
			return errNoDecision
		}
		if err := s.checkDecision(r, b.ID, id); err != nil {
			return err
		}
		decision, err = s.Decisions.Undo(r.Context(), id, web.CurrentUser(r).Name)
		if crash.KindOf(err) == crash.Conflict {
			return s.web.Decided(w, r, b.ID.Path(),
				layout.Flash{Kind: layout.FlashError, Text: web.AnswerTo(r, err).Message})
		}
		if err != nil {
			return err
		}
	}
	done := "Undone"
	switch decision.Kind {
	case crash.DecisionMerged:
		done = "Problems separated"
	case crash.DecisionRenamed:
		done = "Previous name restored"
	case crash.DecisionSplit:
		done = "Reports moved back"
		finished, err := s.moveReports(r.Context(), id)
		if err != nil {
			return err
		}
		if !finished {
			done = "The reports are moving back. The history below shows the progress."
		}
	}
	return s.web.Decided(w, r, b.ID.Path(), layout.Flash{Kind: layout.FlashDone, Text: done})
}

// checkDecision returns NotFound if a person with rights for some packages only undoes a decision that
// the problem's history does not show.
func (s *Decisions) checkDecision(r *http.Request, problem crash.BucketID, id int64) error {
	if web.CurrentUser(r).Role.Allows(crash.RoleTriager) {
		return nil
	}
	all, err := s.Decisions.Decisions(r.Context(), problem, maxDecisions)
	if err == nil && !slices.ContainsFunc(all, func(d crash.Decision) bool { return d.ID == id }) {
		err = errNoDecision
	}
	return err
}

// moveReports moves the reports of a split for at most splitTimeout, or until it has to wait for an archive. A job
// moves the rest.
func (s *Decisions) moveReports(ctx context.Context, decision int64) (finished bool, err error) {
	for deadline := time.Now().Add(splitTimeout); !finished && time.Now().Before(deadline); {
		if finished, err = s.Decisions.StepSplit(ctx, decision); err != nil {
			return false, db.UnlessAway(err)
		}
	}
	return finished, nil
}

// ShowRename shows the form that asks for a name.
func (s *Decisions) ShowRename(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	p := view.RenamePage{Shell: s.web.Shell(r, "Rename problem"), Bucket: b, Name: b.Name}
	return s.web.Page(w, r, http.StatusOK, view.Rename(p))
}

// RenameProblem renames a problem and offers to undo that.
func (s *Decisions) RenameProblem(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	p := view.RenamePage{Bucket: b, Name: r.PostFormValue("name"), Reason: r.PostFormValue("reason")}
	reason, ok := crash.CleanLine(p.Reason, crash.MaxReason)
	if !ok {
		return errBadReason
	}
	err := s.Decisions.Rename(r.Context(), b.ID, p.Name, web.CurrentUser(r).Name, reason)
	if errors.Is(err, crash.Invalid) || errors.Is(err, crash.Conflict) {
		p.Problem = web.AnswerTo(r, err).Message
		p.Shell = s.web.Shell(r, "Rename problem")
		return s.web.Page(w, r, http.StatusUnprocessableEntity, view.Rename(p))
	}
	if err != nil {
		return err
	}
	return s.redirectWithUndo(w, r, b.ID, "Problem renamed", crash.DecisionRenamed)
}

// headPath returns the address of the problem head for a visitor who asked for bucket id.
func headPath(head, id crash.BucketID) string {
	if head == id {
		return id.Path()
	}
	return head.Path() + "?from=" + id.String()
}

// mergedSignature returns the signature of the merged bucket whose address redirected to head,
// or "".
func (s *Pages) mergedSignature(r *http.Request, head crash.BucketID) (string, error) {
	var signature string
	var current crash.BucketID
	id, err := crash.ParseBucketID(r.URL.Query().Get("from"))
	if err == nil {
		signature, current, err = s.Decisions.Signature(r.Context(), id)
	}
	if errors.Is(err, crash.NotFound) || err == nil && (current != head || id == head) {
		return "", nil // not a bucket of this problem
	}
	if web.IsPublic(r) {
		signature = privacy.RedactSignature(signature)
	}
	return signature, err
}

// maxMerge is the maximum number of problems in one merge.
const maxMerge = 20

var (
	errMergeOne = crash.Errorf(crash.Invalid, "merge_one", "Select at least two different problems to merge.")
	errNoHead   = crash.Errorf(crash.Invalid, "no_head", "Select the main problem.")
)

// FindMerge asks for the problem to merge with. If the query names one (with), it redirects to
// the preview of the merge.
func (s *Decisions) FindMerge(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	p := view.FindMergePage{Bucket: b}
	text, _ := rawQueryValue(r.URL.RawQuery, "with")
	p.Text = strings.TrimSpace(text)
	status := http.StatusOK
	if p.Text != "" {
		other, err := s.findProblem(r, p.Text)
		if err == nil && other == b.ID {
			err = errMergeOne
		}
		ids := []crash.BucketID{b.ID, other}
		switch {
		case err == nil && web.WantsPart(r):
			return s.mergePage(w, r, ids, http.StatusOK, "")
		case err == nil:
			return web.Redirect(w, r, view.MergeURL(ids))
		}
		if crash.KindOf(err) != crash.NotFound && crash.KindOf(err) != crash.Invalid {
			return err
		}
		a := web.AnswerTo(r, err)
		status, p.Problem = a.Status, a.Message
	}
	found, err := s.Problems.Similar(r.Context(), b, similar.Shown, false)
	if err != nil {
		return err
	}
	p.Similar = found
	p.Shell = s.web.Shell(r, "Merge")
	return s.web.Page(w, r, status, view.FindMerge(p))
}

// findProblem returns the problem that a text identifies: by address, id, signature or bug
// number.
func (s *Decisions) findProblem(r *http.Request, text string) (crash.BucketID, error) {
	if id, err := crash.ParseBucketID(idInAddress(text)); err == nil {
		b, err := s.Store.Bucket(r.Context(), id)
		return b.ID, err
	}
	if b, err := s.Store.Bucket(r.Context(), crash.BucketIDOf(text)); err == nil {
		return b.ID, nil
	}
	number, err := s.Filer.Sites().BugNumber(r.Context(), text)
	if err != nil {
		return crash.BucketID{}, crash.ErrUnknownBucket
	}
	buckets, err := s.Bugs.BucketsOfBug(r.Context(), number)
	if err != nil {
		return crash.BucketID{}, err
	}
	if len(buckets) > 1 {
		return crash.BucketID{}, crash.Errorf(crash.Invalid, "several_problems",
			"%d problems have bug %s. Enter the address of one of them.", len(buckets),
			s.Filer.Sites().BugText(r.Context(), number))
	}
	return buckets[0].ID, nil
}

// idInAddress returns the id in the address of a problem, or text if it is not such an address.
func idInAddress(text string) string {
	if u, err := url.Parse(text); err == nil {
		if _, after, ok := strings.Cut(u.Path, "/problem/"); ok {
			id, _, _ := strings.Cut(after, "/")
			return id
		}
	}
	return text
}

// ShowMerge previews the merge of the problems in the query.
func (s *Decisions) ShowMerge(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	ids, err := panel.ChosenIDs(strings.Split(q.Get("problems"), "."))
	if err != nil {
		return err
	}
	return s.mergePage(w, r, ids, http.StatusOK, "")
}

func (s *Decisions) mergePage(w http.ResponseWriter, r *http.Request, ids []crash.BucketID, status int,
	problem string,
) error {
	buckets, err := s.heads(r, ids)
	if err != nil {
		return err
	}
	heads := make([]crash.BucketID, len(buckets))
	p := view.MergePage{Sides: view.NewMergeSides(buckets), Head: problems.BestHead(buckets).ID, Problem: problem}
	for i, b := range buckets {
		heads[i] = b.ID
		manual, _, err := s.Problems.Triage(r.Context(), b.ID)
		if err != nil {
			return err
		}
		p.Sides[i].Muted = manual.Muted
		bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
		if err != nil {
			return err
		}
		for _, bug := range bugs {
			if !slices.ContainsFunc(p.Bugs, func(known crash.Bug) bool { return known.Number == bug.Number }) {
				p.Bugs = append(p.Bugs, bug)
			}
		}
	}
	if p.Reports, p.Machines, err = s.Decisions.Together(r.Context(), heads); err != nil {
		return err
	}
	embargoed, err := s.panel.CountEmbargoed(r, buckets...)
	if err != nil {
		return err
	}
	p.Embargoes = embargoed > 0 && embargoed < len(buckets)
	p.Shell = s.web.Shell(r, "Merge")
	return s.web.Page(w, r, status, view.Merge(p))
}

// heads returns the distinct problems that the buckets belong to.
func (s *Decisions) heads(r *http.Request, ids []crash.BucketID) ([]crash.Bucket, error) {
	if len(ids) > maxMerge {
		return nil, crash.Errorf(crash.Invalid, "merge_many",
			"%d problems are selected. At most %d can be merged at once: select fewer.", len(ids), maxMerge)
	}
	all, err := s.panel.Buckets(r, ids)
	if err != nil {
		return nil, err
	}
	var heads []crash.Bucket
	for _, b := range all {
		if err := web.CheckTriage(r, b.SourcePackage); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(heads, func(known crash.Bucket) bool { return known.ID == b.ID }) {
			heads = append(heads, b)
		}
	}
	if len(heads) < 2 {
		return nil, errMergeOne
	}
	return heads, nil
}

// MergeProblems merges problems into the chosen head and offers to undo that.
func (s *Decisions) MergeProblems(w http.ResponseWriter, r *http.Request) error {
	head, errHead := crash.ParseBucketID(r.PostFormValue("head"))
	ids, err := panel.ChosenIDs(r.PostForm["problem"])
	if err != nil {
		return err
	}
	if errHead != nil || !slices.Contains(ids, head) {
		return s.mergePage(w, r, ids, http.StatusUnprocessableEntity, errNoHead.Message)
	}
	reason, ok := crash.CleanLine(r.PostFormValue("reason"), crash.MaxReason)
	if !ok {
		return errBadReason
	}
	if _, err := s.heads(r, ids); err != nil {
		return err
	}
	from := slices.DeleteFunc(slices.Clone(ids), func(id crash.BucketID) bool { return id == head })
	head, err = s.Decisions.Merge(r.Context(), head, from, web.CurrentUser(r).Name, reason)
	if err != nil {
		return err
	}
	message, err := s.withUndo(r, head, "Problems merged", crash.DecisionMerged, len(from))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ids, func(id crash.BucketID) bool { return id != head && panel.OnProblemPage(r, id) }) {
		return s.web.RedirectWith(w, r, head.Path(), message)
	}
	return s.web.Decided(w, r, head.Path(), message)
}

var errBadReason = crash.Errorf(crash.Invalid, "bad_reason",
	"A reason is one line of at most %d characters.", crash.MaxReason)

// redirectWithUndo redirects to a problem with the message of withUndo.
func (s *Decisions) redirectWithUndo(w http.ResponseWriter, r *http.Request, id crash.BucketID, done string,
	kind crash.DecisionKind,
) error {
	message, err := s.withUndo(r, id, done, kind, 1)
	if err != nil {
		return err
	}
	return s.web.RedirectWith(w, r, id.Path(), message)
}

// withUndo returns a message that offers to undo the last n decisions about a problem, if they are of the given
// kind and were made together.
func (s *Decisions) withUndo(r *http.Request, id crash.BucketID, done string, kind crash.DecisionKind, n int) (
	layout.Flash, error,
) {
	message := layout.Flash{Kind: layout.FlashDone, Text: done}
	last, err := s.Decisions.Decisions(r.Context(), id, n)
	var ids []string
	for _, d := range last {
		if d.Kind == kind && d.Stands() && d.At.Equal(last[0].At) {
			ids = append(ids, strconv.FormatInt(d.ID, 10))
		}
	}
	if len(ids) > 0 && len(ids) == len(last) {
		message.Undo = &layout.Undo{Action: id.Path() + "/undo", Field: "decision", Value: strings.Join(ids, ".")}
	}
	return message, err
}

// splitTerms is the number of lines in the form for a condition.
const splitTerms = 3

// ShowSplit asks which reports to move out of a problem. With a condition in the query it shows
// a preview.
func (s *Decisions) ShowSplit(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	return s.splitPage(w, r, b, http.StatusOK, "")
}

// splitPage shows the page for moving reports out, with the condition of the query.
func (s *Decisions) splitPage(w http.ResponseWriter, r *http.Request, b crash.Bucket, status int,
	problem string,
) error {
	q := r.URL.Query()
	c := readTerms(q)
	p := view.SplitPage{Bucket: b, Terms: fillTerms(c.Terms), Problem: problem}
	if len(c.Terms) > 0 && problem == "" {
		found, err := s.Decisions.PreviewSplit(r.Context(), b.ID, c)
		switch crash.KindOf(err) {
		case crash.Invalid:
			a := web.AnswerTo(r, err)
			status, p.Problem = a.Status, a.Message
		default:
			if err != nil {
				return err
			}
			bodies, err := s.Store.Bodies(r.Context(), b.ID)
			if err != nil {
				return err
			}
			p.Preview = &view.SplitPreview{SplitPreview: found, Bodies: bodies, Condition: c,
				Into: crash.SplitSignature(b.Signature, c, 1)}
		}
	}
	after, err := web.QueryOops(q, "after")
	if err != nil {
		return err
	}
	rows, err := s.Problems.BucketReports(r.Context(), b.ID, after, web.ListSize+1)
	if err != nil {
		return err
	}
	p.Reports = s.panel.ReportList(r, b.ID.Path()+"/split", after, rows)
	p.Reports.Empty = view.NoReportsStored
	p.Shell = s.web.Shell(r, "Split off reports")
	return s.web.Page(w, r, status, view.Split(p))
}

// readTerms reads a condition from the lines of the form and skips empty lines.
func readTerms(form url.Values) crash.Condition {
	var c crash.Condition
	fields, values := form["field"], form["value"]
	for i := range min(len(fields), len(values)) {
		if value := strings.TrimSpace(values[i]); value != "" {
			c.Terms = append(c.Terms, crash.Term{Field: crash.TermField(fields[i]), Value: value})
		}
	}
	return c
}

// fillTerms adds the empty lines of the form.
func fillTerms(terms []crash.Term) []crash.Term {
	for i := len(terms); i < splitTerms; i++ {
		terms = append(terms, crash.Term{Field: crash.TermFields[i]})
	}
	return terms
}

// SplitProblem moves reports out of a problem: the selected ones, or those that meet the
// condition.
func (s *Decisions) SplitProblem(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	c := readTerms(r.PostForm) // parsed by the guard
	for _, report := range r.PostForm["report"] {
		id, err := crash.ParseOopsID(report)
		if err != nil {
			return err
		}
		c.Reports = append(c.Reports, id)
	}
	reason, ok := crash.CleanLine(r.PostFormValue("reason"), crash.MaxReason)
	if !ok {
		return errBadReason
	}
	decision, err := s.Decisions.Split(r.Context(), b.ID, c, web.CurrentUser(r).Name, reason)
	if errors.Is(err, crash.Invalid) || errors.Is(err, crash.Conflict) {
		return s.splitPage(w, r, b, http.StatusUnprocessableEntity, web.AnswerTo(r, err).Message)
	}
	if err != nil {
		return err
	}
	finished, err := s.moveReports(r.Context(), decision.ID)
	if err != nil {
		return err
	}
	if decision, err = s.Decisions.Decision(r.Context(), decision.ID); err != nil {
		return err
	}
	done := splitResult(decision.Moved, finished)
	return s.redirectWithUndo(w, r, decision.Other, done, crash.DecisionSplit)
}

// splitResult confirms a split, whose rest may still be moving.
func splitResult(moved int64, finished bool) string {
	if finished {
		return crash.Counted(moved, "report", "reports") + " split off into this problem"
	}
	return crash.Counted(moved, "report", "reports") + " split off so far. The rest follows; the history below shows " +
		"the progress."
}

// hideProblem redacts the page of a problem for visitors.
func hideProblem(page *view.ProblemPage) {
	page.Grouping.Signature = page.Bucket.Signature
	page.Similar = slices.Clone(page.Similar)
	for i, p := range page.Similar {
		page.Similar[i].Bucket = privacy.RedactBucket(p.Bucket)
		if !strings.Contains(page.Bucket.Signature+":"+page.Similar[i].Signature, p.Differs) {
			page.Similar[i].Differs = "" // redacted
		}
	}
	page.Versions.Releases = slices.Clone(page.Versions.Releases)
	for i, release := range page.Versions.Releases {
		page.Versions.Releases[i] = privacy.RedactLabel(release)
	}
	page.Versions.Rows = slices.Clone(page.Versions.Rows)
	for i, row := range page.Versions.Rows {
		if label := privacy.RedactLabel(row.Version); label != row.Version {
			page.Versions.Rows[i].Version, page.Versions.Rows[i].Link = label, ""
		}
	}
	page.Breakdowns = slices.Clone(page.Breakdowns)
	for i, part := range page.Breakdowns {
		page.Breakdowns[i].Shares = slices.Clone(part.Shares)
		for j, share := range part.Shares {
			page.Breakdowns[i].Shares[j].Name = privacy.RedactLabel(share.Name)
		}
	}
	page.Filter.Releases = privacy.RedactLabels(page.Filter.Releases)
	page.Filter.Versions = privacy.RedactLabels(page.Filter.Versions)
	page.Filter.Architectures = privacy.RedactLabels(page.Filter.Architectures)
}

// hideProblems returns a redacted copy of a list of problems, which may be cached.
func hideProblems(list []view.ListRow) []view.ListRow {
	list = slices.Clone(list)
	for i := range list {
		list[i].Problem = &crash.Problem{Bucket: new(privacy.RedactBucket(*list[i].Bucket)), Count: list[i].Count}
	}
	return list
}

// hidePackage redacts the page of a package for visitors.
func hidePackage(page *view.PackagePage) {
	page.Problems, page.Binaries = hideProblems(page.Problems), privacy.RedactLabels(page.Binaries)
	page.Versions = slices.Clone(page.Versions)
	for i, v := range page.Versions {
		page.Versions[i].Version, page.Versions[i].Release = privacy.RedactLabel(v.Version), privacy.RedactLabel(v.Release)
		page.Versions[i].New, page.Versions[i].Gone = hideProblems(v.New), hideProblems(v.Gone)
	}
}

// hideRelease redacts the page of a release for visitors.
func hideRelease(page *view.ReleasePage) {
	page.Worst, page.New = hideProblems(page.Worst), hideProblems(page.New)
	page.Regressions = hideProblems(page.Regressions)
	page.Packages = slices.DeleteFunc(slices.Clone(page.Packages), func(p view.ReleasePackage) bool {
		return privacy.RedactLabel(p.Name) != p.Name
	})
}
