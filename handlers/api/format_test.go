package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http/httptest"
	"strings"
	"testing"
)

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
