package crashtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"mishap/crash"
)

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
