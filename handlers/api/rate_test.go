package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mishap/crash/stats"
)

// at returns a time on the day that the tests of the formula use.
func at(hour, minute int) time.Time { return time.Date(2026, 5, 18, hour, minute, 59, 0, time.UTC) }

// history returns the older version's crashes on the days before, latest first, and the newer
// version's today.
func history(today int64, before ...int64) []stats.VersionDay {
	days := []stats.VersionDay{{Day: at(0, 0).Truncate(24 * time.Hour), New: today, Machines: 100}}
	for i, n := range before {
		days = append([]stats.VersionDay{{Day: days[0].Day.AddDate(0, 0, -1), Old: n, Machines: 100 - int64(i)}}, days...)
	}
	return days
}

// TestJudge covers the nine steps of §9.3.
func TestJudge(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	noon := at(12, 0)
	for _, tt := range []struct {
		name       string
		days       []stats.VersionDay
		q          rateQuestion
		now        time.Time
		increase   bool
		difference float64 // only if there is an increase
		average    float64 // -1: null
		period     int     // -1: null
	}{
		{"1: the new version has no days", history(0, 5, 5), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"3: none today", history(9, 5)[:1], rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"3: today is UTC's", history(9, 1), rateQuestion{date: date}, at(23, 59).Add(time.Hour), false, 0, -1, -1},
		{"4: no old days, even one crash is more", history(1), rateQuestion{date: date}, noon, true, 1, -1, -1},
		{"2: old days after the date do not count", history(4, 5), rateQuestion{date: date.AddDate(0, 0, -2)}, noon, true, 4,
			-1, -1},
		{"6: two crashes are few", history(2, 1), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"6: three are not", history(3, 1), rateQuestion{date: date}, noon, true, 2.5, 1, 1},
		{"9: exactly one above is not worth it", history(3, 4), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"7: mean and deviation", history(9, 2, 4, 4, 4, 5, 5, 7, 9), rateQuestion{date: date}, noon, true, 9 - 3.5, 7, 8},
		{"5: days without crashes are 0", []stats.VersionDay{
			{Day: date.AddDate(0, 0, -4), Old: 8}, {Day: date, New: 9, Old: 50},
		}, rateQuestion{date: date}, noon, true, 9 - 2.5, 5, 4}, // 8,0,0,0: mean 2, deviation 3.46, 5.46 → 5
		// 2 + 1.095 = 3.095
		{"7: half to even down", history(9, 1, 2, 1, 2, 4), rateQuestion{date: date}, noon, true, 9 - 1.5, 3, 5},
		{"8: early in the day", history(3, 9, 9), rateQuestion{date: date}, at(1, 0), true, 3 - 9*60./1440, 9, 2},
		{"8: seconds do not count", history(3, 9), rateQuestion{date: date}, at(0, 0), true, 3, 9, 1},
		{"7: a tenth of the machines", history(3, 10), rateQuestion{date: date, phased: true, percentage: 10}, noon, true,
			2.5, 1, 1},
		{"7: a percentage of 0", history(3, 10), rateQuestion{date: date, phased: true}, noon, true, 3, 0, 1},
		{"9: the date is the only old day", []stats.VersionDay{{Day: date, New: 9, Old: 5}}, rateQuestion{date: date}, noon,
			false, 0, -1, -1},
		{"3: all of today is proposed", []stats.VersionDay{{Day: date, New: 9, NewProposed: 9}},
			rateQuestion{date: date, excludeProposed: true}, noon, false, 0, -1, -1},
		{"3: some of today is", []stats.VersionDay{{Day: date, New: 9, NewProposed: 7}},
			rateQuestion{date: date, excludeProposed: true}, noon, true, 2, -1, -1},
		{"5: proposed is left out of the old days too", []stats.VersionDay{
			{Day: date.AddDate(0, 0, -1), Old: 20, OldProposed: 18}, {Day: date, New: 9},
		}, rateQuestion{date: date, excludeProposed: true}, noon, true, 8, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(tt.days, tt.q, tt.now)
			if got.increase != tt.increase {
				t.Fatalf("increase: got %v, want %v", got.increase, tt.increase)
			}
			if tt.increase && (got.difference == nil || math.Abs(*got.difference-tt.difference) > 1e-9) {
				t.Errorf("difference: got %v, want %v", deref(got.difference), tt.difference)
			}
			if average := deref(got.average); average != tt.average {
				t.Errorf("average: got %v, want %v", average, tt.average)
			}
			period := -1
			if got.days != nil {
				period = *got.days
			}
			if period != tt.period {
				t.Errorf("days: got %v, want %v", period, tt.period)
			}
		})
	}
}

