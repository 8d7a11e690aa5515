package version_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"mishap/crash/checktest"
	"mishap/crash/version"
)

// ladder lists versions in ascending order; those in one row are equal.
var ladder = [][]string{
	{"~~", "0:~~"},
	{"~~a"},
	{"~"},
	{"", "0", "0-0", "0:0", "00", "-"},
	{"0+", "00+"},
	{"0.9.9~rc1-1"},
	{"0.9.9-1"},
	{"1.0~~"},
	{"1.0~"},
	{"1.0~beta1~svc1"},
	{"1.0~beta1"},
	{"1.0", "1.0-0", "0:1.0", "1.00", "+0:1.0"},
	{"1.0-1~bpo12+1"},
	{"1.0-1", "1.0-01"},
	{"1.0-1ubuntu0.1"},
	{"1.0-1ubuntu1"},
	{"1.0-1ubuntu1.1"},
	{"1.0-1ubuntu2"},
	{"1.0-1ubuntu10"},
	{"1.0-1+b1"},
	{"1.0-2"},
	{"1.0A"},
	{"1.0Z"},
	{"1.0a", "1.0a0", "1.0a-0"},
	{"1.0z"},
	{"1.0+dfsg-1"},
	{"1.0-1-1"}, // upstream "1.0-1": a hyphen sorts after the end of the text
	{"1.0.1"},
	{"1.0:1"},
	{"1.2"},
	{"1.9"},
	{"1.10"},
	{"2.35-0ubuntu3.8"},
	{"18446744073709551615"},
	{"18446744073709551616"},
	{"1:0.1"},
	{"2:46.0-0ubuntu6~24.04.4"},
	{"2:46.0-0ubuntu6~24.04.5"},
	{"10:0"},
}

// rpmLadder lists versions like ladder, in the order of rpm.
var rpmLadder = [][]string{
	{"~~"},
	{"~"},
	{"", "."},
	{"-", "-."},
	{"^"},
	{"a"},
	{"0~rc1"},
	{"0", "0:0", "00", ":0", "+0"},
	{"0.9-1"},
	{"1.0~~"},
	{"1.0~rc1"},
	{"1.0~rc1-1"},
	{"1.0~rc1^git1-1"},
	{"1.0~rc2-1"},
	{"1.0", "1_0", "1.00", "1.0.", "0:1.0", "1..0"},
	{"1.0-~1"},
	{"1.0-", "1.0-."},
	{"1.0-1~1"},
	{"1.0-1", "1.0-01", "1.0-1.", "0:1.0-1"},
	{"1.0-1.fc43"},
	{"1.0-1.fc43.1"},
	{"1.0-2.el10"},
	{"1.0-2.fc9"},
	{"1.0-2.fc42"},
	{"1.0-2.fc43"},
	{"1.0-10.fc42"},
	{"1.0^"},
	{"1.0^20260101gitabc-1"},
	{"1.0^20260102~pre-1"},
	{"1.0^20260102-1"},
	{"1.0^20260102^1-1"},
	{"1.0A"},
	{"1.0a", "1.0.a"},
	{"1.0ab"},
	{"1.0.1", "1.0.1é"},
	{"1.0.1^git1"},
	{"1.0.1a"},
	{"1.0.2"},
	{"1.0.10"},
	{"5.16.1-7"},
	{"5.16.2-1"},
	{"18446744073709551615"},
	{"18446744073709551616"},
	{"1:0.1-1.fc43"},
	{"2:8.2.637-20.fc43"},
	{"2:8.2.4621-1.fc42"},
	{"10:0"},
}

