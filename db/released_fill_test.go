package db_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// fillReleased fills almost every table with data, through the same methods as people and machines.
func fillReleased(t *testing.T, url string) {
	t.Helper()
	s, err := db.Open(t.Context(), db.Config{URL: url, MaxConns: 8, Log: dbtest.Log(t),
		Now: func() time.Time { return today }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()

	// Reports of all kinds that counts distinguish, repeated ones, and stacks with and without names.
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		save(t, s, anyRecord(t, r, i))
	}
	p := saveProblems(t, s, 6)
	for m := range 4 {
		another(t, s, 0, m+10)
	}
	again := record(t, today, "machine", nil)
	save(t, s, again)
	save(t, s, again)
	crashed(t, s, 1, "aa", "", nil)
	crashed(t, s, 2, "aa", "parse:load", nil)
	var mixed crash.BucketID
	for m := range 6 {
		mixed = crashed(t, s, m+20, "bb", "write:flush", crash.Fields{"Architecture": []string{"amd64", "arm64"}[m%2]})
	}

	// People.
	people := people.New(s)
	for name, role := range map[string]crash.Role{"ada": crash.RoleAdmin, "bob": crash.RoleTriager,
		"cleo": crash.RoleViewer} {
		_, err := people.Add(ctx, "", name, role, "correct horse battery "+name)
		must(err)
	}
	ada, err := people.ByName(ctx, "ada")
	must(err)
	must(people.SetTrackerName(ctx, "ada", "ada", "ada-lovelace"))
	must(people.Disable(ctx, "ada", "cleo"))
	_, _, err = people.AddToken(ctx, ada, "my script", []crash.Scope{crash.ScopeRead, crash.ScopeFile},
		today.AddDate(0, 6, 0))
	must(err)
	must(people.Follow(ctx, ada.ID, crash.Follow{Kind: crash.FollowPackage, Name: "harbor"}))
	_, err = people.Visit(ctx, ada.ID)
	must(err)

	// Decisions and notes.
	merge(t, s, p[1], p[0])
	merge(t, s, p[3], p[2])
	undo(t, s, decisions(t, s, p[3])[0])
	must(db.NewDecisions(s).Rename(ctx, p[1], "The sync falls over", "ada", "easier to remember"))
	split(t, s, mixed, arm)
	note, err := people.AddNote(ctx, p[1], "It needs a full disk.", "ada")
	must(err)
	must(people.ChangeNote(ctx, p[1], note, "It needs two full disks.", "bob"))

	// Bugs: filed, refused, waiting, linked, unlinked, duplicates, and their states in the tracker.
	finish(t, s, claim(t, s, ask(t, s, p[1], crash.Filing{})), crash.FilingFiled, 2100001)
	finish(t, s, claim(t, s, ask(t, s, p[4], crash.Filing{})), crash.FilingRefused, 0)
	ask(t, s, p[5], crash.Filing{})
	for number := range int64(3) {
		_, err := bugs.New(s).LinkBug(ctx, p[2], crash.Bug{Number: 7 + number, Title: fmt.Sprint("It fell over ", number),
			URL: fmt.Sprint("https://bugs.example/", 7+number), By: "bob"})
		must(err)
	}
	must(bugs.New(s).UnlinkBug(ctx, p[2], 9, "bob"))
	must(bugs.New(s).SaveBugReading(ctx, crash.BugReading{Number: 7, Title: "It fell over", InformationType: "Public",
		DuplicateOf: 8,
		Tasks:       []crash.BugTask{{Target: "/ubuntu/+source/harbor", Name: "harbor (Ubuntu)", Status: "Fix Released"}}},
		"https://bugs.example/8", time.Hour))
	must(bugs.New(s).FailBugReading(ctx, 8, "the tracker is away", time.Hour))
	must(bugs.New(s).SaveChanges(ctx, []int64{7}, today))
	_, err = bugs.New(s).BeginComment(ctx, 7, crash.UpdateAgain, "1.0-1", p[2])
	must(err)
	must(bugs.New(s).SaveBugTemplate(ctx, crash.BugTemplate{Package: "harbor", Body: "{description}", By: "ada"}))

	// Archive facts, credentials for the tracker, and regrouping.
	facts := []crash.ArchiveWant{{Kind: crash.ArchiveSource, Key: "harbor"},
		{Kind: crash.ArchivePerson, Key: "ada-lovelace"}}
	_, err = bugs.New(s).ArchiveFacts(ctx, facts)
	must(err)
	must(bugs.New(s).SaveArchiveFact(ctx, crash.ArchiveFact{ArchiveWant: facts[1], Exists: true,
		Names: []string{"harbor"}}, time.Hour))
	key := crash.TrackerKey{URL: "https://tracker.example", ConsumerKey: "mishap"}
	must(bugs.New(s).SaveToken(ctx, key, crash.AccessToken{Token: "token", Secret: "secret"}, "ada"))
	run, err := db.NewDecisions(s).StartRegroup(ctx, grouping.RulesVersion, true, "ada")
	must(err)
	_, err = db.NewDecisions(s).StopRegroup(ctx, run.ID, "ada")
	must(err)
	must(s.WaitCounted(ctx))
	checkCountsOf(t, url, s)
}
