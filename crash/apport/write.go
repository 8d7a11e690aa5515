package apport

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"errors"
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

// leftOutField is the field that lists the names of fields that a file cannot contain.
const leftOutField = "MishapLeftOut"

// Writable returns the fields that [Write] can write, and the sorted names of the others, since
// machines can send fields with any name. If there are others, it lists them in the field
// MishapLeftOut.
func Writable(fields crash.Fields) (writable crash.Fields, left []string) {
	writable = make(crash.Fields, len(fields))
	for name, value := range fields {
		if ValidKey(name) {
			writable[name] = value
		} else {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if len(left) > 0 {
		writable[leftOutField] = strings.Join(left, "\n")
	}
	return writable, left
}

// WriteDump appends a compressed field to a .crash file. text is base64 in lines, as apport writes
// and whoopsie sends it.
func WriteDump(w io.Writer, name string, text io.Reader) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(name + ": base64\n "); err != nil {
		return err
	}
	in, begun := bufio.NewReader(text), true
	for {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case c == '\r':
			continue
		case c == '\n':
			begun = false
			continue
		case !begun:
			if _, err := out.WriteString("\n "); err != nil {
				return err
			}
			begun = true
		}
		if err := out.WriteByte(c); err != nil {
			return err
		}
	}
	if err := out.WriteByte('\n'); err != nil {
		return err
	}
	return out.Flush()
}
