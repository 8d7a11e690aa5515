package db

import (
	"fmt"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
)

// Space is the space of a file system in bytes. Free is the part available to unprivileged
// processes.
type Space struct{ Free, Total uint64 }

// SpaceOf returns the space of the file system that contains a directory.
func SpaceOf(folder string) (Space, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return Space{}, fmt.Errorf("free space of %s: %w", folder, err)
	}
	size := uint64(st.Bsize) //nolint:gosec // positive
	return Space{Free: st.Bavail * size, Total: st.Blocks * size}, nil
}

// The limits of free space below which a file system is low or full. PostgreSQL stops when it
// cannot add a segment of 16 MiB to its write-ahead log, so mishap refuses reports earlier.
const (
	mib       = 1 << 20
	lowLeast  = 128 * mib
	lowMost   = 1024 * mib
	fullLeast = 64 * mib
	fullMost  = 256 * mib
)

// Low reports whether less than 5% is free, but at least 128 MiB and at most 1 GiB. An
// administrator should make space.
func (s Space) Low() bool { return s.Free < min(max(s.Total/20, lowLeast), lowMost) }

// Full reports whether less than 1% is free, but at least 64 MiB and at most 256 MiB. mishap
// stores no more reports.
func (s Space) Full() bool { return s.Free < min(max(s.Total/100, fullLeast), fullMost) }

// DiskWatch monitors the free space of the file systems that mishap writes to, by the labels
// of directories ("data_dir"). It deletes nothing.
type DiskWatch struct {
	folders []folder
	space   func(path string) (Space, error)
	free    *prometheus.Desc
	total   *prometheus.Desc
}

type folder struct {
	label, path string
	reports     bool // reports are stored there
}

// NewDiskWatch returns a DiskWatch without directories.
func NewDiskWatch() *DiskWatch {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"folder"}, nil)
	}
	return &DiskWatch{
		space: SpaceOf,
		free:  desc("mishap_disk_free_bytes", "Free space of the file system that holds a folder."),
		total: desc("mishap_disk_total_bytes", "Size of the file system that holds a folder."),
	}
}

// Add adds a directory; reports says whether reports are stored in it. Call it before any other
// method.
func (w *DiskWatch) Add(label, path string, reports bool) {
	w.folders = append(w.folders, folder{label, path, reports})
}

// each calls do for every directory whose space can be read. It skips the others, since writing to
// them will fail visibly.
func (w *DiskWatch) each(do func(folder, Space)) {
	for _, f := range w.folders {
		if s, err := w.space(f.path); err == nil {
			do(f, s)
		}
	}
}

// errDiskFull is the response to a report when a disk is full.
var errDiskFull = &crash.Error{Kind: crash.Unavailable, Code: "no_space", RetryAfter: 10 * time.Minute,
	Message: "There is no space left on the disk here; please send this report again later."}

// Room returns an error based on errDiskFull if a file system that stores reports is full, otherwise
// nil. A nil DiskWatch always has room.
func (w *DiskWatch) Room() (err error) {
	if w == nil {
		return nil
	}
	w.each(func(f folder, s Space) {
		if f.reports && s.Full() {
			err = errDiskFull.Because(fmt.Errorf("%s: %d of %d MiB are free", f.label, s.Free/mib, s.Total/mib))
		}
	})
	return err
}

// Health returns a check of each file system.
func (w *DiskWatch) Health() (checks []crash.HealthCheck) {
	w.each(func(f folder, s Space) {
		c := crash.HealthCheck{ID: "disk", Name: "Disk of " + f.label,
			Detail: fmt.Sprintf("%s: %d of %d MiB are free.", f.path, s.Free/mib, s.Total/mib),
			Remedy: "make space, or move " + f.label + " to a larger disk"}
		switch {
		case s.Full() && f.reports:
			c.Problem = "The disk of " + f.label + " is full: no reports are taken."
		case s.Low():
			c.Problem = "The disk of " + f.label + " is nearly full."
		}
		checks = append(checks, c)
	})
	return checks
}

// Describe implements prometheus.Collector.
func (w *DiskWatch) Describe(to chan<- *prometheus.Desc) { to <- w.free; to <- w.total }

// Collect implements prometheus.Collector.
func (w *DiskWatch) Collect(to chan<- prometheus.Metric) {
	w.each(func(f folder, s Space) {
		to <- prometheus.MustNewConstMetric(w.free, prometheus.GaugeValue, float64(s.Free), f.label)
		to <- prometheus.MustNewConstMetric(w.total, prometheus.GaugeValue, float64(s.Total), f.label)
	})
}
