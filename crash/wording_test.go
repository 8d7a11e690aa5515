package crash_test

import (
	"fmt"
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

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "[]", " , ": "[]", "127.0.0.0/8": "[127.0.0.0/8]", "127.0.0.0/8 ::1/128": "[127.0.0.0/8 ::1/128]",
		"10.1.2.3,fd00::7,\t192.0.2.0/24": "[10.1.2.3/32 fd00::7/128 192.0.2.0/24]", "10.9.9.9/8": "[10.0.0.0/8]",
		"0.0.0.0/0 ::/0": "[0.0.0.0/0 ::/0]",
	} {
		if got, err := crash.ParseNetworks(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"localhost", "10.0.0.0/33", "10.0.0", "10.0.0.0/8; ::1", "fe80::1%eth0", "::ffff:10.0.0.0/104",
		"::ffff:10.0.0.1", "*",
	} {
		if got, err := crash.ParseNetworks(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
