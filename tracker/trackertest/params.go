package trackertest

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// loads decodes a parameter as the API does: as JSON if it is valid JSON, else as text. It
// distinguishes integers from floats, as Python does.
func loads(raw string) any {
	switch strings.TrimSpace(raw) {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return raw
	}
	if _, err := d.Token(); err != io.EOF {
		return raw
	}
	return number(v)
}

// number converts the numbers in v to int64 and float64.
func number(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // numbers that are too large become infinite, as in Python
		return f
	case []any:
		for i := range v {
			v[i] = number(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = number(v[k])
		}
	}
	return v
}

// textParam decodes a text parameter. It converts other values to text as Python does. ok is false
// if the parameter is missing.
func textParam(params url.Values, name string) (s string, ok bool) {
	if !params.Has(name) {
		return "", false
	}
	v := loads(params.Get(name))
	if v == nil {
		return "", false
	}
	s, isText := v.(string)
	if !isText {
		s = pyStr(v)
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), true
}

// listParam decodes a list of texts. A repeated field is also a list; each item is decoded as JSON
// once more.
func listParam(params url.Values, name string) (items []any, ok bool) {
	values := params[name]
	if len(values) == 0 {
		return nil, false
	}
	if len(values) == 1 {
		switch v := loads(values[0]).(type) {
		case nil:
			return nil, false
		case []any:
			items = v
		default:
			items = []any{v}
		}
	} else {
		for _, v := range values {
			items = append(items, v)
		}
	}
	for i, item := range items {
		if s, isText := item.(string); isText {
			items[i] = loads(s)
		}
	}
	return items, true
}

// textList decodes a list parameter and converts each item to text.
func textList(params url.Values, name string) []string {
	items, _ := listParam(params, name)
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = pyStr(item)
	}
	return out
}

// pyStr imitates Python's str().
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

// pyRepr imitates Python's repr(), for JSON values.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return pyFloat(v)
	case string:
		return pyQuote(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = pyRepr(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for k, item := range v {
			parts = append(parts, pyQuote(k)+": "+pyRepr(item))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1e16:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// pyQuote quotes a text as Python does: in single quotes, unless it contains single quotes and no
// double ones.
func pyQuote(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b bytes.Buffer
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\\', r == rune(quote):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ', r == 0x7f:
			b.WriteString(`\x` + strconv.FormatInt(int64(r)+0x100, 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}