func deref(x *float64) float64 {
	if x == nil {
		return -1
	}
	return *x
}

// TestNewestDays checks that only the 15 newest days count.
func TestNewestDays(t *testing.T) {
	t.Parallel()
	before := make([]int64, 20)
	for i := range before {
		before[i] = 2
		if i >= maxCrashDays {
			before[i] = 1000
		}
	}
	got := evaluate(history(9, before...), rateQuestion{date: at(0, 0).Truncate(24 * time.Hour)}, at(12, 0))
	if !got.increase || *got.average != 2 || *got.days != maxCrashDays {
		t.Errorf("got %+v, want the 15 newest days only", got)
	}
}

func TestRoundHalfToEven(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	for _, tt := range []struct{ high, want int64 }{{5, 5}, {6, 6}, {7, 7}} {
		// Two days with n and 0 crashes have the mean n/2 and the deviation n/2.
		days := []stats.VersionDay{{Day: date.AddDate(0, 0, -2), Old: tt.high}, {Day: date, New: 99}}
		if got := evaluate(days, rateQuestion{date: date}, at(12, 0)); *got.average != float64(tt.want) {
			t.Errorf("%d: got %v, want %d", tt.high, *got.average, tt.want)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	q := rateQuestion{date: date}
	same := newEvidence(history(5, 10), q, at(12, 0))
	if same.Ratio == nil || *same.Ratio.Interval[0] > 1 || *same.Ratio.Interval[1] < 1 {
		t.Errorf("equal rates: got %+v, want an interval around 1", same.Ratio)
	}
	worse := newEvidence(history(100, 10), q, at(12, 0))
	if *worse.Ratio.Interval[0] <= 1 {
		t.Errorf("ten times the rate: got %+v, want an interval above 1", worse.Ratio)
	}
	// The exact interval of a count of 10 is 4.795 to 18.39; of 0 it is 0 to 3.689.
	if got := *worse.Old.Interval; math.Abs(got[0]/10-4.795) > .05 || math.Abs(got[1]/10-18.39) > .05 {
		t.Errorf("10 crashes on 100 machines: got %v, want 47.95 to 183.9", got)
	}
	few := newEvidence(history(10, 10), rateQuestion{date: date, phased: true, percentage: 10}, at(12, 0))
	if few.New.Machines != 5 || *few.Ratio.Interval[0] <= 1 {
		t.Errorf("a tenth of the machines: got %+v, %+v, want higher rates", few.New, few.Ratio)
	}
	none := newEvidence(history(3), q, at(12, 0))
	if none.Ratio != nil || none.Old.Rate != nil || none.Old.Interval != nil {
		t.Errorf("no old version: got %+v, want no evidence", none)
	}
	// A day without a row has the machines of the previous day.
	gap := []stats.VersionDay{{Day: date.AddDate(0, 0, -4), Old: 1, Machines: 50}, {Day: date, New: 1, Machines: 70}}
	if got := newEvidence(gap, q, at(12, 0)); got.Old.Machines != 200 || got.New.Machines != 35 {
		t.Errorf("gap: got %v and %v machine-days, want 200 and 35: with today counted as half a day", got.Old.Machines,
			got.New.Machines)
	}
}

// TestSettled compares with values computed by hand: ten crashes on 2000 machine-days against five
// on 4000.
func TestSettled(t *testing.T) {
	t.Parallel()
	got := evidence{New: rate{Crashes: 10, Machines: 2000}, Old: rate{Crashes: 5, Machines: 4000}}.withRates()
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	near("new", *got.New.Rate, 5, 0)
	near("old", *got.Old.Rate, 1.25, 0)
	near("new, from", got.New.Interval[0], 4.795/2, .01) // exact interval of 10: 4.795 to 18.391
	near("new, to", got.New.Interval[1], 18.391/2, .01)
	near("old, from", got.Old.Interval[0], 1.6235/4, .01) // exact interval of 5: 1.6235 to 11.668
	near("old, to", got.Old.Interval[1], 11.668/4, .01)
	near("ratio", *got.Ratio.Ratio, 4, 1e-9)
	// The exact interval of a share of 10 in 15 is 0.38380 to 0.88176.
	near("ratio, from", *got.Ratio.Interval[0], .38380/.61620*2, .001)
	near("ratio, to", *got.Ratio.Interval[1], .88176/.11824*2, .01)
	first := evidence{New: rate{Crashes: 10, Machines: 2000}, Old: rate{Machines: 4000}}.withRates()
	if r := first.Ratio; r.Ratio != nil || r.Interval[1] != nil || *r.Interval[0] <= 1 {
		t.Errorf("no crash before: got %+v, want no limit", r)
	}
	zero := evidence{New: rate{Crashes: 0, Machines: 1000}}.withRates()
	near("none, from", zero.New.Interval[0], 0, 0)
	near("none, to", zero.New.Interval[1], 3.689, .05)
	if zero.Ratio != nil || zero.Old.Rate != nil {
		t.Errorf("without old machines: got %+v, want no evidence", zero)
	}
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query, accept string
		want          format
	}{
		{"", "", formatJSON}, {"", "*/*", formatJSON}, {"", "text/html,application/xhtml+xml,application/xml;q=0.9",
			formatJSON},
		{"format=json", "application/xml", formatJSON}, {"format=xml", "application/json", formatXML},
		{"format=nosuch", "text/xml", formatXML},
		{"format=yaml", "", formatYAML}, {"format=xml&format=json", "", formatJSON}, {"", "application/xml", formatXML},
		{"", "text/yaml", formatYAML},
		{"format=plist", "", formatJSON}, {"format=", "application/json, application/xml", formatJSON},
	} {
		r := httptest.NewRequest("GET", "/api/1.0/?"+tt.query, nil)
		r.Header.Set("Accept", tt.accept)
		if got := formatOf(r); got != tt.want {
			t.Errorf("%s, Accept %s: got %s, want %s", tt.query, tt.accept, got, tt.want)
		}
	}
}

func TestXML(t *testing.T) {
	t.Parallel()
	next := "/api/1.0/x/?limit=1&offset=1"
	list := envelope{Meta: meta{Limit: 1, Next: &next, Total: 2}, Objects: []any{map[string]any{
		"text": "<a> & \x01ü", "none": nil, "yes": true, "many": []int{1, 2}, "rate": 1.5,
		"by": map[string]any{"Ubuntu 24.04": 3}, "rows": []any{map[string]any{"x": 1}, []int{7}},
	}}}
	const want = xml.Header +
		`<response><meta type="hash"><limit type="integer">1</limit><next>/api/1.0/x/?limit=1&amp;offset=1</next><offset type="integer">0</offset>` +
		`<previous type="null"></previous><total_count type="integer">2</total_count></meta><objects type="list"><object><by type="hash"><value name="Ubuntu 24.04" type="integer">3</value></by>` +
		`<many type="list"><value type="integer">1</value><value type="integer">2</value></many><none type="null"></none><rate type="float">1.5</rate>` +
		`<rows type="list"><object type="hash"><x type="integer">1</x></object><objects type="list"><value type="integer">7</value></objects></rows>` +
		"<text>&lt;a&gt; &amp; \uFFFDü</text><yes type=\"boolean\">True</yes></object></objects></response>"
	got, err := encodeAs(formatXML, list)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if got, err = encodeAs(formatXML, tracedDay{Date: "20260518"}); err != nil || !strings.HasPrefix(string(got),
		xml.Header+`<object><date>20260518</date><value type="null">`) {
		t.Errorf("list of one object: got %s, %v", got, err)
	}
	if got, err = encodeAs(formatYAML, list); err != nil || !json.Valid(got) {
		t.Errorf("YAML: got %s, %v, want the JSON text, which is valid YAML", got, err)
	}
}

// TestEncode checks that answers are indented by two spaces and that text is not escaped.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		nil, true, 1.5e-9, "", `"`, `\`, `\"`, `a\\`, "ü{[,:]}\n<&>", []any{}, map[string]any{},
		[]any{[]any{}, map[string]any{}},
		[]any{1, []any{2, []any{"3"}}, map[string]any{"": nil}},
		map[string]any{"a": "b", `c"`: []any{"d,e:", map[string]any{"f\\": -1}}},
		envelope{Objects: []any{series{Key: "Ubuntu 24.04", Values: []point{{1, 2}, {3, .4}}}, series{Values: []point{}}}},
	} {
		compact, err := marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		compact = bytes.TrimSpace(compact)
		var want bytes.Buffer
		if err := json.Indent(&want, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		got, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", compact, got, want.String())
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	line := series{Color: "#abcdef", Key: "Ubuntu 24.04", Values: make([]point, chartDays)}
	for i := range line.Values {
		line.Values[i] = point{X: int64(i) * 86_400_000, Y: float64(i) / 1234567}
	}
	answer := envelope{Objects: []any{line, line, line, line, line, line, line, line, line, line}}
	for b.Loop() {
		body, err := encode(answer)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
