package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/tracker"
	view "mishap/views/admin"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// sessionUnwritten is the session's key for the key of the access token that is not in the file.
const sessionUnwritten = "tracker_unwritten"

// ShowTracker shows the page of the tracker.
func (s *Pages) ShowTracker(w http.ResponseWriter, r *http.Request) error {
	return s.sendTrackerPage(w, r, nil)
}

// sendTrackerPage sends the page. If failed is not nil, it shows that error and uses its status.
func (s *Pages) sendTrackerPage(w http.ResponseWriter, r *http.Request, failed error,
	lines ...bugsview.ConfigLine) error {
	p, status := view.TrackerPage{}, http.StatusOK
	p.Lines = lines
	if failed != nil {
		a := web.AnswerTo(r, failed)
		s.web.LogError(r, failed, a)
		a.Headers(w)
		status, p.Problem, p.Pressed = a.Status, a.Message, path.Base(r.URL.Path)
	}
	return s.sendTracker(w, r, status, p)
}

// sendTracker sends the page of the tracker. It sets the fields that are the same whichever form was sent.
func (s *Pages) sendTracker(w http.ResponseWriter, r *http.Request, status int, p view.TrackerPage) (err error) {
	ctx := r.Context()
	if p.HasLaunchpad = s.web.HasLaunchpad(); p.HasLaunchpad {
		if p.Connection, err = s.Creds.Status(ctx); err != nil {
			return err
		}
	}
	if err := s.addTrackers(ctx, &p); err != nil {
		return err
	}
	if p.Filings, err = s.Bugs.FilingTotals(ctx); err != nil {
		return err
	}
	if p.Templates, err = s.Bugs.BugTemplates(ctx); err != nil {
		return err
	}
	if p.Updates.Rules, err = s.Store.UpdatePolicies(ctx); err != nil {
		return err
	}
	if p.Updates.Waiting, err = s.waitingUpdates(r, p.Updates.Rules); err != nil {
		return err
	}
	if p.Updates.Problem == "" || p.Updates.Pattern != "" {
		p.Updates.Adding.QuietWeeks = crash.DefaultQuietWeeks
	}
	p.Tracker, p.ConfigFile = s.web.Config.TrackerName, s.web.Config.ConfigFile
	p.FromEnvironment = s.web.Config.TokensFromEnvironment
	p.Unwritten = s.web.Sessions.GetString(ctx, sessionUnwritten) != ""
	if rt, expires, ok := web.ApplicationRequest.Token(s.web, r); ok && p.HasLaunchpad {
		p.AuthorizeURL, p.Expires = s.Tracker.AuthorizeURL(rt.Key), expires
	}
	p.Shell, p.Checks = s.web.Shell(r, "Bug tracker"), s.Checks(ctx)
	p.Updates.Shell = p.Shell
	return s.web.Page(w, r, status, view.Tracker(p))
}

// addTrackers adds the trackers of the configuration, those with troubles first. A row of the page may say already why
// the test of a tracker failed.
func (s *Pages) addTrackers(ctx context.Context, p *view.TrackerPage) error {
	waiting, err := s.Bugs.Waiting(ctx)
	if err != nil {
		return err
	}
	sites, failed := s.Filer.Sites(), p.Trackers
	first, _ := sites.First(false)
	p.Trackers = nil
	for _, m := range sites.Members() {
		row := view.TrackerRow{
			Name: m.Name, Title: m.Title, Kind: m.Kind.Title, URL: m.URL, Target: m.Target, First: m.Name == first.Name,
			Launchpad: m.Kind.Name == crash.FirstTracker, Upstream: m.Upstream, Review: m.Review, PerMinute: m.PerMinute,
			PerDay: m.PerDay, Mail: m.Kind.Mail, NoRelay: m.Kind.Mail && m.Mail == nil, Waiting: waiting[m.Name],
		}
		if row.Connection, err = m.Creds.Status(ctx); err != nil {
			return err
		}
		if i := slices.IndexFunc(failed, func(f view.TrackerRow) bool { return f.Name == m.Name }); i >= 0 {
			row.Problem = failed[i].Problem
		}
		p.Trackers = append(p.Trackers, row)
	}
	slices.SortStableFunc(p.Trackers, func(a, b view.TrackerRow) int {
		return cmp.Compare(min(len(b.Trouble().Problem), 1), min(len(a.Trouble().Problem), 1))
	})
	return nil
}

