package stats_test

import (
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

// TestGraphicsDriver reads the drivers in the forms in which apport attaches and whoopsie sends them.
func TestGraphicsDriver(t *testing.T) {
	t.Parallel()
	const lspci = "00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics [8086:9bc4] (rev 05)\n" +
		"\tSubsystem: Marlin\n\tKernel driver in use: i915\n\tKernel modules: i915\n" +
		"00:14.0 USB controller [0c03]: Intel Corporation\n\tKernel driver in use: xhci_hcd\n" +
		"01:00.0 3D controller [0302]: NVIDIA Corporation TU117M\n\tKernel driver in use: nvidia\n" +
		"\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia"
	for name, test := range map[string]struct {
		fields crash.Fields
		want   []string
	}{
		"none":   {crash.Fields{"Uname": "Linux 6.8.0-41-generic x86_64", "Dependencies": "libnvidia-compute-550 1"}, nil},
		"hybrid": {crash.Fields{"Lspci": lspci}, []string{"i915", "nvidia"}},
		"whoopsie": {crash.Fields{"Lspci": "01:00.0 VGA compatible controller: Reef\n?Kernel driver in use: amdgpu"},
			[]string{"amdgpu"}},
		"modules": {crash.Fields{"ProcModules": "nouveau 2768896 4 - Live 0x0000000000000000\nsnd 1 1 - Live 0x0"},
			[]string{"nouveau"}},
		"open module": {crash.Fields{"NonfreeKernelModules": "zfs", ".proc.driver.nvidia.version": "NVRM version: NVIDIA " +
			"UNIX Open Kernel Module for x86_64  570.133.07  Release Build\nGCC version:  gcc version 13.3.0"},
			[]string{"nvidia", "nvidia-570"}},
		"driver package": {crash.Fields{"Dependencies": "libc6 2.39\nnvidia-driver-535-server-open 535.183-0ubuntu1"},
			[]string{"nvidia", "nvidia-535"}},
		"library": {crash.Fields{"NonfreeKernelModules": "nvidia_uvm nvidia", "Dependencies": "libnvidia-gl-550:amd64 550"},
			[]string{"nvidia", "nvidia-550"}},
		"undecoded": {crash.Fields{"Lspci": "H4sIAAAAAAAC/1RyYWNl"}, nil},
	} {
		checktest.Diff(t, name, stats.FacetGraphics.ValuesIn(crash.Summary{}, test.fields), test.want)
	}
}

func TestKernelFlavour(t *testing.T) {
	t.Parallel()
	for kernel, want := range map[string][2]string{
		"6.8.0-41-generic": {"6.8", "generic"}, "6.8.0-41-lowlatency-hwe": {"6.8", "lowlatency-hwe"},
		"6.12.48+deb13-amd64": {"6.12", "amd64"}, "6.8.0-1010-generic-64k": {"6.8", "generic-64k"},
		"6.9.8-300.fc40.x86_64": {"6.9", ""}, "6.9.1-arch1-1": {"6.9", ""}, "": {"", ""},
	} {
		f := crash.Fields{"Uname": "Linux " + kernel + " x86_64"}
		if kernel == "" {
			f = nil
		}
		checktest.Equal(t, "series of "+kernel, stats.FacetSeries.ValueIn(crash.Summary{}, f), want[0])
		checktest.Equal(t, "flavour of "+kernel, stats.FacetFlavour.ValueIn(crash.Summary{}, f), want[1])
	}
}

// TestSampling checks which machines represent those elsewhere.
func TestSampling(t *testing.T) {
	t.Parallel()
	report := func(day float64, machine, problem int) stats.Sampled {
		return stats.Sampled{ID: simulatedID(machine, day), Machine: int64(machine), Problem: crash.BucketID{byte(problem)}}
	}
	var here []stats.Sampled
	for i := range 40 { // one each day
		here = append(here, report(float64(60-i), i+1, 0), report(float64(60-i), i+1, 0))
	}
	machines := stats.Machines(append(here, report(1, 0, 0), report(1, 0, 0)))
	checktest.Equal(t, "machines", len(machines), 42) // two reports do not name theirs
	s := stats.NewSampling(machines[:40])
	from, until := s.Windows()
	day := func(at time.Time) int { return int(at.Sub(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)).Hours() / 24) }
	var days [][2]int
	for i := range from {
		days = append(days, [2]int{day(from[i]), day(until[i])})
	}
	checktest.Diff(t, "periods", days, [][2]int{{18, 34}, {34, 47}, {47, 63}})
	checktest.Equal(t, "first period", s.Period(machines[39].ID), 0)
	checktest.Equal(t, "last period", s.Period(machines[0].ID), 2)
	var others []stats.Sampled
	for i := range 100 { // a frequent problem and a rare one, all in the first period
		others = append(others, report(30, 1000+i, 1))
	}
	others = append(others, report(29, 1000, 2), report(28, 2000, 2), report(27, 2000, 3))
	chosen := s.Choose(others)
	count := map[crash.BucketID]int{}
	for _, r := range chosen {
		count[r.Problem]++
	}
	checktest.Diff(t, "of each problem", count, map[crash.BucketID]int{{1}: 16, {2}: 1})
	older := func(r stats.Sampled) bool { return r.Machine == 1000 && r.Problem == crash.BucketID{2} }
	if slices.ContainsFunc(chosen, older) {
		t.Error("machine 1000 was chosen for its older report")
	}
	if from, _ := stats.NewSampling(machines[:20]).Windows(); len(from) != 1 {
		t.Errorf("20 machines: got %d periods, want 1", len(from))
	}
	if from, _ := stats.NewSampling(nil).Windows(); len(from) != 0 || len(stats.NewSampling(nil).Choose(others)) != 0 {
		t.Error("no machines here: got a sample elsewhere")
	}
}
