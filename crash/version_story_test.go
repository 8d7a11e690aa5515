package crash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
)

func TestTellVersions(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	counts := []crash.VersionCount{
		{Version: "1.4-1", Release: "Ubuntu 24.04", Reports: 3}, {Version: "1.2-1", Release: "Ubuntu 24.04", Reports: 9}, {Version: "1.2-1", Release: "Debian 13", Reports: 1},
	}
	known := []crash.VersionKnown{
		{Release: "Ubuntu 24.04", Version: "2.0-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.10-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.4-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.3-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.1-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "0.9-1", Arrived: day},
		{Release: "Ubuntu 26.04", Version: "3.0-1", Arrived: day}, {Release: "Debian 13", Version: "not valid!", Arrived: day},
	}
	story := crash.TellVersions(counts, known)
	var got []string
	for _, c := range story.Counts {
		got = append(got, c.Version+" "+string(c.Release))
	}
	want := []string{"2.0-1 Ubuntu 24.04", "1.10-1 Ubuntu 24.04", "1.4-1 Ubuntu 24.04", "1.2-1 Debian 13", "1.2-1 Ubuntu 24.04", "1.1-1 Ubuntu 24.04"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if len(story.After) != 1 || story.After[0].Version != "1.10-1" || story.Newest[0].Version != "2.0-1" || len(story.Before) != 1 || story.Before[0].Version != "1.1-1" {
		t.Errorf("ends: got %+v", story)
	}
	if story.Gone() {
		t.Errorf("got it gone, though the newest version of Debian 13 has it")
	}
	story = crash.TellVersions(counts[:2], known)
	if !story.Gone() {
		t.Errorf("got it not gone, though newer versions are in use wherever it was seen")
	}
	now := day.AddDate(0, 0, 30)
	for want, b := range map[crash.StateWord]crash.Bucket{
		crash.StateGone: {Reports: 1, LastVersion: "1.4-1"}, crash.StateTests: {LastVersion: "1.4-1"}, crash.StateNameless: {Reports: 1, Provisional: true},
	} {
		if got := story.Fate(b, now); got.Word != want || !strings.HasSuffix(got.Reason, ".") {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	if got, want := story.Fate(crash.Bucket{Reports: 1, LastVersion: "1.4-1"}, now).Reason, "Not seen since 1.4-1: 2.0-1 in Ubuntu 24.04 is in use without it."; got != want {
		t.Errorf("reason: got %q, want %q", got, want)
	}
	none := crash.TellVersions(counts, nil)
	if got := none.Fate(crash.Bucket{Reports: 1, FirstSeen: now.Add(-time.Hour)}, now); got.Word != crash.StateNew {
		t.Errorf("got %+v, want new", got)
	}
	if got := none.Fate(crash.Bucket{Reports: 1, FirstSeen: day, LastVersion: "1.4-1"}, now); got.Word != crash.StateUnfiled || got.Reason != "It has no bug, and is seen in the newest version in use, 1.4-1." {
		t.Errorf("got %+v, want unfiled, in the newest version", got)
	}
}
