package bugs

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
	view "mishap/views/bugs"
	"mishap/views/layout"
)

// lookupTimeout is the time limit for reading a bug from the tracker while a person waits.
const lookupTimeout = 5 * time.Second

// ShowLinkBug shows the form for linking a bug to the problem in the path, or to the chosen ones. If the query names a
// bug, it also shows that bug in the tracker, and which of the problems have it.
func (s *Pages) ShowLinkBug(w http.ResponseWriter, r *http.Request) error {
	ids, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	bug, status, err := s.lookUpBug(r, buckets...)
	if err != nil {
		return err
	}
	p := view.LinkPage{BugLookup: bug, Path: r.URL.Path, Back: panel.BackTo(r, buckets)}
	if r.PathValue("id") == "" {
		p.Problems = view.JoinIDs(ids)
	}
	for _, b := range buckets {
		row := view.LinkRow{Bucket: b}
		if row.Linked, err = s.panel.HasBug(r, b.ID, p.Number); err != nil {
			return err
		}
		p.Rows = append(p.Rows, row)
	}
	if p.Number == 0 && p.Problems == "" {
		if p.Possible, err = s.possibleBugs(r, buckets[0]); err != nil {
			return err
		}
	}
	p.Shell = s.web.Shell(r, p.Title())
	return s.web.Page(w, r, status, view.LinkBug(p))
}

// possibleBugs returns the bugs that may be those of the filings of a problem whose outcome is unknown.
func (s *Pages) possibleBugs(r *http.Request, b crash.Bucket) (all []view.PossibleBugs, err error) {
	upstream, err := s.panel.Upstream(r.Context(), b)
	if err != nil {
		return nil, err
	}
	for _, f := range []crash.Filing{b.Filing, upstream.Filing} {
		if f.State != crash.FilingUncertain && f.Problem != "unknown_outcome" && f.Problem != "private_unknown" {
			continue
		}
		if f, err = s.Bugs.Filing(r.Context(), f.ID); err != nil {
			return nil, err
		}
		some := view.PossibleBugs{Tracker: f.Tracker}
		strays, err := s.straysOf(r, f, &some)
		if err != nil {
			a := web.AnswerTo(r, err)
			s.web.LogError(r, err, a)
			some.Problem = a.Message
		}
		for _, stray := range strays {
			some.Bugs = append(some.Bugs, crash.Bug{Number: stray.Number, Title: stray.Title, URL: stray.URL,
				Place: s.Filer.Sites().PlaceOf(r.Context(), stray.Number)})
		}
		all = append(all, some)
	}
	return all, nil
}

// straysOf asks the tracker of a filing for bugs that belong to no problem, for at most Config.SearchTime.
func (s *Pages) straysOf(r *http.Request, f crash.Filing, some *view.PossibleBugs) ([]tracker.Stray, error) {
	site, err := s.Filer.Sites().At(r.Context(), f.Tracker, f.Project)
	if err != nil {
		return nil, err
	}
	some.Tracker = site.Title
	ctx, cancel := context.WithTimeout(r.Context(), s.web.Config.SearchTime)
	defer cancel()
	return site.StrayBugs(ctx, f.Created.Add(-tracker.SearchMargin), s.Bugs.KnownBugs)
}

// lookUpBug reads the bug that the query names, if it names one, from the tracker, to link it to problems.
// The status is that of the answer: the text of the query may be wrong.
func (s *Pages) lookUpBug(r *http.Request, problems ...crash.Bucket) (b view.BugLookup, status int, err error) {
	status = http.StatusOK
	if b.Text, err = web.QueryText(r.URL.Query(), "bug"); err != nil || b.Text == "" {
		return b, status, err
	}
	if b.Number, err = s.Filer.Sites().BugNumber(r.Context(), b.Text); err != nil {
		a := web.AnswerTo(r, err)
		b.Problem = a.Message
		return b, a.Status, nil
	}
	b.Name = s.bugText(r, b.Number)
	b.Found, b.Warning = s.readTrackerBug(r, b.Number)
	embargoed, err := s.panel.CountEmbargoed(r, problems...)
	b.Publishes = embargoed > 0 && isPublic(b.Found, b.Warning)
	b.For, b.Crashed = otherPackages(b.Found, problems)
	return b, status, err
}

