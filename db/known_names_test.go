package db_test

import (
	"fmt"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// crashed stores a native crash of machine m at some addresses, with function names unless names is
// empty. It returns the bucket of its own signature.
func crashed(t *testing.T, s *db.Store, m int, place, names string, changes crash.Fields) crash.BucketID {
	t.Helper()
	address := "/usr/bin/tide:11:/usr/bin/tide+" + place
	fields := crash.Fields{"StacktraceAddressSignature": address, "ProcStatus": fmt.Sprint("Pid:\t", m, place, names)}
	for name, value := range changes {
		fields[name] = value
	}
	rec := record(t, today, fmt.Sprint("machine ", m), fields)
	rec.Grouping = crash.Grouping{Signature: address, Rule: crash.RuleAddress, Provisional: true}
	if names != "" {
		rec.Grouping = crash.Grouping{Signature: "/usr/bin/tide:11:" + names, Rule: crash.RuleStacktrace}
	}
	save(t, s, rec)
	dbtest.Counted(t, s)
	return crash.BucketIDOf(rec.Grouping.Signature)
}

func TestSymbolised(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, other := dbtest.Open(t, url), dbtest.Open(t, url)

	// When a name becomes known, the provisional problem is merged into the one with names.
	waiting := crashed(t, s, 1, "aa", "", nil)
	crashed(t, other, 2, "aa", "", nil)
	if b := bucket(t, s, waiting); b.ID != waiting || !b.Provisional || b.Reports != 2 {
		t.Fatalf("before: got %s, provisional %v, %d reports, want a provisional one of 2", b.ID, b.Provisional, b.Reports)
	}
	named := crashed(t, other, 3, "aa", "parse:load", nil)
	b := bucket(t, s, waiting)
	if b.ID != named || b.Provisional || b.Reports != 3 || b.Systems != 3 {
		t.Errorf("symbolised: got %s, provisional %v, %d reports of %d machines, want %s with 3 of 3", b.ID, b.Provisional,
			b.Reports, b.Systems, named)
	}
	history := decisions(t, s, named)
	if len(history) != 1 || history[0].Cause != crash.CauseSymbolised || history[0].Bucket != waiting ||
		history[0].Person != "" {
		t.Errorf("history: got %+v, want that it was symbolised", history)
	}

	// Later crashes without names join it at once. Test machines do not make names known.
	crashed(t, s, 4, "aa", "", nil)
	if b := bucket(t, s, named); b.Reports != 4 {
		t.Errorf("without names later: got %d reports, want 4", b.Reports)
	}
	second := crashed(t, s, 5, "bb", "parse:load", nil)
	first := crashed(t, s, 6, "bb", "", nil)
	if b := bucket(t, s, first); second != named || b.ID != named || b.Members != 3 {
		t.Errorf("another place with the same names: got %s with %d members, want %s with 3", b.ID, b.Members, named)
	}

	// Of two names, the first one stays.
	better := crashed(t, s, 7, "aa", "parse:load:main", nil)
	if b := bucket(t, s, waiting); b.ID != named || better == named {
		t.Errorf("two names: got %s, want the first, %s", b.ID, named)
	}
	checkCounts(t, url)

	// A merge that a person has undone is not repeated.
	undo(t, s, history[0])
	crashed(t, other, 8, "aa", "", nil)
	crashed(t, dbtest.Open(t, url), 9, "aa", "parse:load", nil)
	if b := bucket(t, s, waiting); b.ID != waiting || b.Reports != 4 {
		t.Errorf("undone: got %s with %d reports, want the provisional one with 4", b.ID, b.Reports)
	}
	checkCounts(t, url)
}

func TestTestMachinesTeachNoNames(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	rec := record(t, today, "deadbeef1", crash.Fields{"StacktraceAddressSignature": "/usr/bin/tide:11:/usr/bin/tide+cc"})
	rec.Grouping = crash.Grouping{Signature: "/usr/bin/tide:11:f:g", Rule: crash.RuleStacktrace}
	save(t, s, rec)
	waiting := crashed(t, s, 1, "cc", "", nil)
	if b := bucket(t, s, waiting); b.ID != waiting {
		t.Errorf("got %s, want it to wait for a name", b.ID)
	}
}
