package assets_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	colourToken = regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)
	cssComment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssRule     = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	property    = regexp.MustCompile(
		`(?m)^\s*(color|background|background-color|fill|stroke|border-color|border):([^;]*);`)
	usedToken = regexp.MustCompile(`var\(--([a-z0-9-]+)\)`)
)

// grounds are the backgrounds of a page that any text without a background of its own may have.
var grounds = []string{"page", "surface", "hover"}

// TestContrast computes the contrast of every pair of colours in use, light and dark, as in WCAG
// 2.2 AA: 4.5 : 1 for text (1.4.3), 3 : 1 for what a control or a bar is recognised by (1.4.11). It
// finds the pairs in the style sheets.
func TestContrast(t *testing.T) {
	t.Parallel()
	themes := readColours(t)
	least := map[[2]string]float64{}
	need := func(what, on string, ratio float64) {
		pair := [2]string{what, on}
		least[pair] = max(least[pair], ratio)
	}
	for _, rule := range cssRules(t) {
		text, ground := rule.tokens("color", themes), rule.tokens("background", themes)
		for _, on := range ground {
			for _, what := range text {
				need(what, on, 4.5)
			}
			if len(text) == 0 && slices.Contains(grounds, on) {
				need("ink", on, 4.5)
				need("quiet", on, 4.5)
				need("accent", on, 4.5)
			}
		}
		for _, what := range text {
			if len(ground) == 0 && !strings.HasSuffix(what, "-ink") && !isDecoration(rule.selector) {
				need(what, "page", 4.5)
				need(what, "surface", 4.5)
			}
		}
		for _, what := range append(rule.tokens("fill", themes), rule.tokens("stroke", themes)...) {
			if !strings.HasPrefix(what, "line") { // lines of a grid are no information
				need(what, "page", 3)
			}
		}
	}
	need("control", "page", 3) // borders of controls
	need("accent", "page", 4.5)
	if len(least) < 15 {
		t.Fatalf("got %d pairs, want those of all style sheets", len(least))
	}
	for pair, ratio := range least {
		for theme, colours := range themes {
			if got := contrast(t, colours[pair[0]], colours[pair[1]]); got < ratio {
				t.Errorf("%s: %s on %s: got %.2f : 1, want at least %.1f : 1", theme, pair[0], pair[1], got, ratio)
			}
		}
	}
}

// isDecoration reports whether a rule colours marks that say nothing by themselves.
func isDecoration(selector string) bool {
	return strings.Contains(selector, ".sep")
}

// readColours returns the colours of both themes by the names of their tokens.
func readColours(t *testing.T) map[string]map[string]string {
	t.Helper()
	css, err := os.ReadFile("static/css/10-tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := map[string]map[string]string{"light": {}, "dark": {}}
	for _, m := range colourToken.FindAllStringSubmatch(string(css), -1) {
		themes["light"][m[1]], themes["dark"][m[1]] = m[2], m[3]
	}
	if len(themes["light"]) < 15 {
		t.Fatalf("got %d colours, want those of the style sheet", len(themes["light"]))
	}
	return themes
}

// styleRule is a rule of a style sheet.
type styleRule struct{ selector, body string }

func cssRules(t *testing.T) []styleRule {
	t.Helper()
	files, err := filepath.Glob("static/css/*.css")
	if err != nil {
		t.Fatal(err)
	}
	var rules []styleRule
	for _, file := range files {
		css, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range cssRule.FindAllStringSubmatch(cssComment.ReplaceAllString(string(css), ""), -1) {
			rules = append(rules, styleRule{selector: strings.TrimSpace(m[1]), body: m[2]})
		}
	}
	return rules
}

// tokens returns the colours that a rule sets a property to. Mixed colours do not count.
func (r styleRule) tokens(name string, themes map[string]map[string]string) []string {
	var found []string
	for _, m := range property.FindAllStringSubmatch(r.body, -1) {
		if strings.TrimSuffix(m[1], "-color") != name || strings.Contains(m[2], "color-mix") {
			continue
		}
		for _, token := range usedToken.FindAllStringSubmatch(m[2], -1) {
			if themes["light"][token[1]] != "" {
				found = append(found, token[1])
			}
		}
	}
	return found
}

// contrast returns the contrast of two colours as in WCAG, 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	high, low := luminance(t, a), luminance(t, b)
	return (max(high, low) + 0.05) / (min(high, low) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatalf("got colour %q, want #rrggbb", colour)
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

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