// pacmanLadder lists versions like ladder, in the order of pacman.
var pacmanLadder = [][]string{
	{"a"},
	{""},
	{"0", "00", "0:0", ":0"},
	{"0.9-1"},
	{"1.0a-1", "01.0a-1"},
	{"1.0a1"},
	{"1.0a.1"},
	{"1.0alpha"},
	{"1.0b"},
	{"1.0beta"},
	{"1.0rc"},
	{"1.0rc1-1"},
	{"1.0", "0:1.0", "1_0"},
	{"1.0-1", "1.0-01", "1.00-1"},
	{"1.0-1.1"},
	{"1.0-2"},
	{"1.0-10"},
	{"1.0.a"},
	{"1.0.1"},
	{"1.0.1.r12.gabcdef0-1"},
	{"1.0.2-1"},
	{"1.0.10-1"},
	{"1.0..a"},
	{"1.0..1"},
	{"6.11.arch1-1"},
	{"6.11.1.arch1-1"},
	{"18446744073709551615"},
	{"18446744073709551616"},
	{"1:0.1-1"},
	{"2:1.0-1"},
	{"10:0"},
}

func TestLadder(t *testing.T) {
	t.Parallel()
	checkOrder(t, version.Dpkg, ladder)
	checkOrder(t, version.RPM, rpmLadder)
	checkOrder(t, version.Pacman, pacmanLadder)
}

// checkOrder checks that versions are in ascending order, and equal in one row.
func checkOrder(t *testing.T, o version.Order, rows [][]string) {
	t.Helper()
	for i, low := range rows {
		for j, high := range rows {
			want := sign(i - j)
			for _, a := range low {
				for _, b := range high {
					checktest.Equal(t, fmt.Sprintf("order %d: Compare(%.40q, %.40q)", o, a, b), o.Compare(a, b), want)
					if got := bytes.Compare(o.Key(a), o.Key(b)); got != want {
						t.Errorf("order %d: Key(%.40q) with Key(%.40q): got %d, want %d", o, a, b, got, want)
					}
				}
			}
		}
	}
}

// TestLongNumbers compares numbers of more than 254 digits, whose count does not fit into one byte.
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	var rising [][]string
	for _, n := range []int{1, 254, 255, 256, 509, 510, 511, 10_000} {
		rising = append(rising, []string{strings.Repeat("1", n)}, []string{strings.Repeat("9", n)})
	}
	for o := range version.Orders {
		checkOrder(t, o, rising)
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]bool{
		"1": true, "1.0-1": true, "0:0": true, "1-a-b": true, "1~": true, "1-~": true, "1:2:3": true, "+1:1": true,
		"2147483647:1": true, "2:46.0-0ubuntu6~24.04.5": true,
		"": false, "-": false, "1-": false, "-1": false, "a:1": false, "1:": false, ":1": false, "1:-a": false, "v1": false,
		"1_2": false, "1-1_": false, "2147483648:1": false, "99999999999999999999:1": false, "-1:1": false, "1 2": false,
		" 1": false, "é": false, "1é": false, "~1": false, "(not": false,
	} {
		checktest.Equal(t, fmt.Sprintf("dpkg: Valid(%q)", v), version.Dpkg.Valid(v), want)
	}
	for v, want := range map[string]bool{
		"1": true, "1.0-1": true, "0:0": true, "r12.g0ab": true, "1~rc1^2-1.fc43": true, "2:8.2.637-20.fc43_1+b": true,
		"4294967295:1": true, "4294967296:1": false, "": false, "-": false, "1-": false, "-1": false, "a:1": false,
		"1:": false, ":1": false, "1-1-1": false, "1 2": false, "é": false, "~1": false,
		"(none)": false, "1:2:3": false, "unknown": false,
	} {
		checktest.Equal(t, fmt.Sprintf("rpm: Valid(%q)", v), version.RPM.Valid(v), want)
	}
	for v, want := range map[string]bool{
		"1": true, "1.0-1": true, "1:1.0-1.1": true, "r12.g0ab-1": true, "1.0_rc1@2-3": true, "1.0-1.": false,
		"": false, "-": false, "1-": false, "-1": false, "a:1": false, "1:": false, ":1": false, "1-1-1": false,
		"1 2": false, "1/2": false, "é": false, "1é": false, "(none)": false, "1.0-a": false, "1.0-1.a": false,
		"1.0-1.1.1": false,
	} {
		checktest.Equal(t, fmt.Sprintf("pacman: Valid(%q)", v), version.Pacman.Valid(v), want)
	}
}

