package assets_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)

// TestContrast checks the colours against WCAG 2.2 AA: 4.5 : 1 for text (1.4.3), 3 : 1 for controls
// and bars (1.4.11).
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("static/css/10-tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("got no colours for dark mode")
	}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range token.FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		for _, pair := range []struct {
			on, what string
			least    float64
		}{
			{"page", "ink quiet accent done wait error", 4.5},
			{"surface", "ink quiet accent", 4.5},
			{"done-soft", "done", 4.5},
			{"wait-soft", "wait", 4.5},
			{"error-soft", "error", 4.5},
			{"accent", "accent-ink", 4.5},
			{"page", "control series-0 series-1 series-2 series-3 series-4 series-5", 3},
			{"page", "series-6 series-7", 2.5}, // old releases may be pale
		} {
			for what := range strings.FieldsSeq(pair.what) {
				if got := contrast(t, colours[what], colours[pair.on]); got < pair.least {
					t.Errorf("%s: %s on %s: got %.2f : 1, want at least %.1f : 1", scheme, what, pair.on, got, pair.least)
				}
			}
		}
	}
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