// TestTracker asks a tracker for the name of mishap's account.
func (s *Pages) TestTracker(w http.ResponseWriter, r *http.Request) error {
	m, ok := s.Filer.Sites().Member(r.PostFormValue("tracker"))
	if !ok {
		return crash.Errorf(crash.NotFound, "no_tracker", "There is no such tracker in the configuration.")
	}
	account, err := s.Filer.Sites().Check(context.WithoutCancel(r.Context()), m.Name)
	if err != nil {
		a := web.AnswerTo(r, err)
		s.web.LogError(r, err, a)
		a.Headers(w)
		failed := []view.TrackerRow{{Name: m.Name, Problem: a.Message}}
		return s.sendTracker(w, r, a.Status, view.TrackerPage{Trackers: failed})
	}
	return s.web.Done(w, r, layout.PathTracker, "Connected to "+m.Title+" as "+account+".")
}

// BeginConnecting asks the tracker for a request token.
func (s *Pages) BeginConnecting(w http.ResponseWriter, r *http.Request) error {
	if err := web.ApplicationRequest.Begin(s.web, r); err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	return web.Redirect(w, r, layout.PathTracker)
}

// FinishConnecting exchanges the request token for the access token. The tracker sends it only
// once, so the rest runs to its end even if the admin leaves the page.
func (s *Pages) FinishConnecting(w http.ResponseWriter, r *http.Request) error {
	ctx := context.WithoutCancel(r.Context())
	token, err := web.ApplicationRequest.Finish(s.web, r.WithContext(ctx))
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	s.web.Sessions.Remove(ctx, sessionUnwritten)
	written := s.Write(ctx, token)
	if err := s.Creds.SaveToken(ctx, token, web.CurrentUser(r).Name); err != nil {
		return s.sendTrackerPage(w, r, errors.Join(err, written))
	}
	if written != nil {
		s.web.Sessions.Put(ctx, sessionUnwritten, token.Token)
		if err := s.web.Flash(r, layout.FlashError, s.writeFailure(r, written)); err != nil {
			return err
		}
	}
	return s.TryConnection(w, r)
}

// writeFailure returns the reason why the configuration file was not written, and logs the details.
func (s *Pages) writeFailure(r *http.Request, err error) string {
	s.web.Log.WarnContext(r.Context(), "configuration file not written", "request_id", web.RequestID(r), "error", err)
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Message
	}
	return "The configuration file could not be written."
}

// TryConnection checks the connection by asking the tracker for its account name.
func (s *Pages) TryConnection(w http.ResponseWriter, r *http.Request) error {
	account, err := tracker.Check(context.WithoutCancel(r.Context()), s.Tracker)
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	return s.web.Done(w, r, layout.PathTracker, "Connected to "+s.web.Config.TrackerName+" as "+account+".")
}

// ShowToken shows the lines for the configuration file, only to the admin whose session has made
// the connection.
func (s *Pages) ShowToken(w http.ResponseWriter, r *http.Request) error {
	token, err := s.Creds.Current(r.Context())
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	if token.IsZero() || token.Token != s.web.Sessions.GetString(r.Context(), sessionUnwritten) {
		return s.sendTrackerPage(w, r, crash.Errorf(crash.Conflict, "not_yours", "This session did not create the access "+
			"token, so it is not shown. Reconnect to get one of your own."))
	}
	if err := s.web.AuditDownload(r, "read.tracker-secret", s.web.Config.TrackerName); err != nil {
		return err
	}
	return s.sendTrackerPage(w, r, nil, bugsview.ConfigLine{Key: "tracker_oauth_token", Value: token.Token},
		bugsview.ConfigLine{Key: "tracker_oauth_secret", Value: string(token.Secret)})
}

