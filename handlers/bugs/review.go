package bugs

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/similar"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
	view "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// ShowReview shows the draft of the bug of a bucket, as a page or as a part of another page.
func (s *Pages) ShowReview(w http.ResponseWriter, r *http.Request) error {
	b, err := s.reviewedBucket(r)
	if err != nil {
		return err
	}
	page, _, err := s.reviewPage(r, b)
	if err != nil {
		return err
	}
	if form, found := s.web.TakeSavedForm(r); found && page.Fileable {
		page.Draft = web.DraftIn(form)
		page.Notice = "Your text is back. Nothing has been filed yet."
	}
	if r.URL.Query().Get("search") != "" && page.Fileable && page.To.Launchpad {
		page.Search = s.searchBugs(r, b)
	}
	return s.sendReview(w, r, http.StatusOK, page)
}

// ShowReviewBugs sends the part with the bugs that the tracker already has.
func (s *Pages) ShowReviewBugs(w http.ResponseWriter, r *http.Request) error {
	b, err := s.reviewedBucket(r)
	if err != nil {
		return err
	}
	if !web.WantsPart(r) {
		http.Redirect(w, r, b.ID.Path()+"/review?search=1", http.StatusSeeOther)
		return nil
	}
	return s.web.Page(w, r, http.StatusOK, view.ReviewFound(*s.searchBugs(r, b)))
}

// ReviewBug previews or files the submitted draft. On any error, it shows the form again with the
// submitted text.
func (s *Pages) ReviewBug(w http.ResponseWriter, r *http.Request) error {
	b, err := s.reviewedBucket(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return web.ErrBadForm.Because(err)
	}
	page, proposal, err := s.reviewPage(r, b)
	if err != nil {
		return err
	}
	page.Draft = web.DraftIn(r.PostForm)
	if !page.Fileable && page.Problem != "" {
		return s.sendReview(w, r, http.StatusUnprocessableEntity, page)
	}
	if !page.Fileable {
		page.Fileable = true // so that the page shows the draft
		page.Problem = s.alreadyFiledMessage(b)
		return s.sendReview(w, r, http.StatusConflict, page)
	}
	to, err := s.destinationOf(r, b, page.Draft, proposal.Destination)
	if err != nil {
		a := web.AnswerTo(r, err)
		s.web.LogError(r, err, a)
		page.Problem = "The bug has not been filed. " + a.Message
		return s.sendReview(w, r, http.StatusUnprocessableEntity, page)
	}
	setDestination(&page, to)
	if page.Problems, err = s.checkDraft(r, b, page.Draft, to); err != nil {
		return err
	}
	if shown := r.PostForm.Get("destination"); len(page.Problems) == 0 && shown != "" && shown != page.To.Name {
		page.Problem = "With this package, the bug goes elsewhere: " + page.To.Where + ". Nothing has been filed yet. " +
			"Check the bug and press the button again."
		return s.sendReview(w, r, http.StatusUnprocessableEntity, page)
	}
	if len(page.Problems) > 0 {
		page.Problem = "The bug has not been filed: see below."
		if r.PostForm.Get("do") != "file" {
			page.Problem = ""
		}
		return s.sendReview(w, r, http.StatusUnprocessableEntity, page)
	}
	switch r.PostForm.Get("do") {
	case "file":
		return s.fileReviewed(w, r, b, page)
	case "search":
		if page.To.Launchpad {
			page.Search = s.searchBugs(r, b)
		}
	case "request":
		page.Preview = s.preview(proposal, page)
		if page.Request, err = s.Filer.Request(r.Context(), b.ID, &page.Draft, page.Bug.Upstream); err != nil {
			a := web.AnswerTo(r, err)
			s.web.LogError(r, err, a)
			page.Problem = "The request cannot be shown. " + a.Message
		}
	default:
		page.Preview = s.preview(proposal, page)
	}
	return s.sendReview(w, r, http.StatusOK, page)
}

