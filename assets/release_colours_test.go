package assets_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestReleaseColours checks that every colour of a release has a contrast of 3 : 1 with the page
// (WCAG 2.2, 1.4.11), and that no two releases share one.
func TestReleaseColours(t *testing.T) {
	t.Parallel()
	hex := regexp.MustCompile(`#[0-9a-f]{6}`)
	page := hex.FindAllString(fmt.Sprint(regexp.MustCompile(`--page:[^;]*;`).FindAllString(read(t, "10-tokens.css"), -1)),
		-1)
	if len(page) < 2 {
		t.Fatalf("got the colours %v of the page, want a light and a dark one", page)
	}
	css := read(t, "12-releases.css")
	for n := range 15 {
		both := regexp.MustCompile(fmt.Sprintf(`--release-%d: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`,
			n)).FindStringSubmatch(css)
		if both == nil {
			t.Fatalf("release %d has no colour", n)
		}
		for i, ground := range []string{page[0], page[len(page)-1]} {
			colour := both[i+1]
			if got := contrast(t, colour, ground); got < 3 {
				t.Errorf("release %d: %s on %s: got %.2f : 1, want at least 3 : 1", n, colour, ground, got)
			}
			if len(regexp.MustCompile(colour).FindAllString(css, -1)) != 1 {
				t.Errorf("release %d: its colour %s is that of another, too", n, colour)
			}
		}
		if !regexp.MustCompile(fmt.Sprintf(`\.release-%d \{ color: var\(--release-%d\); \}`, n, n)).MatchString(css) {
			t.Errorf("release %d has no class", n)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	css, err := os.ReadFile("static/css/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(css)
}
