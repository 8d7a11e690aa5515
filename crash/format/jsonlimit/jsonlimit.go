// Package jsonlimit checks the structure of JSON texts before they are decoded, so that decoding them needs little
// memory.
package jsonlimit

import (
	"bytes"
	"slices"
	"strings"

	"mishap/crash"
)

// Limits are the limits of a JSON text.
type Limits struct {
	Depth   int // levels of objects and arrays
	Values  int
	Members int // of one object, whose names must be plain and different; 0: names are not checked
}

// Check refuses texts that are large when they are decoded and, if the number of members is limited, names that occur
// twice in an object: programs disagree on what these mean. It accepts texts that are not JSON; the decoder refuses
// them. Errors are of kind Invalid.
func Check(body []byte, most Limits) error {
	type level struct {
		object bool
		keys   int // index of its first one
	}
	var levels []level
	var keys [][]byte
	inKey, values := false, 0 // in a name of the last level, which is an object
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if len(levels) == most.Depth {
				return crash.Errorf(crash.Invalid, "too_deep", "The JSON text has more than %d levels.", most.Depth)
			}
			inKey = body[i] == '{'
			levels = append(levels, level{inKey, len(keys)})
			values++
		case '}', ']':
			if n := len(levels); n > 0 {
				keys, levels = keys[:levels[n-1].keys], levels[:n-1]
			}
			inKey = false
		case ':':
			inKey = false
		case ',':
			inKey = len(levels) > 0 && levels[len(levels)-1].object
			values++
		case '"':
			text := untilQuote(body[i+1:])
			i += len(text) + 1
			if !inKey || most.Members == 0 {
				continue
			}
			siblings := keys[levels[len(levels)-1].keys:]
			if err := checkKey(text, siblings, most.Members); err != nil {
				return err
			}
			keys = append(keys, text)
		}
		if values > most.Values {
			return crash.Errorf(crash.Invalid, "too_many_values", "The JSON text has more than %d values.", most.Values)
		}
	}
	return nil
}

func checkKey(key []byte, siblings [][]byte, most int) error {
	name := func() string { return crash.Shorten(strings.ToValidUTF8(string(key), "\uFFFD"), 100) }
	switch {
	case bytes.IndexByte(key, '\\') >= 0:
		return crash.Errorf(crash.Invalid, "escaped_name", "The name “%s” has an escape.", name())
	case len(siblings) == most:
		return crash.Errorf(crash.Invalid, "too_many_values", "An object has more than %d members.", most)
	case slices.ContainsFunc(siblings, func(other []byte) bool { return bytes.EqualFold(key, other) }):
		return crash.Errorf(crash.Invalid, "duplicate_name", "The name “%s” occurs twice in one object.", name())
	}
	return nil
}

// untilQuote returns text up to the quote that ends a string, or all of it.
func untilQuote(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return text[:i]
		case '\\':
			i++
		}
	}
	return text
}
