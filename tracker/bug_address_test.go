package tracker_test

import (
	"testing"

	"mishap/tracker"
)

func TestBugNumber(t *testing.T) {
	t.Parallel()
	c := tracker.NewClient(tracker.Config{URL: "https://launchpad.net", APIURL: "https://api.launchpad.net/devel"}, nil)
	for text, want := range map[string]int64{
		"2100001": 2100001, " #2100001 ": 2100001, "LP: #7": 7, "lp:7": 7, "LP #7": 7, "bug 7": 7, "0007": 7,
		"https://launchpad.net/bugs/7":                                  7,
		"https://bugs.launchpad.net/ubuntu/+source/tidewatch/+bug/7":    7,
		"https://bugs.launchpad.net/ubuntu/+source/a/+bug/7/comments/3": 7,
		"https://BUGS.launchpad.net/bugs/7?x=1#y":                       7,
		"https://api.launchpad.net/devel/bugs/7":                        7,
		"https://bugs.launchpad.net.evil.example/bugs/7":                0,
		"https://github.com/a/b/issues/7":                               0,
		"javascript:alert(7)":                                           0,
		"//launchpad.net/bugs/7":                                        0,
		"https://launchpad.net/ubuntu/7":                                0,
		"":                                                              0,
		"0":                                                             0,
		"-7":                                                            0,
		"7.0":                                                           0,
		"99999999999999999999":                                          0,
		"1234567890123456789":                                           0,
		"seven":                                                         0,
		"7 8":                                                           0,
		"\x00":                                                          0,
	} {
		got, err := c.BugNumber(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}
