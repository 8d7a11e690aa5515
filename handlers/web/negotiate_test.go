package web

import (
	"fmt"
	"testing"

	"mishap/crash/checktest"
)

func TestPreferred(t *testing.T) {
	t.Parallel()
	const (
		json, xml, yaml, html = "application/json", "application/xml", "text/yaml", "text/html"
		firefox               = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	)
	offers := []string{json, xml, yaml, html}
	for header, want := range map[string]string{
		"":                                 json,
		" , ,":                             json,
		"*/*":                              json,
		firefox:                            html,
		"application/xml":                  xml,
		"APPLICATION/XML":                  xml,
		"text/yaml, application/xml":       yaml,
		"application/xml, text/yaml":       xml,
		"application/xml;q=0.5, text/yaml": yaml,
		"text/yaml;q=0.1,application/xml;q=0.2,application/json;q=0.15": xml,
		"application/xml, application/json;q=0.9":                       xml,
		"application/json;q=0.5, application/xml;q=0.5":                 json,
		"application/xml;q=0.5, application/json;q=0.5":                 xml,
		"text/*":                                                        yaml,
		"text/*;q=0.5, text/yaml;q=0.1":                                 html,
		"*/*;q=0.1, application/xml":                                    xml,
		"application/xml, */*":                                          xml,
		"*/*, application/xml":                                          json,
		"application/json;q=0, */*":                                     xml,
		"application/json;q=0.000":                                      "",
		"*/*;q=0":                                                       "",
		"image/png":                                                     "",
		"application/xml; q = 0.3 , text/yaml ;Q=0.4":                   yaml,
		`application/xml;x="a,b;q=0";q=1, text/yaml`:                    xml,
		`application/xml;x="\"";q=0.1, text/yaml;q=0.2`:                 yaml,
		"application/xml;version=2, text/yaml":                          xml,
		"application/xml;q=1.000, text/yaml;q=0.999":                    xml,
		"application/xml;q=2, text/yaml;q=0.1":                          yaml,
		"application/xml;q=0.1234, text/yaml;q=0.1":                     yaml,
		"application/xml;q=, text/yaml;q=0.1":                           yaml,
		"xml, text/yaml;q=0.1":                                          yaml,
		"*/xml, text/yaml;q=0.1":                                        yaml,
		"application/xml;q=0.5, application/xml;q=0.9, text/yaml;q=0.7": yaml,
	} {
		for range 20 { // the result must be deterministic
			if got := Preferred([]string{header}, offers...); got != want {
				t.Fatalf("%q: got %q, want %q", header, got, want)
			}
		}
	}
	checktest.Equal(t, "two headers", Preferred([]string{"application/xml;q=0.5", "text/yaml;q=0.6"}, offers...),
		yaml)
	checktest.Equal(t, "no header", Preferred(nil, offers...), json)
}

func FuzzPreferred(f *testing.F) {
	f.Add("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	f.Add(`a/b;c="\`)
	f.Fuzz(func(t *testing.T, header string) {
		first := Preferred([]string{header}, "application/json", "text/html")
		if again := Preferred([]string{header}, "application/json", "text/html"); again != first {
			t.Fatalf("got %q, then %q", first, again)
		}
	})
}

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
		checktest.Equal(t, fmt.Sprintf("AcceptsGzip(%q)", header), AcceptsGzip(header), want)
	}
}
