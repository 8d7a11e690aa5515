package handlers_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/audit"
)

// recordedElsewhere are actions that change something, with the tests that cause them. A record without
// values before and after is an error, so those tests fail if it has none.
var recordedElsewhere = map[string]string{
	"bug.fall-back": "TestFallBack", "bug.give-up": "TestManageFilings", "bug.retry": "TestManageFilings",
	"bug.reconciled": "TestReconcile", "core.ask": "TestAskForCore",
	"core.withdraw": "TestAskForCore", "delivery.again": "TestWebhookPages", "endpoint.add": "TestWebhookPages",
	"endpoint.change": "TestWebhookPages", "endpoint.delete": "TestWebhookPages", "endpoint.disable": "TestWebhookPages",
	"endpoint.enable": "TestWebhookPages", "endpoint.rotate": "TestWebhookPages", "endpoint.off": "TestGone",
	"problem.return": "TestMuteEnds", "mail.unsubscribe": "TestUnsubscribe", "mail.address-confirm": "TestMailSettings",
	"problem.split": "TestSplit", "problem.unsplit": "TestSplit", "regroup.start": "TestRegroupPage",
	"regroup.stop": "TestRegroupPage", "rule.create": "TestRuleIsRehearsed", "tracker.connect": "TestConnectTracker",
	"tracker.confirm-own": "TestOwnAccount", "tracker.connect-own": "TestOwnAccount",
	"tracker.disconnect-own": "TestOwnAccount", "tracker.prefer-own": "TestOwnAccount",
	"tracker.own-rejected": "TestFallBack", "tracker.forget": "TestConnectTracker", "identity.link": "TestLink",
	"identity.groups": "TestRefreshGroups",
	"identity.unlink": "TestLink", "privacy.expire": "TestRuns", "privacy.apply": "TestRuns",
	"machine.unblock": "TestBlock", "user.remove": "TestUserCommands",
	"user.disable": "TestUserCommands", "user.enable": "TestUserCommands", "user.role": "TestUserCommands",
	"user.totp-on": "TestSecondStepOfSignIn", "user.totp-off": "TestSecondStepOfSignIn",
	"user.recovery-code-used": "TestSecondStepOfSignIn", "user.recovery-codes": "TestSecondStepOfSignIn",
	"user.totp-reset": "TestResetSecondFactor",
}

// TestActionsHaveValues does what the router offers, and checks the record of each request. Every action
// that changes something is in this table, in recordedElsewhere, or has a reason to have no values.
func TestActionsHaveValues(t *testing.T) {
	t.Parallel()
	p := newStepSite(t)
	admin := p.As(t, crash.RoleAdmin)
	seen := map[string]bool{}
	for _, step := range changeSteps {
		a := admin.Post(p.request(t, step))
		got := p.values(t, a, step.action)
		if want := p.fill.Replace(step.values); !strings.Contains(got, want) || a.Status >= 400 {
			t.Errorf("%s: got status %d and the values %s, want %s", step.action, a.Status, got, want)
		}
		if got == " " && !audit.Valueless(step.action) {
			t.Errorf("%s: the record has no values", step.action)
		}
		seen[step.action] = true
	}
	seen["bug.filed"] = p.Value(t, `select coalesce(min(after ->> 'bug'), '') from audit_events where action = 'bug.filed'`) != ""
	tests := testNames(t)
	for action := range audit.Actions {
		test := recordedElsewhere[action]
		if test != "" && !tests[test] {
			t.Errorf("%s: there is no test %s", action, test)
		}
		if !seen[action] && test == "" && !audit.Valueless(action) {
			t.Errorf("%s: no test checks what its record contains", action)
		}
	}
}

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, root := map[string]bool{}, os.DirFS("..")
	err := fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, file)
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ = strings.Cut(name, "(")
				names["Test"+name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