// reviewedBucket returns the bucket in the path. It returns Forbidden if filing is switched off.
func (s *Pages) reviewedBucket(r *http.Request) (crash.Bucket, error) {
	if !s.web.Config.AllowBugFiling {
		return crash.Bucket{}, errFilingOff
	}
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return crash.Bucket{}, err
	}
	b, err := s.panel.Bucket(r.Context(), id)
	if err != nil || !forUpstream(r) {
		return b, err
	}
	return s.panel.Upstream(r.Context(), b)
}

// bugPart returns the cell of the bug that is reviewed.
func (s *Pages) bugPart(r *http.Request, b crash.Bucket) view.BugPart {
	if forUpstream(r) {
		return s.panel.UpstreamBugPart(r, b)
	}
	return s.panel.BugPart(r, b)
}

// destinationOf returns where a draft goes, which depends on its source package. shown is that of the problem's.
func (s *Pages) destinationOf(
	r *http.Request, b crash.Bucket, d crash.Draft, shown tracker.Destination,
) (tracker.Destination, error) {
	if d.OnDistribution || d.Package == "" || d.Package == b.SourcePackage {
		return shown, nil
	}
	b.SourcePackage = d.Package
	return s.Filer.Destination(r.Context(), b, forUpstream(r))
}

// setDestination says on the page where the bug goes, and what bugs have there.
func setDestination(page *view.ReviewPage, to tracker.Destination) {
	page.To = view.ReviewTarget{
		Name: to.Where(), Where: to.Where(), Launchpad: to.Kind.Name == crash.FirstTracker,
		Tags: to.Kind.Tags != nil, Private: to.Kind.Private, MaxTitle: to.Kind.MaxTitle,
		MaxDescription: to.Kind.MaxDescription, Search: to.SearchURL(tracker.SearchWords(page.Heading)),
	}
	if page.To.Launchpad { // people choose the package there
		page.To.Name = to.Name
	}
	page.Tracker = to.Title
}

// reviewPage returns the page with everything known here. Its draft can be filed unless the bucket
// has a bug or a filing is in progress.
func (s *Pages) reviewPage(r *http.Request, b crash.Bucket) (view.ReviewPage, tracker.Proposal, error) {
	page := view.ReviewPage{
		InPart: web.WantsPart(r) && r.PostFormValue("page") == "", Bug: s.bugPart(r, b),
		Heading: problemsview.DocumentTitle(b),
		Source:  b.SourcePackage, Distribution: s.Filer.Distribution(),
	}
	page.Bug.Copy = view.CopyIn(r.FormValue("copy"))
	var err error
	if page.FileAs, err = s.panel.FilingChoice(r); err != nil {
		return page, tracker.Proposal{}, err
	}
	proposal, err := s.Filer.Propose(r.Context(), b, page.Bug.Upstream)
	if err != nil {
		return page, proposal, err
	}
	facts, filed, err := s.panel.AdviceFacts(r.Context(), b, proposal.Report.Fields)
	if err != nil {
		return page, proposal, err
	}
	all, err := s.panel.Problems.Similar(r.Context(), b, similar.Shown, false)
	if err != nil {
		return page, proposal, err
	}
	page.Unfiled = crash.Pick(all, func(p similar.Problem) bool { return p.Bug.Number == 0 })
	symbols, err := s.panel.SymbolsOf(r.Context(), b)
	if err != nil {
		return page, proposal, err
	}
	page.Advice, page.Similar = s.panel.Advise(&facts, symbols), filed
	switch page.Bug.State {
	case view.BugCreate, view.BugRefused, view.BugWaiting, view.BugImpossible:
		page.Fileable = true
	case view.BugNothing, view.BugLinked, view.BugSignIn, view.BugCreating, view.BugChecking:
	}
	page.Draft, page.Section = proposal.Draft, proposal.Section
	setDestination(&page, proposal.Destination)
	if page.To.Private == "" {
		page.Draft.Information = crash.InformationPublic
	}
	embargoed, err := s.panel.CountEmbargoed(r, b)
	if err != nil {
		return page, proposal, err
	}
	if page.Embargoed = embargoed > 0; page.Embargoed { // filing makes the bug private in any case
		page.Draft.Information, page.Section = crash.InformationPrivate, ""
		if page.To.Private == "" {
			page.Fileable, page.Problem = false, view.EveryoneSees(page.Tracker)
		}
	}
	if page.Sources, err = s.relatedSources(r.Context(), b); err != nil {
		return page, proposal, err
	}
	page.Suspected = grouping.SuspectedCorruption(proposal.Report.Fields)
	if page.Suspected != "" && !proposal.Edited && page.To.Private != "" {
		page.Draft.Information = crash.InformationPrivate
	}
	return page, proposal, nil
}

