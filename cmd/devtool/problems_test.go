package main

import (
	"io"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// Problems without reports have counts that agree with each other, and lists can show them.
func TestLoadProblems(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	if err := loadProblems(t.Context(), url, 300, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	s := dbtest.Open(t, url)
	result, err := upkeep.Check(t.Context(), s, crash.CheckScope{Most: 5}, func() {})
	if err != nil || result.Found > 0 || result.Counts < 3000 {
		t.Errorf("got %+v, %v; want no differences of thousands of counts", result, err)
	}
	if ix := dbtest.Must(s.IndexWithStates(t.Context()))(t); ix.Len() != int(result.Buckets) || ix.Len() < 290 {
		t.Errorf("got %d problems in the index, want %d", ix.Len(), result.Buckets)
	}
	err = loadProblems(t.Context(), url, 300, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "has problems already") {
		t.Errorf("again: got %v, want that the database is not empty", err)
	}
}
