package dpkg_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"mishap/crash/dpkg"
)

// TestOrder compares Order with the order of pairs of key and text in the database, where the key
// of an invalid version is empty.
func TestOrder(t *testing.T) {
	t.Parallel()
	var all []string
	for _, row := range ladder {
		all = append(all, row...)
	}
	all = append(all, "unknown", "1.0_1", "(none)")
	key := func(v string) []byte {
		if !dpkg.Valid(v) {
			return nil
		}
		return dpkg.Key(v)
	}
	for _, a := range all {
		for _, b := range all {
			if got, want := dpkg.Order(a, b), cmp.Or(bytes.Compare(key(a), key(b)), strings.Compare(a, b)); got != want {
				t.Errorf("Order(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	var r dpkg.Range
	for _, v := range []string{"unknown", "", "1.10-1", "1.9-1", "1.0~rc1-1", "zz"} {
		r.Add(v)
	}
	if want := (dpkg.Range{Lowest: "1.0~rc1-1", Highest: "1.10-1"}); r != want {
		t.Errorf("got range %+v, want %+v", r, want)
	}
}
