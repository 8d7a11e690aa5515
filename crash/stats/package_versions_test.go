package stats

import (
	"testing"
	"time"

	"mishap/crash"
)

func TestRateVersions(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return since.AddDate(0, 0, n) }
	spans := []VersionSpan{
		{Release: "Ubuntu 24.04", Version: "1.10-1", First: day(5), Last: day(9), Reports: 500},
		{Release: "Ubuntu 24.04", Version: "1.9-1", First: day(0), Last: day(4), Reports: 50},
		{Release: "Ubuntu 26.04", Version: "1.9-1", First: day(8), Last: day(20), Reports: 3},
		{Release: "Debian 13", Version: "1.9-1", First: day(1), Last: day(2), Reports: 3},
	}
	active := map[crash.Release][]int64{"Ubuntu 24.04": make([]int64, 10), "Ubuntu 26.04": make([]int64, 10)}
	for i := range 10 {
		active["Ubuntu 24.04"][i], active["Ubuntu 26.04"][i] = 100, 10
	}
	got := RateVersions(spans, active, since)
	if len(got) != 4 || got[0].Release != "Ubuntu 26.04" || got[1].Version != "1.10-1" || got[2].Version != "1.9-1" ||
		got[3].Release != "Debian 13" {
		t.Fatalf("got %+v", got)
	}
	if got[1].Rate.Per1000 != 1000 || got[2].Rate.Per1000 != 100 || !got[1].Previous.Worse() || got[2].Previous.Known() {
		t.Errorf("24.04: got %+v, want a significant ratio of about ten", got[1:3])
	}
	if got[0].Rate.MachineDays != 20 || got[0].Previous.Known() { // only the days with known machines
		t.Errorf("26.04: got %+v", got[0])
	}
	if got[3].Rate.Known() {
		t.Errorf("Debian: got %+v, want an unknown rate", got[3])
	}
}
