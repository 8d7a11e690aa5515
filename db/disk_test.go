package db

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
)

func TestSpace(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, c := range []struct {
		free, total uint64
		low, full   bool
	}{
		{40 * gib, 200 * gib, false, false},
		{2 * gib, 200 * gib, false, false}, // more than the maximum
		{900 * mib, 200 * gib, true, false},
		{200 * mib, 200 * gib, true, true},
		{600 * mib, 10 * gib, false, false},
		{400 * mib, 10 * gib, true, false},
		{90 * mib, 10 * gib, true, true},
		{200 * mib, 256 * mib, false, false},
		{100 * mib, 256 * mib, true, false},
		{60 * mib, 256 * mib, true, true},
		{0, gib, true, true},
	} {
		if s := (Space{c.free, c.total}); s.Low() != c.low || s.Full() != c.full {
			t.Errorf("%d of %d MiB: got low %v, full %v", c.free/mib, c.total/mib, s.Low(), s.Full())
		}
	}
}

// TestOf checks the space of a real file system.
func TestOf(t *testing.T) {
	t.Parallel()
	if s, err := SpaceOf(t.TempDir()); err != nil || s.Total == 0 || s.Free > s.Total {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := SpaceOf(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no such folder: got %v", err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := NewDiskWatch()
	free := map[string]uint64{"/a": 5000 * mib, "/b": 5000 * mib}
	w.space = func(folder string) (Space, error) {
		if free[folder] == 0 {
			return Space{}, errors.New("unknown")
		}
		return Space{free[folder], 10_000 * mib}, nil
	}
	w.Add("data_dir", "/a", false)
	w.Add("database", "/b", true)
	w.Add("none", "/c", true)
	for _, c := range []struct {
		a, b, wantA, wantB string
		full               bool
	}{
		{"5000", "5000", "", "", false},
		{"5000", "300", "", "The disk of database is nearly full.", false},
		{"5000", "30", "", "The disk of database is full: no reports are taken.", true},
		{"30", "5000", "The disk of data_dir is nearly full.", "", false}, // no reports are stored there
	} {
		for folder, text := range map[string]string{"/a": c.a, "/b": c.b} {
			n, _ := strconv.ParseUint(text, 10, 64)
			free[folder] = n * mib
		}
		got := w.Health()
		if len(got) != 2 || got[0].Problem != c.wantA || got[1].Problem != c.wantB || got[1].Detail != "/b: "+c.b+
			" of 10000 MiB are free." {
			t.Errorf("%s and %s MiB: got %+v", c.a, c.b, got)
		}
		e, full := errors.AsType[*crash.Error](w.Room())
		if full != c.full || full && e.Code != "no_space" {
			t.Errorf("%s and %s MiB: got %v, want full: %v", c.a, c.b, e, c.full)
		}
	}
	free["/a"] = 5000 * mib
	metrics := prometheus.NewPedanticRegistry()
	metrics.MustRegister(w)
	families, err := metrics.Gather()
	if err != nil || len(families) != 2 || len(families[0].GetMetric()) != 2 ||
		families[0].GetMetric()[0].GetGauge().GetValue() != 5000*mib {
		t.Errorf("got metrics %v, %v; want two for each folder that can be read", families, err)
	}
	if err := (*DiskWatch)(nil).Room(); err != nil {
		t.Errorf("no watch: got %v", err)
	}
}
