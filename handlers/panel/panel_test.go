package panel

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
)

func TestBugState(t *testing.T) {
	t.Parallel()
	filing := func(state crash.FilingState, problem string) crash.Bucket {
		return crash.Bucket{SourcePackage: "tide", Filing: crash.Filing{ID: 1, State: state, Problem: problem}}
	}
	linked := filing(crash.FilingRefused, "")
	linked.Bug.Number = 7
	type states [4]bugsview.BugState // visitor, viewer, triager, admin
	all := func(s bugsview.BugState) states { return states{s, s, s, s} }
	for _, tt := range []struct {
		name    string
		bucket  crash.Bucket
		on, off states // filing switched on, and off
	}{
		{"linked", linked, all(bugsview.BugLinked), all(bugsview.BugLinked)},
		{"new", crash.Bucket{SourcePackage: "tide"}, states{bugsview.BugSignIn, "", bugsview.BugCreate, bugsview.BugCreate},
			all("")},
		{"no source package", crash.Bucket{}, states{"", "", bugsview.BugImpossible, bugsview.BugImpossible}, all("")},
		{"queued", filing(crash.FilingQueued, ""), all(bugsview.BugCreating), all(bugsview.BugCreating)},
		{"sending", filing(crash.FilingSending, ""), all(bugsview.BugCreating), all(bugsview.BugCreating)},
		{"uncertain", filing(crash.FilingUncertain, ""), all(bugsview.BugChecking), all(bugsview.BugChecking)},
		{"waiting", filing(crash.FilingQueued, "tracker_credentials"), all(bugsview.BugWaiting), all(bugsview.BugWaiting)},
		{
			"refused", filing(crash.FilingRefused, ""), states{bugsview.BugSignIn, "", bugsview.BugRefused, bugsview.BugRefused},
			states{"", "", bugsview.BugRefused, bugsview.BugRefused},
		},
	} {
		for i, role := range []crash.Role{crash.RoleNone, crash.RoleViewer, crash.RoleTriager, crash.RoleAdmin} {
			for allow, want := range map[bool]states{true: tt.on, false: tt.off} {
				s := New(&web.Kit{Config: web.Config{AllowBugFiling: allow}}, Deps{})
				if got := s.bugState(crash.User{Role: role}, tt.bucket); got != want[i] {
					t.Errorf("%s, role %q, filing %v: got %q, want %q", tt.name, role, allow, got, want[i])
				}
			}
		}
	}
}

// TestBugCellInEveryState renders each state with hostile texts.
func TestBugCellInEveryState(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>'&%41`
	for _, tt := range []struct {
		state        bugsview.BugState
		buttons      int // for people who may file
		links, polls int
	}{
		{bugsview.BugNothing, 0, 0, 0},
		{bugsview.BugLinked, 0, 1, 0},
		{bugsview.BugCreate, 1, 0, 0},
		{bugsview.BugSignIn, 0, 1, 0},
		{bugsview.BugImpossible, 0, 0, 0},
		{bugsview.BugCreating, 0, 0, 1},
		{bugsview.BugChecking, 0, 0, 1},
		{bugsview.BugWaiting, 1, 0, 0},
		{bugsview.BugRefused, 1, 0, 0},
	} {
		for _, may := range []bool{true, false} {
			p := bugsview.BugPart{
				State: tt.state, Signature: hostile, Reason: hostile, CSRFToken: hostile, Next: "/?q=" + hostile, MayFile: may,
				Bug: crash.Bug{Number: 7, Title: hostile, URL: "javascript:alert(1)"},
			}
			var b bytes.Buffer
			checktest.NoError(t, bugsview.BugCell(p).Render(t.Context(), &b))
			doc, err := goquery.NewDocumentFromReader(&b)
			checktest.NoError(t, err)
			count := func(selector string) int { return doc.Find(selector).Length() }
			buttons := tt.buttons
			if !may {
				buttons = 0
			}
			checktest.Equal(t, fmt.Sprintf("%q: buttons", tt.state), count("form[method=post] button"), buttons)
			checktest.Equal(t, fmt.Sprintf("%q: links", tt.state), count(".bug-now > a"), tt.links)
			checktest.Equal(t, fmt.Sprintf("%q: parts that poll", tt.state), count(`[hx-get][hx-trigger^="every"]`),
				tt.polls)
			if count("script") > 0 || count(`.bug[role=status]`) != 1 || strings.Contains(doc.Find("a").AttrOr("href", ""),
				"javascript") {
				t.Errorf("%q: got unescaped text, or a cell without role=status", tt.state)
			}
			field := doc.Find("input[name=signature]")
			if sent, _ := url.PathUnescape(field.AttrOr("value", "")); field.Length() > 0 && sent != hostile {
				t.Errorf("%q: the form sends %q, want %q once decoded", tt.state, field.AttrOr("value", ""), hostile)
			}
		}
	}
}
