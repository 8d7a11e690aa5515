package problems_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/db/problems"
)

// assigned is a store with accounts and problems.
type assigned struct {
	*problems.Store
	*testing.T
	ids []crash.BucketID // two problems
}

func startAssigned(t *testing.T) assigned {
	t.Helper()
	s := dbtest.New(t)
	f := assigned{Store: problems.New(s), T: t}
	for _, name := range []string{"Anna", "bob"} {
		dbtest.AddUser(t, s, name, crash.RoleTriager, "correct horse battery")
	}
	f.ids = []crash.BucketID{f.save(crashtest.Process(1), crashtest.Set("DuplicateSignature", "one")),
		f.save(crashtest.Process(2), crashtest.Set("DuplicateSignature", "two:/home/wendeline/x"))}
	return f
}

// save stores a report and returns its problem.
func (f assigned) save(o ...crashtest.Option) crash.BucketID {
	f.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 366}, f.Store.Store)
	receipt, err := in.Accept(f.Context(), crash.Report{System: "m", Fields: crashtest.Native(o...).Fields()})
	if err != nil {
		f.Fatal(err)
	}
	dbtest.Counted(f.T, f.Store.Store)
	report, err := f.Report(f.Context(), receipt.ID)
	if err != nil {
		f.Fatal(err)
	}
	return *report.Bucket
}

func (f assigned) assign(id crash.BucketID, to, by string) crash.Assignment {
	f.Helper()
	a, err := f.Assign(f.Context(), crash.Assignment{Bucket: id, Assignee: to, By: by})
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// listed returns the assignee and the tags of a problem in the index.
func (f assigned) listed(id crash.BucketID) string {
	f.Helper()
	ix, err := f.IndexWithStates(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	p, ok := ix.Problem(id)
	if !ok {
		f.Fatalf("%s is not in the index", id)
	}
	return strings.TrimSpace(p.Assignee().Name + " " + strings.Join(p.Tags(), " "))
}

func (f assigned) wantListed(id crash.BucketID, want string) {
	f.Helper()
	if got := f.listed(id); got != want {
		f.Errorf("in the index: got %q, want %q", got, want)
	}
}

// value returns the only value of a query, as text.
func (f assigned) value(sql string, args ...any) string {
	f.Helper()
	var text string
	if err := f.Pool.QueryRow(f.Context(), sql, args...).Scan(&text); err != nil {
		f.Fatal(err)
	}
	return text
}

func TestAssign(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	id := f.ids[0]
	f.wantListed(id, "")
	before := dbtest.Must(f.Revision(t.Context()))(t)
	first := f.assign(id, "anna", "bob") // whatever the case
	if first.ID == 0 || first.Assignee != "Anna" {
		t.Errorf("got %+v, want Anna", first)
	}
	f.wantListed(id, "Anna")
	if after, err := f.Revision(t.Context()); err != nil || after == before {
		t.Errorf("revision: got %q again (%v), so pages would stay as they are", after, err)
	}
	if again := f.assign(id, "Anna", "bob"); again.ID != 0 {
		t.Errorf("again: got %+v, want no change", again)
	}
	second := f.assign(id, "~desktop-packages", "bob")
	f.wantListed(id, "~desktop-packages")

	if err := f.UndoAssignment(t.Context(), id, first.ID, "bob"); !errors.Is(err, crash.Conflict) {
		t.Errorf("undo an earlier assignment: got %v, want a conflict", err)
	}
	for i, want := range []error{nil, crash.Conflict} { // a second click
		if err := f.UndoAssignment(t.Context(), id, second.ID, "bob"); !errors.Is(err, want) {
			t.Errorf("undo %d: got %v, want %v", i, err, want)
		}
	}
	f.wantListed(id, "Anna")
	f.assign(id, "", "Anna")
	f.wantListed(id, "")

	history := dbtest.Must(f.Assignments(t.Context(), id, 10))(t)
	var got []string
	for _, a := range history {
		got = append(got, fmt.Sprintf("%s:%s:%t", a.By, a.Assignee, a.Stands()))
	}
	if want := []string{"Anna::true", "bob:~desktop-packages:false", "bob:Anna:true"}; !slices.Equal(got, want) {
		t.Errorf("history: got %q, want %q", got, want)
	}
	if got := f.value(`select string_agg(action, ' ' order by id) from audit_events where subject = $1`,
		id.String()); got != "problem.assign problem.assign problem.unassign problem.assign" {
		t.Errorf("audit: got %q", got)
	}
}

func TestAssignErrors(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	for name, tt := range map[string]struct {
		bucket   crash.BucketID
		assignee string
		want     error
	}{
		"unknown account": {f.ids[0], "nobody-here", crash.Invalid},
		"malformed":       {f.ids[0], "~A B", crash.Invalid},
		"unknown problem": {crash.BucketID{1}, "anna", crash.NotFound},
	} {
		if _, err := f.Assign(t.Context(), crash.Assignment{Bucket: tt.bucket, Assignee: tt.assignee,
			By: "bob"}); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	checktest.NoError(t, people.New(f.Store.Store).Disable(t.Context(), "", "anna"))
	if _, err := f.Assign(t.Context(), crash.Assignment{Bucket: f.ids[0], Assignee: "anna",
		By: "bob"}); !errors.Is(err, crash.Invalid) {
		t.Errorf("disabled account: got %v, want invalid", err)
	}
}

// TestAssignEvents checks who is told about an assignment, and that private data stays inside.
func TestAssignEvents(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	checktest.NoError(t, people.New(f.Store.Store).SetTrackerName(t.Context(), "", "bob", "bob-lp"))
	notices := func() string {
		t.Helper()
		return f.value(`select coalesce(string_agg(u.name || ' ' || e.edge, ', ' order by n.id), '')
			from notices as n join events as e on e.id = n.event_id join users as u on u.id = n.user_id`)
	}
	f.assign(f.ids[1], "bob", "bob")
	f.assign(f.ids[1], "~somebody", "bob")
	if got := notices(); got != "" {
		t.Errorf("by oneself, and to a stranger: got %s, want nothing", got)
	}
	f.assign(f.ids[1], "anna", "bob")
	f.assign(f.ids[1], "~bob-lp", "Anna")
	if got, want := notices(), "Anna assigned:3, bob assigned:4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := f.value(`select string_agg(title || text, ' ') from events`); strings.Contains(got, "wendeline") ||
		!strings.Contains(got, "bob assigned two:") {
		t.Errorf("events contain %q", got)
	}
	// A transaction that fails assigns nothing and tells nobody.
	failed := errors.New("failed")
	err := f.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := f.AssignIn(t.Context(), tx, crash.Assignment{Bucket: f.ids[0], Assignee: "anna", By: "rule"}); err != nil {
			return err
		}
		if err := f.TagIn(t.Context(), tx, f.ids[0], "sru", "rule"); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) || notices() != "Anna assigned:3, bob assigned:4" {
		t.Errorf("after a failure: %v, %s", err, notices())
	}
	f.wantListed(f.ids[0], "")
}

// TestAssigneeOfTheBug checks that the bug's assignee in the tracker counts.
func TestAssigneeOfTheBug(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	b := bugs.New(f.Store.Store)
	f.assign(f.ids[0], "anna", "bob")
	dbtest.Must(b.LinkBug(t.Context(), f.ids[0], crash.Bug{Number: 7, By: "bob"}))(t)
	f.wantListed(f.ids[0], "Anna")
	reading := crash.BugReading{Number: 7,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Assignee: "carla"}}}
	checktest.NoError(t, b.SaveBugReading(t.Context(), reading, "", time.Hour))
	f.wantListed(f.ids[0], "~carla")
	_, err := f.Assign(t.Context(), crash.Assignment{Bucket: f.ids[0], Assignee: "bob", By: "bob"})
	if !errors.Is(err, crash.Conflict) || !strings.Contains(err.Error(), "Bug 7 is assigned to carla") {
		t.Errorf("assign: got %v, want a conflict that names the bug", err)
	}
	reading.Tasks[0].Assignee = ""
	checktest.NoError(t, b.SaveBugReading(t.Context(), reading, "", time.Hour))
	f.wantListed(f.ids[0], "Anna")
}

