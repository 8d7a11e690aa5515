package problems

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// maxMerge is the maximum number of problems in one merge.
const maxMerge = 20

var (
	errMergeOne  = crash.Errorf(crash.Invalid, "merge_one", "Select at least two different problems to merge.")
	errMergeMany = crash.Errorf(crash.Invalid, "merge_many", "At most %d problems can be merged at once.", maxMerge)
	errNoHead    = crash.Errorf(crash.Invalid, "no_head", "Select the main problem.")
)

// FindMerge asks for the problem to merge with. If the query names one (with), it redirects to
// the preview of the merge.
func (s *Decisions) FindMerge(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	p := views.FindMergePage{Bucket: b}
	text, _ := rawQueryValue(r.URL.RawQuery, "with")
	p.Text = strings.TrimSpace(text)
	status := http.StatusOK
	if p.Text != "" {
		other, err := s.findProblem(r, p.Text)
		if err == nil && other == b.ID {
			err = errMergeOne
		}
		if err == nil {
			return web.Redirect(w, r, views.MergeURL([]crash.BucketID{b.ID, other}))
		}
		if crash.KindOf(err) != crash.NotFound && crash.KindOf(err) != crash.Invalid {
			return err
		}
		a := web.AnswerTo(r, err)
		status, p.Problem = a.Status, a.Message
	}
	if p.Similar, err = s.Problems.Alike(r.Context(), b); err != nil {
		return err
	}
	p.Shell = s.Shell(r, "Merge")
	return s.Page(w, r, status, views.FindMerge(p))
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
	number, err := s.Tracker.BugNumber(text)
	if err != nil {
		return crash.BucketID{}, crash.ErrUnknownBucket
	}
	buckets, err := s.Bugs.BucketsOfBug(r.Context(), number)
	if err != nil {
		return crash.BucketID{}, err
	}
	if len(buckets) > 1 {
		return crash.BucketID{}, crash.Errorf(crash.Invalid, "several_problems",
			"%d problems have the bug %d; say which one by its address.", len(buckets), number)
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
	ids, err := web.ChosenIDs(strings.Split(q.Get("problems"), "."))
	if err != nil {
		return err
	}
	return s.mergePage(w, r, ids, http.StatusOK, "")
}

// mergePage shows the preview of a merge.
func (s *Decisions) mergePage(w http.ResponseWriter, r *http.Request, ids []crash.BucketID, status int,
	problem string,
) error {
	buckets, err := s.heads(r, ids)
	if err != nil {
		return err
	}
	heads := make([]crash.BucketID, len(buckets))
	p := views.MergePage{Sides: views.NewMergeSides(buckets), Head: bestHead(buckets).ID, Problem: problem}
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
	embargoed, err := web.CountEmbargoed(s.Kit, r, buckets...)
	if err != nil {
		return err
	}
	p.Embargoes = embargoed > 0 && embargoed < len(buckets)
	p.Shell = s.Shell(r, "Merge")
	return s.Page(w, r, status, views.Merge(p))
}

// heads returns the distinct problems that the buckets belong to.
func (s *Decisions) heads(r *http.Request, ids []crash.BucketID) ([]crash.Bucket, error) {
	if len(ids) > maxMerge {
		return nil, errMergeMany
	}
	all, err := s.Buckets(r, ids)
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

// bestHead returns the problem that should represent all. It prefers complete signatures to
// provisional ones, then problems with a bug, then those with the most reports.
func bestHead(buckets []crash.Bucket) crash.Bucket {
	rank := func(b crash.Bucket) (n int) {
		if !b.Provisional {
			n += 2
		}
		if b.Bug.Number != 0 {
			n++
		}
		return n
	}
	return slices.MaxFunc(buckets, func(a, b crash.Bucket) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Reports, b.Reports))
	})
}

// MergeProblems merges problems into the chosen head and offers to undo that.
func (s *Decisions) MergeProblems(w http.ResponseWriter, r *http.Request) error {
	ids, err := web.ChosenIDs(r.PostForm["problem"]) // parsed by the guard
	if err != nil {
		return err
	}
	head, err := crash.ParseBucketID(r.PostFormValue("head"))
	if err != nil || !slices.Contains(ids, head) {
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
	if len(from) == 1 {
		return s.redirectWithUndo(w, r, head, "Problems merged", crash.DecisionMerged)
	}
	if err := s.Flash(r, views.FlashDone,
		"Problems merged. The history below can undo this for each of them."); err != nil {
		return err
	}
	return web.Redirect(w, r, head.Path())
}

var errBadReason = crash.Errorf(crash.Invalid, "bad_reason",
	"A reason is one line of at most %d characters.", crash.MaxReason)

// redirectWithUndo redirects to a problem with a message. The message offers to undo the last
// decision about the problem if it is of the given kind.
func (s *Decisions) redirectWithUndo(w http.ResponseWriter, r *http.Request, id crash.BucketID, done string,
	kind crash.DecisionKind,
) error {
	last, err := s.Decisions.Decisions(r.Context(), id, 1)
	if err != nil {
		return err
	}
	message := views.Flash{Kind: views.FlashDone, Text: done}
	if len(last) == 1 && last[0].Kind == kind && last[0].Stands() {
		message.Undo = &views.Undo{Action: id.Path() + "/undo", Field: "decision", Value: strconv.FormatInt(last[0].ID, 10)}
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, id.Path())
}
