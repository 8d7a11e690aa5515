package db_test

import (
	"errors"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/people"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx := t.Context()
	p := saveProblems(t, s, 2)
	first, err := people.New(s).AddNote(ctx, p[0], " It needs\r\na full disk. ", "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := people.New(s).AddNote(ctx, p[1], "Elsewhere.", "bob"); err != nil {
		t.Fatal(err)
	}
	// Saving the same text again has no effect.
	for _, text := range []string{"It needs two full disks.", "It needs two full disks.", ""} {
		if err := people.New(s).ChangeNote(ctx, p[0], first, text, "bob"); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := people.New(s).Notes(ctx, p[0])
	if err != nil || len(notes) != 1 {
		t.Fatalf("notes: got %+v, %v, want one", notes, err)
	}
	var texts []string
	for _, text := range notes[0].Texts {
		texts = append(texts, text.Person+": "+text.Text)
	}
	if got, want := strings.Join(texts, "|"), "ada: It needs\na full disk.|bob: It needs two full "+
		"disks.|bob: "; got != want || notes[0].Text() != "" {
		t.Errorf("history: got %q, want %q", got, want)
	}
	merge(t, s, p[1], p[0])
	if notes, err := people.New(s).Notes(ctx, p[0]); err != nil || len(notes) != 2 {
		t.Errorf("of the whole: got %d, %v, want both", len(notes), err)
	}
	for name, err := range map[string]error{
		"empty": errOf(people.New(s).AddNote(ctx, p[0], " \n ", "ada")),
		"long":  errOf(people.New(s).AddNote(ctx, p[0], strings.Repeat("x", 4001), "ada")),
		"NUL":   people.New(s).ChangeNote(ctx, p[0], first, "a\x00", "ada"),
	} {
		if !errors.Is(err, crash.Invalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	if _, err := people.New(s).AddNote(ctx, crash.BucketID{1}, "x", "ada"); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown problem: got %v", err)
	}
	if err := people.New(s).ChangeNote(ctx, p[0], 99, "x", "ada"); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown note: got %v", err)
	}
}

func errOf(_ int64, err error) error { return err }
