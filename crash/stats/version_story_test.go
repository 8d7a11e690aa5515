package stats_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/stats"
)

func TestNewVersionStory(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	counts := []crash.VersionCount{
		{Version: "1.4-1", Release: "Ubuntu 24.04", Reports: 3}, {Version: "1.2-1", Release: "Ubuntu 24.04", Reports: 9},
		{Version: "1.2-1", Release: "Debian 13", Reports: 1},
	}
	known := []stats.VersionKnown{
		{Release: "Ubuntu 24.04", Version: "2.0-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.10-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.4-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.3-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.1-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "0.9-1", Arrived: day},
		{Release: "Ubuntu 26.04", Version: "3.0-1", Arrived: day}, {Release: "Debian 13", Version: "not valid!",
			Arrived: day},
	}
	story := stats.NewVersionStory(counts, known)
	var got []string
	for _, c := range story.Counts {
		got = append(got, c.Version+" "+string(c.Release))
	}
	want := []string{"2.0-1 Ubuntu 24.04", "1.10-1 Ubuntu 24.04", "1.4-1 Ubuntu 24.04", "1.2-1 Debian 13",
		"1.2-1 Ubuntu 24.04", "1.1-1 Ubuntu 24.04"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if len(story.After) != 1 || story.After[0].Version != "1.10-1" || story.Newest[0].Version != "2.0-1" ||
		len(story.Before) != 1 || story.Before[0].Version != "1.1-1" {
		t.Errorf("ends: got %+v", story)
	}
}
