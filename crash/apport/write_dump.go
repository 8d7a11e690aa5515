package apport

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"mishap/crash"
)

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