// ForgetToken removes the access token from the database. An instance with a token in its
// configuration stays connected, and the message says so.
func (s *Pages) ForgetToken(w http.ResponseWriter, r *http.Request) error {
	if err := s.Creds.DeleteToken(r.Context(), web.CurrentUser(r).Name); err != nil {
		return err
	}
	s.web.Sessions.Remove(r.Context(), sessionUnwritten)
	connection, err := s.Creds.Status(r.Context())
	if err != nil {
		return err
	}
	message := "Disconnected. The access token has been removed from the database."
	if connection.Source != crash.NotConnected {
		message = "The access token has been removed from the database. This instance stays connected with the token " +
			"from " + bugsview.TrackerPage{Connection: connection, ConfigFile: s.web.Config.ConfigFile,
			FromEnvironment: s.web.Config.TokensFromEnvironment}.Origin() + "."
	}
	return s.web.Done(w, r, layout.PathTracker, message)
}

// ShowTemplates shows the form for bug templates, with the template for the package and type in the
// query.
func (s *Pages) ShowTemplates(w http.ResponseWriter, r *http.Request) error {
	form, saved := s.web.TakeSavedForm(r)
	if !saved {
		form = r.URL.Query()
	}
	page, err := s.templatesPage(r, form)
	if err != nil {
		return err
	}
	if saved {
		page.Editing.Body, page.Bucket = formTemplateBody(form), form.Get("bucket")
		page.Notice = "Your text has been restored. It has not been saved yet."
	}
	return s.sendTemplates(w, r, http.StatusOK, page)
}

// ChangeTemplate previews a template, saves it, or restores the default.
func (s *Pages) ChangeTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return web.ErrBadForm.Because(err)
	}
	page, err := s.templatesPage(r, r.PostForm)
	if err != nil {
		return err
	}
	page.Editing.By = web.CurrentUser(r).Name
	if r.PostForm.Get("do") == "default" {
		if err := s.Bugs.DropBugTemplate(r.Context(), page.Editing); err != nil {
			return err
		}
		return s.redirectToTemplate(w, r, page, "Template for "+page.For()+" deleted.")
	}
	page.Editing.Body, page.Bucket = formTemplateBody(r.PostForm), r.PostForm.Get("bucket")
	if page.Problems = tracker.CheckTemplate(page.Editing.Body); len(page.Problems) > 0 {
		return s.sendTemplates(w, r, http.StatusUnprocessableEntity, page)
	}
	if r.PostForm.Get("do") == "save" {
		if err := s.Bugs.SaveBugTemplate(r.Context(), page.Editing); err != nil {
			return err
		}
		return s.redirectToTemplate(w, r, page, "Template for "+page.For()+" saved. New bugs will use it.")
	}
	status := http.StatusOK
	if err := s.previewTemplate(r, &page); err != nil {
		if kind := crash.KindOf(err); kind != crash.NotFound {
			return err
		}
		page.NoBucket, status = web.AnswerTo(r, err).Message, http.StatusUnprocessableEntity
	}
	return s.sendTemplates(w, r, status, page)
}

func (s *Pages) redirectToTemplate(
	w http.ResponseWriter, r *http.Request, page view.TemplatesPage, message string,
) error {
	return s.web.Done(w, r, view.TemplateURL(page.Editing), message)
}

