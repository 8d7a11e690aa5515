package trackertest_test

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker/trackertest"
)

// launchpadlibPython returns the path of a Python that has launchpadlib. It prefers the
// distribution's Python, which may not be the first in PATH.
func launchpadlibPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import launchpadlib").Run() == nil {
			return python
		}
	}
	t.Skip("launchpadlib is not installed: apt-get install python3-launchpadlib")
	return ""
}

// TestLaunchpadlib runs the real launchpadlib, which signs in and reads, searches, files and
// changes bugs. It covers both API versions in use, as an application of its own and as apport.
func TestLaunchpadlib(t *testing.T) {
	t.Parallel()
	python := launchpadlibPython(t)
	for _, tt := range []struct{ version, how, button string }{
		{"devel", "consumer", "field.actions.WRITE_PRIVATE"},
		{"1.0", "desktop", "field.actions.DESKTOP_INTEGRATION"},
	} {
		t.Run(tt.version, func(t *testing.T) {
			t.Parallel()
			lp := trackertest.New(t, trackertest.Options{PageSize: 5, Archive: &trackertest.Archive{
				Sources: map[string][]crash.Publication{"gedit": {{Series: "noble", Pocket: "Updates", Version: "46.1"}}},
			}})
			fill(lp)
			client := exec.CommandContext(t.Context(), python, "testdata/launchpadlib_client.py", lp.URL+"/", tt.version,
				t.TempDir(), tt.how)
			said := talk(t, client, func(page string) { authorise(t, page, tt.button) })
			if !strings.HasSuffix(said, "done\n") {
				t.Errorf("the client printed %q, want it to finish", said)
			}
			bugs := lp.Bugs()
			made := bugs[len(bugs)-1]
			if made.Package != "bash" || made.InformationType != "Private" || len(made.Messages) != 1 ||
				len(made.Subscribers) != 2 {
				t.Errorf("got the bug %+v, want what the client filed", made)
			}
		})
	}
}

// fill creates the bugs that the client expects.
func fill(lp *trackertest.Tracker) {
	lp.Add(trackertest.Bug{
		Title: "gedit crashed with SIGSEGV", Description: "It crashes.", Package: "gedit", Status: "Confirmed",
		Tags:     []string{"noble"},
		Messages: []trackertest.Message{{Owner: "ada", Content: "Me too."}, {Owner: "bob", Content: "And me."}},
		Series:   []trackertest.SeriesTask{{Series: "noble", Status: "New"}},
	})
	lp.Add(trackertest.Bug{Title: "gedit crashed on exit", Description: "d", Package: "gedit", Status: "Fix Released"})
	for range 12 {
		lp.Add(trackertest.Bug{Title: "one of many", Description: "d", Package: "many", Tags: []string{"many"}})
	}
	lp.Add(trackertest.Bug{Title: "a secret one of many", Description: "d", Package: "many", InformationType: "Private",
		Status: "Invalid"})
}

var authorisePage = regexp.MustCompile(`\((http[^)]*\+authorize-token[^)]*)\)`)

// talk runs a client, calls authorise with the address that it prints, presses Enter, and returns
// the client's output.
func talk(t *testing.T, client *exec.Cmd, authorise func(page string)) string {
	t.Helper()
	var errs strings.Builder
	client.Stderr, client.WaitDelay = &errs, 10*time.Second
	client.Env = append(client.Environ(), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	enter, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if m := authorisePage.FindStringSubmatch(line); m != nil {
			authorise(m[1])
			if _, err := io.WriteString(enter, "\n"); err != nil {
				t.Errorf("press Enter: %v", err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := client.Wait(); err != nil {
		t.Errorf("the client ended with %v and printed\n%s%s", err, said.String(), errs.String())
	}
	return said.String()
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// authorise opens the page on which a person decides, and presses a button.
func authorise(t *testing.T, page, button string) {
	t.Helper()
	body := fetch(t, http.MethodGet, page, nil)
	if !strings.Contains(body, `name="`+button+`"`) {
		t.Fatalf("the page has no button %s:\n%s", button, body)
	}
	form := url.Values{button: {"yes"}}
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	if body := fetch(t, http.MethodPost, page[:strings.Index(page, "?")], form); !strings.Contains(body,
		"Almost finished") {
		t.Fatalf("after the button: got\n%s", body)
	}
}

func fetch(t *testing.T, method, address string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got %s, %v\n%s", method, address, res.Status, err, body)
	}
	return string(body)
}
