package size

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"mishap/crash/checktest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"500/s": 43_200_000, "0.5/s": 43_200, "2000/h": 48_000, "1/d": 1,
		"100000/s": 8.64e9} {
		got, err := ParseRate(text)
		checktest.NoError(t, err)
		checktest.Equal(t, text, got, want)
	}
	for _, text := range []string{"", "500", "/s", "500/m", "-1/s", "1e3/s", "500 /s", "5,00/s", "0/s", "0.5/d",
		"9999999/s", strings.Repeat("9", 400) + "/s"} {
		if got, err := ParseRate(text); err == nil || !strings.HasPrefix(err.Error(), "expected") {
			t.Errorf("%.20q: got %v, %v, want an error", text, got, err)
		}
	}
	for text, want := range map[string]int{"90d": 90, "8w": 56, "6m": 183, "2y": 731} {
		got, err := ParseRetention(text)
		checktest.NoError(t, err)
		checktest.Equal(t, text, got, want)
	}
	for _, text := range []string{"", "2", "y", "0d", "101y", "-2y", "1.5y", "2 y", "2Y", strings.Repeat("9", 400) + "d"} {
		if got, err := ParseRetention(text); err == nil || !strings.HasPrefix(err.Error(), "expected") {
			t.Errorf("%.20q: got %v, %v, want an error", text, got, err)
		}
	}
}

// TestKeptBodies compares with the shares that were calculated for 10^9 reports in a million problems.
func TestKeptBodies(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]float64{0: 1, 100: 0.095, 1000: 0.255, 100_000_000: 1} {
		if got := keptBodies(1e9, 1e6, most); got < want-0.001 || got > want+0.001 {
			t.Errorf("%d bodies: got %v, want %v", most, got, want)
		}
	}
}

func TestCalculate(t *testing.T) {
	t.Parallel()
	small, advice := Calculate(Plan{PerDay: 1000, Days: 365})
	checktest.Diff(t, "advice", advice, []string{"No archive server is needed, and all bodies can be stored."})
	for _, f := range small {
		switch f.What {
		case "disk for reports":
			checktest.Diff(t, f.What, f, Figure{f.What, "3.2 GB", measured})
		case "processor cores":
			checktest.Diff(t, f.What, f, Figure{f.What, "2", calculated + " from a measured rate"})
		case "machines":
			checktest.Equal(t, f.What, f.Value, "1 for mishap and PostgreSQL")
		case "memory of an instance":
			checktest.Equal(t, f.What, f.Origin, measured)
		}
	}
	large, advice := Calculate(Plan{PerDay: 86_400_000, Days: 365}) // 1,000 a second
	text := strings.Join(advice, "\n")
	for _, want := range []string{"keep_bodies_per_problem = 1000", "archive servers", "by week"} {
		if !strings.Contains(text, want) {
			t.Errorf("got advice %q, want %q", text, want)
		}
	}
	for _, f := range large {
		if f.Origin != calculated {
			t.Errorf("%s: got measured, want calculated", f.What)
		}
	}
	_, advice = Calculate(Plan{PerDay: 86_400 * 4000, Days: 30})
	if text := strings.Join(advice, "\n"); !strings.Contains(text, "exceeds what mishap can count") {
		t.Errorf("got advice %q, want the limit of counting", text)
	}
}

// TestTable checks that docs/operating.md has the table that the calculator makes.
func TestTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/operating.md")
	checktest.NoError(t, err)
	if !strings.Contains(string(text), table()) {
		t.Errorf("docs/operating.md lacks this table:\n%s", table())
	}
}

// table returns the table "How large can it get" of docs/operating.md, for reports that are stored for a year.
func table() string {
	var b strings.Builder
	b.WriteString("| reports a day | machines | cores | disk, all bodies | disk, 1,000 bodies | a backup | memory | " +
		"partitions | settings | measured |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, n := range []float64{1e4, 1e5, 1e6, 1e7, 1e8} {
		p := Plan{PerDay: n, Days: 365}
		all := p.need()
		p.Bodies = recommended
		fewer := p.need()
		used, settings := all, []string{"max_wal_size = " + gigabytes(all.wal)}
		if all.reports+all.other > partMost {
			used = fewer
			settings = []string{"max_wal_size = " + gigabytes(fewer.wal),
				fmt.Sprintf("keep_bodies_per_problem = %d", recommended)}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | by %s, %s | `%s` | %s |\n", count(n), used.machineText(),
			used.coresText(), bytes(all.reports+all.other), bytes(fewer.reports+fewer.other), bytes(used.backup),
			bytes(used.memory), used.partWord(), bytes(used.part), strings.Join(settings, "`, `"), used.measuredText())
	}
	return b.String()
}

func (n need) measuredText() string {
	var all []string
	for _, one := range []struct {
		what     string
		measured bool
	}{{"rate", n.rateMeasured()}, {"disk with all bodies", n.diskMeasured()}, {"memory", n.memoryMeasured()}} {
		if one.measured {
			all = append(all, one.what)
		}
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}
