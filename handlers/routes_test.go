package handlers_test

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers"
	"mishap/handlers/handlertest"
	"mishap/handlers/web"
)

// TestRoutesByRole requests every route as a visitor, a viewer, a triager and an admin. It checks that the
// audit log has all changes and refusals.
func TestRoutesByRole(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Disconnected: true})
	b := site.Save(t, crashtest.Native())
	rows, err := site.Problems.BucketReports(t.Context(), b.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("reports: got %v, %v, want one", rows, err)
	}
	oops := "/oops/" + rows[0].ID.String()
	clients := map[crash.Role]*handlertest.Client{}
	for _, role := range handlertest.Roles {
		clients[role] = site.As(t, role)
	}
	covered := map[string]bool{}
	for _, tt := range []struct {
		route, path string
		want        [4]int // visitor, viewer, triager, admin
	}{
		{"GET /", "/", [4]int{200, 200, 200, 200}},
		{"GET /problem/{id}", b.ID.Path(), [4]int{200, 200, 200, 200}},
		{"GET /package/{name}", "/package/no-such-package", [4]int{404, 404, 404, 404}},
		{"GET /release/{name}", "/release/no-such-release", [4]int{404, 404, 404, 404}},
		{"GET /gate", "/gate", [4]int{200, 200, 200, 200}},
		{"GET /api", "/api", [4]int{200, 200, 200, 200}},
		{"GET /problems.{format}", "/problems.csv", [4]int{200, 200, 200, 200}},
		{"GET /problem/{id}.{format}", b.ID.Path() + ".csv", [4]int{303, 200, 200, 200}},
		{"GET /problem/{id}/bug", b.ID.Path() + "/bug", [4]int{303, 303, 303, 303}},
		{"GET /bug/{number}", "/bug/1", [4]int{404, 404, 404, 404}},
		{"GET /search", "/search?q=tidewatch", [4]int{200, 200, 200, 200}},
		{"GET /search.{format}", "/search.csv?q=tidewatch", [4]int{200, 200, 200, 200}},
		{"GET /search/complete", "/search/complete?q=pa", [4]int{200, 200, 200, 200}},
		{"GET /keys", "/keys", [4]int{200, 200, 200, 200}},
		{"GET /theme", "/theme?theme=dark", [4]int{303, 303, 303, 303}},
		{"GET /bucket", "/bucket?id=x", [4]int{404, 404, 404, 404}},
		{"GET /bucket/", "/bucket/?id=x", [4]int{404, 404, 404, 404}},
		{"POST /oops/{id}/symbolise", oops + "/symbolise", [4]int{401, 403, 409, 409}},
		{"POST /problem/{id}/core", b.ID.Path() + "/core", [4]int{401, 403, 409, 409}},
		{"POST /problem/{id}/core/withdraw", b.ID.Path() + "/core/withdraw", [4]int{401, 403, 303, 303}},
		{"GET /problem/{id}/symbols", b.ID.Path() + "/symbols", [4]int{303, 303, 303, 303}},
		{"GET /oops/{id}", oops, [4]int{303, 200, 200, 200}},
		{"GET /user/", "/user/", [4]int{303, 200, 200, 200}},
		{"GET /user/{system}", "/user/machine-1", [4]int{303, 200, 200, 200}},
		{"GET /admin", "/admin", [4]int{303, 403, 403, 200}},
		{"GET /admin/tracker", handlertest.TrackerPath, [4]int{303, 403, 403, 200}},
		{"POST /admin/tracker/request-token", handlertest.TrackerPath + "/request-token", [4]int{401, 403, 403, 303}},
		{"POST /admin/tracker/access-token", handlertest.TrackerPath + "/access-token", [4]int{401, 403, 403, 409}},
		{"POST /admin/tracker/check", handlertest.TrackerPath + "/check", [4]int{401, 403, 403, 503}},
		{"POST /admin/tracker/show-token", handlertest.TrackerPath + "/show-token", [4]int{401, 403, 403, 503}},
		{"GET /admin/tracker/updates", handlertest.TrackerPath + "/updates", [4]int{303, 403, 403, 200}},
		{"POST /admin/tracker/updates", handlertest.TrackerPath + "/updates", [4]int{401, 403, 403, 400}},
		{"POST /admin/tracker/forget", handlertest.TrackerPath + "/forget", [4]int{401, 403, 403, 303}},
		{"POST /api/1.0/create-bug-report", strings.TrimSuffix(handlertest.CreatePath, "/"), [4]int{401, 403, 400, 400}},
		{"POST /api/1.0/create-bug-report/", handlertest.CreatePath, [4]int{401, 403, 400, 400}},
		{"POST /api/1.0/set-problem-status", "/api/1.0/set-problem-status", [4]int{401, 403, 415, 415}},
		{"POST /api/1.0/set-problem-status/", "/api/1.0/set-problem-status/", [4]int{401, 403, 415, 415}},
		{"GET /problem/{id}/review", b.ID.Path() + "/review", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/review", b.ID.Path() + "/review", [4]int{401, 403, 422, 422}},
		{"GET /problem/{id}/review/bugs", b.ID.Path() + "/review/bugs", [4]int{303, 403, 303, 303}},
		{"GET /problem/{id}/compare", b.ID.Path() + "/compare?report=" + rows[0].ID.String(), [4]int{303, 400, 400, 400}},
		{"GET /problem/{id}/traits", b.ID.Path() + "/traits", [4]int{303, 200, 200, 200}},
		{"POST /problem/{id}/notes", b.ID.Path() + "/notes", [4]int{401, 303, 303, 303}},
		{"POST /problem/{id}/notes/{note}", b.ID.Path() + "/notes/1", [4]int{401, 404, 404, 404}},
		{"GET /problem/{id}/merge", b.ID.Path() + "/merge", [4]int{303, 403, 200, 200}},
		{"GET /problems/merge", "/problems/merge?problems=" + b.ID.String(), [4]int{303, 403, 400, 400}},
		{"POST /problems/merge", "/problems/merge", [4]int{401, 403, 400, 400}},
		{"GET /problem/{id}/rename", b.ID.Path() + "/rename", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/rename", b.ID.Path() + "/rename", [4]int{401, 403, 422, 422}},
		{"GET /problem/{id}/split", b.ID.Path() + "/split", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/split", b.ID.Path() + "/split", [4]int{401, 403, 422, 422}},
		{"POST /problem/{id}/undo", b.ID.Path() + "/undo", [4]int{401, 403, 404, 404}},
		{"GET /admin/symbols", "/admin/symbols", [4]int{303, 403, 403, 200}},
		{"GET /admin/symbols.{format}", "/admin/symbols.csv", [4]int{303, 403, 403, 200}},
		{"GET /admin/privacy", "/admin/privacy", [4]int{303, 403, 403, 200}},
		{"POST /admin/privacy/check", "/admin/privacy/check", [4]int{401, 403, 403, 303}},
		{"POST /admin/privacy/apply", "/admin/privacy/apply", [4]int{401, 403, 403, 409}},
		{"GET /problem/{id}/hold", b.ID.Path() + "/hold", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/hold", b.ID.Path() + "/hold", [4]int{401, 403, 422, 422}},
		{"GET /user/{system}/erase", "/user/abc/erase", [4]int{303, 403, 403, 200}},
		{"POST /user/{system}/erase", "/user/abc/erase", [4]int{401, 403, 403, 422}},
		{"GET /user/{system}/dump.jsonl", "/user/abc/dump.jsonl", [4]int{303, 403, 403, 200}},
		{"GET /admin/erasures", "/admin/erasures", [4]int{303, 403, 403, 200}},
		{"GET /admin/regroup", "/admin/regroup", [4]int{303, 403, 403, 200}},
		{"POST /admin/regroup/stop", "/admin/regroup/stop", [4]int{401, 403, 403, 404}},
		{"POST /admin/regroup", "/admin/regroup", [4]int{401, 403, 403, 303}},
		{"POST /admin/regroup/apply", "/admin/regroup/apply", [4]int{401, 403, 403, 303}},
		{"GET /problem/{id}/mute", b.ID.Path() + "/mute", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/mute", b.ID.Path() + "/mute", [4]int{401, 403, 422, 422}},
		{"GET /problem/{id}/embargo", b.ID.Path() + "/embargo", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/embargo", b.ID.Path() + "/embargo", [4]int{401, 403, 422, 422}},
		{"GET /problem/{id}/wontfix", b.ID.Path() + "/wontfix", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/wontfix", b.ID.Path() + "/wontfix", [4]int{401, 403, 303, 303}},
		{"GET /problem/{id}/fixed", b.ID.Path() + "/fixed", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/fixed", b.ID.Path() + "/fixed", [4]int{401, 403, 422, 422}},
		{"GET /problems/mute", "/problems/mute?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/mute", "/problems/mute", [4]int{401, 403, 400, 400}},
		{"GET /problems/wontfix", "/problems/wontfix?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/wontfix", "/problems/wontfix", [4]int{401, 403, 400, 400}},
		{"GET /problems/fixed", "/problems/fixed?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/fixed", "/problems/fixed", [4]int{401, 403, 400, 400}},
		{"POST /problems/triage/undo", "/problems/triage/undo", [4]int{401, 403, 404, 404}},
		{"GET /problem/{id}/link", b.ID.Path() + "/link", [4]int{303, 403, 200, 200}},
		{"POST /problem/{id}/link", b.ID.Path() + "/link", [4]int{401, 403, 422, 422}},
		{"POST /problem/{id}/unlink", b.ID.Path() + "/unlink", [4]int{401, 403, 422, 422}},
		{"POST /problem/{id}/relink", b.ID.Path() + "/relink", [4]int{401, 403, 422, 422}},
		{"POST /problem/{id}/recheck", b.ID.Path() + "/recheck", [4]int{401, 403, 303, 303}},
		{"POST /problem/{id}/resume-section", b.ID.Path() + "/resume-section", [4]int{401, 403, 422, 422}},
		{"POST /problem/{id}/assign", b.ID.Path() + "/assign", [4]int{401, 403, 303, 303}},
		{"POST /problem/{id}/assign/undo", b.ID.Path() + "/assign/undo", [4]int{401, 403, 400, 400}},
		{"POST /problem/{id}/tags", b.ID.Path() + "/tags", [4]int{401, 403, 303, 303}},
		{"GET /problems/assign", "/problems/assign?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/assign", "/problems/assign", [4]int{401, 403, 400, 400}},
		{"POST /problems/unassign", "/problems/unassign", [4]int{401, 403, 400, 400}},
		{"POST /api/1.0/problem-people", "/api/1.0/problem-people", [4]int{401, 403, 415, 415}},
		{"POST /api/1.0/problem-people/", "/api/1.0/problem-people/", [4]int{401, 403, 415, 415}},
		{"POST /api/1.0/erase-machine", "/api/1.0/erase-machine", [4]int{401, 403, 403, 415}},
		{"POST /api/1.0/erase-machine/", "/api/1.0/erase-machine/", [4]int{401, 403, 403, 415}},
		{"GET /api/1.0/*", "/api/1.0/", [4]int{200, 200, 200, 200}},
		{"POST /api/1.0/*", "/api/1.0/reports-state/", [4]int{415, 415, 415, 415}},
		{"GET /my", "/my", [4]int{303, 200, 200, 200}},
		{"GET /my.{format}", "/my.csv", [4]int{303, 200, 200, 200}},
		{"POST /my/follow", "/my/follow", [4]int{401, 422, 422, 422}},
		{"POST /my/unfollow", "/my/unfollow", [4]int{401, 400, 400, 400}},
		{"POST /my/seen", "/my/seen", [4]int{401, 400, 400, 400}},
		{"GET /account", "/account", [4]int{303, 200, 200, 200}},
		{"POST /account", "/account", [4]int{401, 303, 303, 303}},
		{"POST /account/tracker/request-token", "/account/tracker/request-token", [4]int{401, 403, 303, 303}},
		{"POST /account/tracker/access-token", "/account/tracker/access-token", [4]int{401, 403, 409, 409}},
		{"POST /account/tracker/check", "/account/tracker/check", [4]int{401, 403, 409, 409}},
		{"POST /account/tracker/disconnect", "/account/tracker/disconnect", [4]int{401, 403, 303, 303}},
		{"POST /account/tracker/preference", "/account/tracker/preference", [4]int{401, 403, 303, 303}},
		{"POST /account/identities/link", "/account/identities/link", [4]int{401, 404, 404, 404}}, // not configured
		{"POST /account/identities/{id}/unlink", "/account/identities/1/unlink", [4]int{401, 303, 303, 303}},
		{"POST /account/password", "/account/password", [4]int{401, 422, 422, 422}},
		{"POST /admin/access/second-factor", "/admin/access/second-factor", [4]int{401, 403, 403, 404}},
		{"GET /login/resume", "/login/resume", [4]int{303, 303, 303, 303}}, // nothing to send again
		{"GET /admin/services", "/admin/services", [4]int{303, 403, 403, 200}},
		{"POST /admin/services", "/admin/services", [4]int{401, 403, 403, 422}},
		{"GET /service/{name}", "/service/bot", [4]int{303, 404, 404, 404}},
		{"POST /service/{name}/team", "/service/bot/team", [4]int{401, 403, 403, 404}},
		{"POST /service/{name}/tokens", "/service/bot/tokens", [4]int{401, 403, 403, 404}},
		{"POST /service/{name}/tokens/{id}/renew", "/service/bot/tokens/1/renew", [4]int{401, 404, 404, 404}},
		{"POST /service/{name}/tokens/{id}/revoke", "/service/bot/tokens/1/revoke", [4]int{401, 404, 404, 404}},
		{"GET /admin/tokens", "/admin/tokens", [4]int{303, 403, 403, 200}},
		{"POST /admin/tokens/revoke", "/admin/tokens/revoke", [4]int{401, 403, 403, 400}},
		{"POST /admin/tokens/{id}/revoke", "/admin/tokens/1/revoke", [4]int{401, 403, 403, 404}},
		{"GET /account/second-factor", "/account/second-factor", [4]int{303, 200, 200, 200}},
		{"POST /account/second-factor/begin", "/account/second-factor/begin", [4]int{401, 422, 422, 422}},
		{"POST /account/second-factor/confirm", "/account/second-factor/confirm", [4]int{401, 409, 409, 409}},
		{"POST /account/second-factor/recovery-codes", "/account/second-factor/recovery-codes", [4]int{401, 422, 422, 422}},
		{"POST /account/second-factor/off", "/account/second-factor/off", [4]int{401, 422, 422, 422}},
		{"POST /account/sessions/end", "/account/sessions/end", [4]int{401, 303, 303, 303}},
		{"POST /account/tokens", "/account/tokens", [4]int{401, 422, 422, 422}},
		{"POST /account/tokens/{id}/revoke", "/account/tokens/1/revoke", [4]int{401, 404, 404, 404}},
		{"GET /inbox", "/inbox", [4]int{303, 200, 200, 200}},
		{"GET /inbox.{format}", "/inbox.csv", [4]int{303, 200, 200, 200}},
		{"POST /inbox/read", "/inbox/read", [4]int{401, 422, 422, 422}},
		{"POST /inbox/unread", "/inbox/unread", [4]int{401, 422, 422, 422}},
		{"GET /account/notifications", "/account/notifications", [4]int{303, 200, 200, 200}},
		{"POST /account/notifications", "/account/notifications", [4]int{401, 422, 422, 422}},
		{"POST /account/notifications/address", "/account/notifications/address", [4]int{401, 422, 422, 422}},
		{"POST /account/notifications/remove", "/account/notifications/remove", [4]int{401, 303, 303, 303}},
		{"POST /account/notifications/test", "/account/notifications/test", [4]int{401, 303, 303, 303}},
		{"GET /account/notifications/confirm/{token}", "/account/notifications/confirm/x", [4]int{303, 404, 404, 404}},
		{"POST /account/notifications/confirm/{token}", "/account/notifications/confirm/x", [4]int{401, 404, 404, 404}},
		{"GET /unsubscribe/{token}", "/unsubscribe/x", [4]int{404, 404, 404, 404}},
		{"POST /unsubscribe/{token}", "/unsubscribe/x", [4]int{400, 400, 400, 400}},
		{"GET /admin/mail", "/admin/mail", [4]int{303, 403, 403, 200}},
		{"POST /admin/mail/test", "/admin/mail/test", [4]int{401, 403, 403, 422}},
		{"POST /admin/mail/{id}/retry", "/admin/mail/1/retry", [4]int{401, 403, 403, 404}},
		{"GET /problems/chosen", "/problems/chosen?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/chosen", "/problems/chosen", [4]int{401, 403, 303, 303}},
		{"GET /embargoed", "/embargoed", [4]int{303, 200, 200, 200}},
		{"GET /searches", "/searches", [4]int{303, 200, 200, 200}},
		{"POST /searches", "/searches", [4]int{401, 400, 400, 400}},
		{"POST /searches/{id}", "/searches/1", [4]int{401, 404, 404, 404}},
		{"POST /searches/{id}/delete", "/searches/1/delete", [4]int{401, 404, 404, 404}},
		{"POST /searches/{id}/restore", "/searches/1/restore", [4]int{401, 404, 404, 404}},
		{"GET /problems/create", "/problems/create?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"GET /problems/link", "/problems/link?problems=" + b.ID.String(), [4]int{303, 403, 200, 200}},
		{"POST /problems/link", "/problems/link", [4]int{401, 403, 400, 400}},
		{"POST /problems/unlink", "/problems/unlink", [4]int{401, 403, 400, 400}},
		{"GET /admin/filings", "/admin/filings", [4]int{303, 403, 403, 200}},
		{"GET /admin/filings.{format}", "/admin/filings.csv", [4]int{303, 403, 403, 200}},
		{"GET /problem/{id}/versions.{format}", b.ID.Path() + "/versions.csv", [4]int{200, 200, 200, 200}},
		{"GET /admin/filings/{id}", "/admin/filings/1", [4]int{303, 403, 403, 404}},
		{"POST /admin/filings/{id}/retry", "/admin/filings/1/retry", [4]int{401, 403, 403, 404}},
		{"POST /admin/filings/{id}/give-up", "/admin/filings/1/give-up", [4]int{401, 403, 403, 404}},
		{"GET /admin/notifications", "/admin/notifications", [4]int{303, 403, 403, 200}},
		{"POST /admin/notifications", "/admin/notifications", [4]int{401, 403, 403, 400}},
		{"GET /admin/notifications/new", "/admin/notifications/new?kind=slack", [4]int{303, 403, 403, 200}},
		{"POST /admin/notifications/stop", "/admin/notifications/stop", [4]int{401, 403, 403, 303}},
		{"POST /admin/notifications/resume", "/admin/notifications/resume", [4]int{401, 403, 403, 303}},
		{"GET /admin/notifications/{id}", "/admin/notifications/1", [4]int{303, 403, 403, 404}},
		{"POST /admin/notifications/{id}", "/admin/notifications/1", [4]int{401, 403, 403, 404}},
		{"POST /admin/notifications/{id}/test", "/admin/notifications/1/test", [4]int{401, 403, 403, 404}},
		{"POST /admin/notifications/{id}/rotate", "/admin/notifications/1/rotate", [4]int{401, 403, 403, 404}},
		{"POST /admin/notifications/{id}/enable", "/admin/notifications/1/enable", [4]int{401, 403, 403, 404}},
		{"POST /admin/notifications/{id}/disable", "/admin/notifications/1/disable", [4]int{401, 403, 403, 404}},
		{"POST /admin/notifications/{id}/delete", "/admin/notifications/1/delete", [4]int{401, 403, 403, 404}},
		{"GET /admin/notifications/{id}/deliveries/{delivery}", "/admin/notifications/1/deliveries/x",
			[4]int{303, 403, 403, 404}},
		{"POST /admin/notifications/{id}/deliveries/{delivery}/again", "/admin/notifications/1/deliveries/x/again",
			[4]int{401, 403, 403, 404}},
		{"GET /admin/audit", "/admin/audit", [4]int{303, 403, 403, 200}},
		{"GET /admin/audit.jsonl", "/admin/audit.jsonl", [4]int{303, 403, 403, 200}},
		{"GET /admin/access", "/admin/access", [4]int{303, 403, 403, 200}},
		{"POST /admin/access", "/admin/access", [4]int{401, 403, 403, 422}},
		{"POST /admin/access/revoke", "/admin/access/revoke", [4]int{401, 403, 403, 404}},
		{"GET /admin/templates", "/admin/templates", [4]int{303, 403, 403, 200}},
		{"POST /admin/templates", "/admin/templates", [4]int{401, 403, 403, 422}},
		{"GET /admin/rules", "/admin/rules", [4]int{303, 403, 403, 200}},
		{"POST /admin/rules", "/admin/rules", [4]int{401, 403, 403, 422}},
		{"GET /admin/rules/new", "/admin/rules/new", [4]int{303, 403, 403, 200}},
		{"GET /admin/rules/{id}", "/admin/rules/1", [4]int{303, 403, 403, 200}},
		{"POST /admin/rules/{id}", "/admin/rules/1", [4]int{401, 403, 403, 422}},
		{"POST /admin/rules/{id}/switch", "/admin/rules/1/switch", [4]int{401, 403, 403, 303}},
		{"POST /admin/rules/{id}/delete", "/admin/rules/1/delete", [4]int{401, 403, 403, 303}},
		{"POST /admin/rules/{id}/restore", "/admin/rules/1/restore", [4]int{401, 403, 403, 303}},
		{"GET /candidates", "/candidates", [4]int{303, 403, 200, 200}},
		{"POST /candidates/{id}/approve", "/candidates/1/approve", [4]int{401, 403, 404, 404}},
		{"POST /candidates/{id}/decline", "/candidates/1/decline", [4]int{401, 403, 404, 404}},
		{"POST /candidates/{id}/restore", "/candidates/1/restore", [4]int{401, 403, 404, 404}},
		{"GET /login", "/login", [4]int{200, 303, 303, 303}},
		{"GET /healthz", "/healthz", [4]int{200, 200, 200, 200}},
		{"GET /readyz", "/readyz", [4]int{200, 200, 200, 200}},
		{"GET /assets/*", "/assets/no-such-file", [4]int{404, 404, 404, 404}},
		{"GET /login/code", "/login/code", [4]int{200, 303, 303, 303}},
		{"POST /login/code", "/login/code", [4]int{422, 422, 422, 422}},
		{"POST /login", "/login", [4]int{422, 422, 422, 422}},
		{"POST /login/openid", "/login/openid", [4]int{404, 404, 404, 404}}, // not configured
		{"POST /login/oidc", "/login/oidc", [4]int{404, 404, 404, 404}},
		{"GET /login/oidc/return", "/login/oidc/return", [4]int{404, 404, 404, 404}},
		{"POST /login/oidc/logout", "/login/oidc/logout", [4]int{404, 404, 404, 404}},
		{"GET /login/openid/return", "/login/openid/return", [4]int{404, 404, 404, 404}},
		{"POST /login/openid/return", "/login/openid/return", [4]int{404, 404, 404, 404}},
		{"POST /logout", "/logout", [4]int{303, 303, 303, 303}}, // last: it ends the sessions
	} {
		covered[tt.route] = true
		method, _, _ := strings.Cut(tt.route, " ")
		for i, role := range handlertest.Roles {
			c := clients[role]
			var a *handlertest.Answer
			if method == http.MethodGet {
				a = c.Get(tt.path)
			} else {
				a = c.Post(tt.path, nil)
			}
			if a.Status != tt.want[i] {
				t.Errorf("%s as %s: got %d, want %d", tt.route, handlertest.RoleName(role), a.Status, tt.want[i])
			}
			recorded := site.Value(t, `select coalesce(max(result), '') from audit_events where request_id = $1`,
				a.Header.Get("X-Request-Id"))
			switch {
			case i == 0 && tt.route != "POST /unsubscribe/{token}":
			case a.Status == http.StatusForbidden && recorded != audit.Refused:
				t.Errorf("%s as %s: got the record %q, want a refusal", tt.route, handlertest.RoleName(role), recorded)
			case method != http.MethodGet && a.Status < 400 && recorded != audit.Done && web.UnrecordedRoutes[tt.route] == "":
				t.Errorf("%s as %s: got no record of a change", tt.route, handlertest.RoleName(role))
			}
			if login := "/login?next="; a.Status == 303 && i == 0 && strings.HasPrefix(tt.path, "/admin") &&
				!strings.HasPrefix(a.Header.Get("Location"), login) {
				t.Errorf("%s as a visitor: got redirected to %q, want %s…", tt.route, a.Header.Get("Location"), login)
			}
		}
	}
	for _, route := range site.Routes(t) {
		if !covered[route] {
			t.Errorf("route %s is not in this table", route)
		}
	}
	for route := range web.UnrecordedRoutes {
		if method, path, _ := strings.Cut(route, " "); !covered[route] || method == http.MethodGet {
			t.Errorf("%s of web.UnrecordedRoutes is no route that changes something", path)
		}
	}
}

func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	page := c.Get("/no/such/page").Want(http.StatusNotFound).WantText("h1", "Not found")
	page.WantText(".hint", page.Header.Get("X-Request-ID"))

	var got handlertest.APIError
	c.Get("/api/1.0/no-such-thing").Want(http.StatusNotFound).JSON(&got)
	if got.Code != "no_resource" || got.Error == "" {
		t.Errorf("got %+v, want a message and no_resource", got)
	}
	a := c.Get(handlertest.CreatePath).Want(http.StatusMethodNotAllowed)
	if allow := a.Header.Values("Allow"); len(allow) != 1 || allow[0] != "POST" {
		t.Errorf("Allow: got %q, want POST", allow)
	}
	a.JSON(&got)
	c.Post("/healthz", nil).Want(http.StatusMethodNotAllowed)
	part := c.Part("/no/such/page").Want(http.StatusNotFound)
	if part.HTML().Find(".flash-error").Length() != 1 || strings.Contains(part.Body, "<html") {
		t.Errorf("part: got %s, want one message", part.Body)
	}
}

func TestSlashes(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	id := strings.Repeat("0", 40)
	c := site.Visitor(t)
	c.Get("/problem/"+id+"/?period=day").WantRedirect(http.StatusMovedPermanently, "/problem/"+id+"?period=day")
	c.Get("/login/").WantRedirect(http.StatusMovedPermanently, "/login")
	c.Get("//login").WantRedirect(http.StatusMovedPermanently, "/login")
	c.Get("/no-such-page/").Want(http.StatusNotFound)
	for _, path := range []string{"//evil.example/", "//evil.example/..", "/%2F/evil.example/", `/\evil.example/`} {
		if a := c.Get(path).Want(http.StatusNotFound); a.Header.Get("Location") != "" {
			t.Errorf("%s redirects to %q, want no redirect", path, a.Header.Get("Location"))
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	for path, want := range map[string]int{"/": 200, b.ID.Path(): 200, "/login": 200, "/healthz": 200,
		"/no-such-page": 404, "/admin/tracker": 303} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := site.Visitor(t).Do(req).Want(want); a.Body != "" {
			t.Errorf("HEAD %s: got a body of %d bytes, want none", path, len(a.Body))
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ids := map[string]bool{}
	for _, path := range []string{"/", "/login", "/healthz", "/no-such-page", "/api/1.0/x", "/assets/x"} {
		a := site.Visitor(t).Get(path, handlertest.Header{Name: "X-Request-ID", Value: "forged"})
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
				"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
			"X-Frame-Options":        "DENY",
			"Referrer-Policy":        "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s: got %q, want %q", path, name, got, want)
			}
		}
		if a.Header.Get("Permissions-Policy") == "" {
			t.Errorf("%s: got no Permissions-Policy, want one", path)
		}
		id := a.Header.Get("X-Request-ID")
		if id == "" || id == "forged" || ids[id] {
			t.Errorf("%s: request id: got %q, want a new one", path, id)
		}
		ids[id] = true
	}
	for path, cookie := range map[string]bool{"/": true, "/healthz": false, "/readyz": false, "/assets/x": false} {
		if got := len(site.Visitor(t).Get(path).Header.Values("Set-Cookie")) > 0; got != cookie {
			t.Errorf("%s: cookie set: got %v, want %v", path, got, cookie)
		}
	}
	if got := site.As(t, crash.RoleViewer).Get("/").Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control when signed in: got %q, want no-store", got)
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	a := site.Visitor(t).Get("/", handlertest.Header{Name: "Accept-Encoding", Value: "gzip"}).Want(http.StatusOK)
	if got := a.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding: got %q, want gzip", got)
	}
	zr, err := gzip.NewReader(strings.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(zr)
	if err != nil || !strings.Contains(string(page), "</html>") {
		t.Errorf("got %d bytes, %v, want a whole page", len(page), err)
	}
}

// TestInternalErrorsStayInside makes every page fail internally and checks what the visitor and the
// log get.
func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Broken(t), Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, path := range []string{"/", "/problem/" + strings.Repeat("0", 40), "/bug/1", "/bucket/?id=x", "/readyz"} {
		for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart,
			"JSON": {{Name: "Accept", Value: "application/json"}}} {
			address := path
			switch { // the problem's own part and file require signing in
			case name == "part" && strings.HasPrefix(path, "/problem/"):
				address += "/bug"
			case name == "JSON" && strings.HasPrefix(path, "/problem/"):
				address = "/problems.json"
			}
			a := site.Visitor(t).Get(address, headers...).Want(http.StatusServiceUnavailable)
			id := a.Header.Get("X-Request-ID")
			body := strings.ReplaceAll(a.Body, id, "") // random letters, which can be SQL
			for _, inside := range []string{"pool", "SQL", "sql", "pgx", "closed", "goroutine", ".go:", "postgres"} {
				if strings.Contains(body, inside) {
					t.Errorf("%s as %s reveals %q: %s", path, name, inside, a.Body)
				}
			}
			// Probes come every few seconds, so their failures are logged only for debugging.
			if path != "/readyz" && strings.Count(log.String(), `"msg":"request failed","request_id":"`+id) != 1 {
				t.Errorf("%s as %s: want exactly one log line for %s", path, name, id)
			}
		}
	}
}

func TestLogHoldsNoContents(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience,
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path())
	c.Get("/user/machine-secret")
	c.Get("/bucket/?id=" + "private-signature")
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	for _, private := range []string{b.Signature, "machine-secret", "private-signature", handlertest.Password,
		c.Cookie("sessionid"), c.Cookie("csrftoken")} {
		if strings.Contains(log.String(), private) {
			t.Errorf("the log contains %q", private)
		}
	}
	for _, want := range []string{`"route":"/problem/{id}"`, `"route":"/user/{system}"`, `"user":"ada-triager"`,
		`"status":201`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	families, err := site.Metrics.Gather()
	if err != nil || len(families) == 0 {
		t.Fatalf("metrics: got %d families, %v, want some", len(families), err)
	}
	for _, f := range families {
		if strings.Contains(f.String(), "machine-secret") || strings.Contains(f.String(), b.ID.String()) {
			t.Errorf("metric %s contains a raw path", f.GetName())
		}
	}
}

func TestRedirectBucket(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.Visitor(t)
	for name, report := range map[string]crashtest.Report{
		"plain": crashtest.Native(), "markup": crashtest.Markup(), "newlines": crashtest.Package(),
		"Unicode": crashtest.Unicode(),
		"escapes": crashtest.Recoverable(crashtest.Set("DuplicateSignature", "a;b&c=d+e %41 %zz\n")),
	} {
		p.Accept(crash.SystemID(name), report)
		signature := grouping.SignatureOf(report.Fields()).Signature
		want := crash.BucketIDOf(signature).Path()
		for _, path := range []string{"/bucket/", "/bucket"} {
			if a := c.Get(path + "?id=" + url.QueryEscape(signature)); a.Header.Get("Location") != want {
				t.Errorf("%s%s: got %d to %q, want %q", path, name, a.Status, a.Header.Get("Location"), want)
			}
		}
	}
	c.Get("/bucket/?x=1&id=/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start").
		WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, crashtest.Native()).Path())
	for _, query := range []string{"", "?", "?id=", "?x=1"} {
		c.Get("/bucket/"+query).WantRedirect(http.StatusSeeOther, "/")
	}
	for _, query := range []string{"?id=unknown", "?id=%ff%00", "?id=%zz"} {
		c.Get("/bucket/"+query).Want(http.StatusNotFound).WantText("[role=alert]", "There is no such problem.")
	}
}

func TestRedirectBugUnknown(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	c.Get("/bug/2101233").Want(http.StatusNotFound).WantText("[role=alert]", "No problem here has the bug 2101233.")
	for _, path := range []string{"/bug/x", "/bug/0", "/bug/-1", "/bug/99999999999999999999"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no bug with such a number.")
	}
}

// TestBugOfProblem checks that a filed bug appears, with its number, on the list and on the page of
// its problem.
func TestBugOfProblem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native)
	report := crashtest.Native()
	var filed struct{ Report, URL string }
	p.As(t, crash.RoleTriager).PostJSON("/api/1.0/create-bug-report/", map[string]string{
		"signature": grouping.SignatureOf(report.Fields()).Signature,
	}).Want(http.StatusCreated).JSON(&filed)
	c := p.Visitor(t)
	c.Get("/bug/"+filed.Report).WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, report).Path())
	for path, selector := range map[string]string{"/": "tbody td.bug a", handlertest.BucketOf(t, report).
		Path(): "#bugs a.bug-link"} {
		a := c.Get(path).Want(http.StatusOK).WantText(selector, filed.Report)
		if got := a.Attr(selector, "href"); got != filed.URL {
			t.Errorf("%s: link to the bug: got %q, want %q", path, got, filed.URL)
		}
	}
}

