package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

// machinery is a simulated fleet with the reports of one package. Machines have a release, and install updates
// at their own pace, which change the kernel and the versions of libraries together. They have hardware,
// a desktop and a locale. Some report far more than others.
type machinery struct {
	random   *rand.Rand
	machines []simulated
	reports  []simulatedReport
}

type simulated struct {
	release   int
	lag       float64 // days until it installs an update
	driver    int
	model     int
	desktop   int
	locale    int
	ppa       bool
	activity  float64
	unrelated int
}

type simulatedReport struct {
	stats.Sampled

	machine int
	day     float64
}

const (
	simulatedDays      = 60
	simulatedLibraries = 60
)

var (
	simulatedReleases = []crash.Release{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"}
	simulatedDrivers  = []string{"i915", "nvidia-550", "amdgpu", "nvidia-470", "nouveau"}
	simulatedDesktops = []string{"ubuntu:GNOME", "KDE", "XFCE"}
	simulatedLocales  = []string{"en_US.UTF-8", "de_DE.UTF-8", "pt_BR.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "ja_JP.UTF-8"}
)

// pick returns a place with a probability in proportion to its weight.
func pick(r *rand.Rand, weights ...float64) int {
	sum := 0.
	for _, w := range weights {
		sum += w
	}
	at := r.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func newMachinery(seed uint64) *machinery {
	r := rand.New(rand.NewPCG(seed, 42))
	f := &machinery{random: r}
	for range 800 {
		m := simulated{release: pick(r, 2, 5, 3), lag: 20 * r.ExpFloat64(), ppa: r.Float64() < .12,
			desktop: pick(r, 6, 2, 1), locale: pick(r, 8, 4, 2, 2, 1, 1), unrelated: r.IntN(1000)}
		m.driver = pick(r, [][]float64{{4, 1, 2, 3, 2}, {5, 3, 3, 1, 1}, {5, 3, 4, 0, 1}}[m.release]...)
		m.model = int(math.Pow(r.Float64(), 2.5) * 60)
		m.activity = r.ExpFloat64() + .2
		if m.driver == 1 {
			m.activity *= 1.5 // crashes more often, whatever the problem
		}
		f.machines = append(f.machines, m)
	}
	return f
}

// report adds a report of a problem from a machine, on a day, and often more of the same machine.
func (f *machinery) report(problem, machine int, day float64) {
	for day < simulatedDays {
		f.reports = append(f.reports, simulatedReport{machine: machine, day: day, Sampled: stats.Sampled{
			ID: simulatedID(len(f.reports), day), Machine: int64(machine) + 1, Problem: crash.BucketID{byte(problem)}}})
		if f.random.Float64() < .5 {
			return
		}
		day += 2 * f.random.ExpFloat64()
	}
}

func simulatedID(n int, day float64) crash.OopsID {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(day * 24 * float64(time.Hour)))
	var id crash.OopsID
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}

// problem adds reports of a problem from about that many machines. weight says how likely a machine is to
// have it, in addition to its activity; rises is whether it has become frequent recently.
func (f *machinery) problem(problem, machines int, rises bool, weight func(*simulated) float64) {
	var weights []float64
	for i := range f.machines {
		weights = append(weights, f.machines[i].activity*weight(&f.machines[i]))
	}
	for range machines {
		day := simulatedDays * f.random.Float64()
		if rises {
			day = simulatedDays * math.Sqrt(math.Sqrt(f.random.Float64()))
		}
		f.report(problem, pick(f.random, weights...), day)
	}
}

func same(*simulated) float64 { return 1 }

// others adds other problems of the package, of very different frequency. Some are concentrated, too, the
// most frequent one included.
func (f *machinery) others() {
	for problem := 1; problem <= 12; problem++ {
		weight := same
		switch problem % 4 {
		case 1:
			driver := f.random.IntN(3)
			weight = func(m *simulated) float64 { return 1 + 30*one(m.driver == driver) }
		case 2:
			release := f.random.IntN(3)
			weight = func(m *simulated) float64 { return 1 + 30*one(m.release == release) }
		}
		f.problem(problem, 10+400/problem/problem, problem%3 == 0, weight)
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// fields returns the fields of a report. Updates on each tenth day change the kernel and some libraries.
func (f *machinery) fields(m simulated, day float64) crash.Fields {
	updates := max(0, int(day-m.lag)/10)
	kernel := fmt.Sprintf("%s.0-%d-generic", []string{"5.15", "6.8", "7.0"}[m.release], 40+updates)
	fields := crash.Fields{
		"Uname": "Linux " + kernel + " x86_64", "CurrentDesktop": simulatedDesktops[m.desktop],
		"ProcEnviron": "LANG=" + simulatedLocales[m.locale] + "\nXDG_SESSION_TYPE=wayland",
		"MachineType": fmt.Sprint("Marlin SeaBook ", m.model),
	}
	fields["Lspci"] = "00:02.0 VGA compatible controller: Reef\n\tKernel driver in use: " + simulatedDrivers[m.driver]
	if version, ok := map[int]string{1: "550.120", 3: "470.256"}[m.driver]; ok {
		fields["Lspci"] = "00:02.0 VGA compatible controller: Reef\n\tKernel driver in use: nvidia"
		fields[".proc.driver.nvidia.version"] = "NVRM version: NVIDIA UNIX Kernel Module  " + version
	}
	for i := range simulatedLibraries {
		version := fmt.Sprintf("%d.%d", m.release+1, updates*one2(i%7 == updates%7))
		if i%5 == 4 { // some were installed from elsewhere, or updated one by one
			version = fmt.Sprintf("%d.%d", m.release+1, (m.unrelated>>(i%10))&1)
		}
		origin := ""
		if m.ppa && i < 3 {
			version, origin = version+"~ppa", " [origin: LP-PPA-tide]"
		}
		fields["Dependencies"] += fmt.Sprintf("lib%d %s%s\n", i, version, origin)
	}
	return fields
}

func one2(is bool) int { return int(one(is)) }

// concentrations compares problem 0 with the others, as the database does.
func (f *machinery) concentrations() stats.Concentrations {
	slices.SortFunc(f.reports, func(a, b simulatedReport) int { return -slices.Compare(a.ID[:], b.ID[:]) })
	here, of := map[int64]bool{}, map[crash.OopsID]simulatedReport{}
	var reports, others []stats.Sampled
	for _, r := range f.reports {
		of[r.ID] = r
		if r.Problem == (crash.BucketID{}) {
			here[r.Machine], reports = true, append(reports, r.Sampled)
		}
	}
	reports = stats.Machines(reports)
	sampling := stats.NewSampling(reports)
	for _, r := range f.reports {
		if !here[r.Machine] && r.ID.Received().After(sampling.Since()) && r.ID.Received().Before(sampling.Until) {
			others = append(others, r.Sampled)
		}
	}
	var members []stats.Member
	for _, r := range append(reports, sampling.Choose(others)...) {
		m := f.machines[of[r.ID].machine]
		summary := crash.Summary{Release: simulatedReleases[m.release], Architecture: "amd64",
			Version: fmt.Sprint("1.", m.release)}
		members = append(members, stats.Member{Here: r.Problem == crash.BucketID{}, Problem: r.Problem,
			Release: summary.Release, Period: sampling.Period(r.ID),
			Traits: stats.NewTraits(summary, f.fields(m, of[r.ID].day))})
	}
	return stats.Concentrate(members)
}

func TestConcentrationsWithoutEffect(t *testing.T) {
	t.Parallel()
	const fleets = 200
	wrong, tooFew, there := 0, 0, 0
	for seed := range uint64(fleets) {
		f := newMachinery(seed)
		f.others()
		f.problem(0, []int{12, 25, 60, 150}[seed%4], seed%2 == 0, same)
		c := f.concentrations()
		tooFew += one2(c.TooFew)
		there += c.There
		if len(c.Found) > 0 {
			wrong++
			t.Logf("fleet %d, %d machines and %d elsewhere: %s", seed, c.Here, c.There, c.Found[0].Sentence())
		}
	}
	t.Logf("%d of %d fleets without an effect have a wrong sentence; %d have too few machines; %d machines elsewhere",
		wrong, fleets, tooFew, there/fleets)
	if wrong > fleets/20 {
		t.Errorf("%d of %d fleets without an effect have a wrong sentence, want at most 5%%", wrong, fleets)
	}
	if tooFew > fleets/10 {
		t.Errorf("%d of %d fleets have too few machines to compare", tooFew, fleets)
	}
}

// TestConcentrationsOfRelease checks that a problem of one release is said to be that, and nothing more:
// all libraries and kernels of the release are as concentrated.
func TestConcentrationsOfRelease(t *testing.T) {
	t.Parallel()
	const fleets = 50
	found, more := 0, 0
	for seed := range uint64(fleets) {
		f := newMachinery(1000 + seed)
		f.others()
		release := int(seed % 3)
		f.problem(0, 40, seed%2 == 0, func(m *simulated) float64 { return .02 + one(m.release == release) })
		c := f.concentrations()
		want := stats.Trait{Field: stats.FacetRelease, Value: string(simulatedReleases[release])}
		for _, s := range c.Found {
			if s.Trait == want {
				found++
			} else {
				more++
				t.Logf("fleet %d: %s", seed, s.Sentence())
			}
		}
	}
	t.Logf("of %d problems of one release, %d were found, and %d sentences say something else", fleets, found, more)
	if found < fleets*9/10 || more > fleets/20 {
		t.Errorf("of %d problems of one release, %d were found, and %d sentences say something else", fleets, found, more)
	}
}

// TestConcentrationsWithEffect measures the power: machines with one property are 25 times as likely to have
// the problem.
func TestConcentrationsWithEffect(t *testing.T) {
	t.Parallel()
	const fleets = 50
	effects := []struct {
		field stats.FacetField
		value string
		has   func(*simulated) bool
	}{
		{stats.FacetGraphics, "nvidia-550", func(m *simulated) bool { return m.driver == 1 }},
		{stats.FacetLocale, "de_DE.UTF-8", func(m *simulated) bool { return m.locale == 1 }},
		{stats.FacetDesktop, "KDE", func(m *simulated) bool { return m.desktop == 1 }},
		{stats.FacetOrigin, "LP-PPA-tide", func(m *simulated) bool { return m.ppa }},
		{stats.FacetModel, "Marlin SeaBook 0", func(m *simulated) bool { return m.model == 0 }},
	}
	found, more := 0, 0
	for seed := range uint64(fleets) {
		f := newMachinery(2000 + seed)
		f.others()
		effect := effects[seed%5]
		f.problem(0, []int{15, 30, 60}[seed%3], seed%2 == 0, func(m *simulated) float64 { return 1 + 24*one(effect.has(m)) })
		c := f.concentrations()
		want, ok := stats.Trait{Field: effect.field, Value: effect.value}, false
		for _, s := range c.Found {
			if s.Trait == want || slices.Contains(s.Same, want) {
				ok = true
			} else {
				more++
				t.Logf("fleet %d, effect %v: %s", seed, want, s.Sentence())
			}
		}
		if ok {
			found++
		} else {
			t.Logf("fleet %d, %d and %d machines, missed %v", seed, c.Here, c.There, want)
		}
	}
	t.Logf("of %d effects, %d were found, and %d sentences say something else", fleets, found, more)
	if found < fleets*8/10 || more > fleets/20 {
		t.Errorf("of %d effects, %d were found, and %d sentences say something else", fleets, found, more)
	}
}

// TestOddsRatio compares odds ratios with those of R's help pages of fisher.test and mantelhaen.test, whose
// intervals have three right digits. The ends here were computed with integers and 40 digits, by summing up
// all tables.
func TestOddsRatio(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		strata           []stats.Stratum
		confidence, p    float64
		value, low, high float64
	}{
		"Fisher's tea tasting": {[]stats.Stratum{{3, 4, 1, 4}}, .95, .242857142857, 6.40831966, .2117355954, 626.2435306},
		"Fisher's twins":       {[]stats.Stratum{{2, 17, 10, 13}}, .95, .999984519, .04693663905, .00331716395, .3631896024},
		"Mantel's rabbits": {[]stats.Stratum{{0, 6, 0, 5}, {3, 6, 0, 6}, {6, 6, 2, 6}, {5, 6, 6, 6}, {2, 2, 5, 5}},
			.95, .01997245179, 10.36104635, 1.077387764, 531.5127829},
		"14 of 15, 2 of 10": {[]stats.Stratum{{14, 15, 2, 10}}, .96, .0003352953414, 42.13274, 3.107361662, 3326.104621},
		"15 of 15, 2 of 10": {[]stats.Stratum{{15, 15, 2, 10}}, .95, 4.160599126e-5, math.Inf(1), 5.94597877, math.Inf(1)},
		"two strata": {[]stats.Stratum{{14, 15, 2, 10}, {5, 9, 7, 30}}, .99, .0001902624132, 9.504795427, 1.736327438,
			68.66630897},
		"uninformative": {[]stats.Stratum{{5, 5, 5, 5}}, .95, 1, math.NaN(), 0, math.Inf(1)},
	} {
		got, p := stats.OddsRatio(test.confidence, test.strata...)
		for what, pair := range map[string][2]float64{"p": {p, test.p}, "value": {got.Value, test.value},
			"low": {got.Low, test.low}, "high": {got.High, test.high}} {
			same := pair[0] == pair[1] || math.Abs(pair[0]/pair[1]-1) < 1e-8 || math.IsNaN(pair[0]) && math.IsNaN(pair[1])
			if !same {
				t.Errorf("%s: %s: got %.12g, want %.12g", name, what, pair[0], pair[1])
			}
		}
	}
}

// group returns machines with some traits in their reports.
func group(n int, here bool, problem byte, release crash.Release, fields crash.Fields) (members []stats.Member) {
	for range n {
		s := crash.Summary{Release: release, Version: "1.4-1", Architecture: "amd64"}
		members = append(members, stats.Member{Here: here, Problem: crash.BucketID{problem}, Release: release,
			Traits: stats.NewTraits(s, fields)})
	}
	return members
}

func driver(name string) crash.Fields {
	f := crash.Fields{"Uname": "Linux 6.8.0-41-generic x86_64", "Dependencies": "libc6 2.39"}
	f["Lspci"] = "00:02.0 VGA compatible controller: Reef\n\tKernel driver in use: " + name
	if name == "nvidia" {
		f[".proc.driver.nvidia.version"] = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120"
	}
	return f
}

func TestConcentrate(t *testing.T) {
	t.Parallel()
	with := func(f crash.Fields, name, value string) crash.Fields { f[name] = value; return f }
	here := slices.Concat(group(14, true, 0, noble, driver("nvidia")), group(1, true, 0, noble, driver("i915")))
	there := slices.Concat(group(2, false, 1, noble, driver("nvidia")), group(4, false, 1, noble, driver("i915")),
		group(4, false, 2, noble, driver("i915")))
	sentences := func(c stats.Concentrations) (all []string) {
		for _, f := range c.Found {
			all = append(all, f.Sentence())
		}
		return all
	}
	c := stats.Concentrate(slices.Concat(here, there))
	checktest.Diff(t, "sentences", sentences(c), []string{"14 of 15 machines have nvidia-550 (2 of 10 elsewhere)"})
	checktest.Equal(t, "elsewhere", c.Basis("tidewatch"),
		"15 machines with this problem and 10 with 2 other problems of tidewatch")
	// Machines with nvidia and those with nvidia-550 are the same. The other comparison is that of i915.
	checktest.Equal(t, "comparisons", c.Comparisons, 2)
	want, p := stats.OddsRatio(c.Found[0].Confidence, stats.Stratum{A: 14, N: 15, B: 2, M: 10})
	checktest.Equal(t, "odds ratio", c.Found[0].Odds, want)
	checktest.Equal(t, "p", c.Found[0].P, p)
	checktest.Diff(t, "same", c.Found[0].Same, []stats.Trait{{Field: stats.FacetGraphics, Value: "nvidia"}})

	if c := stats.Concentrate(slices.Concat(here, group(10, false, 1, noble, driver("i915")))); !c.TooFew {
		t.Errorf("one other problem: got %+v, want too few", c)
	}
	if c := stats.Concentrate(slices.Concat(here[:2], there)); !c.TooFew {
		t.Errorf("two machines: got %+v, want too few", c)
	}
	// One of two other problems has no nvidia at all, and the other one as many as this problem.
	others := slices.Concat(group(16, false, 1, noble, driver("i915")), group(14, false, 2, noble, driver("nvidia")))
	if c := stats.Concentrate(slices.Concat(here, others)); len(c.Found) > 0 || c.TooFew {
		t.Errorf("like one of two other problems: got %v, want none", sentences(c))
	}
	// Reports that do not tell the driver do not count.
	silent := crash.Fields{"Dependencies": "libc6 2.39"}
	members := slices.Concat(here, group(5, true, 0, noble, silent), group(30, false, 1, noble, silent), there)
	checktest.Diff(t, "with silent reports", sentences(stats.Concentrate(members)),
		[]string{"14 of 15 machines have nvidia-550 (2 of 10 elsewhere)"})
	// A library of a release is the release.
	old := with(driver("i915"), "Dependencies", "libc6 2.35")
	members = slices.Concat(group(20, true, 0, noble, driver("i915")), group(1, true, 0, jammy, old),
		group(20, false, 1, jammy, old), group(20, false, 2, jammy, old), group(6, false, 2, noble, driver("i915")))
	checktest.Diff(t, "of a release", sentences(stats.Concentrate(members)),
		[]string{"20 of 21 machines run Ubuntu 24.04 (6 of 46 elsewhere)"})
}
