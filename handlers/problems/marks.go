package problems

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db/problems"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// readMute reads the conditions of a mute: those of the pressed button, else those of the fields.
func readMute(form url.Values, now time.Time) (u crash.MuteUntil, err error) {
	today := crash.Midnight(now)
	week := crash.MuteUntil{Date: today.AddDate(0, 0, 7)}
	switch form.Get("preset") {
	case bugsview.PresetWeek:
		return week, nil
	case bugsview.PresetMonth:
		return crash.MuteUntil{Date: today.AddDate(0, 1, 0)}, nil
	case bugsview.PresetNewer:
		return crash.MuteUntil{Newer: true}, nil
	case bugsview.PresetRegression:
		return crash.MuteUntil{Regression: true}, nil
	case bugsview.PresetForever:
		return crash.MuteUntil{}, nil
	}
	v := typed(form)
	if v.Date != "" {
		if u.Date, err = time.Parse(time.DateOnly, v.Date); err != nil {
			return u, crash.Errorf(crash.Invalid, "bad_date", "%s", "“"+crash.Shorten(v.Date, 40)+"” is not a day like "+
				"2026-12-01.")
		}
	}
	var days int64
	for _, field := range []struct {
		label, value string
		target       *int64
	}{{"More reports", v.Reports, &u.Reports}, {"Machines that report it", v.Machines, &u.Machines},
		{"Within how many days", v.Days, &days}} {
		if field.value == "" {
			continue
		}
		if *field.target, err = strconv.ParseInt(field.value, 10, 32); err != nil {
			return u, crash.Errorf(crash.Invalid, "bad_number", "%s", field.label+": “"+crash.Shorten(field.value, 40)+
				"” is not a number.")
		}
	}
	u.Days, u.Version, u.Release = int(days), v.Version, crash.Release(v.Release)
	u.Newer, u.Regression = v.Newer, v.Regression
	if u == (crash.MuteUntil{}) {
		if form.Get("preset") == bugsview.PresetEnter {
			return week, nil
		}
		return u, crash.Errorf(crash.Invalid, "no_condition", "%s",
			"Enter at least one condition, or choose one of the buttons.")
	}
	return u, nil
}

func typed(form url.Values) view.TriageValues {
	get := func(name string) string { return crash.Truncate(strings.TrimSpace(form.Get(name)), crash.MaxReason+1) }
	v := view.TriageValues{
		Reason: get("reason"), Date: get("date"), Reports: get("reports"), Machines: get("machines"), Days: get("days"),
		Version: get("version"), Release: get("release"), Newer: get("newer") != "", Regression: get("regression") != "",
	}
	for _, f := range readFixes(form) {
		v.Fixes = append(v.Fixes, view.FixRow{FixedIn: f})
	}
	return v
}

// readFixes reads the versions with the fix. It ignores releases without a version.
func readFixes(form url.Values) []crash.FixedIn {
	releases, versions := form["fix-release"], form["fix-version"]
	var fixes []crash.FixedIn
	for i, version := range versions {
		if version = strings.TrimSpace(version); version != "" && i < len(releases) {
			fixes = append(fixes, crash.FixedIn{Release: crash.Release(releases[i]), Version: version})
		}
	}
	return fixes
}

// ShowForm returns the handler of the form that changes the manual status of problems.
func (s *Decisions) ShowForm(kind crash.MarkKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.chosen(r, kind)
		if err != nil {
			return err
		}
		return s.showForm(w, r, p, http.StatusOK)
	}
}

func (s *Decisions) chosen(r *http.Request, kind crash.MarkKind) (view.TriageForm, error) {
	_, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return view.TriageForm{}, err
	}
	return view.TriageForm{Kind: kind, Buckets: buckets, Back: panel.BackTo(r, buckets)}, nil
}