func TestNewNamesMissingDeps(t *testing.T) {
	t.Parallel()
	_, err := handlers.New(handlers.Deps{Deps: web.Deps{Config: web.Config{BaseURL: "nonsense"}, Now: time.Now}})
	want := "handlers: base address \"nonsense\" is not an http or https address\n" +
		"handlers: missing: Store, People, Bugs, Problems, Events, Symbols, Filer, Tracker, Credentials, Log, Registerer\n" +
		"handlers: missing: Decisions, Mailer, Sender, WriteTokens"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAPIPage checks that the page names every resource of the API and that its examples work.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.Visitor(t)
	var index map[string]any
	c.Get("/api/1.0/").Want(http.StatusOK).JSON(&index)
	page := c.Get("/api").Want(http.StatusOK).WantText("h1", "API 1.0")
	for name := range index {
		page.WantText(`[id="`+name+`"] h2`, name)
	}
	if got := page.HTML().Find("main section").Length(); got != len(index) {
		t.Errorf("got %d sections, want %d", got, len(index))
	}
	for _, a := range page.HTML().Find("main section > p > a").EachIter() {
		switch got := c.Get(a.AttrOr("href", "")); got.Status {
		case http.StatusOK, http.StatusNotFound, http.StatusUnauthorized: // the database is empty, and nobody is signed in
		default:
			t.Errorf("%s: got %d", a.Text(), got.Status)
		}
	}
	c.Get("/api/").WantRedirect(http.StatusMovedPermanently, "/api")
}
