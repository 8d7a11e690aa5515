package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reading is the prefix of actions that read private data.
const Reading = "read."

// Refusals of requests, and actions that the middleware records.
const (
	RequestRefused = "request.refused"
	SignInRefused  = "user.sign-in-refused"
	RequestOther   = "request.other"
	CommandOther   = "command.other"
)

// Actions maps every action to words for people. Recording another action is an error.
var Actions = map[string]string{
	"access.grant":            "Gave a role to a group",
	"access.revoke":           "Took a role from a group",
	"audit.drop":              "Removed old records of this log",
	"bug.create":              "Asked for a bug",
	"bug.fall-back":           "Filed a bug by the account of mishap instead",
	"bug.filed":               "Filed a bug",
	"bug.give-up":             "Gave up filing a bug",
	"bug.link":                "Linked a bug",
	"bug.reconciled":          "Found the outcome of a filing",
	"bug.relink":              "Linked a bug again",
	"bug.retry":               "Tried to file a bug again",
	"bug.unlink":              "Unlinked a bug",
	CommandOther:              "Ran a command that may change data",
	"core.ask":                "Asked machines for a core dump",
	"core.withdraw":           "Withdrew the request for a core dump",
	"delivery.again":          "Sent an event to an endpoint again",
	"endpoint.add":            "Added an endpoint",
	"endpoint.change":         "Changed an endpoint",
	"endpoint.delete":         "Deleted an endpoint",
	"endpoint.disable":        "Switched an endpoint off",
	"endpoint.enable":         "Switched an endpoint on",
	"endpoint.off":            "Switched off an endpoint that failed",
	"endpoint.rotate":         "Changed the secret of an endpoint",
	"endpoint.test":           "Tested an endpoint",
	"follow.add":              "Followed a package, problem or search",
	"follow.remove":           "Stopped following",
	"filing.restored":         "Compared a restored database with the tracker",
	"problem.embargo":         "Embargoed a problem",
	"problem.lift-embargo":    "Lifted the embargo of a problem",
	"mail.address":            "Set a mail address",
	"mail.address-confirm":    "Confirmed a mail address",
	"mail.address-remove":     "Removed a mail address",
	"mail.retry":              "Sent a mail again",
	"mail.settings":           "Changed settings of mail",
	"mail.test":               "Sent a test mail",
	"mail.unsubscribe":        "Unsubscribed from mail",
	"note.add":                "Added a note",
	"note.change":             "Changed or deleted a note",
	"notifications.resume":    "Resumed notifications",
	"notifications.stop":      "Stopped all notifications",
	"problem.assign":          "Assigned a problem",
	"problem.merge":           "Merged a problem",
	"problem.rename":          "Renamed a problem",
	"problem.return":          "Showed a muted problem again",
	"problem.split":           "Split a problem",
	"problem.tag":             "Tagged a problem",
	"problem.triage":          "Set the status of a problem",
	"problem.unassign":        "Removed the assignee of a problem",
	"problem.unmerge":         "Undid a merge",
	"problem.unname":          "Undid a new name",
	"problem.unsplit":         "Undid a split",
	"problem.untag":           "Removed a tag from a problem",
	"problem.untriage":        "Undid the status of a problem",
	"read.api":                "Read private data through the API",
	"read.compare":            "Compared reports",
	"read.core":               "Downloaded a core dump",
	"read.file":               "Downloaded a report",
	"read.log":                "Exported this log",
	"read.machine":            "Viewed the history of a machine",
	"read.report":             "Viewed a report",
	"read.reports":            "Downloaded a list of reports",
	"read.values":             "Viewed private values of the reports of a problem",
	"read.tracker-secret":     "Viewed the access token of the tracker",
	"regroup.start":           "Started regrouping",
	"regroup.stop":            "Stopped regrouping",
	RequestOther:              "Changed something",
	RequestRefused:            "Requested something",
	"rule.change":             "Changed a rule",
	"rule.create":             "Created a rule",
	"rule.delete":             "Deleted a rule",
	"rule.restore":            "Restored a rule",
	"search.change":           "Changed a saved search",
	"search.delete":           "Deleted a saved search",
	"search.restore":          "Restored a saved search",
	"search.save":             "Saved a search",
	"session.end":             "Ended a session",
	"symbols.retry":           "Symbolised a report again",
	"symbols.upload":          "Uploaded symbols",
	"template.drop":           "Deleted a template of bugs",
	"template.save":           "Saved a template of bugs",
	"token.add":               "Created an API token",
	"token.revoke":            "Revoked an API token",
	"tracker.connect":         "Connected the tracker",
	"tracker.confirm-own":     "Finished connecting an own account at the tracker",
	"tracker.connect-own":     "Began to connect an own account at the tracker",
	"tracker.disconnect-own":  "Disconnected an own account at the tracker",
	"tracker.forget":          "Disconnected the tracker",
	"tracker.own-rejected":    "The tracker rejected an own account",
	"tracker.prefer-own":      "Chose the account that files bugs",
	"tracker.recheck":         "Read bugs again",
	"tracker.request":         "Began to connect the tracker",
	"tracker.updates":         "Saved what mishap writes to bugs",
	"tracker.updates-drop":    "Deleted a rule about what mishap writes to bugs",
	"identity.link":           "Connected another way to sign in",
	"identity.unlink":         "Disconnected a way to sign in",
	"session.end-by-provider": "Signed out at the provider",
	"problem.hold":            "Held a problem",
	"problem.lift-hold":       "Lifted the hold of a problem",
	"privacy.apply":           "Began to remove secret fields of stored reports",
	"privacy.check":           "Began to check the fields of stored reports",
	"privacy.expire":          "Began to remove private fields of old reports",
	"privacy.finished":        "Finished removing fields of stored reports",
	"machine.erase":           "Asked to erase a machine",
	"machine.erased":          "Erased a machine",
	"machine.unblock":         "Let an erased machine send reports again",
	"read.machine-dump":       "Downloaded everything about a machine",
	"tracker.updates-order": "Reordered the rules about what " +
		"mishap writes to bugs",
	"user.add":                "Added an account",
	"user.disable":            "Disabled an account",
	"user.enable":             "Enabled an account",
	"user.password":           "Changed a password",
	"user.remove":             "Removed an account",
	"user.role":               "Changed the role of an account",
	"user.sign-in":            "Signed in",
	SignInRefused:             "Failed to sign in",
	"user.sign-out":           "Signed out",
	"user.team":               "Gave a service account to another team",
	"user.tracker-name":       "Changed a name at the tracker",
	"user.recovery-code-used": "Signed in with a recovery code",
	"user.recovery-codes":     "Made new recovery codes",
	"user.totp-on":            "Switched on an authenticator app",
	"user.totp-off":           "Switched off an authenticator app",
	"user.totp-reset":         "Removed the authenticator app of an account",

	"core.download": "Downloaded a core dump", // recorded before downloads were read.core
}

// families are actions that end with an outcome.
var families = map[string]string{
	"bug.comment-": "Comment of mishap on a bug: ",
	"bug.section-": "Section of mishap in a bug: ",
	"candidate.":   "Proposed bug: ",
}

// UnknownAction says that there is no such action, and lists those that there are.
func UnknownAction(action string) string {
	names := slices.Sorted(maps.Keys(Actions))
	for prefix := range families {
		names = append(names, prefix+"…")
	}
	slices.Sort(names)
	return fmt.Sprintf("There is no action %.60q. The actions are %s.", action, strings.Join(names, ", "))
}

// Words returns an action in words, and whether it is known.
func Words(action string) (words string, known bool) {
	if words, known = Actions[action]; known {
		return words, true
	}
	for prefix, words := range families {
		if outcome, ok := strings.CutPrefix(action, prefix); ok && outcome != "" {
			return words + strings.ReplaceAll(outcome, "-", " "), true
		}
	}
	return action, false
}
