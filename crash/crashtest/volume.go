package crashtest

import (
	"bytes"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"mishap/crash"
)

// Volume describes the contents of a large store.
type Volume struct {
	Reports  int
	From     int       // number of the first report, to continue an interrupted fill
	Problems int       // approximate number of signatures; 0: one per 100 reports
	Machines int       // 0: one per 12 reports
	Days     int       // number of days that the reports cover, up to Now; 0: 400
	Padding  int       // bytes that each report has in addition to what grouping and pages use
	Now      time.Time // the newest reports arrive before
}

// Each report must depend only on the volume and its number, so that a fill can continue anywhere.
// Report i uses a random generator with seed i.

const (
	volumeSeed   = 0x6d697368
	volumeSkew   = 1.15 // of the Zipf distribution of reports over problems
	volumeShift  = 12
	versionEvery = 45 // days between two versions of a package
)

// All yields realistic reports in the order of their arrival. A few problems cause most reports.
// Packages get a version every few weeks, and some versions introduce or fix a problem. One report
// in ten comes from Python, and one in twelve has no function names. The same volume always gives
// the same reports.
func (v Volume) All() iter.Seq[crash.Report] {
	v = v.withDefaults()
	padding := padding(v.Padding)
	return func(yield func(crash.Report) bool) {
		source := rand.NewPCG(volumeSeed, 0)
		r := rand.New(source) //nolint:gosec // invented data

		largest := uint64(v.Problems - 1) //nolint:gosec // at least 0
		zipf := rand.NewZipf(r, volumeSkew, volumeShift, largest)
		for i := v.From; i < v.Reports; i++ {
			source.Seed(volumeSeed, uint64(i)) //nolint:gosec // not negative
			if !yield(v.report(r, zipf, i, padding)) {
				return
			}
		}
	}
}

func (v Volume) withDefaults() Volume {
	if v.Problems == 0 {
		v.Problems = max(v.Reports/100, 10)
	}
	if v.Machines == 0 {
		v.Machines = max(v.Reports/12, 10)
	}
	if v.Days == 0 {
		v.Days = 400
	}
	return v
}

func padding(length int) string {
	r := rand.New(rand.NewPCG(volumeSeed, 1)) //nolint:gosec // invented data
	var b strings.Builder
	for b.Len() < length {
		fmt.Fprintf(&b, "lib%c%c%c%d %d.%d.%d-%dubuntu%d.%d\n", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26), r.IntN(90),
			r.IntN(9), r.IntN(40), r.IntN(9), r.IntN(9), r.IntN(4), r.IntN(30))
	}
	return b.String()[:length]
}

var volumeReleases = []struct {
	release string
	part    float64 // cumulative share
}{{"Ubuntu 24.04", 0.52}, {"Ubuntu 26.04", 0.80}, {"Ubuntu 22.04", 0.97}, {"Debian 13", 1}}

func (v Volume) report(r *rand.Rand, zipf *rand.Zipf, i int, padding string) crash.Report {
	problem := int(zipf.Uint64()) //nolint:gosec // below Problems
	length := time.Duration(v.Days) * 24 * time.Hour
	arrived := v.Now.Add(-length + time.Duration(float64(length)*float64(i)/float64(v.Reports)))
	// Half of the problems exist all the time, the others for a part of it.
	if day := int(arrived.Sub(v.Now.Add(-length)).Hours() / 24); problem%2 == 1 && problem > 20 {
		begin := problem * 7919 % v.Days
		if day < begin || day > begin+v.Days/4 {
			problem = (problem + 1) % v.Problems
		}
	}
	occurred := arrived.Add(-time.Duration(min(r.ExpFloat64()*30, 4000)) * time.Minute)
	machine := sha512.Sum512(binary.BigEndian.AppendUint64([]byte("volume"),
		uint64(float64(v.Machines)*r.Float64()*r.Float64())))
	fields := VolumeProblem(problem, int(occurred.Unix()/86400), r)
	place := float64(binary.BigEndian.Uint32(machine[:])) / (1 << 32)
	for _, release := range volumeReleases {
		if place < release.part {
			fields["DistroRelease"] = release.release
			break
		}
	}
	if machine[4] < 26 {
		fields["Architecture"] = "arm64"
	}
	if machine[5] < 8 {
		fields["Tags"] = "package-from-proposed"
	}
	fields["Date"] = occurred.UTC().Format(time.ANSIC)
	fields["ProcStatus"] = fmt.Sprintf("Name:\tprogram\nPid:\t%d\n", 1000+i%4_000_000)
	if padding != "" {
		fields["Dependencies"] = padding
	}
	id := crash.NewOopsID(arrived)
	binary.BigEndian.PutUint16(id[6:], 0x7000)          // version 7
	binary.BigEndian.PutUint64(id[8:], uint64(i)|1<<63) //nolint:gosec // the same each time, variant 10
	return crash.Report{ID: id, System: crash.SystemID(hex.EncodeToString(machine[:])), Fields: fields}
}

