package dpkg_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"mishap/crash/checktest"
	"mishap/crash/dpkg"
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

func TestLadder(t *testing.T) {
	t.Parallel()
	checkOrder(t, ladder)
}

// checkOrder checks that versions are in ascending order, and equal in one row.
func checkOrder(t *testing.T, rows [][]string) {
	t.Helper()
	for i, low := range rows {
		for j, high := range rows {
			want := sign(i - j)
			for _, a := range low {
				for _, b := range high {
					checktest.Equal(t, fmt.Sprintf("Compare(%.40q, %.40q)", a, b), dpkg.Compare(a, b), want)
					if got := bytes.Compare(dpkg.Key(a), dpkg.Key(b)); got != want {
						t.Errorf("Key(%.40q) with Key(%.40q): got %d, want %d", a, b, got, want)
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
	checkOrder(t, rising)
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
		checktest.Equal(t, fmt.Sprintf("Valid(%q)", v), dpkg.Valid(v), want)
	}
}

func FuzzCompare(f *testing.F) {
	flat := []string{"1:-a1.ZA", "1.0\x00", "\xff", "1~é"}
	for _, row := range ladder {
		flat = append(flat, row...)
	}
	for i, a := range flat {
		f.Add(a, flat[(i+1)%len(flat)], flat[(i*7)%len(flat)])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		ab, ba, bc, ac := dpkg.Compare(a, b), dpkg.Compare(b, a), dpkg.Compare(b, c), dpkg.Compare(a, c)
		if ab != -ba {
			t.Errorf("Compare(%q, %q): got %d, and %d with swapped arguments", a, b, ab, ba)
		}
		if (ab <= 0 && bc <= 0 && ac > 0) || (ab >= 0 && bc >= 0 && ac < 0) {
			t.Errorf("not transitive: %q, %q, %q: %d, %d, %d", a, b, c, ab, bc, ac)
		}
		if dpkg.Compare(a, a) != 0 {
			t.Errorf("Compare(%q, itself) is not 0", a)
		}
	})
}

// TestAgainstDpkg compares random versions with the real dpkg: realistic ones, arbitrary ones, and
// pairs that differ in one place.
func TestAgainstDpkg(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("dpkg is not installed: ", err)
	}
	const seed = 20261121
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 300 {
		a, b := random(r), random(r)
		if r.IntN(2) == 0 {
			b = mutate(r, a)
		}
		want, ok := askDpkg(t, program, a, b)
		if !ok {
			continue // dpkg rejects one of them
		}
		if got := dpkg.Compare(a, b); got != want {
			t.Errorf("pair %d of seed %d: Compare(%q, %q): got %d, dpkg says %d", n, seed, a, b, got, want)
		}
		valid := exec.CommandContext(t.Context(), program, "--validate-version", "--", a).Run() == nil
		if got := dpkg.Valid(a); got != valid {
			t.Errorf("pair %d of seed %d: Valid(%q): got %v, dpkg says %v", n, seed, a, got, valid)
		}
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
		const wild = "0019azAZ.+~-:"
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
	const put = "0123456789aZ.+~-"
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

// TestOrder compares Order with the order of pairs of key and text in the database, where the key
// of an invalid version is empty.
func TestOrder(t *testing.T) {
	t.Parallel()
	var all []string
	for _, row := range ladder {
		all = append(all, row...)
	}
	all = append(all, "unknown", "1.0_1", "(none)")
	key := func(v string) []byte {
		if !dpkg.Valid(v) {
			return nil
		}
		return dpkg.Key(v)
	}
	for _, a := range all {
		for _, b := range all {
			if got, want := dpkg.Order(a, b), cmp.Or(bytes.Compare(key(a), key(b)), strings.Compare(a, b)); got != want {
				t.Errorf("Order(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	var r dpkg.Range
	for _, v := range []string{"unknown", "", "1.10-1", "1.9-1", "1.0~rc1-1", "zz"} {
		r.Add(v)
	}
	if want := (dpkg.Range{Lowest: "1.0~rc1-1", Highest: "1.10-1"}); r != want {
		t.Errorf("got range %+v, want %+v", r, want)
	}
}
