package tracker

import (
	"bytes"
	"encoding/json"
	"strings"
)

// encodeJSON encodes a parameter for the API. The tracker parses each parameter as JSON, and treats
// it as text only if that fails. So an unquoted 24.10 would become 24.1.
func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // never fails for strings and lists of them
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeList encodes a list of strings. The tracker parses each item of a list as JSON a second
// time. So encodeList encodes items that look like JSON twice; otherwise "24.10" would become 24.1.
func encodeList(items []string) string {
	out := make([]string, len(items))
	for i, item := range items {
		if out[i] = item; looksLikeJSON(item) {
			out[i] = encodeJSON(item)
		}
	}
	return encodeJSON(out)
}

// looksLikeJSON reports whether Python's parser, which the tracker uses, accepts s as JSON.
func looksLikeJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}