// VolumeProblem returns the fields of the k-th problem on a day, which determines the version.
func VolumeProblem(k, day int, r *rand.Rand) crash.Fields {
	pkg := fmt.Sprintf("%s-%d", []string{"harbour", "lantern", "quay", "tern", "drift", "mooring"}[k%6], k%3001)
	program := "/usr/bin/" + pkg
	version := (day + k) / versionEvery
	if r.IntN(4) == 0 { // not every machine is up to date
		version--
	}
	f := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": program, "Architecture": "amd64", "PackageArchitecture": "amd64",
		"Package":       fmt.Sprintf("%s 1.%d.%d-%dubuntu1", pkg, version%400, k%9, 1+k%3),
		"SourcePackage": strings.TrimRight(pkg, "02468"),
	}
	switch {
	case k%10 == 3:
		f["InterpreterPath"] = "/usr/bin/python3.12"
		f["Traceback"] = fmt.Sprintf("Traceback (most recent call last):\n  File \"%s\", line %d, in main\n    run()\n"+
			"  File \"/usr/lib/python3/dist-packages/%s/core.py\", line %d, in step_%d\n    raise ValueError(item)\n"+
			"ValueError: item %d\n",
			program, k%90, pkg, k%700, k, k%17)
	case k%12 == 5:
		f["Signal"], f["SignalName"] = "11", "SIGSEGV"
		f["StacktraceTop"] = "?? ()\n?? ()\n?? ()"
		f["StacktraceAddressSignature"] = fmt.Sprintf("%s:11:%s+%x:/usr/lib/x86_64-linux-gnu/libc.so.6+2a1ca:%s+%x", program,
			program, 4096+k*16, program, 8192+k)
	default:
		f["Signal"], f["SignalName"] = "11", "SIGSEGV"
		f["StacktraceTop"] = fmt.Sprintf("%s_step_%d (row=0x%x, cols=7) at ../src/step.c:%d\n"+
			"%s_load (path=0x55) at ../src/load.c:41\n"+
			"on_open (b=0x1) at ../src/win.c:207\ng_closure_invoke () from /lib/x86_64-linux-gnu/libgobject-2.0.so.0\n"+
			"main (argc=1) at ../src/main.c:12",
			pkg[:4], k, r.IntN(1<<20), k%900, pkg[:4])
		f["Stacktrace"] = "#0  0x000055d0 in " + strings.ReplaceAll(f["StacktraceTop"], "\n", "\n#1  0x000055d1 in ")
	}
	return f
}

// history is the number of days that a fleet's reports cover, including today.
const history = 56

// Fleet yields n reports of a fleet of machines in the eight weeks before now, oldest first. A few
// problems cause most reports, updates introduce and fix problems, machines upgrade to newer
// releases, and there are fewer reports on weekends. Fleet uses only releases that are supported on
// the day of now. The ids contain times of arrival, at most some hours after the crash; names of
// machines have 128 hex digits. The same arguments always give the same reports.
func Fleet(seed uint64, n int, now time.Time) iter.Seq[crash.Report] {
	return func(yield func(crash.Report) bool) {
		f := newFleet(seed, n, now)
		for day, count := range f.counts(n) {
			for i := range count {
				if !yield(f.report(day, i, count)) {
					return
				}
			}
		}
	}
}

type fleet struct {
	r        *rand.Rand
	now      time.Time
	start    time.Time // midnight of the first day
	releases []crash.Release
	shares   []float64 // cumulative shares of the releases
	problems []problem
	sums     []float64 // cumulative weights of the problems
	machines int
}