// otherPackages returns the source packages that a bug is for and those that crashed, without those of the bug. It
// returns none if any of them is unknown, as while the tracker does not answer.
func otherPackages(found crash.BugReading, problems []crash.Bucket) (of, crashed []string) {
	for _, t := range found.Tasks {
		if source := t.SourcePackage(); source != "" && !slices.Contains(of, source) {
			of = append(of, source)
		}
	}
	for _, b := range problems {
		if source := b.SourcePackage; len(of) > 0 && source != "" && !slices.Contains(of, source) &&
			!slices.Contains(crashed, source) {
			crashed = append(crashed, source)
		}
	}
	return of, crashed
}

// asksFirst reports whether a bug is for another package and the form does not confirm that.
func asksFirst(r *http.Request, found crash.BugReading, problems ...crash.Bucket) bool {
	_, crashed := otherPackages(found, problems)
	return len(crashed) > 0 && r.PostFormValue("other") != "yes"
}

// readTrackerBug reads a bug from the tracker. If it cannot, the warning explains why.
func (s *Pages) readTrackerBug(r *http.Request, number int64) (found crash.BugReading, warning string) {
	ctx, cancel := context.WithTimeout(r.Context(), lookupTimeout)
	defer cancel()
	name := s.web.Config.TrackerName
	site, err := s.Filer.Sites().Of(ctx, number)
	if err == nil {
		name = site.Title
		found, err = site.Tracker.ReadState(ctx, number)
	}
	switch {
	case err != nil:
		s.web.Log.WarnContext(r.Context(), "cannot read bug from the tracker",
			"request_id", web.RequestID(r), "bug", number, "error", err)
		return found, name + " cannot be reached, so bug " + crash.BugText(number) +
			" could not be looked up. You can link it anyway."
	case found.Hidden:
		return found, name + " shows no bug " + crash.BugText(number) +
			": it is private or does not exist. You can link it anyway."
	}
	return found, ""
}

// isPublic reports whether everyone may be able to see a bug. A bug that cannot be read because the
// tracker does not answer counts as public.
func isPublic(found crash.BugReading, warning string) bool {
	return !found.Private && (warning == "" || !found.Hidden)
}

// checkPublic returns Conflict if a bug that everyone sees would be linked to embargoed problems, and
// the form does not confirm that.
func (s *Pages) checkPublic(r *http.Request, found crash.BugReading, warning string, problems ...crash.Bucket) error {
	if r.PostFormValue("public") == "yes" || !isPublic(found, warning) {
		return nil
	}
	embargoed, err := s.panel.CountEmbargoed(r, problems...)
	if err != nil || embargoed == 0 {
		return err
	}
	return crash.Errorf(crash.Conflict, "public_bug",
		"%s Confirm on the form that you want to link it.", view.BugIsPublic)
}

func (s *Pages) formBugNumber(r *http.Request) (int64, error) {
	text := r.PostFormValue("bug")
	if len(text) > web.MaxQueryText {
		text = ""
	}
	return s.Filer.Sites().BugNumber(r.Context(), text)
}

