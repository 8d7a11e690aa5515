package apport

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"io"
	"maps"
	"slices"
	"strings"

	"mishap/crash"
)

// Write writes fields as a .crash file that [Read] reads back. ProblemType comes first; the others
// are sorted by name. It compresses values with leading empty lines, which the text format would
// lose. For a field name that the format does not allow, it returns an error of kind Invalid (code
// invalid_key).
func Write(w io.Writer, fields crash.Fields) error {
	out := bufio.NewWriter(w)
	for _, key := range slices.SortedFunc(maps.Keys(fields), problemTypeFirst) {
		if !ValidKey(key) {
			return crash.Errorf(crash.Invalid, "invalid_key", "A .crash file cannot hold a field named %q.", key)
		}
		if err := writeField(out, key, fields[key]); err != nil {
			return err
		}
	}
	return out.Flush()
}

func problemTypeFirst(a, b string) int {
	const first = "ProblemType"
	switch {
	case a == b:
		return 0
	case a == first:
		return -1
	case b == first:
		return 1
	}
	return strings.Compare(a, b)
}

func writeField(out *bufio.Writer, key, value string) error {
	var err error
	switch {
	case strings.HasPrefix(value, "\n"): // the text format loses leading empty lines
		err = writeCompressed(out, key, value)
	case value == "base64", strings.Contains(value, "\n"), strings.Trim(value, " \t\r\v\f") != value:
		_, err = out.WriteString(key + ":\n " + strings.ReplaceAll(value, "\n", "\n ") + "\n")
	default:
		_, err = out.WriteString(key + ": " + value + "\n")
	}
	return err
}

func writeCompressed(out *bufio.Writer, key, value string) error {
	if _, err := out.WriteString(key + ": base64\n "); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, out)
	z := gzip.NewWriter(text)
	z.Name = key
	if _, err := io.WriteString(z, value); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	return out.WriteByte('\n')
}