func FuzzCompare(f *testing.F) {
	flat := []string{"1:-a1.ZA", "1.0\x00", "\xff", "1~é", "1.0.", "1.0.."}
	for _, rows := range [][][]string{ladder, rpmLadder, pacmanLadder} {
		for _, row := range rows {
			flat = append(flat, row...)
		}
	}
	for i, a := range flat {
		f.Add(a, flat[(i+1)%len(flat)], flat[(i*7)%len(flat)])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for o := range version.Orders {
			ab, ba, bc, ac := o.Compare(a, b), o.Compare(b, a), o.Compare(b, c), o.Compare(a, c)
			if ab != -ba {
				t.Errorf("order %d: Compare(%q, %q): got %d, and %d with swapped arguments", o, a, b, ab, ba)
			}
			if (ab <= 0 && bc <= 0 && ac > 0) || (ab >= 0 && bc >= 0 && ac < 0) {
				t.Errorf("order %d: not transitive: %q, %q, %q: %d, %d, %d", o, a, b, c, ab, bc, ac)
			}
			if got := bytes.Compare(o.Key(a), o.Key(b)); got != ab {
				t.Errorf("order %d: Compare(%q, %q): got %d, but their keys compare as %d", o, a, b, ab, got)
			}
			if o.Compare(a, a) != 0 {
				t.Errorf("order %d: Compare(%q, itself) is not 0", o, a)
			}
		}
		for x := range version.Orders {
			for y := range version.Orders {
				xy, yx := version.Total(x, a, y, b), version.Total(y, b, x, a)
				if xy != -yx || x.Valid(a) && y.Valid(b) && x != y && xy != bytes.Compare(x.Key(a), y.Key(b)) {
					t.Errorf("Total(%d, %q, %d, %q): got %d, and %d with swapped arguments", x, a, y, b, xy, yx)
				}
			}
		}
	})
}

// TestAgainstDpkg compares random versions with the real dpkg: realistic ones, arbitrary ones, and
// pairs that differ in one place.
func TestAgainstDpkg(t *testing.T) {
	t.Parallel()
	program := program(t, "dpkg")
	eachPair(func(pair, a, b string) {
		want, ok := askDpkg(t, program, a, b)
		if !ok {
			return // dpkg rejects one of them
		}
		if got := version.Dpkg.Compare(a, b); got != want {
			t.Errorf("%s: Compare(%q, %q): got %d, dpkg says %d", pair, a, b, got, want)
		}
		valid := exec.CommandContext(t.Context(), program, "--validate-version", "--", a).Run() == nil
		if got := version.Dpkg.Valid(a); got != valid {
			t.Errorf("%s: Valid(%q): got %v, dpkg says %v", pair, a, got, valid)
		}
	})
}

// TestAgainstRPM compares versions with the real rpm.
func TestAgainstRPM(t *testing.T) {
	t.Parallel()
	program := program(t, "rpm")
	var script strings.Builder
	var pairs [][2]string
	compare := func(a, b string) {
		if version.RPM.Valid(a) && version.RPM.Valid(b) {
			pairs = append(pairs, [2]string{a, b})
			fmt.Fprintf(&script, "print(rpm.vercmp('%s','%s')..' ') ", a, b)
		}
	}
	for _, low := range rpmLadder {
		for _, high := range rpmLadder {
			compare(low[0], high[len(high)-1])
		}
	}
	eachPair(func(_, a, b string) { compare(a, b) })
	out, err := exec.CommandContext(t.Context(), program, "--eval", "%{lua:"+script.String()+"}").Output()
	checktest.NoError(t, err)
	answers := strings.Fields(string(out))
	if len(answers) != len(pairs) {
		t.Fatalf("rpm gives %d answers to %d questions", len(answers), len(pairs))
	}
	for i, p := range pairs {
		if got := fmt.Sprint(version.RPM.Compare(p[0], p[1])); got != answers[i] {
			t.Errorf("Compare(%q, %q): got %s, rpm says %s", p[0], p[1], got, answers[i])
		}
	}
}