// relatedDays is how many days back relatedProblems searches.
const relatedDays = 366

// relatedProblems returns problems of the past relatedDays whose binary or source package has this
// name.
func (s *Pages) relatedProblems(ctx context.Context, name string) ([]index.Row, error) {
	all, err := s.Store.Index(ctx)
	if err != nil {
		return nil, err
	}
	since, until := s.web.LastDays(relatedDays)
	rows, _ := all.All(index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Package: name}, nil)
	return rows, nil
}

// relatedSources returns other source packages that the packages of a problem have come from.
func (s *Pages) relatedSources(ctx context.Context, b crash.Bucket) ([]string, error) {
	var sources []string
	for _, name := range slices.Compact([]string{b.SourcePackage, b.Package}) {
		if name == "" {
			continue
		}
		rows, err := s.relatedProblems(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Source != "" && row.Source != b.SourcePackage && !slices.Contains(sources, row.Source) {
				sources = append(sources, row.Source)
			}
		}
	}
	slices.Sort(sources)
	return sources, nil
}

// sourceOf returns the source package of a binary package, or "" if it is not known here.
func (s *Pages) sourceOf(ctx context.Context, binary string) (string, error) {
	rows, err := s.relatedProblems(ctx, binary)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if row.Package == binary && row.Source != binary && row.Source != "" {
			return row.Source, nil
		}
	}
	return "", nil
}

// searchBugs searches the tracker for bugs like that of b, for at most Config.SearchTime.
func (s *Pages) searchBugs(r *http.Request, b crash.Bucket) *view.ReviewSearch {
	ctx, cancel := context.WithTimeout(r.Context(), s.web.Config.SearchTime)
	defer cancel()
	title := problemsview.DocumentTitle(b)
	search := &view.ReviewSearch{
		Bug: s.panel.BugPart(r, b), Tracker: s.web.Config.TrackerName,
		Words: tracker.SearchWords(title), Where: b.SourcePackage,
	}
	if search.Where == "" {
		search.Where = s.Filer.Distribution()
	}
	if s.Tracker == nil {
		search.Problem = "mishap can only search Launchpad."
		return search
	}
	var err error
	search.Bugs, err = s.Tracker.SearchBugs(ctx, b.SourcePackage, title, s.Filer.Marker(b.ID))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		search.Problem = fmt.Sprintf("it did not answer within %s.", s.web.Config.SearchTime)
	default:
		search.Problem = web.AnswerTo(r, err).Message
		s.web.Log.InfoContext(r.Context(), "search of the tracker failed", "request_id", web.RequestID(r), "error", err)
	}
	return search
}

// checkDraft returns the errors in a draft. It checks in the tracker that a package typed by a
// person exists. If the tracker does not answer in time, it leaves that check to the filing.
func (s *Pages) checkDraft(
	r *http.Request, b crash.Bucket, d crash.Draft, to tracker.Destination,
) (crash.DraftProblems, error) {
	problems := s.Filer.CheckDraft(b.ID, d, to)
	switch r.PostForm.Get("target") {
	case "", "package", "distribution":
	default:
		problems[crash.DraftPackage] = "Choose the source package or the distribution."
	}
	if d.OnDistribution || problems[crash.DraftPackage] != "" || d.Package == b.SourcePackage ||
		to.Kind.Name != crash.FirstTracker {
		return problems, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.web.Config.SearchTime)
	defer cancel()
	if found, err := s.Tracker.HasSource(ctx, d.Package); err == nil && !found {
		problems[crash.DraftPackage] = fmt.Sprintf(
			"%s has no source package “%s”. Enter a source package, not a binary one.", s.Filer.Distribution(), d.Package)
		source, err := s.sourceOf(r.Context(), d.Package)
		if err != nil {
			return problems, err
		}
		if source != "" {
			problems[crash.DraftPackage] = fmt.Sprintf(
				"“%s” is a binary package. File the bug against its source package, “%s”.",
				d.Package, source)
		}
	}
	return problems, r.Context().Err()
}