// templatesPage returns the page with the saved templates and the one for the package and type of a
// form.
func (s *Pages) templatesPage(r *http.Request, form url.Values) (view.TemplatesPage, error) {
	page := view.TemplatesPage{Editing: crash.BugTemplate{
		Tracker: form.Get("tracker"),
		Package: strings.TrimSpace(form.Get("package")), ProblemType: strings.TrimSpace(form.Get("type")),
	}}
	for _, m := range s.Filer.Sites().Members() {
		page.Trackers = append(page.Trackers, view.TemplateTracker{Name: m.Name, Title: m.Title, Kind: m.Kind.Title,
			Markup: m.Kind.Markup})
	}
	for _, name := range []string{page.Editing.Tracker, page.Editing.Package, page.Editing.ProblemType} {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) || utf8.RuneCountInString(name) > web.MaxQueryText {
			return page, crash.Errorf(crash.Invalid, "bad_template", "%s", "The name of the tracker, package or type "+
				"contains invalid characters or is too long.")
		}
	}
	for _, n := range tracker.TemplateNames() {
		page.Names = append(page.Names, view.TemplateName(n))
	}
	found, err := s.Store.BugTemplate(r.Context(), page.Editing.Tracker, page.Editing.Package, page.Editing.ProblemType)
	if err != nil {
		return page, err
	}
	switch {
	case found.Body == "":
		page.Editing.Body, page.From = tracker.DefaultTemplate, "the built-in template"
	case found.Tracker == page.Editing.Tracker && found.Package == page.Editing.Package &&
		found.ProblemType == page.Editing.ProblemType:
		page.Editing, page.Own = found, true
	default:
		page.Editing.Body = found.Body
		page.From = "the template for " + view.TemplatesPage{Editing: found}.For()
	}
	return page, nil
}

// formTemplateBody returns the template in a form, with line feeds as line ends.
func formTemplateBody(form url.Values) string {
	return strings.ReplaceAll(strings.ReplaceAll(form.Get("body"), "\r\n", "\n"), "\r", "\n")
}

var bucketInText = regexp.MustCompile(`[0-9a-f]{40}`)

// previewTemplate adds the bug of the named problem, or of the most common one. It returns NotFound
// if there is none.
func (s *Pages) previewTemplate(r *http.Request, page *view.TemplatesPage) error {
	b, err := s.sampleBucket(r, page)
	if err != nil {
		return err
	}
	draft, where, err := s.Filer.ByTemplate(r.Context(), b, page.Editing.Body, page.Editing.Tracker)
	if err != nil {
		return err
	}
	page.Preview = &bugsview.ReviewPreview{Draft: draft, Target: where}
	return nil
}

// sampleBucket returns the problem whose address or id a person typed, else the most common problem
// of the package in the past year.
func (s *Pages) sampleBucket(r *http.Request, page *view.TemplatesPage) (crash.Bucket, error) {
	if page.Bucket != "" {
		id, err := crash.ParseBucketID(bucketInText.FindString(page.Bucket))
		if err != nil {
			return crash.Bucket{}, err
		}
		return s.Store.Bucket(r.Context(), id)
	}
	day := s.web.Now().UTC()
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return crash.Bucket{}, err
	}
	year := index.Filter{Since: index.DayOf(day.AddDate(-1, 0, 0)), Until: index.DayOf(day), Package: page.Editing.Package}
	list := b.List(year, nil, nil, 1)
	if len(list.Rows) == 0 {
		return crash.Bucket{}, crash.Errorf(crash.NotFound, "no_problem", "%s", "This package has no problem to preview "+
			"the template with. Enter the address of a problem.")
	}
	return s.Store.Bucket(r.Context(), list.Rows[0].ID)
}

func (s *Pages) sendTemplates(w http.ResponseWriter, r *http.Request, status int, page view.TemplatesPage) error {
	page.Shell = s.web.BareShell(r, "Bug templates")
	if web.WantsPart(r) {
		return s.web.Page(w, r, status, view.TemplatePart(page))
	}
	page.Shell = s.web.Shell(r, "Bug templates")
	return s.web.Page(w, r, status, view.Templates(page))
}

// validPattern is a name of a source package, in which "*" stands for any characters.
var validPattern = regexp.MustCompile(`^[a-z0-9*][a-z0-9+.*-]{0,127}$`)

