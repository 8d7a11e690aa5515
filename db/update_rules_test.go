package db_test

import (
	"io/fs"
	"testing"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/migrations"
)

// TestUpdateRulesMigration checks that comments which were on stay on for all packages, that those
// which were off stay off, and that no sent comment is forgotten.
func TestUpdateRulesMigration(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations.Files, "*_tracker_updates.sql")
	if err != nil || len(files) != 1 {
		t.Fatalf("got the migrations %v, %v; want one", files, err)
	}
	sql, err := fs.ReadFile(migrations.Files, files[0])
	if err != nil {
		t.Fatal(err)
	}
	for was, on := range map[string]bool{"true": true, "false": false} {
		t.Run(was, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := dbtest.Open(t, url)
			first, again := bugs.New(s), crash.UpdateAgain
			b := saveProblems(t, s, 1)[0]
			if _, err := first.LinkBug(t.Context(), b, crash.Bug{Number: 7, URL: "https://bugs.example/7"}); err != nil {
				t.Fatal(err)
			}
			dbtest.Exec(t, url, `
				drop schema visible cascade;
				drop table update_rules, bug_sections;
				drop trigger note_row on bug_comments;
				drop trigger note_update on bug_comments;
				alter table bug_comments drop constraint bug_comments_pkey;
				alter table bug_comments drop column kind;
				alter table bug_comments add primary key (bug_number, version);
				insert into bug_comments (bug_number, version, bucket_id, at, outcome)
				select 7, version, id, now(), 'sent' from buckets, (values (''), ('1.0-1')) as v (version);
				update bug_watch set comment = `+was)
			dbtest.Exec(t, url, "begin; "+string(sql)+"; commit")
			rules, err := s.UpdateRules(t.Context())
			if err != nil || len(rules) != 1 || rules[0].Pattern != crash.EveryPackage || rules[0].Again != on ||
				rules[0].Quiet || rules[0].Section {
				t.Errorf("got the rules %+v, %v; want one, with comments on: %t", rules, err, on)
			}
			for kind, about := range map[crash.UpdateKind]string{again: "1.0-1", crash.UpdateNames: ""} {
				if isNew, err := first.BeginComment(t.Context(), 7, kind, about, b); err != nil || isNew {
					t.Errorf("%s: got %t, %v; want it to have been sent", kind, isNew, err)
				}
			}
			if isNew, err := first.BeginComment(t.Context(), 7, again, "1.1-1", b); err != nil || !isNew {
				t.Errorf("another version: got %t, %v; want true", isNew, err)
			}
		})
	}
}