func TestTags(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	tag := func(id crash.BucketID, tag string) bool {
		t.Helper()
		return dbtest.Must(f.Tag(t.Context(), id, tag, "bob"))(t)
	}
	if !tag(f.ids[0], "SRU") || tag(f.ids[0], "sru") || !tag(f.ids[0], "24.04") {
		t.Error("a tag is added once")
	}
	f.wantListed(f.ids[0], "24.04 sru")
	for i, want := range []bool{true, false} {
		if removed, err := f.Untag(t.Context(), f.ids[0], "sru", "Anna"); removed != want || err != nil {
			t.Errorf("remove %d: got %t, %v, want %t", i, removed, err, want)
		}
	}
	f.wantListed(f.ids[0], "24.04")
	for i := range crash.MaxTags - 1 {
		tag(f.ids[0], fmt.Sprint("t", i))
	}
	if _, err := f.Tag(t.Context(), f.ids[0], "sru", "bob"); !errors.Is(err, crash.Conflict) {
		t.Errorf("one too many: got %v, want a conflict", err)
	}
	if tag(f.ids[0], "t0") {
		t.Error("a tag that the problem has was added again")
	}
	if _, err := f.Tag(t.Context(), f.ids[0], "a b", "bob"); !errors.Is(err, crash.Invalid) {
		t.Errorf("malformed: got %v, want invalid", err)
	}
	if _, err := f.Tag(t.Context(), crash.BucketID{1}, "x", "bob"); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown problem: got %v, want not found", err)
	}
	tags, err := f.Tags(t.Context(), f.ids[0])
	if err != nil || len(tags) != crash.MaxTags || tags[0].Tag != "24.04" || tags[0].Person != "bob" {
		t.Errorf("got %+v, %v", tags, err)
	}
}

// TestPeopleOfMerged checks that a merged problem has the newest assignment and the tags of all its
// buckets.
func TestPeopleOfMerged(t *testing.T) {
	t.Parallel()
	f := startAssigned(t)
	for i, name := range []string{"anna", "bob"} {
		f.assign(f.ids[i], name, "x")
		dbtest.Must(f.Tag(t.Context(), f.ids[i], "t-"+name, "x"))(t)
		dbtest.Must(f.Tag(t.Context(), f.ids[i], "both", "x"))(t)
	}
	decisions := db.NewDecisions(f.Store.Store)
	dbtest.Must(decisions.Merge(t.Context(), f.ids[0], f.ids[1:], "ada", ""))(t)
	f.wantListed(f.ids[0], "bob both t-anna t-bob")
	if removed, err := f.Untag(t.Context(), f.ids[1], "both", "x"); !removed || err != nil {
		t.Errorf("remove from both: got %t, %v", removed, err)
	}
	f.wantListed(f.ids[0], "bob t-anna t-bob")
	list, err := decisions.Decisions(t.Context(), f.ids[0], 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	dbtest.Must(decisions.Undo(t.Context(), list[0].ID, "ada"))(t)
	f.wantListed(f.ids[0], "Anna t-anna")
	f.wantListed(f.ids[1], "bob t-bob")
}
