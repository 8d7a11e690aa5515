package crash

import "testing"

func TestParseOldAddress(t *testing.T) {
	t.Parallel()
	const hash = "98dae815e401c4c5b8f87c950f124778cad0415e"
	for address, want := range map[string]string{
		"/reports/12/": "/reports/12", "/faf/reports/12": "/reports/12",
		"https://faf.example/faf/reports/12/": "/reports/12",
		"/faf/reports/bthash/" + hash + "/":   "/reports/bthash/" + hash,
		"/problems/bthash/" + hash:            "/reports/bthash/" + hash,
		"/faf/problems/70/":                   "/problems/70", "/problems/70/kernel,glibc?x=1": "/problems/70",
		"https://errors.ubuntu.com/oops/9D8C5F6E-1f2a-11ee-9d1b-fa163e55efd0": "/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0",
		"/problem/" + hash: "/problem/" + hash, "/bucket/?id=a%3Ab": BucketIDOf("a:b").Path(),
		"/bucket?id=a%3Ab#x": BucketIDOf("a:b").Path(),
		"":                   "", "/": "", "/reports/": "", "/reports/x": "",
		"/reports/1234567890123456789": "", "/faf/faf/reports/1": "",
		"/problem/" + hash + "/x": "", "/bucket/": "", "/oops/1": "", "/faf/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0": "",
		"/reports/bthash/" + hash + hash: "", "%zz": "",
	} {
		got, err := ParseOldAddress(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", address, got, err, want)
		}
	}
}
