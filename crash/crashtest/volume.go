package crashtest

import (
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
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

// padding returns text that compresses about as well as lists of packages.
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
	fields := volumeProblem(problem, int(occurred.Unix()/86400), r)
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

// volumeProblem returns the fields of the k-th problem on a day, which determines the version.
func volumeProblem(k, day int, r *rand.Rand) crash.Fields {
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