// TestAgainstPacman compares versions with pacman's vercmp. That ignores the release if only one
// version has one, and separators at the end have no consistent place; no such versions are compared.
func TestAgainstPacman(t *testing.T) {
	t.Parallel()
	program := program(t, "vercmp")
	compare := func(a, b string) {
		for _, v := range []string{a, b} {
			if !version.Pacman.Valid(v) || endsLoosely(v) || strings.Contains(a, "-") != strings.Contains(b, "-") {
				return
			}
		}
		out, err := exec.CommandContext(t.Context(), program, a, b).Output()
		checktest.NoError(t, err)
		if got, want := fmt.Sprint(version.Pacman.Compare(a, b)), strings.TrimSpace(string(out)); got != want {
			t.Errorf("Compare(%q, %q): got %s, vercmp says %s", a, b, got, want)
		}
	}
	for _, low := range pacmanLadder {
		for _, high := range pacmanLadder {
			compare(low[0], high[len(high)-1])
		}
	}
	eachPair(func(_, a, b string) { compare(a, b) })
}

// endsLoosely reports whether the version without its release ends with a separator.
func endsLoosely(v string) bool {
	v, _, _ = strings.Cut(v, "-")
	return strings.ContainsAny(v[len(v)-1:], ".+~:")
}

// program returns the path of a program that compares versions. It skips the test if it is not installed.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name, " is not installed: ", err)
	}
	return path
}

// eachPair calls compare with random pairs of versions, and with the number of the pair.
func eachPair(compare func(pair, a, b string)) {
	const seed = 20261121
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 300 {
		a, b := random(r), random(r)
		if r.IntN(2) == 0 {
			b = mutate(r, a)
		}
		compare(fmt.Sprintf("pair %d of seed %d", n, seed), a, b)
	}
}

// askDpkg returns dpkg's order of a and b, and false if dpkg rejects one of them. dpkg exits with 0
// for yes and 1 for no.
func askDpkg(t *testing.T, program, a, b string) (order int, ok bool) {
	t.Helper()
	for order, op := range map[int]string{-1: "lt", 0: "eq", 1: "gt"} {
		cmd := exec.CommandContext(t.Context(), program, "--compare-versions", a, op, b)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		if strings.Contains(stderr.String(), "dpkg: error") {
			return 0, false
		}
		if err == nil {
			return order, true
		}
	}
	t.Fatalf("dpkg --compare-versions answers no to lt, eq and gt for %q and %q", a, b)
	return 0, false
}

func random(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		const wild = "0019azAZ.+~^-:"
		b := []byte{byte('0' + r.IntN(10))}
		for range r.IntN(10) {
			b = append(b, wild[r.IntN(len(wild))])
		}
		return string(b)
	}
	v := fmt.Sprintf("%d.%d", r.IntN(3), r.IntN(12))
	if r.IntN(4) == 0 {
		v = fmt.Sprintf("%d:%s", r.IntN(3), v)
	}
	for _, more := range []string{fmt.Sprintf(".%d", r.IntN(3)), "~rc1", "+dfsg", fmt.Sprintf("-%d", r.IntN(3)),
		fmt.Sprintf("ubuntu%d", r.IntN(12)), "~24.04.1", "+b1"} {
		if r.IntN(3) == 0 {
			v += more
		}
	}
	return v
}

