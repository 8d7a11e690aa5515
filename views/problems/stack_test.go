package problems_test

import (
	"fmt"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/views/layout"
	"mishap/views/problems"
)

func TestStackSaysWhatItOmits(t *testing.T) {
	t.Parallel()
	stack := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "#%d  0x55d0 in f%d (secret=1) from /usr/lib/libx.so.1\n", i, i)
		}
		return b.String()
	}
	var threads strings.Builder
	for i := range 60 {
		fmt.Fprintf(&threads, "Thread %d (Thread 0x7f22 (LWP 4312) \"gmain\"):\n%s\n", i+1, stack(35))
	}
	report := crash.StoredReport{Fields: crash.Fields{"Stacktrace": stack(32), "ThreadStacktrace": threads.String()}}
	page := problems.ProblemPage{
		Shell: layout.Shell{User: crash.User{ID: 1, Role: crash.RoleViewer},
			Now: now}, Stack: problems.NewStack(report),
	}
	doc := parse(t, render(t, problems.Problem(page)))
	checktest.Equal(t, "visible frames", doc.Find(".stack > .scroll tbody tr").Length(), 20)
	checktest.Equal(t, "first frame", rows(doc, ".stack > .scroll tbody tr")[0], "0 f0 libx.so.1 ")
	text := strings.Join(strings.Fields(doc.Find(".stack").Text()), " ")
	for _, want := range []string{"12 more frames", "60 other threads", "Thread 1, gmain", "5 more frames in the report",
		"10 more threads in the report"} {
		if !strings.Contains(text, want) {
			t.Errorf("stack: got no text %q", want)
		}
	}
	checktest.Equal(t, "other threads", doc.Find(".stack h3").Length(), 50)
}

func TestEmptyStack(t *testing.T) {
	t.Parallel()
	signedIn := layout.Shell{User: crash.User{ID: 1, Role: crash.RoleViewer}, Now: now}
	for want, page := range map[string]problems.ProblemPage{
		"Reports of this problem are no longer stored.": {Shell: signedIn},
		"The reports of this problem have no stack, traceback or other readable text.": {Shell: signedIn,
			Stack: problems.NewStack(crash.StoredReport{})},
		"Sign in to see all, with files and lines.": {
			Shell: layout.Shell{Path: "/problem/x"}},
	} {
		doc := parse(t, render(t, problems.Problem(page)))
		if got := strings.Join(strings.Fields(doc.Find(".stack").Text()), " "); !strings.Contains(got, want) {
			t.Errorf("stack: got %q, want %q", got, want)
		}
	}
}