// ChangeUpdates adds, saves, moves or deletes a row.
func (s *Pages) ChangeUpdates(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return web.ErrBadForm.Because(err)
	}
	row, problem := policyIn(r.PostForm)
	row.Person = web.CurrentUser(r).Name
	do, message := r.PostForm.Get("do"), "Saved."
	refuse := func(problem string) error {
		updates := bugsview.UpdatesPage{Problem: problem, Pattern: row.Pattern}
		if do == "add" {
			updates.Pattern, updates.Adding = "", row
		}
		return s.sendTracker(w, r, http.StatusUnprocessableEntity, view.TrackerPage{Updates: updates})
	}
	var err error
	switch do {
	case "add", "save":
		policies, failed := s.Store.UpdatePolicies(r.Context())
		if failed != nil {
			return failed
		}
		known := slices.ContainsFunc(policies, func(k crash.UpdatePolicy) bool { return k.Pattern == row.Pattern })
		if problem == "" && do == "add" && known {
			problem = "There is already a row for this name."
		}
		if problem != "" {
			return refuse(problem)
		}
		err = s.Bugs.SaveUpdatePolicy(r.Context(), row)
	case "raise":
		message, err = "Moved up.", s.Bugs.RaiseUpdatePolicy(r.Context(), row.Pattern, row.Person)
	case "drop":
		message, err = "Deleted.", s.Bugs.DropUpdatePolicy(r.Context(), row.Pattern, row.Person)
	default:
		return crash.Errorf(crash.Invalid, "unknown_action", `The actions are "add", "save", "raise" and "drop".`)
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathTracker+"#updates", message)
}

func policyIn(form url.Values) (row crash.UpdatePolicy, problem string) {
	row = crash.UpdatePolicy{Pattern: strings.TrimSpace(form.Get("pattern")), Again: form.Get("again") == "on",
		Quiet: form.Get("quiet") == "on", Section: form.Get("section") == "on"}
	weeks, err := strconv.Atoi(strings.TrimSpace(form.Get("weeks")))
	if row.QuietWeeks = weeks; err != nil || weeks < 1 || weeks > crash.MaxQuietWeeks {
		row.QuietWeeks, problem = crash.DefaultQuietWeeks, "The number of weeks must be between 1 and "+
			strconv.Itoa(crash.MaxQuietWeeks)+"."
	}
	if !validPattern.MatchString(row.Pattern) {
		problem = "Use the name of a source package: small letters, digits and + . -, with * for any characters."
	}
	return row, problem
}

// waitingUpdates counts the bugs that would get an update if it were on for every package, and that
// get none by the policies.
func (s *Pages) waitingUpdates(
	r *http.Request, policies crash.UpdatePolicies,
) (waiting bugsview.WaitingUpdates, err error) {
	regressions, err := s.Bugs.UncommentedRegressions(r.Context())
	if err != nil {
		return waiting, err
	}
	again := map[int64]bool{}
	for _, b := range regressions {
		if !policies.For(b.SourcePackage).Again {
			again[b.Bug.Counts()] = true
		}
	}
	named, err := s.Bugs.NamedBugs(r.Context())
	if err != nil {
		return waiting, err
	}
	for _, b := range named {
		if !policies.For(b.Bucket.SourcePackage).Again {
			again[b.Number] = true
		}
	}
	waiting.Again = len(again)
	quiet, err := s.Bugs.QuietBugs(r.Context())
	if err != nil {
		return waiting, err
	}
	today := crash.Midnight(s.web.Now())
	for _, q := range quiet {
		row := policies.For(q.SourcePackage)
		if last := q.LastSupported(today); !row.Quiet && !last.IsZero() && !q.Commented.After(last) &&
			today.Sub(crash.Midnight(last)) >= time.Duration(row.QuietWeeks)*7*24*time.Hour {
			waiting.Quiet++
		}
	}
	due, err := s.Bugs.DueSections(r.Context())
	for _, d := range due {
		if !policies.For(d.SourcePackage).Section {
			waiting.Section++
		}
	}
	return waiting, err
}