func newFleet(seed uint64, n int, now time.Time) *fleet {
	now = now.UTC()
	f := &fleet{
		r:        rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // invented data, the same each time
		now:      now,
		start:    now.Truncate(24*time.Hour).AddDate(0, 0, 1-history),
		problems: catalogue(n),
		machines: n/4 + 40,
	}
	sum := 0.0
	for _, r := range fleetReleases {
		if !r.release.EndOfLifeOn(now) {
			sum += r.part
			f.releases, f.shares = append(f.releases, r.release), append(f.shares, sum)
		}
	}
	sum = 0
	for _, p := range f.problems {
		sum += p.weight
		f.sums = append(f.sums, sum)
	}
	return f
}

// fleetReleases lists releases and their shares of the fleet. They are oldest first, in the order
// of upgrades. The last one does not end.
var fleetReleases = []struct {
	release crash.Release
	part    float64
}{{"Ubuntu 22.04", 0.28}, {"Ubuntu 24.04", 0.46}, {"Ubuntu 26.04", 0.20}, {"Debian 13", 0.05}, {"Debian sid", 0.01}}

func (f *fleet) counts(n int) []int {
	weights := make([]float64, history)
	total := 0.0
	for day := range weights {
		w := 0.7 + 0.6*float64(day)/history
		if d := f.start.AddDate(0, 0, day).Weekday(); d == time.Saturday || d == time.Sunday {
			w *= 0.6
		}
		if day == history-1 { // today is not complete
			w *= f.now.Sub(f.now.Truncate(24*time.Hour)).Hours() / 24
		}
		weights[day] = w
		total += w
	}
	counts := make([]int, history)
	sum, given := 0.0, 0
	for day, w := range weights {
		sum += w
		counts[day] = int(math.Round(sum/total*float64(n))) - given
		given += counts[day]
	}
	return counts
}

func (f *fleet) report(day, i, count int) crash.Report {
	begin := f.start.AddDate(0, 0, day)
	length := min(24*time.Hour, f.now.Sub(begin))
	occurred := begin.Add(time.Duration((float64(i) + f.r.Float64()) / float64(count) * float64(length)))
	delay := time.Duration(f.r.ExpFloat64() * float64(20*time.Minute))
	arrived := occurred.Add(min(delay, 6*time.Hour, f.now.Sub(occurred)))

	u := f.r.Float64()
	machine := int(u * u * float64(f.machines)) // some machines crash often
	name := sha512.Sum512(fmt.Append(nil, "machine ", machine))
	release := f.releaseOf(float64(binary.BigEndian.Uint32(name[:]))/(1<<32), day)
	p, version := f.problem(release, day)

	fields := maps.Clone(p.template)
	On(f.releases[release])(fields)
	At(occurred)(fields)
	Version(version)(fields)
	if _, ok := fields["ProcStatus"]; ok {
		Process(1000 + f.r.IntN(4_000_000))(fields)
	}
	if name[4] < 24 && fields["PackageArchitecture"] != "all" && p.anywhere {
		fields["Architecture"], fields["PackageArchitecture"] = "arm64", "arm64"
	}
	if name[5] < 12 {
		fields["Tags"] += " package-from-proposed"
	}
	return crash.Report{ID: f.id(arrived), System: crash.SystemID(hex.EncodeToString(name[:])),
		Fields: crash.Fields(fields)}
}

// releaseOf returns the release of a machine at a position in the fleet, from 0 to 1. The shares of
// older releases decrease daily, so machines upgrade.
func (f *fleet) releaseOf(place float64, day int) int {
	last := len(f.releases) - 1
	for i, share := range f.shares[:last] {
		if place < math.Pow(share/f.shares[last], 1+0.6*float64(day)/history) {
			return i
		}
	}
	return last
}

// problem selects a random problem of the version that is installed on a day, and that version.
func (f *fleet) problem(release, day int) (problem, string) {
	var p problem
	var version string
	for range 20 {
		u := f.r.Float64() * f.sums[len(f.sums)-1]
		low, high := 0, len(f.sums)-1
		for low < high {
			if mid := (low + high) / 2; f.sums[mid] < u {
				low = mid + 1
			} else {
				high = mid
			}
		}
		p = f.problems[low]
		update := p.update(day - int(f.r.ExpFloat64()*4)) // machines update with a delay
		version = p.version(f.releases[release], release, update)
		if p.from <= update && update < p.until {
			break
		}
	}
	return p, version
}

func (f *fleet) id(at time.Time) crash.OopsID {
	var id crash.OopsID
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16|f.r.Uint64()>>48)
	binary.BigEndian.PutUint64(id[8:], f.r.Uint64())
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// Load generates reports of about 20 kB for benchmarks. It is safe for concurrent use.
type Load struct {
	bodies [][]byte
	sent   atomic.Uint64
}

