package people_test

import (
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// TestMentionEvents checks that a note publishes one event to each account that it names.
func TestMentionEvents(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	people := people.New(s)
	for _, name := range []string{"Anna", "bob", "carla", "former"} {
		dbtest.AddUser(t, s, name, crash.RoleViewer, "correct horse battery")
	}
	if err := people.Disable(t.Context(), "", "former"); err != nil {
		t.Fatal(err)
	}
	receipt, err := intake.New(intake.Config{MaxAgeDays: 366}, s).Accept(t.Context(), crash.Report{System: "m",
		Fields: crashtest.Native(crashtest.Set("DuplicateSignature", "tide:/home/wendeline/x")).Fields()})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Counted(t, s)
	report, err := s.Report(t.Context(), receipt.ID)
	if err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		var got string
		if err := s.Pool.QueryRow(t.Context(), `
			select coalesce(string_agg(u.name || ': ' || e.text, ' ' order by u.name), '')
			from notices as n join events as e on e.id = n.event_id join users as u on u.id = n.user_id
			where e.kind = 'mentioned'`).Scan(&got); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	id, err := people.AddNote(t.Context(), *report.Bucket, "@ANNA and @bob: ask anna@example.org, @carlo or "+
		"@former. @anna!", "bob")
	if err != nil {
		t.Fatal(err)
	}
	const anna = "Anna: bob mentioned you in a note about tide:[removed]."
	told(anna)
	change := func(text string) {
		t.Helper()
		if err := people.ChangeNote(t.Context(), *report.Bucket, id, text, "Anna"); err != nil {
			t.Fatal(err)
		}
	}
	change("@anna @bob @Carla")
	told(anna + " carla: Anna mentioned you in a note about tide:[removed].")
	change("")
	change("@carla")
	told(anna + " carla: Anna mentioned you in a note about tide:[removed].")
	known, err := people.Named(t.Context(), []string{"ANNA", "carlo", "former"})
	if err != nil || len(known) != 2 || known["ANNA"] != "Anna" {
		t.Errorf("names of accounts: got %v, %v", known, err)
	}
}
