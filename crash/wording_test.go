package crash_test

import (
	"testing"

	"mishap/crash"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s                    string
		n                    int
		truncated, shortened string
	}{
		{"", 3, "", ""},
		{"naïve", 5, "naïve", "naïve"},
		{"naïve", 4, "naïv", "naï…"},
		{"a b c", 3, "a b", "a…"},
		{"\xff\xff\xff", 2, "\xff\xff", "\xff…"},
	} {
		if got := crash.Truncate(c.s, c.n); got != c.truncated {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.n, got, c.truncated)
		}
		if got := crash.Shorten(c.s, c.n); got != c.shortened {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.s, c.n, got, c.shortened)
		}
	}
}