// LinkBug links a bug to the problem in the path, or to those of the chosen problems that do not have it, and stores
// its state in the tracker, if the tracker answers.
func (s *Pages) LinkBug(w http.ResponseWriter, r *http.Request) error {
	ids, buckets, refused, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	number, err := s.formBugNumber(r)
	if err != nil {
		return err
	}
	found, warning := s.readTrackerBug(r, number)
	if err := s.checkPublic(r, found, warning, buckets...); err != nil {
		return err
	}
	name, one := s.bugText(r, number), r.PathValue("id") != ""
	if asksFirst(r, found, buckets...) {
		address := r.URL.Path + "?"
		query := url.Values{"bug": {strconv.FormatInt(number, 10)}}
		if !one {
			address = view.DecideURL("link", ids) + "&"
			query.Set("back", panel.BackTo(r, buckets))
		}
		return web.Redirect(w, r, address+query.Encode())
	}
	bug := crash.Bug{
		Number: number, Place: s.Filer.Sites().PlaceOf(r.Context(), number), Title: found.Title,
		URL: s.Filer.BugURL(r.Context(), number), By: web.CurrentUser(r).Name,
	}
	var linked []crash.BucketID
	for _, b := range buckets {
		isNew, err := s.Bugs.LinkBug(r.Context(), b.ID, bug)
		if err != nil {
			return err
		}
		if isNew {
			linked = append(linked, b.ID)
		}
	}
	if warning == "" {
		master := s.Filer.BugURL(r.Context(), found.DuplicateOf)
		if err := s.Bugs.SaveBugReading(r.Context(), found, master, time.Hour); err != nil {
			return err
		}
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: "Bug " + name + " linked."}
	switch had := len(buckets) - len(linked); {
	case one && had > 0:
		message.Text = "Bug " + name + " was already linked."
	case one && warning != "":
		message.Text += " Its state will appear once " + s.panel.TrackerOf(bug) + " answers."
	case !one:
		message.Text = "Bug " + name + " linked to " + crash.Counted(int64(len(linked)), "problem", "problems") + "."
		if had > 0 {
			message.Text += " " + crash.Count(int64(had)) + " already had it."
		}
		message.Text = web.WithRefused(message.Text, refused)
		if len(linked) > 0 {
			message.Undo = &layout.Undo{Action: view.PathUnlinkChosen + "?problems=" + view.JoinIDs(linked),
				Field: "bug", Value: strconv.FormatInt(number, 10)}
		}
	}
	return s.web.Decided(w, r, panel.BackTo(r, buckets), message)
}

func (s *Pages) problemAndBug(r *http.Request) (b crash.Bucket, number int64, err error) {
	if b, err = s.panel.BucketInPath(r); err != nil {
		return b, 0, err
	}
	number, err = s.formBugNumber(r)
	return b, number, err
}

// UnlinkBug unlinks a bug from a problem, and offers to undo that.
func (s *Pages) UnlinkBug(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.UnlinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: view.BugUnlinked(s.bugText(r, number)),
		Undo: &layout.Undo{Action: b.ID.Path() + "/relink", Field: "bug", Value: strconv.FormatInt(number, 10)},
	})
}

// RelinkBug undoes UnlinkBug.
func (s *Pages) RelinkBug(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.RelinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: "Bug " + s.bugText(r, number) + " linked again.",
	})
}

// RecheckBugs requests that the states of the bugs of a problem are read again soon.
func (s *Pages) RecheckBugs(w http.ResponseWriter, r *http.Request) error {
	b, err := s.panel.BucketInPath(r)
	if err != nil {
		return err
	}
	bugs, err := s.Bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return err
	}
	if err := s.Bugs.ReadBugsNow(r.Context(), panel.NumbersOf(bugs...)); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{
		Kind: layout.FlashDone, Text: "Refreshing from " + s.panel.TrackerOf(bugs...) + "; the result will appear " +
			"within a few seconds.",
	})
}