const (
	loadReports  = 2000
	loadMachines = 50_000
	processMark  = "Pid:\t00000000"
)

// NewLoad returns a load of 500 problems, a few of which have most reports.
func NewLoad(now time.Time) *Load {
	var maps strings.Builder
	for at := 0x7f0000000000; maps.Len() < 12_000; at += 0x5000 {
		fmt.Fprintf(&maps, "%x-%x r--p 00000000 08:02 %d                    /usr/lib/x86_64-linux-gnu/libreef-%d.so.%d\n",
			at, at+0x4000, 1_310_000+at%877, at/0x5000%41, at%5)
	}
	l := &Load{}
	for r := range (Volume{Reports: loadReports, Problems: 500, Days: 4, Padding: 6000, Now: now}).All() {
		r.Fields["ProcMaps"], r.Fields["ProcStatus"] = maps.String(), "Name:\ttidewatch\n"+processMark+"\n"
		l.bodies = append(l.bodies, Report(r.Fields).BSON())
	}
	return l
}

// Next returns the path and the body of the next request. Each report is a different crash, because
// its process id differs.
func (l *Load) Next() (path string, body []byte) {
	n := l.sent.Add(1)
	body = bytes.Clone(l.bodies[n%loadReports])
	at := bytes.Index(body, []byte(processMark)) + len(processMark) - 8
	copy(body[at:], fmt.Sprintf("%08x", uint32(n))) //nolint:gosec // only has to differ
	return fmt.Sprintf("/%0128x", n%loadMachines), body
}

type problem struct {
	template Report
	weight   float64
	number   int // of the program: determines its versions and their dates
	from     int // the update that introduces the fault
	until    int // the update that fixes the fault
	anywhere bool
}

// updates is the number of versions of a program in the fleet's history; the first one precedes it.
const updates = 3

// update returns the newest update that is out on a day.
func (p problem) update(day int) int {
	first := 9 + p.number*5%24
	switch {
	case day < first:
		return 0
	case day < first+15+p.number%7:
		return 1
	default:
		return 2
	}
}

// version returns the version of the package in the i-th release. Newer releases have newer
// versions, and each distribution has its own form of updates.
func (p problem) version(release crash.Release, i, update int) string {
	upstream := fmt.Sprintf("%d.%d.%d", 1+p.number%4, 2*i+p.number%3, p.number%5)
	switch {
	case release == "Debian sid":
		return fmt.Sprintf("%s-%d", upstream, 1+p.number%2+update)
	case strings.HasPrefix(string(release), "Debian "):
		return fmt.Sprintf("%s-%d+deb%su%d", upstream, 1+p.number%2, strings.TrimPrefix(string(release), "Debian "), update+1)
	}
	return fmt.Sprintf("%s-%dubuntu0.%d", upstream, 1+p.number%2, update+1)
}

var programs = []struct{ binary, source, path, stem, language string }{
	{"tidewatch", "tidewatch", "/usr/bin/tidewatch", "tide", "C"},
	{"lumen-shell", "lumen-shell", "/usr/bin/lumen-shell", "lumen", "C"},
	{"quillpad", "quillpad", "/usr/bin/quillpad", "quill", "C"},
	{"harbor-sync", "harbor", "/usr/bin/harbor-sync", "harbor", "Python"},
	{"reefd", "reef", "/usr/libexec/reefd", "reef", "C"},
	{"brigwifi-dkms", "brigwifi", "", "brig", "package"},
	{"mercator", "mercator-tools", "/usr/bin/mercator", "merc", "C"},
	{"software-beacon", "software-beacon", "/usr/bin/software-beacon", "beacon", "Python"},
	{"anchor-settings", "anchor-desktop", "/usr/bin/anchor-settings", "anchor", "C"},
	{"keelctl", "keel", "/usr/bin/keelctl", "keel", "Python"},
	{"gull-mail", "gull-mail", "/usr/bin/gull-mail", "gull", "C"},
	{"sextant", "sextant", "/usr/bin/sextant", "sxt", "C"},
	{"fathom-index", "fathom", "/usr/libexec/fathom-index", "fathom", "C"},
	{"ferryman", "ferryman", "/usr/bin/ferryman", "ferry", "Python"},
	{"cormorant", "cormorant-player", "/usr/bin/cormorant", "corm", "C"},
	{"ropewalk", "ropewalk", "/usr/bin/ropewalk", "rope", "C"},
	{"linux-image-generic", "linux", "", "linux", "kernel"},
	{"halyardd", "halyard", "/usr/sbin/halyardd", "haly", "C"},
	{"pilot-upgrader", "pilot", "/usr/bin/pilot-upgrader", "pilot", "Python"},
	{"spindrift", "spindrift", "/usr/bin/spindrift", "spin", "C"},
	{"barnacle-scan", "barnacle", "/usr/bin/barnacle-scan", "barn", "C"},
	{"isobar", "isobar-weather", "/usr/bin/isobar", "isobar", "Python"},
	{"chartroom", "chartroom", "/usr/bin/chartroom", "chart", "Java"},
	{"keeld", "keel", "/usr/bin/keeld", "keel", "Go"},
	{"rustle", "rustle", "/usr/bin/rustle", "rustle", "Rust"},
	{"isobar-map", "isobar-weather", "/usr/bin/isobar-map", "isobar", "C++"},
}

