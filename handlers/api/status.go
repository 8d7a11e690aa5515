package api

import (
	"context"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
)

// SetStatus is the name of the resource that changes the manual status of a problem.
const SetStatus = "set-problem-status"

func (a *answers) statusResources() []resource {
	return []resource{
		{
			name: "problem-status", method: http.MethodGet, access: public,
			summary: "The derived and the manual status of a problem.",
			doc: "The manual status stands beside the derived one. Persons, reasons and entries are empty for " +
				"callers who may not read reports.",
			key: "Signature of the problem, or its SHA-1.", example: "%2Fusr%2Fbin%2Ftidewatch:11:parse:load:main",
			object: problemStatus{}, detail: a.problemStatus,
		},
		{
			name: SetStatus, method: http.MethodPost, access: triager, external: true,
			summary: "Changes the manual status of a problem.",
			doc: "200: the answer is that of problem-status. The same question twice changes nothing. 409: the problem is " +
				"muted with other conditions, and replaces does not name that mute; the entry was undone already; or " +
				"lift-embargo found no embargo. Callers without the private right for the package may embargo a problem, and " +
				"get 404 from then on. A session must send the CSRF token of the cookie csrftoken in the header X-CSRFToken; " +
				"an API token with the scope triage needs none.",
			body: statusQuestion{}, object: problemStatus{},
			outcomes: map[string]string{"200": "The status after the change."}, refused: []string{"409"},
		},
	}
}

type problemStatus struct {
	Embargo   *embargo      `json:"embargo" doc:"The embargo; null: the problem is not embargoed."`
	Entries   []statusEntry `json:"entries" doc:"All decisions, oldest first; empty for callers who may not read reports."`
	Fixed     []statusFix   `json:"fixed" doc:"Versions marked as fixed, by release, the newest release first."`
	Held      bool          `json:"held" doc:"Retention removes nothing of it; false if the caller may not read reports."`
	Manual    string        `json:"manual_state" doc:"muted, wontfix, fixed-by-hand and seen-again, separated by blanks."`
	Text      string        `json:"manual_status" doc:"The manual status in sentences."`
	Muted     *statusEntry  `json:"muted" doc:"The mute; null: the problem is not muted."`
	Returned  *statusEntry  `json:"returned" doc:"The mute that has ended within the last 30 days; null: none."`
	Signature string        `json:"signature" doc:"Redacted for callers who may not read reports."`
	State     string        `json:"state" doc:"The word of the derived status."`
	Status    string        `json:"status" doc:"The derived status in sentences."`
	Link      string        `json:"web_link" doc:"The page of the problem."`
	WontFix   *statusEntry  `json:"wontfix" doc:"The decision that nobody intends to fix it; null: there is none."`
}

type embargo struct {
	At     string `json:"at" doc:"When it began, UTC."`
	Person string `json:"person" doc:"Name of the account or rule; empty: mishap itself."`
	Reason string `json:"reason"`
}

type statusEntry struct {
	At       string       `json:"at" doc:"When it was decided, UTC."`
	Ended    string       `json:"ended" doc:"When a condition of the mute was met, or it was replaced; or empty."`
	EndedWhy string       `json:"ended_why" doc:"Which condition was met; empty: none, or replaced."`
	Fixes    []statusFix  `json:"fixes" doc:"Of a fix; else empty."`
	ID       int64        `json:"id" doc:"Number of the entry, for undo and replaces."`
	Kind     string       `json:"kind" doc:"muted, wontfix or fixed."`
	Person   string       `json:"person" doc:"Name of the account or rule."`
	Reason   string       `json:"reason"`
	Undone   string       `json:"undone" doc:"When it was undone, UTC; or empty."`
	UndoneBy string       `json:"undone_by"`
	Until    *statusUntil `json:"until" doc:"Of a mute; else null. Without a condition: until somebody unmutes it."`
}

type statusUntil struct {
	Date       string `json:"date" doc:"A UTC day such as 2026-12-01; or empty."`
	Days       int    `json:"days" doc:"Reports and machines within so many days; 0: in any time."`
	Machines   int64  `json:"machines" doc:"So many machines have reported it since; 0: no such condition."`
	Newer      bool   `json:"newer" doc:"It is seen in a version later than before, or in another release."`
	Regression bool   `json:"regression" doc:"It regresses."`
	Release    string `json:"release" doc:"Release of version; empty: any."`
	Reports    int64  `json:"reports" doc:"So many more reports have arrived; 0: no such condition."`
	Version    string `json:"version" doc:"It is seen in this version or later; or empty."`
}

type statusFix struct {
	Release      string `json:"release" doc:"Empty: every release."`
	SeenAgain    int64  `json:"seen_again" doc:"Reports from that version or later, since it was marked."`
	SeenAgainIn  string `json:"seen_again_release"`
	SeenAgainVer string `json:"seen_again_version" doc:"Highest version of these reports."`
	Version      string `json:"version"`
}

