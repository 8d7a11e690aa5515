package bugzilla_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/tracker/issuetest"
)

// session is a program for python-bugzilla. It files a bug, reads it by its number and its alias, searches for it,
// comments on it and closes it, and prints what it got.
const session = `
import json, sys
import bugzilla

bz = bugzilla.Bugzilla(sys.argv[1] + "/rest", api_key="key-of-ada", configpaths=[], tokenfile=None)
out = {"is_rest": bz.is_rest(), "version": "%d.%d" % (bz.bz_ver_major, bz.bz_ver_minor)}
fields = dict(product="Harbour Linux", component="tidewatch", version="1.0", summary="By Python",
              description="A ü text.", op_sys="All", platform="All", alias="by-python")
bug = bz.createbug(bz.build_createbug(**fields))
out["id"] = bug.id
bug.refresh()
out["summary"], out["status"], out["creator"] = bug.summary, bug.status, bug.creator
try:
    bz.createbug(bz.build_createbug(**fields))
except Exception as e: # of bugzilla or requests, depending on the version
    out["again"] = "refused"
try:
    bz.createbug(bz.build_createbug(**dict(fields, alias="", component="none")))
except Exception as e:
    out["component"] = "refused"
out["by_alias"] = bz.getbug("by-python").id
out["query"] = [b.id for b in bz.query(bz.build_query(product="Harbour Linux", component="tidewatch",
                                                        include_fields=["id", "summary"]))]
bug.addcomment("A comment.")
out["comments"] = [c["text"] for c in bug.getcomments()]
bug.close("FIXED", comment="Closing.")
bug.refresh()
out["closed"] = [bug.status, bug.resolution, bug.is_open]
out["comments_at_end"] = [c["text"] for c in bug.getcomments()]
print(json.dumps(out))
`

// python returns the path of a Python that has python-bugzilla. It prefers the distribution's Python, which may not
// be the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	checktest.Needs(t, "python-bugzilla")
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import bugzilla").Run() == nil {
			return python
		}
	}
	t.Fatal("python-bugzilla is not installed: .ci/need bugzilla")
	return ""
}

// run runs a program and returns what it writes to its standard output.
func run(t *testing.T, home, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, failure.String())
	}
	return string(out)
}

// TestPythonBugzilla lets another client use the practice tracker, so that it is like a real one. The bugs of both
// clients are the same to it.
func TestPythonBugzilla(t *testing.T) {
	t.Parallel()
	program := python(t)
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	ours := f.create(f.client(), intent)
	var got struct {
		Rest     bool   `json:"is_rest"`
		Version  string `json:"version"`
		ID       int64  `json:"id"`
		Summary  string `json:"summary"`
		Status   string `json:"status"`
		Creator  string `json:"creator"`
		Again    string `json:"again"`
		Comp     string `json:"component"`
		ByAlias  int64  `json:"by_alias"`
		Query    []int64
		Comments []string
		Closed   []any
		AtEnd    []string `json:"comments_at_end"`
	}
	if err := json.Unmarshal([]byte(run(t, t.TempDir(), program, "-c", session, f.srv.URL)), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Rest || got.Version != "5.2" || got.Summary != "By Python" || got.Status != "CONFIRMED" ||
		got.Creator != "ada@example.org" || got.ByAlias != got.ID || got.Again != "refused" || got.Comp != "refused" {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.Query, []int64{ours, got.ID}) {
		t.Errorf("the search found %v, want %d and %d", got.Query, ours, got.ID)
	}
	if !slices.Equal(got.Comments, []string{"A ü text.", "A comment."}) ||
		!slices.Equal(got.AtEnd, []string{"A ü text.", "A comment.", "Closing."}) {
		t.Errorf("got the comments %q and %q", got.Comments, got.AtEnd)
	}
	if fmt.Sprint(got.Closed) != "[CLOSED FIXED false]" {
		t.Errorf("got the closed bug %v", got.Closed)
	}
	r, err := f.client().ReadState(t.Context(), got.ID)
	if err != nil || r.Title != "By Python" || !r.Tasks[0].Complete || r.Tasks[0].Closed.IsZero() {
		t.Errorf("mishap reads %+v, %v", r, err)
	}
}

// TestBugzillaCommand uses the command bugzilla.
func TestBugzillaCommand(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "the command bugzilla")
	command, err := exec.LookPath("bugzilla")
	if err != nil {
		t.Fatal("the command bugzilla is not installed: .ci/need bugzilla")
	}
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	home := t.TempDir()
	settings := filepath.Join(home, ".config", "python-bugzilla")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	key := "[" + strings.TrimPrefix(f.srv.URL, "http://") + "]\napi_key = key-of-ada\n"
	if err := os.WriteFile(filepath.Join(settings, "bugzillarc"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	cli := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(run(t, home, command, append([]string{"--bugzilla", f.srv.URL + "/rest"}, args...)...))
	}
	ours := fmt.Sprint(f.create(f.client(), intent))
	theirs := cli("new", "-p", "Harbour Linux", "-c", "tidewatch", "-v", "1.0", "-t", "By a command", "-l", "A text.",
		"--alias", "by-command", "-i")
	cli("modify", ours, "--comment", "Closing.", "--close", "FIXED")
	cli("modify", theirs, "--dupeid", ours)
	for want, args := range map[string][]string{
		ours + " CLOSED FIXED " + intent.Title:      {"-b", ours},
		theirs + " RESOLVED DUPLICATE By a command": {"--alias", "by-command"},
		ours + " CLOSED FIXED " + intent.Title + "\n" + theirs + " RESOLVED DUPLICATE By a command": {
			"-p", "Harbour Linux", "-c", "tidewatch"},
	} {
		args = append([]string{"query", "--outputformat", "%{id} %{status} %{resolution} %{summary}"}, args...)
		if got := cli(args...); got != want {
			t.Errorf("%v: got %q, want %q", args, got, want)
		}
	}
	c := f.client()
	if r, err := c.ReadState(t.Context(), 1); err != nil || r.Tasks[0].Status != crash.FixReleased {
		t.Errorf("mishap reads %+v, %v", r, err)
	}
	if has, err := c.HasComment(t.Context(), 1, func(s string) bool { return s == "Closing." }); !has || err != nil {
		t.Errorf("mishap sees the comment: %v, %v", has, err)
	}
}
