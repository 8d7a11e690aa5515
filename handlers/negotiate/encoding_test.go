package negotiate

import "testing"

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"":                           false,
		"gzip":                       true,
		"GZip, deflate, br":          true,
		"br, x-gzip":                 true,
		"*":                          true,
		"br":                         false,
		"gzip;q=0":                   false,
		"gzip; q=0.000":              false,
		"gzip;q=0.001":               true,
		"*;q=0":                      false,
		"gzip;q=0, *":                false,
		"*, gzip;q=0":                false,
		"*;q=0, gzip;q=1":            true,
		"gzip;q=none":                false,
		"identity, gzip ; q=0.5, br": true,
	} {
		if got := AcceptsGzip(header); got != want {
			t.Errorf("AcceptsGzip(%q): got %v, want %v", header, got, want)
		}
	}
}