// catalogue returns the problems of a fleet that sends n reports. A larger n adds rarer problems.
// The first few problems cause most reports, in a Zipf distribution.
func catalogue(n int) []problem {
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // invented data, the same each time
	var all []problem
	for number, p := range programs {
		for k := range 1 + r.IntN(5+n/1500) {
			t := Report(nil)
			anywhere := true
			switch p.language {
			case "Python":
				t = pythonProblem(r, p.binary, p.source, p.path, p.stem)
			case "package":
				t = packageProblem(p.binary, p.source, k)
			case "kernel":
				t = kernelProblem(r, p.source)
			case "Java", "Go", "Rust", "C++":
				t = otherProblem(r, p.language, p.binary, p.source, p.path)
				anywhere = t["StacktraceAddressSignature"] == ""
			default:
				t, anywhere = nativeProblem(r, p.binary, p.source, p.path, p.stem)
			}
			from, until := r.IntN(5)-2, updates+2-r.IntN(4)
			all = append(all, problem{template: t, number: number, from: max(0, from), until: max(from+1, until, 1),
				anywhere: anywhere})
		}
	}
	odd := []Report{Markup(), Long(), Unicode(), Suspend(), Ungroupable(), CompilerError(), BareRecoverable(),
		ThreadHang(), ExceptionGroup()}
	for _, t := range odd {
		all = append(all, problem{template: t, number: 4, until: updates, anywhere: true}) // the first two are reefd's
	}
	r.Shuffle(len(all)-len(odd), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for rank := range all {
		all[rank].weight = 1 / math.Pow(float64(rank+1), 0.9)
	}
	return all
}

var (
	verbs = []string{"parse", "load", "draw", "update", "flush", "open", "resize", "commit", "lookup", "render", "decode",
		"notify", "release", "merge"}
	nouns = []string{"row", "view", "cache", "item", "window", "buffer", "session", "node", "event", "surface", "index",
		"header", "queue", "entry"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func functionName(r *rand.Rand, stem string) string {
	return stem + "_" + pick(r, verbs) + "_" + pick(r, nouns)
}

// nativeProblem returns a fault of a C program, in most cases with function names. anywhere is
// false if it contains addresses of one architecture.
func nativeProblem(r *rand.Rand, binary, source, path, stem string) (t Report, anywhere bool) {
	t = base("Crash", binary, source, "1").program(path, 1)
	var frames []frame
	for depth := range 4 + r.IntN(4) {
		offset := uint64(0x1000 + r.IntN(0x60000)) //nolint:gosec // positive
		frames = append(frames, frame{itself, offset, functionName(r, stem),
			fmt.Sprintf("self=0x55d%06x, n=%d", r.IntN(1<<24), depth), fmt.Sprintf("../src/%s.c:%d", pick(r, nouns),
				20+r.IntN(900))})
	}
	frames = append(frames, tail...)
	switch r.IntN(10) {
	case 0, 1: // without symbols
		for i := range frames {
			frames[i].function, frames[i].args, frames[i].at = "??", "", ""
		}
		t.stack(11, "SIGSEGV", frames)
		return t, false
	case 2: // without symbols, and not responding
		for i := range frames {
			frames[i].function, frames[i].args, frames[i].at = "??", "", ""
		}
		t["ProblemType"] = "Hang"
		t.stack(6, "SIGABRT", frames)
		return t, false
	case 3:
		t.stack(6, "SIGABRT", frames)
		t["AssertionMessage"] = fmt.Sprintf("%s: %s: assertion `%s != NULL' failed.",
			frames[0].at, frames[0].function, pick(r, nouns))
	case 4:
		t["DuplicateSignature"] = path + ":" + pick(r, nouns) + "-damaged"
		t["ProblemType"] = "RecoverableProblem"
	case 5:
		t.stack(8, "SIGFPE", frames)
	default:
		t.stack(11, "SIGSEGV", frames)
	}
	return t, true
}

func pythonProblem(r *rand.Rand, binary, source, path, stem string) Report {
	t := base("Crash", binary, source, "1").program(path, 1)
	t["PackageArchitecture"] = "all"
	t["InterpreterPath"] = "/usr/bin/python3.12"
	t["PythonArgs"] = "['" + path + "']"
	exceptions := []string{
		"ValueError: invalid literal for int() with base 10: ''", "KeyError: 'name'",
		"AttributeError: 'NoneType' object has no attribute 'close'", "TimeoutError: timed out",
		"PermissionError: [Errno 13] Permission denied: '/etc/reef'",
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Traceback (most recent call last):\n  File %q, line %d, in <module>\n"+
		"    main()\n", path, 10+r.IntN(90))
	for range 1 + r.IntN(4) {
		name := pick(r, verbs) + "_" + pick(r, nouns)
		fmt.Fprintf(&b, "  File \"/usr/lib/python3/dist-packages/%s/%s.py\", line %d, in %s\n"+
			"    self.%s(%s)\n", stem, pick(r, nouns), 5+r.IntN(400), name, pick(r, verbs), pick(r, nouns))
	}
	b.WriteString(pick(r, exceptions))
	t["Traceback"] = b.String()
	return t
}

func packageProblem(binary, source string, k int) Report {
	t := Package()
	failure := fmt.Sprintf("installed %s package post-installation script subprocess returned error "+
		"exit status %d", binary, 10+k)
	t["Package"], t["SourcePackage"], t["ErrorMessage"] = binary+" 1", source, failure
	if k%2 == 1 { // not every distribution's hook adds a signature
		t["DpkgTerminalLog"] = fmt.Sprintf("Setting up %s (1) ...\nError! Bad return status for module "+
			"build on kernel: 7.0.0-%d-generic (x86_64)\ndpkg: error processing package %s (--configure):\n"+
			" %s\n", binary, 10+k, binary, failure)
		delete(t, "DuplicateSignature")
		return t
	}
	t["DuplicateSignature"] = fmt.Sprintf("package:%s:1\nSetting up %s (1) ...\ndpkg: error processing "+
		"package %s (--configure):\n %s\n", binary, binary, binary, failure)
	return t
}

func kernelProblem(r *rand.Rand, source string) Report {
	if r.IntN(3) > 0 { // most kernels are recent
		t := ModernOops()
		t["SourcePackage"] = source
		t["OopsText"] = modernOops(functionName(r, "brig"), functionName(r, "brig"))
		return t
	}
	t := Oops()
	t["SourcePackage"] = source
	t["OopsText"] = fmt.Sprintf("BUG: unable to handle kernel NULL pointer dereference at 00000000000000%02x\n"+
		"IP: [<ffffffffa04b1e22>] %s+0x62/0x110 [brigwifi]\nOops: 0000 [#1] SMP\nCall Trace:\n [<ffffffffa04b0001>] "+
		"%s+0x41/0x80 [brigwifi]\n [<ffffffff810d5a2c>] handle_irq_event_percpu+0x4c/0x190\nCode: 8b 47 08\n",
		8*r.IntN(30), functionName(r, "brig"), functionName(r, "brig"))
	return t
}

func otherProblem(r *rand.Rand, language, binary, source, path string) Report {
	function, caller := pick(r, verbs), pick(r, nouns)
	var t Report
	switch language {
	case "Java":
		t = Java(Set("StackTrace", javaTrace(function, caller)))
	case "Go":
		t = GoPanic(Set("StdErr", goPanic(function, caller)))
	case "Rust":
		t = RustPanic(Set("StdErr", rustPanic(caller, function)))
	default: // C++
		if t = OddNames(); r.IntN(3) == 0 {
			t = HalfNamed()
		}
		t["StacktraceTop"] = function + "_" + caller + " (n=1) at ../src/" + caller + ".cc:7\n" + t["StacktraceTop"]
	}
	t["Package"], t["SourcePackage"], t["ExecutablePath"] = binary+" 1", source, path
	return t
}
