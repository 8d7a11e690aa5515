package problems

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/views/layout"
)

// MachineStory holds what a machine reported, over time.
type MachineStory struct {
	First, Last time.Time // times of the first and the last report in the story
	Reports     int
	More        bool // the machine has older reports, which are not in the story
	Releases    []MachineRelease
	Lanes       []MachineLane // by package, in decreasing order of reports
	Left        int           // number of packages that are not shown
	Now         time.Time
}

// MachineRelease is a release that a machine ran.
type MachineRelease struct {
	Release      crash.Release
	Architecture string
	First, Last  time.Time
}

// MachineLane holds a machine's reports about one package.
type MachineLane struct {
	Package     string
	Reports     int
	Problems    int // number of distinct problems
	First, Last time.Time
	Versions    []string // newest first
	slots       []int
}

const (
	machineSlots = 120 // limit of the parts of a time line
	machineLanes = 15
	slotWidth    = 10
)

// NewMachineStory returns the story of the newest reports of a machine.
func NewMachineStory(rows []crash.ReportRow, more bool, now time.Time) MachineStory {
	s := MachineStory{Reports: len(rows), More: more, Now: now}
	for _, r := range rows {
		widen(&s.First, &s.Last, when(r))
	}
	lanes := map[string]*MachineLane{}
	problems := map[string]map[crash.BucketID]bool{}
	for _, r := range rows {
		at := when(r)
		lane := lanes[r.Package]
		if lane == nil {
			lane = &MachineLane{Package: r.Package, slots: make([]int, s.slots())}
			lanes[r.Package], problems[r.Package] = lane, map[crash.BucketID]bool{}
		}
		lane.add(r, at)
		lane.slots[s.slot(at)]++
		if r.Bucket != nil {
			problems[r.Package][*r.Bucket] = true
		}
		s.ran(r, at)
	}
	for name, lane := range lanes {
		lane.Problems = len(problems[name])
		slices.SortFunc(lane.Versions, func(a, b string) int { return cmp.Or(dpkg.Compare(b, a), strings.Compare(a, b)) })
		s.Lanes = append(s.Lanes, *lane)
	}
	slices.SortFunc(s.Lanes, func(a, b MachineLane) int {
		return cmp.Or(b.Reports-a.Reports, b.Last.Compare(a.Last), strings.Compare(a.Package, b.Package))
	})
	slices.SortFunc(s.Releases, func(a, b MachineRelease) int {
		return cmp.Or(b.Last.Compare(a.Last), a.Release.Compare(b.Release))
	})
	s.Left = max(len(s.Lanes)-machineLanes, 0)
	s.Lanes = s.Lanes[:len(s.Lanes)-s.Left]
	return s
}

// when returns the time of a report: its own date, unless that is after its arrival or more than a
// year before.
func when(r crash.ReportRow) time.Time {
	received := r.ID.Received()
	if r.Occurred.IsZero() || r.Occurred.After(received) || received.Sub(r.Occurred) > 366*24*time.Hour {
		return received
	}
	return r.Occurred
}

// widen extends a span to include a time.
func widen(first, last *time.Time, at time.Time) {
	if first.IsZero() || at.Before(*first) {
		*first = at
	}
	if at.After(*last) {
		*last = at
	}
}

func (s *MachineStory) ran(r crash.ReportRow, at time.Time) {
	i := slices.IndexFunc(s.Releases, func(o MachineRelease) bool {
		return o.Release == r.Release && o.Architecture == r.Architecture
	})
	if i < 0 {
		if len(s.Releases) < machineLanes {
			s.Releases = append(s.Releases, MachineRelease{r.Release, r.Architecture, at, at})
		}
		return
	}
	widen(&s.Releases[i].First, &s.Releases[i].Last, at)
}

func (l *MachineLane) add(r crash.ReportRow, at time.Time) {
	l.Reports++
	widen(&l.First, &l.Last, at)
	if r.Version != "" && !slices.Contains(l.Versions, r.Version) {
		l.Versions = append(l.Versions, r.Version)
	}
}

// slots returns the number of parts of the time line: one per day, if there is room.
func (s MachineStory) slots() int { return min(s.days(), machineSlots) }

func (s MachineStory) days() int {
	return int(midnight(s.Last).Sub(midnight(s.First))/(24*time.Hour)) + 1
}

func (s MachineStory) slot(at time.Time) int {
	day := int(midnight(at).Sub(midnight(s.First)) / (24 * time.Hour))
	return day * s.slots() / s.days()
}

// slotDays returns the days of a part of the time line.
func (s MachineStory) slotDays(i int) string {
	first := midnight(s.First).AddDate(0, 0, (i*s.days()+s.slots()-1)/s.slots())
	last := midnight(s.First).AddDate(0, 0, ((i+1)*s.days()+s.slots()-1)/s.slots()-1)
	if !last.After(first) {
		return layout.Date(first, s.Now)
	}
	return layout.Date(first, s.Now) + " – " + layout.Date(last, s.Now)
}

func (s MachineStory) viewBox() string { return fmt.Sprintf("0 0 %d 20", s.slots()*slotWidth) }

// mark returns the height of a part of a lane, from 0 to 20. One report is visible.
func (l MachineLane) mark(i int) int {
	return min(4+4*l.slots[i], 20)
}

// versions lists the newest versions.
func (l MachineLane) versions() string {
	words := strings.Join(l.Versions[:min(len(l.Versions), 3)], ", ")
	if len(l.Versions) > 3 {
		words += " and " + strconv.Itoa((len(l.Versions) - 3)) + " more"
	}
	return words
}

// ErasePath returns the address of the page that erases a machine.
func ErasePath(id crash.SystemID) string { return SystemPath(id) + "/erase" }
