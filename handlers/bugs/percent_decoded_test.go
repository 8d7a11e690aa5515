package bugs

import "testing"

func TestPercentDecoded(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                        "",
		"/usr/bin/foo:11:a:b":     "/usr/bin/foo:11:a:b",
		"%2Fusr%2fbin:11:a%20b":   "/usr/bin:11:a b",
		"100%":                    "100%",
		"100%2":                   "100%2",
		"%zz%+1%-1%_1":            "%zz%+1%-1%_1",
		"a+b%2Bc":                 "a+b+c",
		"%2525":                   "%25",
		"%C3%A9%0A%22":            "é\n\"",
		"%FF":                     "\xff",
		"%":                       "%",
		"%%41":                    "%A",
		"encodeURIComponent%3A é": "encodeURIComponent: é",
	} {
		if got := percentDecoded(sent); got != want {
			t.Errorf("percentDecoded(%q): got %q, want %q", sent, got, want)
		}
	}
}