// ResumeSection makes mishap update the section in the description of a bug again.
func (s *Pages) ResumeSection(w http.ResponseWriter, r *http.Request) error {
	b, number, err := s.problemAndBug(r)
	if err != nil {
		return err
	}
	if err := s.Bugs.ResumeSection(r.Context(), b.ID, number, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerLinks(w, r, b.ID, layout.Flash{Kind: layout.FlashDone, Text: "mishap updates the section of bug " +
		s.bugText(r, number) + " again, within a minute."})
}

// answerLinks shows the present status of a problem, in place or on its page, with a message.
func (s *Pages) answerLinks(w http.ResponseWriter, r *http.Request, id crash.BucketID, message layout.Flash) error {
	return s.web.Decided(w, r, id.Path(), message)
}

// ChangeChosen files bugs for the chosen problems, or requests new states of their bugs, and
// redirects to the page that shows the progress. Merging and linking redirect to their own pages.
// Bugs are filed by the same Filer as for a single problem.
func (s *Pages) ChangeChosen(w http.ResponseWriter, r *http.Request) error {
	ids, err := panel.ChosenIDs(r.PostForm["bucket"]) // parsed by Guard
	if errors.Is(err, panel.ErrNoneChosen) {
		return s.web.RedirectWith(w, r, web.ReturnPath(r),
			layout.Flash{Kind: layout.FlashError, Text: panel.ErrNoneChosen.Message})
	}
	if err != nil {
		return err
	}
	switch do := r.PostFormValue("do"); do {
	case "merge", "link", "create", "assign", "mute", "wontfix", "fixed": // confirmed on pages of their own
		return web.Redirect(w, r, view.DecideURL(do, ids))
	}
	buckets, err := s.panel.Buckets(r, ids)
	if err != nil {
		return err
	}
	buckets, refused, err := web.Triageable(r, buckets)
	if err != nil {
		return err
	}
	message, since := "", ""
	switch r.PostFormValue("do") {
	case "file":
		message, err = s.fileChosen(r, buckets)
	case "recheck":
		since = "&since=" + strconv.FormatInt(s.web.Now().UnixMicro(), 10)
		message, err = s.recheckChosen(r, buckets)
	default:
		err = panel.ErrUnknownAction
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, view.ChosenURL(ids)+since, web.WithRefused(message, refused))
}

// fileChosen files bugs for the buckets that have none. It skips those that cannot be filed; their
// rows show why.
func (s *Pages) fileChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	if !s.web.Config.AllowBugFiling {
		return "", errFilingOff
	}
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return "", err
	}
	opts.Wait = 0
	requested := int64(0)
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			continue
		}
		_, err := s.Filer.CreateBug(r.Context(), b.Signature, opts)
		switch crash.KindOf(err) {
		case crash.Unprocessable, crash.NotFound:
			continue
		case crash.Refused, crash.Unavailable, crash.Conflict: // the filing is stored, and its row shows the error
		default:
			if err != nil {
				return "", err
			}
		}
		requested++
	}
	return "Creating " + crash.Counted(requested, "bug", "bugs") + ".", nil
}

// recheckChosen requests that the states of the bugs of all buckets are read again soon.
func (s *Pages) recheckChosen(r *http.Request, buckets []crash.Bucket) (string, error) {
	var numbers []int64
	for _, b := range buckets {
		if b.Bug.Number != 0 {
			numbers = append(numbers, b.Bug.Number)
		}
	}
	if err := s.Bugs.RefreshBugs(r.Context(), numbers, 0); err != nil {
		return "", err
	}
	return crash.Counted(int64(len(numbers)), "bug", "bugs") + " will be read from the tracker within a few seconds.", nil
}