// preview returns the bug as the tracker will show it.
func (s *Pages) preview(p tracker.Proposal, page view.ReviewPage) *view.ReviewPreview {
	v := &view.ReviewPreview{Draft: page.Draft, Target: page.To.Where, Private: p.Private(page.Draft)}
	if page.To.Launchpad && page.Draft.OnDistribution {
		v.Target = s.Filer.Distribution()
	}
	if page.To.Private == "" {
		v.Draft.Information = ""
	}
	v.Draft.Description = tracker.WithMarker(page.Draft.Description, p.Marker)
	if v.Draft.Description != page.Draft.Description {
		v.Marker = p.Marker
	}
	return v
}

// fileReviewed files the draft of page as the bug of b.
func (s *Pages) fileReviewed(w http.ResponseWriter, r *http.Request, b crash.Bucket, page view.ReviewPage) error {
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return err
	}
	opts.Draft, opts.Upstream = &page.Draft, page.Bug.Upstream
	result, err := s.Filer.CreateBug(r.Context(), b.Signature, opts)
	pending := crash.KindOf(err) == crash.Unavailable && result.New // stored; the Filer tries it again later
	switch {
	case err != nil && !pending:
		a := web.AnswerTo(r, err)
		s.web.LogError(r, err, a)
		page.Problem = "The bug has not been filed. " + a.Message
		if web.WantsPart(r) {
			a.Status = http.StatusUnprocessableEntity // htmx puts the form back
		}
		return s.sendReview(w, r, a.Status, page)
	case !result.New:
		if b, err = s.reviewedBucket(r); err != nil {
			return err
		}
		page.Bug, page.Problem = s.bugPart(r, b), s.alreadyFiledMessage(b)
		return s.sendReview(w, r, http.StatusConflict, page)
	}
	kind, message := layout.FlashDone, "Your bug is being filed."
	switch {
	case pending:
		kind, message = layout.FlashError, "Your text is saved. The bug is filed as soon as possible. "+
			web.AnswerTo(r, err).Message
	case result.State == crash.FilingFiled:
		message = "Bug " + s.bugText(r, result.Bug) + " has been filed." + filedAs(result.Filing)
	}
	if page.InPart {
		b, err := s.panel.Bucket(r.Context(), b.ID)
		if err != nil {
			return err
		}
		cell := s.panel.BugPart(r, b)
		cell.Copy = page.Bug.Copy
		var status *problemsview.StatusView
		if panel.OnProblemPage(r, b.ID) {
			v, err := s.panel.StatusView(r, b)
			if err != nil {
				return err
			}
			status = &v
		}
		return s.web.Page(w, r, createdStatus(result), problemsview.ReviewDone(cell, status, message))
	}
	return s.web.RedirectWith(w, r, b.ID.Path(), layout.Flash{Kind: kind, Text: message})
}

// alreadyFiledMessage explains why a draft can no longer be filed.
func (s *Pages) alreadyFiledMessage(b crash.Bucket) string {
	if b.Bug.Number != 0 {
		return fmt.Sprintf("The problem now has bug %s. Your text was not sent; you can copy it from below.", b.Bug.Text())
	}
	return "A bug for this problem is being filed already. Your text was not sent; you can copy it from below."
}

// sendReview sends the page or the part. A part uses status 422 for a conflict, so that htmx puts
// the form back.
func (s *Pages) sendReview(w http.ResponseWriter, r *http.Request, status int, page view.ReviewPage) error {
	if web.WantsPart(r) {
		if status == http.StatusConflict {
			status = http.StatusUnprocessableEntity
		}
		return s.web.Page(w, r, status, view.ReviewPart(page))
	}
	page.Shell = s.web.Shell(r, "Review: "+page.Heading)
	return s.web.Page(w, r, status, view.Review(page))
}