type statusQuestion struct {
	Confirm   bool           `json:"confirm,omitempty" doc:"With fixed: although it was seen in such a version already."`
	Fixes     []fixQuestion  `json:"fixes,omitempty" doc:"With fixed: the versions with the fix."`
	Forever   bool           `json:"forever,omitempty" doc:"With muted and without until: until somebody unmutes it."`
	Hold      *bool          `json:"hold,omitempty" doc:"Instead of kind: true holds the problem, false lifts the hold."`
	Kind      string         `json:"kind,omitempty" doc:"muted, wontfix, fixed, embargo or lift-embargo."`
	Reason    string         `json:"reason,omitempty" doc:"One line of at most 500 characters."`
	Replaces  int64          `json:"replaces,omitempty" doc:"With muted: number of the mute that this one replaces."`
	Signature string         `json:"signature" doc:"Signature of the problem, or its SHA-1."`
	Undo      int64          `json:"undo,omitempty" doc:"Instead of kind: number of the entry to undo."`
	Until     *untilQuestion `json:"until,omitempty" doc:"With muted: the first condition that is met ends the mute."`
}

type untilQuestion struct {
	Date       string `json:"date,omitempty"`
	Days       int    `json:"days,omitempty"`
	Machines   int64  `json:"machines,omitempty"`
	Newer      bool   `json:"newer,omitempty"`
	Regression bool   `json:"regression,omitempty"`
	Release    string `json:"release,omitempty"`
	Reports    int64  `json:"reports,omitempty"`
	Version    string `json:"version,omitempty"`
}

type fixQuestion struct {
	Release string `json:"release,omitempty" doc:"Empty: every release."`
	Version string `json:"version"`
}

const setStatusShape = `{"signature": "…", "kind": "muted", "until": {"date": "2026-12-01"}, "reason": "…"}`

func (a *answers) problemStatus(ctx context.Context, in input, key string) (any, error) {
	id, err := a.find(ctx, pair{value: key, raw: key})
	if err != nil {
		return nil, err
	}
	return a.statusOf(ctx, in, id)
}

// statusOf returns the status of a problem as the caller may see it.
func (a *answers) statusOf(ctx context.Context, in input, id crash.BucketID) (problemStatus, error) {
	b, err := a.store.Bucket(ctx, id)
	if err != nil {
		return problemStatus{}, err
	}
	if err := a.store.Judge(ctx, &b); err != nil {
		return problemStatus{}, err
	}
	manual, all, err := a.problems.Triage(ctx, b.ID)
	if err != nil {
		return problemStatus{}, err
	}
	b = visibleBucket(in, b)
	out := problemStatus{
		Signature: b.Signature, State: string(b.Status.Word), Status: b.Status.Text(), Link: a.problemLink(b.ID),
		Fixed: []statusFix{}, Entries: []statusEntry{},
	}
	if e := manual.Embargo; e != nil && in.mayRead() {
		out.Embargo = &embargo{At: e.At.UTC().Format(time.RFC3339), Person: e.Person, Reason: e.Reason}
	}
	if in.mayRead() {
		out.Held = manual.Hold != nil
		for _, t := range all {
			out.Entries = append(out.Entries, *newStatusEntry(&t))
		}
	} else {
		manual = privacy.RedactManual(manual)
	}
	out.Manual, out.Text = manual.Words(), manual.Text(in.mayRead())
	out.Muted, out.WontFix = newStatusEntry(manual.Muted), newStatusEntry(manual.WontFix)
	out.Returned = newStatusEntry(manual.Returned)
	for _, f := range manual.Fixes {
		out.Fixed = append(out.Fixed, statusFix{
			Release: string(f.Release), Version: f.Version, SeenAgain: f.Again, SeenAgainIn: string(f.AgainIn),
			SeenAgainVer: f.AgainAt,
		})
	}
	return out, nil
}

// newStatusEntry returns an entry for an answer, or nil for nil.
func newStatusEntry(t *crash.Mark) *statusEntry {
	if t == nil {
		return nil
	}
	at := func(when time.Time) string {
		if when.IsZero() {
			return ""
		}
		return when.UTC().Format(time.RFC3339)
	}
	e := &statusEntry{
		ID: t.ID, Kind: string(t.Kind), Person: t.Person, Reason: t.Reason, At: at(t.At), Undone: at(t.UndoneAt),
		UndoneBy: t.UndoneBy, Ended: at(t.EndedAt), EndedWhy: t.EndedWhy, Fixes: []statusFix{},
	}
	if t.Merged {
		e.EndedWhy = "It was merged into another problem."
	}
	for _, f := range t.Fixes {
		e.Fixes = append(e.Fixes, statusFix{Release: string(f.Release), Version: f.Version})
	}
	if u := t.Until; t.Kind == crash.MarkMuted {
		e.Until = &statusUntil{Days: u.Days, Machines: u.Machines, Newer: u.Newer, Regression: u.Regression,
			Release: string(u.Release), Reports: u.Reports, Version: u.Version}
		if !u.Date.IsZero() {
			e.Until.Date = u.Date.UTC().Format(time.DateOnly)
		}
	}
	return e
}

