package signin_test

import (
	"bufio"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// openidPython returns the path of a Python that has python-openid with its teams extension. It prefers
// the distribution's Python, which may not be the first in PATH.
func openidPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import openid, openid_teams").Run() == nil {
			return python
		}
	}
	t.Skip("python-openid is not installed: apt-get install python3-openid python3-openid-teams")
	return ""
}

// TestPythonOpenID signs in at a provider that is made of python-openid.
func TestPythonOpenID(t *testing.T) {
	t.Parallel()
	python := openidPython(t)
	for _, tt := range []struct {
		name, member string
		lands        string
	}{
		{"member", "bug-control,elsewhere", "/my"},
		{"of no team", "", "/account"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := handlertest.New(t, handlertest.Options{OpenID: crash.OpenIDConfig{URL: startPython(t, python, tt.member),
				Name: "Python"}})
			grant(t, site, crash.SourceLaunchpad, "bug-control", crash.RoleTriager)
			grant(t, site, crash.SourceLaunchpad, "secret", crash.RoleAdmin)

			signIn := func(c *handlertest.Client) *url.URL {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, visit(t, c, startOpenID, "/my"), nil)
				if err != nil {
					t.Fatal(err)
				}
				back, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = back.Body.Close()
				at, err := back.Location()
				if err != nil {
					t.Fatalf("status %d: %v", back.StatusCode, err)
				}
				return at
			}
			c := site.Visitor(t)
			c.Get(signIn(c).RequestURI()).WantRedirect(http.StatusSeeOther, tt.lands)
			c.Get("/account").WantText("#main", "kim").WantText("#main", "/+id/py7hon")

			forged := site.Visitor(t)
			at := signIn(forged)
			forged.Get(at.Path + "?openid.lp.is_member=secret&" + at.RawQuery).Want(http.StatusUnprocessableEntity)
			forged = site.Visitor(t)
			at = signIn(forged)
			q := at.Query()
			q.Set("openid.lp.is_member", "secret")
			forged.Get(at.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).
				WantText("#sign-in-problem", "has not made this answer")
		})
	}
}

// startPython starts the provider and returns its address.
func startPython(t *testing.T, python, teams string) string {
	t.Helper()
	provider := exec.CommandContext(t.Context(), python, "testdata/openid_provider.py", "kim", teams)
	in, err := provider.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	provider.Stderr = &said
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends it
		_ = provider.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = provider.Wait()
		t.Fatalf("the provider did not start: %s", said.String())
	}
	return lines.Text()
}
