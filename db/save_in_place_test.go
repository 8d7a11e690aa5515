package db_test

import (
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
)

// TestSaveReportInPlace stores reports whose texts lie in a buffer, as they do in requests, and
// overwrites the buffer as soon as it is released. Stored and counted data must not change.
func TestSaveReportInPlace(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	in := intake.New(intake.Config{MaxAgeDays: 366}, s)
	var sent []crash.Record
	var wg sync.WaitGroup
	for r := range crashtest.Fleet(7, 300, today) {
		buffer := crashtest.Report(r.Fields).BSON()
		fields, err := crashtest.Decode(slices.Clone(buffer))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := in.Examine(crash.Report{ID: r.ID, System: r.System, Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, rec)
		wg.Go(func() {
			inPlace, err := crashtest.Decode(buffer)
			if err != nil {
				t.Error(err)
			}
			back := false
			_, err = in.Accept(t.Context(), crash.Report{ID: r.ID, System: r.System, Fields: inPlace, Done: func() {
				back = true
				for i := range buffer {
					buffer[i] = '!'
				}
			}})
			if err != nil || !back {
				t.Errorf("report %s: got error %v, buffer given back %v", r.ID, err, back)
			}
		})
	}
	wg.Wait()
	for _, rec := range sent {
		got, err := s.Report(t.Context(), rec.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(rec.Fields, got.Fields); diff != "" {
			t.Errorf("fields of report %s (-sent +stored):\n%s", rec.ID, diff)
		}
		if diff := gocmp.Diff(rec.Summary, got.Summary); diff != "" || got.Unbucketed != rec.Grouping.Reason ||
			got.Rule != rec.Grouping.Rule {
			t.Errorf("report %s: got rule %q, %q (-sent +stored):\n%s", rec.ID, got.Rule, got.Unbucketed, diff)
		}
		if rec.Grouping.Signature == "" {
			continue
		}
		if b := bucketOf(t, s, rec); b.Signature != rec.Grouping.Signature || b.Package != rec.Package {
			t.Errorf("report %s: got bucket %q of %q, want %q of %q", rec.ID, b.Signature, b.Package, rec.Grouping.Signature,
				rec.Package)
		}
	}
	if len(sent) < 200 {
		t.Errorf("got %d reports from the fleet, want some hundreds", len(sent))
	}
	checkCounts(t, url)
}
