package stats_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

// machines returns seven days on which so many machines pinged, were installed and crashed.
func machines(pings, installs, crashed int64, counted time.Time) stats.MachineNumbers {
	m := stats.MachineNumbers{Package: "quillpad", Since: day(0), Until: day(6),
		Pings:    map[crash.Release]map[time.Time]int64{},
		Installs: map[stats.CrashedKey]stats.Installed{}, Crashed: map[stats.CrashedKey]map[time.Time]int64{}}
	if installs > 0 {
		m.Installs[stats.CrashedKey{Release: noble}] = stats.Installed{Day: counted, Machines: installs,
			Source: "a file"}
	}
	k := stats.CrashedKey{Release: noble, Version: "1.2-3"}
	m.Crashed[k] = map[time.Time]int64{}
	for i := range 7 {
		if pings > 0 {
			if m.Pings[noble] == nil {
				m.Pings[noble] = map[time.Time]int64{}
			}
			m.Pings[noble][day(i)] = pings
		}
		m.Crashed[k][day(i)] = crashed
	}
	return m
}

// TestCrashFree compares sentences about strong and weak data with values of the binomial distribution.
func TestCrashFree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		m    stats.MachineNumbers
		want []string
	}{
		// R: binom.test(980, 1000)$conf.int is 0.96931 to 0.98774.
		"both": {machines(1000, 50_000, 20, day(-3)), []string{
			"At least 98.0% of the machines with Ubuntu 24.04 that ping sent no report of quillpad 1.2-3 on a day " +
				"(95% " +
				"interval 96.9% to 98.8%), in the mean of 7 days up to 2026-01-11.",
			"At most 99.960% of the machines with Ubuntu 24.04 sent no report of quillpad 1.2-3 on a day (95% " +
				"interval " +
				"99.938% to 99.976%), in the mean of 7 days up to 2026-01-11. The number of machines is of " +
				"2026-01-02, by a file.",
		}},
		"no crash": {machines(1000, 0, 0, day(0)), []string{
			"At least 100% of the machines with Ubuntu 24.04 that ping sent no report of quillpad 1.2-3 on a day " +
				"(95% " +
				"interval 99.63% to 100%), in the mean of 7 days up to 2026-01-11."}},
		"few machines": {machines(60, 0, 1, day(0)), []string{"How many machines had no crash cannot be told. Only " +
			"60 machines " +
			"pinged on one of the days; at least 100 are needed."}},
		"few pings": {machines(100, 0, 60, day(0)), []string{"How many machines had no crash cannot be told. Too " +
			"few machines " +
			"ping, compared with those that crash: 700 pings and 420 machines with reports on these days."}},
		"too few installed": {machines(0, 200, 300, day(0)), []string{"How many machines had no crash cannot be " +
			"told. More " +
			"machines sent reports (300 on one day) than are installed by the imported number (200)."}},
		"old": {machines(0, 200, 3, day(-40)), []string{"How many machines had no crash cannot be told. The " +
			"imported number of " +
			"machines is of 2025-11-26, more than 30 days before."}},
		"nothing": {machines(0, 0, 3, day(0)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range test.m.CrashFree(noble, "1.2-3") {
				got = append(got, c.Text())
				if (c.Bound() == "") != (c.Weak() != "") {
					t.Errorf("got the bound %q of weak data: %q", c.Bound(), c.Weak())
				}
			}
			checktest.Equal(t, "sentences", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			if other := test.m.CrashFree("Arch", "1.2-3"); len(other) > 0 {
				t.Errorf("got %+v for another release", other)
			}
		})
	}
	c := machines(1000, 0, 20, day(0)).CrashFree(noble, "1.2-3")[0]
	checktest.Equal(t, "bound", c.Bound()+" "+c.DayBound(c.Days[0]), "≥ 98.0% ≥ 98.0%")
	c.Days[0].Crashed = 1001
	checktest.Equal(t, "more than there are", c.DayBound(c.Days[0]), "–")
}

// TestReadInstalls reads good files and refuses wrong ones, with their lines.
func TestReadInstalls(t *testing.T) {
	t.Parallel()
	const header = "day,release,architecture,package,version,machines\n"
	now := day(20)
	for name, test := range map[string]struct{ file, want string }{
		"good": {header + "# a comment\n2026-01-20,Ubuntu 24.04,amd64,,,12\n2026-01-20,Ubuntu " +
			"24.04,arm64,,,3\n", ""},
		"fewer":       {"\ufeffMachines,day,release\n7,2026-01-20,Arch\n", ""},
		"empty":       {"", "line 1: expected a header"},
		"only header": {header, "no lines below its header"},
		"unknown":     {"day,release,machines,number\n", `line 1: unexpected column "number"`},
		"missing":     {"day,release\n", "line 1: the column machines is missing"},
		"day":         {header + "20.1.2026,Arch,,,,1\n", `line 2: "20.1.2026" is not a day; write it like 2026-01-25`},
		"future":      {header + "2026-01-26,Arch,,,,1\n", "line 2: the day 2026-01-26 is in the future"},
		"number":      {header + "\n2026-01-20,Arch,,,,many\n", `line 3: "many" is not a number of machines`},
		"negative":    {header + "2026-01-20,Arch,,,,-1\n", `line 2: "-1" is not a number`},
		"release":     {header + "2026-01-20,,,,,1\n", "line 2: the release is missing"},
		"version":     {header + "2026-01-20,Arch,,a,,1\n", "line 2: a package and its version belong together"},
		"twice":       {header + "2026-01-20,Arch,,,,1\n2026-01-20,Arch,,,,2\n", "line 3: says the same as line 2"},
		"both": {header + "2026-01-20,Arch,amd64,,,1\n2026-01-20,Arch,,,,2\n", "line 3: counts machines of " +
			"line 2 again"},
		"both, later": {header + "2026-01-20,Arch,,,,1\n2026-01-20,Arch,amd64,,,2\n", "line 3: counts machines of " +
			"line 2 again"},
		"columns": {header + "2026-01-20,Arch,1\n", "line 2: wrong number of fields"},
		"long": {header + "2026-01-20," + strings.Repeat("x", 201) + ",,,,1\n", "line 2: the release is too " +
			"long"},
		"several": {header + "x,Arch,,,,1\n2026-01-20,Arch,,,,\n", "line 2: \"x\" is not a day; write it like " +
			"2026-01-25\nline 3:"},
		"many": {header + strings.Repeat("x,Arch,,,,1\n", 30), "line 21: \"x\" is not a day; write it like " +
			"2026-01-25\nand perhaps more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := stats.ReadInstalls(strings.NewReader(test.file), now)
			if test.want == "" && (err != nil || len(got) == 0 || !got[0].Day.Equal(day(15)) || got[0].Machines < 7) {
				t.Errorf("got %+v, %v", got, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || len(got) > 0) {
				t.Errorf("got %+v, %v; want %q", got, err, test.want)
			}
		})
	}
}
