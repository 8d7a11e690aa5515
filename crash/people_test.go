package crash_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"mishap/crash"
)

func TestTokenText(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^mshp_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		token, hint := crash.NewTokenText()
		if !form.MatchString(token) || !strings.HasSuffix(token, hint) || len(hint) != 8 || seen[token] {
			t.Fatalf("got %q, %q, want a new token of fixed width", token, hint)
		}
		seen[token] = true
		if err := crash.CheckTokenText(token); err != nil {
			t.Fatalf("%q: %v", token, err)
		}
	}
	// The checksum was computed with zlib.crc32 of Python.
	const known = "mshp_" + "0000000000000000000000000000000000000000001" + "0hnupX"
	if err := crash.CheckTokenText(known); err != nil {
		t.Errorf("known token: %v", err)
	}
	for i := len("mshp_"); i < len(known); i++ { // every single wrong character
		mistyped := known[:i] + string(rune('0'+(known[i]-'0'+1)%10)) + known[i+1:]
		if code := codeOf(crash.CheckTokenText(mistyped)); code != "mistyped_token" {
			t.Errorf("%q: got %q, want mistyped_token", mistyped, code)
		}
	}
	for text, want := range map[string]string{
		"": "bad_token", "Bearer x": "bad_token", known[1:]: "bad_token", "mishap_" + strings.Repeat("x", 94): "bad_token",
		known[:20]: "mistyped_token", known + "x": "mistyped_token", "mshp_": "mistyped_token",
		strings.Replace(known, "0000", "0ü0", 1): "mistyped_token", "mishap_abcdefgh": "",
	} {
		if code := codeOf(crash.CheckTokenText(text)); code != want {
			t.Errorf("%q: got %q, want %q", text, code, want)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	e, _ := errors.AsType[*crash.Error](err)
	return e.Code
}

// TestOldScopes checks that tokens of the old form keep what their scopes allowed, and that new ones
// have only their scopes.
func TestOldScopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hint   string
		scope  crash.Scope
		allows string
	}{
		{"mishap_abcd", crash.ScopeRead, "read read-private admin"},
		{"mishap_abcd", crash.ScopeFile, "triage file"},
		{"mishap_abcd", "upload", ""}, // a scope of an earlier version
		{"abcd1234", crash.ScopeRead, "read"},
		{"abcd1234", crash.ScopeFile, "file"},
		{"abcd1234", crash.ScopeAdmin, "admin"},
	} {
		var got []string
		for _, s := range crash.Scopes {
			if (crash.APIToken{Hint: tt.hint, Scopes: []crash.Scope{tt.scope}}).Allows(s) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != tt.allows {
			t.Errorf("%s with %s: got %v, want %s", tt.hint, tt.scope, got, tt.allows)
		}
	}
}