// Restrict returns the handler that sets or lifts an embargo or a hold. A person without the private right for
// the package may embargo a problem, but does not see it afterwards.
func (s *Decisions) Restrict(kind crash.MarkKind) panel.ProblemHandler {
	return func(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
		t, err := s.read(r, kind)
		t.Bucket = b.ID
		message, path := layout.Flash{}, ""
		if err == nil {
			message, path, err = s.changeMark(r, t, b)
		}
		if isRefusal(err) {
			p := view.TriageForm{Kind: kind, Buckets: []crash.Bucket{b}, Back: b.ID.Path(), Values: typed(r.PostForm),
				Problem: web.AnswerTo(r, err).Message}
			return s.showForm(w, r, p, http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
		message.Kind = layout.FlashDone
		return s.web.RedirectWith(w, r, path, message)
	}
}

// isRefusal reports whether the form should be shown again with the error.
func isRefusal(err error) bool {
	kind := crash.KindOf(err)
	return kind == crash.Invalid || kind == crash.Conflict
}

// asksAgain reports whether the form of a decision should be shown again with the error. Buttons that decide without a
// form show the error as a message.
func asksAgain(r *http.Request, err error) bool {
	return isRefusal(err) && (r.PostFormValue("dialog") != "" || !web.WantsPart(r))
}

func (s *Decisions) read(r *http.Request, kind crash.MarkKind) (crash.Mark, error) {
	t := crash.Mark{Kind: kind, Person: web.CurrentUser(r).Name, Reason: r.PostFormValue("reason")}
	t.Replaces, _ = strconv.ParseInt(r.PostFormValue("replaces"), 10, 64) // 0: none
	var err error
	switch kind {
	case crash.MarkMuted:
		t.Until, err = readMute(r.PostForm, s.web.Now())
	case crash.MarkFixed:
		t.Fixes = readFixes(r.PostForm)
		t.Confirmed = r.PostFormValue("confirm") == fixesText(t.Fixes)
	case crash.MarkWontFix, crash.MarkEmbargo, crash.MarkHold:
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

func (s *Decisions) showForm(w http.ResponseWriter, r *http.Request, p view.TriageForm, status int) error {
	if len(p.Buckets) == 1 {
		b := p.Buckets[0]
		manual, _, err := s.Problems.Triage(r.Context(), b.ID)
		if err != nil {
			return err
		}
		switch p.Kind {
		case crash.MarkMuted:
			p.Replaces = manual.Muted
		case crash.MarkFixed:
			p.Values.Fixes = fixRows(b, manual, p.Values.Fixes)
		case crash.MarkEmbargo:
			p.Replaces, p.Tracker = manual.Embargo, s.web.Config.TrackerName
			p.Blind = !web.CurrentUser(r).Embargoed.Include(b.SourcePackage)
		case crash.MarkHold:
			p.Replaces = manual.Hold
		case crash.MarkWontFix:
		}
		p.Regressed = b.Status.Word == crash.StateRegression || manual.SeenAgain()
		p.Releases = releasesOf(b)
	} else if p.Kind == crash.MarkFixed {
		p.Values.Fixes = chosenFixRows(p.Buckets, p.Values.Fixes)
	}
	p.Shell = s.web.Shell(r, p.Heading())
	return s.web.Page(w, r, status, view.TriagePage(p))
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
func fixRows(b crash.Bucket, manual crash.ManualStatus, values []view.FixRow) []view.FixRow {
	var rows []view.FixRow
	add := func(release crash.Release, version, hint string) {
		i := slices.IndexFunc(rows, func(row view.FixRow) bool { return row.Release == release })
		if i < 0 {
			rows = append(rows, view.FixRow{FixedIn: crash.FixedIn{Release: release}})
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
func chosenFixRows(buckets []crash.Bucket, values []view.FixRow) []view.FixRow {
	versions := map[crash.Release]string{"": ""}
	for _, b := range buckets {
		for _, release := range releasesOf(b) {
			versions[release] = ""
		}
	}
	for _, value := range values {
		versions[value.Release] = value.Version
	}
	var rows []view.FixRow
	for _, release := range slices.SortedFunc(maps.Keys(versions), func(a, b crash.Release) int { return b.Compare(a) }) {
		rows = append(rows, view.FixRow{FixedIn: crash.FixedIn{Release: release, Version: versions[release]}})
	}
	return rows
}

// Set returns the handler that changes the manual status of problems. Of several, it leaves those that are muted
// with other conditions as they are, and says so.
func (s *Decisions) Set(kind crash.MarkKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.chosen(r, kind)
		if err != nil {
			return err
		}
		allowed, refused, err := web.Triageable(r, p.Buckets)
		if err != nil {
			return err
		}
		t, err := s.read(r, kind)
		if err == nil && kind == crash.MarkFixed && !t.Confirmed && len(allowed) > 1 {
			err = s.warn(r, allowed, t.Fixes)
			t.Confirmed = true // the loop below need not ask again
		}
		var done []crash.Mark
		var one crash.Mark
		started, set, skipped := s.web.Now(), int64(0), int64(0)
		for _, b := range allowed {
			if err != nil {
				break
			}
			t.Bucket = b.ID
			one, err = s.Problems.Set(r.Context(), t)
			switch {
			case err == nil:
				set++
				if !one.At.Before(started) { // else it stood already: Undo must leave it
					done = append(done, one)
				}
			case isRefusal(err) && len(allowed) > 1 && refusedForProblem(err):
				skipped, err = skipped+1, nil
			}
		}
		if asksAgain(r, err) {
			if panel.CodeOf(err) == problems.ErrSeen {
				p.Confirm = fixesText(t.Fixes)
			}
			p.Values, p.Problem = typed(r.PostForm), web.AnswerTo(r, err).Message
			return s.showForm(w, r, p, http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
		text := one.Text(false)
		if len(p.Buckets) > 1 {
			text = web.WithRefused(triageDoneFor(set, skipped, t), refused)
		}
		return s.web.Decided(w, r, p.Back, layout.Flash{Kind: layout.FlashDone, Text: text, Undo: view.UndoTriage(done)})
	}
}

// warn returns Conflict if some of the problems have been seen in versions with the fix.
func (s *Decisions) warn(r *http.Request, buckets []crash.Bucket, fixes []crash.FixedIn) error {
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
	return crash.KindOf(err) == crash.Conflict || panel.CodeOf(err) == "version_already" ||
		panel.CodeOf(err) == "regression_already"
}

// Undo undoes the entries in the form.
func (s *Decisions) Undo(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(r.PostFormValue("entries"), ".")
	message := layout.Flash{Kind: layout.FlashDone, Text: "Undone"}
	for _, part := range parts[:min(len(parts), panel.MaxChosen)] {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return crash.Errorf(crash.NotFound, "unknown_triage_entry", "There is no such entry in the history.")
		}
		if err := s.checkEntry(r, id); err != nil {
			return err
		}
		_, err = s.Problems.Undo(r.Context(), id, web.CurrentUser(r).Name)
		if crash.KindOf(err) == crash.Conflict {
			message = layout.Flash{Kind: layout.FlashError, Text: web.AnswerTo(r, err).Message}
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return s.web.Decided(w, r, web.ReturnPath(r), message)
}

// checkEntry returns Forbidden if the person may not decide about the problem of an entry.
func (s *Decisions) checkEntry(r *http.Request, entry int64) error {
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

// triageDoneFor confirms entries of several problems, and says how many had another mute.
func triageDoneFor(n, skipped int64, t crash.Mark) string {
	out := crash.Counted(n, "problem", "problems") + ": " + t.Text(false) + "."
	if skipped > 0 {
		out += " " + crash.Counted(skipped, "problem", "problems") + " had been muted with other conditions, and " +
			crash.Plural(skipped, "was", "were") + " left as " + crash.Plural(skipped, "it was.", "they were.")
	}
	return out
}

// changeMark sets or lifts an embargo or a hold, and returns the message about it and the page to go to.
func (s *Decisions) changeMark(r *http.Request, t crash.Mark, b crash.Bucket) (layout.Flash, string, error) {
	path := b.ID.Path()
	switch r.PostFormValue("do") {
	case "lift":
		text := "The hold is lifted. Expired data will be removed within a day."
		if t.Kind == crash.MarkEmbargo {
			text = "The embargo is lifted: everyone sees the problem again. Its bugs have not changed."
		}
		return layout.Flash{Text: text, Undo: view.UndoMark(t.Kind, b.ID, "set")}, path,
			s.Problems.Lift(r.Context(), b.ID, t.Kind, t.Person)
	case "set":
		_, err := s.Problems.Set(r.Context(), t)
		switch {
		case t.Kind == crash.MarkHold:
			return layout.Flash{Text: "The problem is held: its data does not expire.",
				Undo: view.UndoMark(t.Kind, b.ID, "lift")}, path, err
		case !web.CurrentUser(r).Embargoed.Include(b.SourcePackage):
			return layout.Flash{Text: "The problem is embargoed. You no longer see it, because you lack the private " +
				"right for its package."}, "/", err
		}
		return layout.Flash{Text: "The problem is embargoed.", Undo: view.UndoMark(t.Kind, b.ID, "lift")}, path, err
	}
	return layout.Flash{}, path, crash.Errorf(crash.Invalid, "no_action",
		"Choose whether to %s the problem or to lift its %[1]s.", t.Kind)
}

// shownEmbargoes is the largest number of embargoes that the page of all shows.
const shownEmbargoes = 500

// ShowEmbargoes shows the embargoed problems that the user may see, the oldest embargo first.
func (s *Decisions) ShowEmbargoes(w http.ResponseWriter, r *http.Request) error {
	embargoes, err := s.Problems.Restricted(r.Context(), crash.MarkEmbargo, shownEmbargoes)
	if err != nil {
		return err
	}
	p := view.EmbargoedPage{Shell: s.web.Shell(r, "Embargoed problems")}
	for _, e := range embargoes {
		b, err := s.Store.Bucket(r.Context(), e.Bucket)
		if crash.KindOf(err) == crash.NotFound {
			continue // its embargo or the person's right has just changed
		}
		if err != nil {
			return err
		}
		p.Problems = append(p.Problems, view.MarkedProblem{Mark: e, Problem: b})
	}
	return s.web.Page(w, r, http.StatusOK, view.Embargoed(p))
}