func mutate(r *rand.Rand, v string) string {
	const put = "0123456789aZ.+~^-"
	i := r.IntN(len(v))
	switch c := put[r.IntN(len(put)):][:1]; r.IntN(3) {
	case 0:
		return v[:i] + c + v[i:]
	case 1:
		return v[:i] + c + v[i+1:]
	default:
		return v[:i] + v[i+1:]
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

// TestTotal compares Total with the order of pairs of key and text in the database, where the key of
// an invalid version is empty.
func TestTotal(t *testing.T) {
	t.Parallel()
	type one struct {
		version.Order
		text string
	}
	var all []one
	for o, rows := range [][][]string{ladder, rpmLadder, pacmanLadder} {
		for _, row := range append(rows, []string{"unknown", "1.0_1", "(none)", "1.0-1"}) {
			for _, v := range row {
				all = append(all, one{version.Order(o), v})
			}
		}
	}
	key := func(v one) []byte {
		if !v.Valid(v.text) {
			return nil
		}
		return v.Key(v.text)
	}
	for _, a := range all {
		for _, b := range all {
			got := version.Total(a.Order, a.text, b.Order, b.text)
			if want := cmp.Or(bytes.Compare(key(a), key(b)), strings.Compare(a.text, b.text)); got != want {
				t.Errorf("Total(%v, %v) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	for o, want := range map[version.Order]version.Range{
		version.Dpkg:   {Lowest: "1.0~rc1-1", Highest: "1.10-1"},
		version.RPM:    {Lowest: "1.0~rc1-1", Highest: "1.10^git1-1"},
		version.Pacman: {Lowest: "1.0~rc1-1", Highest: "1.10^git1-1"},
	} {
		var r version.Range
		for _, v := range []string{"unknown", "", "1.10-1", "1.9-1", "1.0~rc1-1", "(none)", "a", "1.10^git1-1"} {
			r.Add(o, v)
		}
		checktest.Equal(t, fmt.Sprintf("range of order %d", o), r, want)
	}
}

// TestSpan checks which versions a version without a release stands for.
func TestSpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version.Order
		span, in string
		want     int // where the version is
	}{
		{version.Dpkg, "1.0", "1.0-0", 0}, {version.Dpkg, "1.0", "1.0-1", 1}, {version.Dpkg, "1.0-1", "1.0-1", 0},
		{version.RPM, "1.0", "1.0-1.fc43", 0}, {version.RPM, "1.0", "1.0-~1", 0}, {version.RPM, "1.0", "1.0", 0},
		{version.RPM, "1.0", "1.0^1-1", 1}, {version.RPM, "1.0", "1.0~rc1-1", -1},
		{version.RPM, "1.0-1", "1.0-1.fc43", 1},
		{version.RPM, "1.0", "1.0.1-1", 1}, {version.RPM, "1.0", "1:1.0-1", 1}, {version.RPM, "1.0-2", "1.0", -1},
		{version.Pacman, "1.0", "1.0-1", 0}, {version.Pacman, "1.0", "1.0", 0}, {version.Pacman, "1.0", "1.0.1-1", 1},
		{version.Pacman, "1.0", "1.0rc1-1", -1}, {version.Pacman, "1.0-1", "1.0-2", 1},
	} {
		low, high := c.Span(c.span)
		got := 0
		switch key := c.Key(c.in); {
		case bytes.Compare(key, low) < 0:
			got = -1
		case bytes.Compare(key, high) > 0:
			got = 1
		}
		checktest.Equal(t, fmt.Sprintf("order %d: %s in %s", c.Order, c.in, c.span), got, c.want)
	}
}

// TestNoAllocation checks that comparing usual versions allocates no memory.
func TestNoAllocation(t *testing.T) {
	for o := range version.Orders {
		if n := testing.AllocsPerRun(10, func() { o.Compare("2:46.0-2.fc43", "2:46.0-10.fc43") }); n != 0 {
			t.Errorf("order %d: got %v allocations", o, n)
		}
	}
}
