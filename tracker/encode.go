package tracker

import (
	"bytes"
	"encoding/json"
	"strings"
)

// encodeJSON writes a value as the API wants its parameters. The tracker first reads each one as JSON and only when that
// fails as the text itself, so that an unquoted 24.10 would become 24.1.
func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts and lists of texts always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeList writes a list of texts. The tracker reads the items of a list as JSON once more, so those that look like it
// are encoded twice: "24.10" would become 24.1, "true" True.
func encodeList(items []string) string {
	out := make([]string, len(items))
	for i, item := range items {
		if out[i] = item; looksLikeJSON(item) {
			out[i] = encodeJSON(item)
		}
	}
	return encodeJSON(out)
}

// looksLikeJSON reports whether the tracker's reader, Python's, would take s for something else than its text.
func looksLikeJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}
