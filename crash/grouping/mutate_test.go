package grouping_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/sizetest"
)

// mutation changes only what varies between machines or versions.
type mutation struct {
	name   string
	where  *regexp.Regexp
	change func(r *rand.Rand, found string) string
}

// digits replaces each digit by a random one, hexadecimal or decimal like the original. The first
// never becomes 0.
func digits(r *rand.Rand, found string) string {
	first := true
	return strings.Map(func(c rune) rune {
		switch {
		case '0' <= c && c <= '9':
			d := rune('0' + r.IntN(10))
			if first {
				d = rune('1' + r.IntN(9))
			}
			first = false
			return d
		case 'a' <= c && c <= 'f':
			return rune('a' + r.IntN(6))
		}
		return c
	}, found)
}

// after changes only the hexadecimal or decimal number at the end of a match.
func after(start string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, found string) string { return start + digits(r, strings.TrimPrefix(found, start)) }
}

var mutations = []mutation{
	{"addresses", regexp.MustCompile(`\b0x[0-9a-f]{9,16}\b`), after("0x")},
	{"bare addresses", regexp.MustCompile(`\[<[0-9a-f]{8,16}>\]`), digits},
	{"offsets in functions", regexp.MustCompile(`\+0x[0-9a-f]+/0x[0-9a-f]+`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("+0x%x/0x%x", r.IntN(1<<12), r.IntN(1<<12))
	}},
	{"kernel stamps", regexp.MustCompile(`(?m)^\[ *\d+\.\d+\] `), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("[%5d.%06d] ", r.IntN(1<<16), r.IntN(1_000_000))
	}},
	{"process ids", regexp.MustCompile(`(PID: |LWP |pid:)\d+`), func(r *rand.Rand, found string) string {
		return strings.TrimRight(found, "0123456789") + fmt.Sprint(1+r.IntN(4_000_000))
	}},
	{"threads", regexp.MustCompile(`goroutine \d+ |thread 'main' \(\d+\)`), func(r *rand.Rand, found string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllString(found, fmt.Sprint(1+r.IntN(100_000)))
	}},
	{"lines", regexp.MustCompile(`\.(go|rs|cc|c|java|hpp|S):\d+`), func(r *rand.Rand, found string) string {
		return strings.TrimRight(found, "0123456789") + fmt.Sprint(1+r.IntN(30_000))
	}},
	{"versions", regexp.MustCompile(`\b[1-9]\d*\.\d+(\.\d+)*(-\d+)?(ubuntu\d+)?`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("%d.%d.%d-%d", 1+r.IntN(30), r.IntN(100), r.IntN(20), r.IntN(100))
	}},
	{"people", regexp.MustCompile(`/home/\w+`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("/home/u%d",
			r.IntN(1000))
	}},
	{"hash sums", regexp.MustCompile(`::h[0-9a-f]{16}|rustc/[0-9a-f]{40}`), func(r *rand.Rand, found string) string {
		i := strings.IndexAny(found, "h/") + 1
		return found[:i] + digits(r, found[i:])
	}},
	{"generated classes", regexp.MustCompile(`\$\$Lambda\$\d+|lambda\$run\$\d+|\$Proxy\d+`),
		func(r *rand.Rand, found string) string {
			return strings.TrimRight(found, "0123456789") + fmt.Sprint(r.IntN(1000))
		}},
}

// own reports whether a rule is our own and reads text.
func own(rule crash.Rule) bool { return !slices.Contains(apportRules, rule) && rule != crash.RuleNone }

// texts lists the fields that rules read.
var texts = []string{"OopsText", "VmCoreDmesg", "ErrorMessage", "DpkgTerminalLog", "StackTrace", "Traceback", "StdErr",
	"StacktraceTop", "ThreadStacktrace", "PreprocessedSource", "DialogBody"}

// ownReports returns all samples that our own rules group.
func ownReports(t *testing.T) map[string]crash.Fields {
	t.Helper()
	reports := samples(t)
	maps.DeleteFunc(reports, func(name string, f crash.Fields) bool {
		return strings.HasPrefix(name, "vector ") || !own(grouping.SignatureOf(f).Rule)
	})
	if len(reports) < 120 {
		t.Fatalf("got %d reports, want at least 120", len(reports))
	}
	return reports
}

// TestMutationsStayTogether checks that reports of other machines and versions stay in the same
// problem.
func TestMutationsStayTogether(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 0))
	changed := map[string]int{}
	reports := ownReports(t)
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		fields := reports[name]
		want := grouping.SignatureOf(fields)
		for range sizetest.Rounds(12, 25) {
			f := maps.Clone(fields)
			var done []string
			for _, m := range mutations {
				if r.IntN(2) == 0 || m.name == "lines" && (want.Rule == crash.RulePython || strings.Contains(want.Signature,
					".rs@")) {
					continue
				}
				for _, field := range texts {
					if before := f[field]; before != "" && (m.name != "versions" || versioned(field)) {
						if f[field] = m.where.ReplaceAllStringFunc(before,
							func(s string) string { return m.change(r, s) }); f[field] != before {
							done = append(done, m.name)
							changed[m.name]++
						}
					}
				}
			}
			if got := grouping.SignatureOf(f); got != want {
				t.Errorf("%s, with other %s:\n got %s\nwant %s", name, strings.Join(done, ", "), got.Signature, want.Signature)
				break
			}
			checkExplanation(t, name, f)
		}
	}
	for _, m := range mutations {
		if changed[m.name] < 20 {
			t.Errorf("%s: got %d changes, want more", m.name, changed[m.name])
		}
	}
}

// versioned reports whether numbers with dots in a field are versions, rather than parts of names.
func versioned(field string) bool {
	return field == "ErrorMessage" || field == "DpkgTerminalLog" || field == "DialogBody"
}

// TestOtherNamesSplit checks that a report with a different name in a used position belongs to
// another problem.
func TestOtherNamesSplit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 0))
	tried := map[crash.Rule]int{}
	name := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{3,}`)
	for what, fields := range ownReports(t) {
		e := grouping.Explain(fields)
		var used []string
		for _, f := range e.Frames {
			if f.Used && f.As != "raise" && f.As != "abort" { // the text has __GI_raise
				used = append(used, name.FindAllString(f.As, -1)...)
			}
		}
		for range 20 {
			if len(used) == 0 {
				break
			}
			old := used[r.IntN(len(used))]
			text := fields[e.Field]
			f := maps.Clone(fields)
			f[e.Field] = regexp.MustCompile(`\b`+old+`\b`).ReplaceAllString(text, old+"_zz")
			if f[e.Field] == text {
				continue // a word that the rule added
			}
			got := grouping.SignatureOf(f)
			if got.Signature == e.Signature {
				t.Errorf("%s: got the same signature with another %q in %s: %s", what, old, e.Field, got.Signature)
				break
			}
			checkExplanation(t, what, f)
			tried[e.Rule]++
		}
	}
	for _, rule := range []crash.Rule{crash.RuleKernel, crash.RulePackage, crash.RuleJava, crash.RuleGoPanic,
		crash.RuleRustPanic, crash.RuleCompiler, crash.RuleStackNames, crash.RuleStackPartial, crash.RulePython,
		crash.RuleHang} {
		if tried[rule] < 20 {
			t.Errorf("rule %s: got %d attempts, want more", rule, tried[rule])
		}
	}
}
