package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash/crashtest"
)

// TestNewBucketsEvidence covers four machines: three have a new problem in a version that is one
// day old.
func TestNewBucketsEvidence(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for machine := range 4 {
		h.save(machine, now.AddDate(0, 0, -3), crashtest.Native(crashtest.Version(older)))
	}
	h.save(1, now.AddDate(0, 0, -1), crashtest.Native(crashtest.Version(newer)))
	for i := range 6 {
		h.save(i%3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature", odd)))
	}
	// This release does not have the new version.
	h.save(9, now, crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1-1")))
	got := get(t, h.Visitor(t), "package-version-new-buckets/?package=tidewatch&previous_version="+older+"&new_version="+
		newer).Objects
	if len(got) != 1 {
		t.Fatalf("got %v, want one problem", got)
	}
	// Four machines, yesterday and three quarters of today: 7 machine-days. The old version has the
	// two days before.
	want := map[string]any{
		"new": map[string]any{
			"crashes": 6., "machine_days": 7., "per_1000_machine_days": 857.143, "interval": []any{314.556, 1865.64},
		},
		"old": map[string]any{"crashes": 0., "machine_days": 8., "per_1000_machine_days": 0.,
			"interval": []any{0., 461.11}},
		"ratio": map[string]any{"ratio": nil, "interval": []any{1.34563, nil}},
	}
	if diff := cmp.Diff(want, got[0]["evidence"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0]["reports"] != 6. || got[0]["systems"] != 3. || got[0]["archive"] != "unknown" || got[0]["function"] != odd {
		t.Errorf("got %v", got[0])
	}
}

// TestNewBucketsStrict checks which problems count as new.
func TestNewBucketsStrict(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	save := func(machines int, signature string, changes ...crashtest.Option) {
		t.Helper()
		for i := range machines {
			h.save(i+1, now,
				crashtest.Native(append([]crashtest.Option{crashtest.Version(newer), crashtest.Set("DuplicateSignature",
					signature)}, changes...)...))
		}
	}
	save(3, "new on three")
	save(2, "new on two")
	save(3, "seen before")
	h.save(1, now.AddDate(0, 0, -200), crashtest.Native(crashtest.Version(older), crashtest.Set("DuplicateSignature",
		"seen before")))
	save(3, "failed:/usr/bin/x:11:addresses")
	save(3, "of another package", crashtest.Set("Package", "other "+newer), crashtest.Set("SourcePackage", "other"))
	save(3, "of a binary of it", crashtest.Set("Package", "libtide1 "+newer))
	save(2, "on a third machine elsewhere")
	h.save(3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature",
		"on a third machine elsewhere"), crashtest.On("Debian 13")))
	save(2, "on two that moved on")
	save(2, "on two that moved on", crashtest.On("Debian 13"))
	save(3, "on three that moved on")
	save(3, "on three that moved on", crashtest.On("Debian 13"))
	save(3, "of a third version", crashtest.Version("1.4.9-3"))
	for i := range 3 { // not yet symbolised
		h.save(i+1, now, crashtest.Unsymbolised(crashtest.Version(newer), crashtest.Set("Package", "tidewatch "+newer),
			crashtest.Set("SourcePackage", "tidewatch")))
	}
	c := h.Visitor(t)
	for query, want := range map[string]string{
		"package=tidewatch&previous_version=" + older + "&new_version=" + newer: "new on three: 3, of a " +
			"binary of it: 3, on a third machine elsewhere: 3, on three that moved on: 3",
		"package=other&previous_version=" + older + "&new_version=" + newer:                         "of another package: 3",
		"package=nosuch&previous_version=" + older + "&new_version=" + newer:                        "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + older:                     "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + newer:                     "",
		"package=tidewatch&previous_version=" + url.QueryEscape("1:2~3+4") + "&new_version=1.4.9-3": "of a third version: 3",
	} {
		seen := []string{}
		for _, o := range get(t, c, "package-version-new-buckets/?"+query).Objects {
			seen = append(seen, fmt.Sprintf("%v: %v", o["function"], o["systems"]))
		}
		slices.Sort(seen)
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}