// ShowCreateChosen lists the bugs that would be created for the chosen problems, and asks for
// confirmation.
func (s *Pages) ShowCreateChosen(w http.ResponseWriter, r *http.Request) error {
	if !s.web.Config.AllowBugFiling {
		return errFilingOff
	}
	_, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	page := view.ConfirmCreatePage{Back: panel.BackTo(r, buckets)}
	if page.FileAs, err = s.panel.FilingChoice(r); err != nil {
		return err
	}
	var trackers []string
	for _, b := range buckets {
		if err := web.CheckTriage(r, b.SourcePackage); err != nil {
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: err.Error()})
			continue
		}
		switch part := s.panel.BugPart(r, b); part.State {
		case view.BugCreate, view.BugRefused, view.BugWaiting:
			if part.Reviewed && part.State == view.BugCreate {
				page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b,
					Reason: "is reviewed by a person first, as each bug in " + part.Tracker})
				continue
			}
			page.File = append(page.File, view.FiledRow{Bucket: b, Where: part.Where})
			if !slices.Contains(trackers, part.Tracker) {
				trackers = append(trackers, part.Tracker)
			}
		case view.BugCreating, view.BugChecking:
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: "is being created already"})
		case view.BugNothing, view.BugLinked, view.BugSignIn, view.BugImpossible:
			page.Skipped = append(page.Skipped, view.SkippedRow{Bucket: b, Reason: cmp.Or(part.Reason, b.NoFiling())})
		}
	}
	page.Tracker = crash.JoinAnd(trackers)
	page.Shell = s.web.Shell(r, view.ConfirmHeading(int64(len(page.File)), page.Tracker))
	return s.web.Page(w, r, http.StatusOK, view.ConfirmCreate(page))
}

// ShowChosen shows the progress of each chosen problem.
func (s *Pages) ShowChosen(w http.ResponseWriter, r *http.Request) error {
	_, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	page := view.ChosenPage{}
	var since time.Time
	if at := r.URL.Query().Get("since"); at != "" {
		micros, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return crash.Errorf(crash.Invalid, "bad_since", "The parameter since is a number of microseconds.")
		}
		page.Recheck, since = true, time.UnixMicro(micros)
	}
	for _, b := range buckets {
		row := view.ChosenRow{Bucket: b, Bug: s.panel.BugPart(r, b)}
		if page.Recheck {
			row.Result, row.Waits = recheckResult(b.Bug, since)
		} else {
			row.Result, row.Waits = filingResult(row.Bug.State)
		}
		page.Rows = append(page.Rows, row)
	}
	page.Shell = s.web.Shell(r, "Selected problems")
	if web.WantsPart(r) {
		return s.web.Page(w, r, http.StatusOK, view.ChosenPart(page))
	}
	return s.web.Page(w, r, http.StatusOK, view.Chosen(page))
}

// recheckResult describes the result of reading a bug again, and reports whether it is pending.
func recheckResult(bug crash.Bug, since time.Time) (result string, pending bool) {
	switch {
	case bug.Number == 0:
		return "no bug", false
	case !bug.State.Read.Before(since):
		return "read again", false
	case bug.State.Failures > 0 && bug.State.Failure != "":
		return "cannot be read now; mishap tries again later", false
	}
	return "waiting to be read", true
}

func filingResult(state view.BugState) (result string, pending bool) {
	switch state {
	case view.BugLinked:
		return "filed", false
	case view.BugRefused:
		return "not created", false
	case view.BugImpossible:
		return "cannot be filed", false
	case view.BugCreating, view.BugChecking:
		return "creating", true
	case view.BugWaiting:
		return "waiting for the tracker", true
	case view.BugNothing, view.BugCreate, view.BugSignIn:
	}
	return "no bug requested", false
}

// UnlinkChosen undoes LinkBug for the problems in the query. It skips problems that no longer
// have the bug.
func (s *Pages) UnlinkChosen(w http.ResponseWriter, r *http.Request) error {
	_, buckets, refused, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	number, err := s.formBugNumber(r)
	if err != nil {
		return err
	}
	unlinked := int64(0)
	for _, b := range buckets {
		switch err := s.Bugs.UnlinkBug(r.Context(), b.ID, number, web.CurrentUser(r).Name); {
		case err == nil:
			unlinked++
		case crash.KindOf(err) != crash.NotFound:
			return err
		}
	}
	message := web.WithRefused("Bug "+s.bugText(r, number)+" unlinked from "+
		crash.Counted(unlinked, "problem", "problems")+".", refused)
	return s.web.Decided(w, r, panel.BackTo(r, buckets), layout.Flash{Kind: layout.FlashDone, Text: message})
}
