package debian_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"mishap/crash/checktest"
	"mishap/tracker/issuetest"
)

// session is a program for python-debianbts, which reads the bugs of Debian. It files and changes bugs by mail, as
// reportbug does, and checks what it reads.
const session = `
import smtplib, sys
from email.message import EmailMessage
from email.header import Header
import debianbts

debianbts.set_soap_location(sys.argv[1] + "/cgi-bin/soap.cgi")
host, port = sys.argv[2].removeprefix("smtp://").split(":")

def mail(to, subject, text, **headers):
    m = EmailMessage()
    m["From"], m["To"], m["Subject"] = "Kim Ü <kim@example.org>", to + "@127.0.0.1", subject
    for name, value in headers.items():
        m[name.replace("_", "-")] = value
    m.set_content(text)
    with smtplib.SMTP(host, int(port)) as s:
        s.send_message(m)

assert debianbts.get_bugs(submitter="kim@example.org") == []
mail("submit", "tidewatch: crash in lék", """Package: src:tidewatch
Version: 1.0-1
Severity: important
Tags: patch

It crashes: ü <&>
""", Message_ID="<by-python@example.org>")
mail("submit", "tidewatch: the same", "Source: tidewatch\n\nText")
first, second = debianbts.newest_bugs(2)
assert sorted(debianbts.get_bugs(submitter="kim@example.org")) == [first, second]
assert debianbts.get_bugs(src="linux") == []

[b] = debianbts.get_status(first)
assert (b.subject, b.msgid) == ("tidewatch: crash in lék", "<by-python@example.org>"), b
assert (b.source, b.package, b.originator) == ("tidewatch", "src:tidewatch", "Kim Ü <kim@example.org>"), b
assert (b.severity, b.tags, b.found_versions) == ("important", ["patch"], ["tidewatch/1.0-1"]), b
assert not b.done and not b.archived and b.fixed_versions == [] and b.mergedwith == [], b
assert debianbts.get_status([99]) == []

mail(str(first), "Re: crash", "More.\n\nControl: not a command here")
mail("control", "x", "forwarded %d https://e.example/1\nmerge %d %d\nthanks\nclose %d" % (first, first, second, first))
[b] = debianbts.get_status([first])
assert (b.forwarded, b.mergedwith, b.done) == ("https://e.example/1", [second], False), b
log = debianbts.get_bug_log(first)
assert [m["message"].get_payload(decode=False).strip() for m in log][1].startswith("More."), log
assert "ü <&>" in log[0]["body"] and "Severity: important" in log[0]["body"], log

mail("%d-done" % first, "Bug#%d: fixed" % first, "Source: tidewatch\nVersion: 1.0-2\n\nFixed.")
[b] = debianbts.get_status(first)
assert b.done and b.done_by == "Kim Ü <kim@example.org>" and b.fixed_versions == ["tidewatch/1.0-2"], b
mail("control", "x", "archive %d" % second)
assert debianbts.get_bugs(src="tidewatch") == [first]
assert debianbts.get_bugs(src="tidewatch", archive="1") == [second]
assert sorted(debianbts.get_bugs(src="tidewatch", archive="both")) == [first, second]
try:
    debianbts.get_bug_log(99)
except Exception as e:
    assert "Unable to open bug log" in str(e), e
else:
    raise AssertionError("a log of no bug")

[ours] = debianbts.get_bugs(submitter="mishap@example.org")
[b] = debianbts.get_status(ours)
assert b.subject == "tidewatch crashed" and b.msgid.startswith("<mishap-"), b
assert "ü" in debianbts.get_bug_log(ours)[0]["body"]
print("done")
`

// TestPython lets an independent client work with the practice tracker, and then ours with what it left.
func TestPython(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "python-debianbts")
	srv := issuetest.New(t, suite.Kind)
	c := connect(t, srv)
	create(t, c, issuetest.Intent)
	cmd := exec.CommandContext(t.Context(), python(t), "-c", session, srv.URL, srv.Relay)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Fatalf("python-debianbts: %v\n%s", err, out)
	}
	r := read(t, c, 1000002)
	checktest.Equal(t, "title", r.Title, "tidewatch: crash in lék")
	checktest.Equal(t, "complete", r.Tasks[0].Complete, true)
	checktest.Equal(t, "fixes", len(r.Fixes), 1)
	checktest.Equal(t, "duplicate of", read(t, c, 1000003).DuplicateOf, 1000002)
	has, err := c.HasComment(t.Context(), 1000002, func(text string) bool {
		return text == "More.\n\nControl: not a command here"
	})
	checktest.NoError(t, err)
	checktest.Equal(t, "has the comment", has, true)
	in := issuetest.Intent
	in.Marker = "It crashes: ü"
	found, err := c.FindBug(t.Context(), in, time.Now(), nil, "kim@example.org")
	checktest.NoError(t, err)
	checktest.Equal(t, "bug found", found, 1000002)
}

// python returns the path of a Python that has python-debianbts. It prefers the distribution's Python, which may not
// be the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import debianbts").Run() == nil {
			return python
		}
	}
	t.Fatal("python-debianbts is not installed: .ci/need debianbts")
	return ""
}
