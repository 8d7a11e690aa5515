// Package triage changes the manual status of problems: muted, won't fix, fixed in a version. It
// serves the page of a problem, the rows of lists, and the API.
package triage

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/db/problems"
	"mishap/handlers/web"
	"mishap/views"
)

// Pages changes the manual status of problems.
type Pages struct {
	*web.Panel
	*web.Kit
}

// New returns the handlers of this package.
func New(panel *web.Panel) *Pages { return &Pages{panel, panel.Kit} }

// ShowForm returns the handler of the form that changes the manual status of one problem.
func (s *Pages) ShowForm(kind crash.TriageKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		b, err := s.BucketInPath(r)
		if err != nil {
			return err
		}
		p := views.TriageForm{Kind: kind, Buckets: []crash.Bucket{b}, InDialog: web.WantsPart(r)}
		return s.showForm(w, r, p, http.StatusOK)
	}
}

// SetOne returns the handler that changes the manual status of one problem.
func (s *Pages) SetOne(kind crash.TriageKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		b, err := s.BucketInPath(r)
		if err != nil {
			return err
		}
		t, err := s.read(r, kind)
		t.Bucket = b.ID
		if err == nil {
			t, err = s.Problems.Set(r.Context(), t)
		}
		if isRefusal(err) {
			p := views.TriageForm{
				Kind: kind, Buckets: []crash.Bucket{b}, Values: typed(r.PostForm),
				InDialog: r.PostFormValue("dialog") != "", Problem: web.AnswerTo(r, err).Message,
			}
			if web.CodeOf(err) == problems.ErrSeen {
				p.Confirm = fixesText(t.Fixes)
			}
			return s.showForm(w, r, p, http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
		return s.answer(w, r, []crash.BucketID{b.ID}, b.ID.Path(), views.Flash{
			Kind: views.FlashDone, Text: t.Text(false), Undo: views.UndoTriage([]crash.Triage{t}),
		})
	}
}

// isRefusal reports whether the form should be shown again with the error.
func isRefusal(err error) bool {
	kind := crash.KindOf(err)
	return kind == crash.Invalid || kind == crash.Conflict
}

// read reads an entry from a form.
func (s *Pages) read(r *http.Request, kind crash.TriageKind) (crash.Triage, error) {
	t := crash.Triage{Kind: kind, Person: web.CurrentUser(r).Name, Reason: r.PostFormValue("reason")}
	t.Replaces, _ = strconv.ParseInt(r.PostFormValue("replaces"), 10, 64) // 0: none
	var err error
	switch kind {
	case crash.TriageMuted:
		t.Until, err = readMute(r.PostForm, s.Now())
	case crash.TriageFixed:
		t.Fixes = readFixes(r.PostForm)
		t.Confirmed = r.PostFormValue("confirm") == fixesText(t.Fixes)
	case crash.TriageWontFix:
	}
	return t, err
}

// fixesText returns a text that differs for different versions with the fix. The form carries it, so that
// a person confirms only versions of which the form has said that they were seen.
func fixesText(fixes []crash.FixedIn) string {
	texts := make([]string, len(fixes))
	for i, f := range fixes {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

// showForm sends the form as a page or as a part.
func (s *Pages) showForm(w http.ResponseWriter, r *http.Request, p views.TriageForm, status int) error {
	if !p.Chosen {
		b := p.Buckets[0]
		manual, _, err := s.Problems.Triage(r.Context(), b.ID)
		if err != nil {
			return err
		}
		if p.Kind == crash.TriageMuted {
			p.Replaces = manual.Muted
		}
		p.Regressed = b.Status.Word == crash.StateRegression || manual.SeenAgain()
		p.Releases = releasesOf(b)
		if p.Kind == crash.TriageFixed {
			p.Values.Fixes = fixRows(b, manual, p.Values.Fixes)
		}
		p.InList = p.InDialog && !web.OnProblemPage(r, b.ID)
	} else if p.Kind == crash.TriageFixed {
		p.Values.Fixes = chosenFixRows(p.Buckets, p.Values.Fixes)
	}
	if web.WantsPart(r) {
		p.Shell = s.BareShell(r, "")
		return s.Page(w, r, status, views.TriageFormPart(p))
	}
	p.InDialog = false
	p.Shell = s.Shell(r, p.Heading())
	return s.Page(w, r, status, views.TriagePage(p))
}

// releasesOf returns the releases in which a problem was seen, newest first.
func releasesOf(b crash.Bucket) []crash.Release {
	var releases []crash.Release
	for _, in := range b.Status.Releases {
		if in.Release != "" && in.Reports > 0 {
			releases = append(releases, in.Release)
		}
	}
	return releases
}

// fixRows returns the fields for versions with the fix: for each release in which the problem was
// seen or is marked as fixed, and for every release.
func fixRows(b crash.Bucket, manual crash.ManualStatus, values []views.FixRow) []views.FixRow {
	var rows []views.FixRow
	add := func(release crash.Release, version, hint string) {
		i := slices.IndexFunc(rows, func(row views.FixRow) bool { return row.Release == release })
		if i < 0 {
			rows = append(rows, views.FixRow{FixedIn: crash.FixedIn{Release: release}})
			i = len(rows) - 1
		}
		rows[i].Version, rows[i].Hint = cmp.Or(version, rows[i].Version), cmp.Or(rows[i].Hint, hint)
	}
	for _, in := range b.Status.Releases {
		if in.Release != "" {
			add(in.Release, "", in.Newer)
		}
	}
	for _, f := range manual.Fixes {
		add(f.Release, f.Version, "")
	}
	add("", "", "")
	for _, value := range values {
		add(value.Release, value.Version, "")
	}
	return rows
}

// chosenFixRows returns the fields for versions with the fix of several problems: for each release in
// which one of them was seen, newest first, and for every release.
func chosenFixRows(buckets []crash.Bucket, values []views.FixRow) []views.FixRow {
	versions := map[crash.Release]string{"": ""}
	for _, b := range buckets {
		for _, release := range releasesOf(b) {
			versions[release] = ""
		}
	}
	for _, value := range values {
		versions[value.Release] = value.Version
	}
	var rows []views.FixRow
	for _, release := range slices.SortedFunc(maps.Keys(versions), func(a, b crash.Release) int { return b.Compare(a) }) {
		rows = append(rows, views.FixRow{FixedIn: crash.FixedIn{Release: release, Version: versions[release]}})
	}
	return rows
}

// ShowChosen returns the handler of the page that changes the manual status of selected problems.
func (s *Pages) ShowChosen(kind crash.TriageKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.chosen(r, kind, r.URL.Query().Get("problems"))
		if err != nil {
			return err
		}
		p.Back = "/"
		if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host && from.Path != r.URL.Path {
			p.Back = web.LocalPath(from.RequestURI())
		}
		return s.showForm(w, r, p, http.StatusOK)
	}
}

func (s *Pages) chosen(r *http.Request, kind crash.TriageKind, problems string) (views.TriageForm, error) {
	ids, err := web.ChosenIDs(strings.Split(problems, "."))
	if err != nil {
		return views.TriageForm{}, err
	}
	buckets, err := s.Buckets(r, ids)
	return views.TriageForm{Kind: kind, Buckets: buckets, Chosen: true}, err
}

// SetChosen returns the handler that changes the manual status of selected problems. It leaves
// problems that are muted with other conditions as they are, and says so.
func (s *Pages) SetChosen(kind crash.TriageKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.chosen(r, kind, r.PostFormValue("problems"))
		if err != nil {
			return err
		}
		allowed, refused, err := web.Triageable(r, p.Buckets)
		if err != nil {
			return err
		}
		t, err := s.read(r, kind)
		if err == nil && kind == crash.TriageFixed && !t.Confirmed {
			if err = s.warn(r, allowed, t.Fixes); web.CodeOf(err) == problems.ErrSeen {
				p.Confirm = fixesText(t.Fixes)
			}
			t.Confirmed = true // the loop below need not ask again
		}
		var done []crash.Triage
		var ids []crash.BucketID
		started, skipped := s.Now(), int64(0)
		for _, b := range allowed {
			if err != nil {
				break
			}
			var one crash.Triage
			t.Bucket = b.ID
			one, err = s.Problems.Set(r.Context(), t)
			switch {
			case err == nil:
				ids = append(ids, b.ID)
				if !one.At.Before(started) { // else it stood already: Undo must leave it
					done = append(done, one)
				}
			case isRefusal(err) && len(allowed) > 1 && refusedForProblem(err):
				skipped, err = skipped+1, nil
			}
		}
		p.Back = web.LocalPath(cmp.Or(r.PostFormValue("back"), "/"))
		if isRefusal(err) && !web.WantsPart(r) {
			p.Values, p.Problem = typed(r.PostForm), web.AnswerTo(r, err).Message
			return s.showForm(w, r, p, http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
		message := views.Flash{Kind: views.FlashDone,
			Text: web.WithRefused(triageDoneFor(int64(len(ids)), skipped, t), refused),
			Undo: views.UndoTriage(done)}
		return s.answer(w, r, ids, p.Back, message)
	}
}

// warn returns Conflict if some of the problems have been seen in versions with the fix.
func (s *Pages) warn(r *http.Request, buckets []crash.Bucket, fixes []crash.FixedIn) error {
	var rows, reports int64
	for _, b := range buckets {
		n, err := s.Problems.ReportsIn(r.Context(), b.ID, fixes)
		if err != nil {
			return err
		}
		if reports += n; n > 0 {
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	return crash.Errorf(crash.Conflict, problems.ErrSeen, "%s", strconv.FormatInt(rows, 10)+" of "+
		crash.Counted(int64(len(buckets)), "problem", "problems")+" "+crash.Plural(rows, "has", "have")+" been seen "+
		"already in these versions or later ones, in "+crash.Counted(reports, "report", "reports")+". If the fix is in a "+
		"later version, name that one; else confirm this one.")
}

// refusedForProblem reports whether an entry was refused because of one problem, not because of the
// entry.
func refusedForProblem(err error) bool {
	return crash.KindOf(err) == crash.Conflict || web.CodeOf(err) == "version_already" ||
		web.CodeOf(err) == "regression_already"
}

// Undo undoes the entries in the form.
func (s *Pages) Undo(w http.ResponseWriter, r *http.Request) error {
	var ids []crash.BucketID
	parts := strings.Split(r.PostFormValue("entries"), ".")
	message := views.Flash{Kind: views.FlashDone, Text: "Undone"}
	for _, part := range parts[:min(len(parts), web.ListSize)] {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return crash.Errorf(crash.NotFound, "unknown_triage_entry", "There is no such entry in the history.")
		}
		if err := s.checkEntry(r, id); err != nil {
			return err
		}
		t, err := s.Problems.Undo(r.Context(), id, web.CurrentUser(r).Name)
		if crash.KindOf(err) == crash.Conflict {
			message = views.Flash{Kind: views.FlashError, Text: web.AnswerTo(r, err).Message}
			err = nil
		}
		if err != nil {
			return err
		}
		ids = append(ids, t.Bucket)
	}
	return s.answer(w, r, ids, web.ReturnPath(r), message)
}

// checkEntry returns Forbidden if the person may not decide about the problem of an entry.
func (s *Pages) checkEntry(r *http.Request, entry int64) error {
	if web.CurrentUser(r).Role.Allows(crash.RoleTriager) {
		return nil
	}
	id, err := s.Problems.BucketOf(r.Context(), entry)
	if err != nil {
		return err
	}
	b, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return web.CheckTriage(r, b.SourcePackage)
}

// answer shows the new manual status in place, or redirects to a page, with a message.
func (s *Pages) answer(w http.ResponseWriter, r *http.Request, ids []crash.BucketID, path string,
	message views.Flash,
) error {
	if !web.WantsPart(r) {
		if err := s.FlashUndo(r, message); err != nil {
			return err
		}
		return web.Redirect(w, r, path)
	}
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	if _, err := s.Store.IndexWithTriage(r.Context()); err != nil { // the cells below show its state
		return err
	}
	var parts []templ.Component
	for _, id := range ids {
		b, err := s.Bucket(r.Context(), id)
		if err != nil {
			return err
		}
		if web.OnProblemPage(r, b.ID) {
			v, err := s.StatusView(r, b)
			if err != nil {
				return err
			}
			return s.Page(w, r, http.StatusOK, templ.Join(views.StatusPart(v), views.FlashNow(message)))
		}
		parts = append(parts, views.LinkedInList(s.BugPart(r, s.SeenBucket(r, b))))
	}
	return s.Page(w, r, http.StatusOK, templ.Join(append(parts, views.FlashNow(message))...))
}

// triageDoneFor confirms entries of several problems, and says how many had another mute.
func triageDoneFor(n, skipped int64, t crash.Triage) string {
	out := crash.Counted(n, "problem", "problems") + ": " + t.Text(false) + "."
	if skipped > 0 {
		out += " " + crash.Counted(skipped, "problem", "problems") + " had been muted with other conditions, and " +
			crash.Plural(skipped, "was", "were") + " left as " + crash.Plural(skipped, "it was.", "they were.")
	}
	return out
}
