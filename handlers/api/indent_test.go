package api

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestIndented compares with encoding/json's own indenting.
func TestIndented(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		nil, true, 1.5e-9, "", `"`, `\`, `\"`, `a\\`, "ü{[,:]}\n<&>", []any{}, map[string]any{}, []any{[]any{}, map[string]any{}},
		[]any{1, []any{2, []any{"3"}}, map[string]any{"": nil}}, map[string]any{"a": "b", `c"`: []any{"d,e:", map[string]any{"f\\": -1}}},
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
		if got := indented(compact); string(got) != want.String() {
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
