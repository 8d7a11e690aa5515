package jsonlimit_test

import (
	"errors"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/format/jsonlimit"
)

// TestCheck checks each limit, at it and beyond, and that texts within strings do not count.
func TestCheck(t *testing.T) {
	t.Parallel()
	loose := jsonlimit.Limits{Depth: 3, Values: 6}
	strict := jsonlimit.Limits{Depth: 3, Values: 6, Members: 2}
	for _, c := range []struct {
		text  string
		most  jsonlimit.Limits
		wants string // code of the refusal; empty: none
	}{
		{`[[[1]]]`, loose, ""},
		{`[[[[1]]]]`, loose, "too_deep"},
		{`[{"a":[1]},{"a":[2]}]`, loose, ""},
		{`["[[[[", "{\"a\":{{{{", ",,,,,,,,,"]`, loose, ""},
		{`[1,2,3,4,5,6]`, loose, ""},
		{`[1,2,3,4,5,6,7]`, loose, "too_many_values"},
		{`{"a":1,"A":2,"a":3}`, loose, ""},
		{`{"a":1,"A":2}`, strict, "duplicate_name"},
		{`{"a":1,"b":2}`, strict, ""},
		{`{"a":1,"b":2,"c":3}`, strict, "too_many_values"},
		{`{"a":{"a":1}}`, strict, ""},
		{`{"\u0061":1}`, strict, "escaped_name"},
		{`{"a":"\u0061\"b","c":1}`, strict, ""},
		{`]]}}"`, strict, ""},
		{`{"a`, strict, ""},
		{strings.Repeat("[", 1000), strict, "too_deep"},
	} {
		err := jsonlimit.Check([]byte(c.text), c.most)
		refusal, _ := errors.AsType[*crash.Error](err)
		if (err == nil) != (c.wants == "") || err != nil && (refusal.Code != c.wants || refusal.Kind != crash.Invalid) {
			t.Errorf("%.40s with %+v: got %v, want %q", c.text, c.most, err, c.wants)
		}
	}
}