// SetStatus changes the manual status of a problem on behalf of a triager, whose rights the caller
// has checked.
func (a *API) SetStatus(w http.ResponseWriter, r *http.Request, caller Caller, person string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	var q statusQuestion
	if err := readQuestion(body, &q, setStatusShape); err != nil {
		return err
	}
	ctx := r.Context()
	id, err := a.from.find(ctx, pair{value: q.Signature, raw: q.Signature})
	if err != nil {
		return err
	}
	b, err := a.from.store.Bucket(ctx, id)
	if err != nil {
		return err
	}
	if err := caller.user().CheckTriage(b.SourcePackage); err != nil {
		return err
	}
	if err := a.from.setStatus(ctx, q, id, person); err != nil {
		return err
	}
	out, err := a.from.statusOf(ctx, input{caller: caller}, id)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusOK, out)
}

// restrict sets or lifts an embargo or a hold.
func (a *answers) restrict(ctx context.Context, kind crash.MarkKind, set bool, q statusQuestion, id crash.BucketID,
	person string,
) error {
	if !set {
		return a.problems.Lift(ctx, id, kind, person)
	}
	_, err := a.problems.Set(ctx, crash.Mark{Bucket: id, Kind: kind, Person: person, Reason: q.Reason})
	return err
}

func (a *answers) setStatus(ctx context.Context, q statusQuestion, id crash.BucketID, person string) error {
	if q.Hold != nil {
		if q.Kind != "" || q.Undo != 0 {
			return crash.Errorf(crash.Invalid, "hold_and_kind", "Send either hold, kind or undo.")
		}
		return a.restrict(ctx, crash.MarkHold, *q.Hold, q, id, person)
	}
	if q.Undo != 0 {
		if q.Kind != "" {
			return crash.Errorf(crash.Invalid, "undo_and_kind", "Send either undo or kind, not both.")
		}
		_, all, err := a.problems.Triage(ctx, id)
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.ID == q.Undo {
				_, err := a.problems.Undo(ctx, q.Undo, person)
				return err
			}
		}
		return crash.Errorf(crash.NotFound, "unknown_triage_entry", "The problem has no entry %d.", q.Undo)
	}
	switch q.Kind {
	case "embargo", "lift-embargo":
		return a.restrict(ctx, crash.MarkEmbargo, q.Kind == "embargo", q, id, person)
	case string(crash.MarkHold):
		return crash.Errorf(crash.Invalid, "unknown_triage", "To hold a problem, send hold instead of kind.")
	}
	t := crash.Mark{Bucket: id, Kind: crash.MarkKind(q.Kind), Reason: q.Reason, Person: person, Replaces: q.Replaces,
		Confirmed: q.Confirm}
	for _, f := range q.Fixes {
		t.Fixes = append(t.Fixes, crash.FixedIn{Release: crash.Release(f.Release), Version: f.Version})
	}
	if t.Kind != crash.MarkFixed && len(q.Fixes) > 0 {
		return crash.Errorf(crash.Invalid, "fixes_of_other", "Versions in fixes belong to the kind fixed.")
	}
	if t.Kind == crash.MarkMuted {
		var err error
		if t.Until, err = q.until(); err != nil {
			return err
		}
	}
	_, err := a.problems.Set(ctx, t)
	return err
}

// until returns the conditions of a mute.
func (q statusQuestion) until() (u crash.MuteUntil, err error) {
	if q.Until != nil {
		u = crash.MuteUntil{Reports: q.Until.Reports, Machines: q.Until.Machines, Days: q.Until.Days,
			Version: q.Until.Version, Release: crash.Release(q.Until.Release), Newer: q.Until.Newer,
			Regression: q.Until.Regression}
		if q.Until.Date != "" {
			if u.Date, err = time.Parse(time.DateOnly, q.Until.Date); err != nil {
				return u, crash.Errorf(crash.Invalid, "bad_date", "%.40q is not a day like 2026-12-01.", q.Until.Date)
			}
		}
	}
	if none := u == (crash.MuteUntil{}); none != q.Forever {
		return u, crash.Errorf(crash.Invalid, "no_condition",
			"Send at least one condition in until, or forever: true without any.")
	}
	return u, nil
}
