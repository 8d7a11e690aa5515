package gitlab_test

import (
	"os/exec"
	"testing"
	"time"

	"mishap/crash/checktest"
	"mishap/tracker/issuetest"
)

// session is a program for python-gitlab, a client that GitLab's users have. It files an issue, reads, lists, changes
// and closes it, comments on it, and checks what it says about refusals.
const session = `
import gitlab, sys

def refused(status, call):
    try:
        call()
    except gitlab.exceptions.GitlabError as e:
        assert e.response_code == status, (status, e)
        return e.error_message
    raise AssertionError("not refused")

gl = gitlab.Gitlab(sys.argv[1], private_token="secret-of-kim")
gl.auth()
assert gl.user.username == "kim", gl.user
project = gl.projects.get("GNOME/mutter")
assert project.path_with_namespace == "GNOME/mutter"

issue = project.issues.create({"title": "By Python", "description": "ü /close", "labels": ["a", "b"],
                               "confidential": False})
assert (issue.iid, issue.state, issue.labels, issue.author["username"]) == (1, "opened", ["a", "b"], "kim"), issue
hidden = project.issues.create({"title": "Hidden", "confidential": True})
assert hidden.confidential

issue.notes.create({"body": "first"})
issue.notes.create({"body": "second"})
assert [n.body for n in issue.notes.list(get_all=True)] == ["second", "first"]
assert [n.body for n in issue.notes.list(sort="asc", per_page=1, get_all=True)] == ["first", "second"]

issue.title = "Changed"
issue.state_event = "close"
issue.save()
again = gl.projects.get("GNOME/mutter", lazy=True).issues.get(1)
assert (again.title, again.state, again.user_notes_count) == ("Changed", "closed", 2), again
assert again.closed_at and again.subscribed

for n in range(45):
    project.issues.create({"title": "issue %d" % n})
found = project.issues.list(iterator=True, author_username="kim", created_after="2020-01-01T00:00:00Z", sort="asc")
assert [i.iid for i in found] == list(range(1, 48)), [i.iid for i in found]
assert found.total == 47
assert [i.iid for i in project.issues.list(state="closed", get_all=True)] == [1]
assert [i.iid for i in project.issues.list(labels=["a"], get_all=True)] == [1]
assert project.issues.list(author_username="nobody", get_all=True) == []

assert refused(404, lambda: project.issues.get(99)) == "404 Issue Not Found"
assert refused(404, lambda: gl.projects.get("nowhere/x")) == "404 Project Not Found"
assert "too long" in str(refused(400, lambda: project.issues.create({"title": "x" * 256})))
refused(401, gitlab.Gitlab(sys.argv[1], private_token="wrong").auth)
others = gitlab.Gitlab(sys.argv[1], private_token="secret-of-mishap").projects.get("GNOME/mutter")
refused(404, lambda: others.issues.get(hidden.iid))
print("done")
`

// TestPython lets an independent client work with the practice tracker, and then ours with what it left.
func TestPython(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "python-gitlab")
	srv := issuetest.New(t, suite.Kind)
	srv.AddToken("kim", "secret-of-kim")
	out, err := exec.CommandContext(t.Context(), python(t), "-c", session, srv.URL).CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Fatalf("python-gitlab: %v\n%s", err, out)
	}
	c := suite.Connect(srv, nil)
	r := read(t, c, 1)
	if r.Title != "Changed" || !r.Tasks[0].Complete || r.Tasks[0].Closed.IsZero() {
		t.Errorf("got %+v, want the closed issue", r)
	}
	has, err := c.HasComment(t.Context(), 1, func(text string) bool { return text == "second" })
	checktest.NoError(t, err)
	checktest.Equal(t, "has the comment", has, true)
	in := issuetest.Intent
	in.Marker = "ü /close"
	found, err := c.FindBug(t.Context(), in, time.Now(), nil, "kim")
	checktest.NoError(t, err)
	checktest.Equal(t, "bug found", found, 1)
}

// python returns the path of a Python that has python-gitlab. It prefers the distribution's Python, which may not
// be the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import gitlab").Run() == nil {
			return python
		}
	}
	t.Fatal("python-gitlab is not installed: .ci/need gitlab")
	return ""
}
