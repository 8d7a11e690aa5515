package handlers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// csrfCase is a request that would change something. Its address does not exist: 404 means that the
// guard accepted it, 401 that the guard refused it.
type csrfCase struct {
	name    string
	method  string            // POST if empty
	headers map[string]string // "TOKEN" is replaced by the cookie's value, "MASKED" by the token of a page
	form    url.Values
	part    bool // whether the form is multipart
	cookie  string
	rawBody string
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

var csrfPassing = []csrfCase{
	{name: "raw token in X-CSRFToken, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "BASE/problem/1", "Content-Type": jsonType}},
	{name: "masked token in X-CSRFToken, own Origin", headers: map[string]string{"X-CSRFToken": "MASKED", "Origin": "BASE",
		"Content-Type": jsonType}},
	{name: "raw token in X-CSRF-Token", headers: map[string]string{"X-CSRF-Token": "TOKEN", "Origin": "BASE"}},
	{name: "masked token in X-CSRF-Token", headers: map[string]string{"X-CSRF-Token": "MASKED", "Origin": "BASE"}},
	{name: "raw form field", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "masked form field", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "form field with plus signs not escaped", headers: map[string]string{"Origin": "BASE",
		"Content-Type": formType}, rawBody: "csrf_token=TOKEN"},
	{name: "multipart form", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"MASKED"}},
		part: true},
	{name: "form with Sec-Fetch-Site only", headers: map[string]string{"Sec-Fetch-Site": "same-origin"},
		form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "form with Referer only", headers: map[string]string{"Referer": "BASE/"},
		form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "script without Origin, Referer and Sec-Fetch-Site", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Content-Type": jsonType}},
	{name: "all three headers of a browser", headers: map[string]string{"X-CSRFToken": "MASKED", "Origin": "BASE",
		"Referer": "BASE/", "Sec-Fetch-Site": "same-origin"}},
	{name: "PUT", method: http.MethodPut, headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "DELETE", method: http.MethodDelete, headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "GET needs nothing", method: http.MethodGet, headers: map[string]string{"Origin": "https://evil.example"}},
}

var csrfRefused = []csrfCase{
	{name: "no token", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"x": {"y"}}},
	{name: "another token",
		headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 32)),
			"Origin": "BASE"}},
	{name: "token of zeros", headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"Origin": "BASE"}},
	{name: "masked token of zeros",
		headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(make([]byte, 64)), "Origin": "BASE"}},
	{name: "rubbish token", headers: map[string]string{"X-CSRFToken": "%%%", "Origin": "BASE"}},
	{name: "wrong header token beside a right field", headers: map[string]string{"X-CSRFToken": "AAAA", "Origin": "BASE"},
		form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "empty cookie", cookie: "none", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "cookie and token both empty", cookie: "none", headers: map[string]string{"Origin": "BASE"},
		form: url.Values{"csrf_token": {""}}},
	{name: "cookie of the old site", cookie: "hV3BmZHLrWpXcYf9aDq2sT8uNgJ5kE7R",
		headers: map[string]string{"X-CSRFToken": "hV3BmZHLrWpXcYf9aDq2sT8uNgJ5kE7R", "Origin": "BASE"}},
	{name: "token in the query", method: "POST ?csrf_token=TOKEN", headers: map[string]string{"Origin": "BASE",
		"Content-Type": formType}},
	{name: "foreign Origin", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "https://evil.example"}},
	{name: "foreign Origin, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Origin": "https://evil.example", "Referer": "BASE/"}},
	{name: "foreign Origin, Sec-Fetch-Site same-origin", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}},
	{name: "foreign Referer", headers: map[string]string{"X-CSRFToken": "TOKEN", "Referer": "https://evil.example/"}},
	{name: "foreign Referer, own Origin", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "https://evil.example/", "Origin": "BASE"}},
	{name: "own address within a foreign Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "https://evil.example/?BASE/"}},
	{name: "Referer that cannot be read", headers: map[string]string{"X-CSRFToken": "TOKEN", "Referer": "http://[::1"}},
	{name: "Origin null", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "null"}},
	{name: "Origin null, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "null",
		"Referer": "BASE/"}},
	{name: "other port", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "http://127.0.0.1:1"}},
	{name: "other scheme", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "HTTPSBASE"}},
	{name: "Sec-Fetch-Site same-site", headers: map[string]string{"X-CSRFToken": "TOKEN", "Sec-Fetch-Site": "same-site"}},
	{name: "Sec-Fetch-Site cross-site, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Sec-Fetch-Site": "cross-site", "Referer": "BASE/"}},
	{name: "form without any of the three headers", form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "foreign Referer beside an own one", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "BASE/|https://evil.example/"}},
}

func TestGuard(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	for _, tt := range csrfPassing {
		t.Run("passing "+tt.name, func(t *testing.T) { tt.send(t, c, site.URL).Want(http.StatusNotFound) })
	}
	for _, tt := range csrfRefused {
		t.Run("refused "+tt.name, func(t *testing.T) {
			a := tt.send(t, c, site.URL).Want(http.StatusUnauthorized)
			if !strings.Contains(a.Body, "Unauthorized") {
				t.Errorf("got %q, want Unauthorized in it", a.Body)
			}
			if a.Header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate, want one with 401")
			}
		})
	}
}

func TestGuardBehindProxies(t *testing.T) {
	t.Parallel()
	const base = "https://crashes.example.org"
	site := handlertest.New(t, handlertest.Options{BaseURL: base})
	c := site.Visitor(t)
	for _, tt := range []struct {
		name    string
		headers map[string]string
		want    int
	}{
		{"rewritten Host", map[string]string{"Origin": base, "X-Forwarded-Proto": "https"}, http.StatusNotFound},
		{"rewritten Host, no X-Forwarded-Proto", map[string]string{"Origin": base, "Referer": base + "/problem/1"},
			http.StatusNotFound},
		{"kept Host", map[string]string{"Host": "crashes.example.org", "Origin": base, "X-Forwarded-Proto": "https"},
			http.StatusNotFound},
		{"kept Host of another name", map[string]string{"Host": "alias.example.org", "Origin": "https://alias.example.org",
			"X-Forwarded-Proto": "https"}, http.StatusNotFound},
		{"plain http on the loopback", map[string]string{"Origin": site.URL}, http.StatusNotFound},
		{"http page, https request", map[string]string{"Host": "crashes.example.org", "Origin": "http://crashes.example.org",
			"X-Forwarded-Proto": "https"}, http.StatusUnauthorized},
		{"https page, http request", map[string]string{"Host": "alias.example.org", "Origin": "https://alias.example.org"},
			http.StatusUnauthorized},
		{"foreign", map[string]string{"Origin": "https://evil.example", "X-Forwarded-Proto": "https"},
			http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.headers["X-CSRFToken"] = "TOKEN"
			csrfCase{headers: tt.headers}.send(t, c, site.URL).Want(tt.want)
		})
	}
}

func TestGuardTooLarge(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	c.Post("/logout", url.Values{"x": {strings.Repeat("x", 256<<10)}}).Want(http.StatusRequestEntityTooLarge)
	c.Post("/logout", url.Values{"x": {strings.Repeat("x", 200<<10)}}).Want(http.StatusSeeOther)
}

// send sends the request and returns the answer.
func (tt csrfCase) send(t *testing.T, c *handlertest.Client, base string) *handlertest.Answer {
	t.Helper()
	page := c.Get("/no-such-page")
	if page.HTML().Find("form input[name=csrf_token]").Length() == 0 {
		page = c.Get("/login")
	}
	masked := page.Attr("form input[name=csrf_token]", "value")
	raw := c.Cookie("csrftoken")
	if masked == raw || raw == "" {
		t.Fatal("the page contains the raw token, want a masked one")
	}
	fill := strings.NewReplacer("TOKEN", raw, "MASKED", masked, "HTTPSBASE", "https"+strings.TrimPrefix(base, "http"),
		"BASE", base).Replace
	method, query, _ := strings.Cut(tt.method, " ")
	if method == "" {
		method = http.MethodPost
	}
	body, contentType := tt.body(t, fill)
	req, err := http.NewRequestWithContext(t.Context(), method, base+"/no-such-page"+strings.ReplaceAll(query, "TOKEN",
		url.QueryEscape(raw)), body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for name, value := range tt.headers {
		for _, v := range strings.Split(value, "|") {
			req.Header.Add(name, fill(v))
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.AddCookie(&http.Cookie{Name: "csrftoken", Value: raw}) // the cookie jar depends on Host
	}
	if tt.cookie == "" {
		return c.Do(req)
	}
	other := handlertest.NewClient(t, base)
	other.SetCookie("sessionid", c.Cookie("sessionid"))
	if tt.cookie != "none" {
		other.SetCookie("csrftoken", tt.cookie)
	}
	return other.Do(req)
}

func (tt csrfCase) body(t *testing.T, fill func(string) string) (io.Reader, string) {
	t.Helper()
	switch {
	case tt.rawBody != "":
		return strings.NewReader(fill(tt.rawBody)), ""
	case tt.form == nil:
		return strings.NewReader("{}"), ""
	}
	form := url.Values{}
	for name, values := range tt.form {
		form.Set(name, fill(values[0]))
	}
	if !tt.part {
		return strings.NewReader(form.Encode()), formType
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name := range form {
		if err := w.WriteField(name, form.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

// need says whom a route answers.
type need func(u crash.User, source string) bool

func everyone(crash.User, string) bool        { return true }
func anyPerson(u crash.User, _ string) bool   { return u.ID != 0 }
func viewer(u crash.User, _ string) bool      { return u.Role.Allows(crash.RoleViewer) }
func someTriage(u crash.User, _ string) bool  { return u.MayTriageSome() }
func somePrivate(u crash.User, _ string) bool { return u.Private.Some() }
func allPrivate(u crash.User, _ string) bool  { return u.Private.All }
func admin(u crash.User, _ string) bool       { return u.Role.Allows(crash.RoleAdmin) }
func adminPrivate(u crash.User, _ string) bool {
	return u.Role.Allows(crash.RoleAdmin) && u.Private.All
}

// triage and core depend on the package.
func triage(u crash.User, source string) bool { return u.MayTriage(source) }
func core(u crash.User, source string) bool   { return u.MayReadCore(source) }

// rightsCase is a request to a route. In path and form, {problem}, {report}, {machine}, {source},
// {candidate}, {entry} and {note} stand for those of each package. Other parameters of the route are
// those of nothing that exists.
type rightsCase struct {
	route string
	need  need
	path  string         // empty: the route with its parameters filled in
	form  string         // of a POST, as a query
	json  map[string]any // of a POST, instead of form
	shows bool           // the answer contains private data for those who may read it
}

// rightsRoles are the accounts of TestRights: the role by hand, and grants for some packages.
var rightsRoles = []struct {
	name   string
	role   crash.Role
	grants []crash.Grant
}{
	{name: "visitor"},
	{name: "none"},
	{name: "viewer", role: crash.RoleViewer},
	{name: "triager-of-alpha", grants: []crash.Grant{{Role: crash.RoleTriager,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alph?"}}}},
	{name: "triager", role: crash.RoleTriager},
	{name: "private-of-alpha", grants: []crash.Grant{{Role: crash.RolePrivate,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "private", grants: []crash.Grant{{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantAll}}}},
	{name: "all-of-alpha", grants: []crash.Grant{
		{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}},
		{Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "admin", role: crash.RoleAdmin},
}

// rightsPackage is a package with a problem, and what belongs to it. The environment and the machine of
// its report contain "zebra" and "horse", which are private data.
type rightsPackage struct {
	source string
	fill   *strings.Replacer // fills in the parameters of a case
}

func (p rightsPackage) secrets() []string { return []string{"zebra-" + p.source, "horse-" + p.source} }

// newRightsPackage stores a report of a package, a note, a triage entry and a candidate.
func newRightsPackage(t *testing.T, p *handlertest.Pages, url, source, candidate string) rightsPackage {
	t.Helper()
	set := crashtest.Set
	report := crashtest.Native(set("Package", source+" 1-1"), set("SourcePackage", source),
		set("ExecutablePath", "/usr/bin/"+source), set("ProcEnviron", "LANG=C\nTOKEN=zebra-"+source),
		set("ProcCmdline", source+" --key zebra-"+source), set("JournalErrors", "zebra-"+source))
	oops := p.Accept(crash.SystemID("horse-"+source), report)
	b := p.Bucket(t, handlertest.BucketOf(t, report))
	if b.SourcePackage != source {
		t.Fatalf("got a problem of %q, want of %q", b.SourcePackage, source)
	}
	if _, err := p.People.AddNote(t.Context(), b.ID, "note", "author"); err != nil {
		t.Fatal(err)
	}
	notes, err := p.People.Notes(t.Context(), b.ID)
	if err != nil || len(notes) != 1 {
		t.Fatalf("got notes %v, %v, want one", notes, err)
	}
	entry, err := p.Problems.Set(t.Context(), crash.Mark{Bucket: b.ID, Kind: crash.MarkWontFix, Person: "author"})
	if err != nil {
		t.Fatal(err)
	}
	const sqlCandidate = `
		insert into candidates (id, bucket_id, rule_id, automatic, state, why, machines, created) overriding system value
		values (@id, @bucket, (select min(id) from rules), false, 'waiting', 'why', 1, now())`
	dbtest.Exec(t, url, sqlCandidate, pgx.NamedArgs{"id": candidate, "bucket": b.ID[:]})
	return rightsPackage{source, strings.NewReplacer("{problem}", b.ID.String(), "{report}", oops.String(),
		"{machine}", "horse-"+source, "{source}", source, "{signature}", b.Signature, "{candidate}", candidate,
		"{entry}", strconv.FormatInt(entry.ID, 10), "{note}", strconv.FormatInt(notes[0].ID, 10), "{format}", "csv",
		"{token}", "x", "{delivery}", "x",
		"{id}", "1")}
}

// ofPackage reports whether a case depends on the package.
func (c rightsCase) ofPackage() bool {
	return c.json != nil || strings.Contains(c.path+c.form, "{") || strings.Contains(c.route, "/problem/{id}")
}

// send sends the request of a case about a package.
func (c rightsCase) send(client *handlertest.Client, p rightsPackage) *handlertest.Answer {
	method, path, _ := strings.Cut(c.route, " ")
	if c.path != "" {
		path = c.path
	}
	path = p.fill.Replace(strings.Replace(path, "/problem/{id}", "/problem/{problem}", 1))
	if method == http.MethodGet {
		return client.Get(path)
	}
	if c.json != nil {
		body := map[string]any{}
		for name, value := range c.json {
			if s, ok := value.(string); ok {
				value = p.fill.Replace(s)
			}
			body[name] = value
		}
		return client.PostJSON(path, body)
	}
	form, _ := url.ParseQuery(p.fill.Replace(c.form)) // the cases above are valid
	return client.Post(path, form)
}

// refusedBy reports whether an answer refuses the person, or asks a visitor to sign in.
func refusedBy(a *handlertest.Answer) bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
		a.Status == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login")
}

// TestRights requests every route with every combination of rights about two packages. Whoever may not
// read private data of a package finds none in any answer.
func TestRights(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	packages := []rightsPackage{newRightsPackage(t, p, address, "alpha", "1"),
		newRightsPackage(t, p, address, "beta", "2")}
	covered := map[string]bool{}
	for _, c := range rightsCases {
		covered[c.route] = true
	}
	for _, route := range p.Routes(t) {
		if !covered[route] {
			t.Errorf("route %s is not in this table", route)
		}
	}
	for _, role := range rightsRoles {
		client, u := p.Visitor(t), crash.User{}
		if role.name != "visitor" {
			dbtest.AddUserWithoutPrivate(t, p.Store, role.name, role.role, handlertest.Password)
			for _, g := range role.grants {
				g.Source, g.Group = crash.SourceAccount, role.name
				if err := p.People.Grant(t.Context(), "", g); err != nil {
					t.Fatal(err)
				}
			}
			client.SignIn(role.name, handlertest.Password).Want(http.StatusSeeOther)
			var err error
			if u, err = p.People.ByName(t.Context(), role.name); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range rightsCases {
			for i, of := range packages {
				if i > 0 && !c.ofPackage() {
					break
				}
				a, want := c.send(client, of), !c.need(u, of.source)
				if got := refusedBy(a); got != want || a.Status >= 500 && a.Status != http.StatusServiceUnavailable {
					t.Errorf("%s (%s%s) as %s about %s: got status %d, want refused %v", c.route, c.path, c.form, role.name,
						of.source, a.Status, want)
				}
				c.checkPrivate(t, a, u, role.name, of, packages)
			}
		}
	}
}

// checkPrivate checks which private data an answer contains.
func (c rightsCase) checkPrivate(t *testing.T, a *handlertest.Answer, u crash.User, name string, of rightsPackage,
	all []rightsPackage,
) {
	t.Helper()
	for _, p := range all {
		for _, secret := range p.secrets() {
			asked := strings.Contains(c.path, "{machine}") && of.source == p.source && strings.HasPrefix(secret, "horse")
			if strings.Contains(a.Body, secret) && !asked && !u.Private.Include(p.source) {
				t.Errorf("%s (%s) as %s about %s: the answer contains %q", c.route, c.path, name, of.source, secret)
			}
		}
	}
	sees := strings.Contains(a.Body, "zebra-"+of.source) || strings.Contains(a.Body, "horse-"+of.source)
	if c.shows && u.Private.Include(of.source) && !sees {
		t.Errorf("%s (%s) as %s about %s: the answer lacks private data", c.route, c.path, name, of.source)
	}
}

// TestRightsOnSomeRows changes two problems at once as a triager of the package of one of them.
func TestRightsOnSomeRows(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	both := newRightsPackage(t, p, address, "alpha", "1").fill.Replace("{problem}") + "." +
		newRightsPackage(t, p, address, "beta", "2").fill.Replace("{problem}")
	dbtest.AddUserWithoutPrivate(t, p.Store, "kim", crash.RoleViewer, handlertest.Password)
	if err := p.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceAccount, Group: "kim",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}); err != nil {
		t.Fatal(err)
	}
	c := p.Visitor(t)
	c.SignIn("kim", handlertest.Password).Want(http.StatusSeeOther)
	ids := strings.Split(both, ".")
	const left = "1 problem was left unchanged, because you are not a triager of its package."
	for path, form := range map[string]url.Values{
		"/problems/assign":  {"problems": {both}, "do": {"me"}},
		"/problems/link":    {"problems": {both}, "bug": {"4711"}},
		"/problems/wontfix": {"problems": {both}, "reason": {"no"}},
		"/problems/chosen":  {"bucket": ids, "do": {"recheck"}},
	} {
		c.Post(path, form).Want(http.StatusSeeOther)
		c.Get("/account").WantText("#flash", left)
	}
	c.Post("/problems/merge", url.Values{"problem": ids, "head": ids[:1]}).Want(http.StatusForbidden)
	c.Get("/problems/create?problems="+both).Want(http.StatusOK).WantText("#main", "role triager for this package")
	c.Get("/candidates").Want(http.StatusOK).WantText("#main", "Only triagers of beta can decide about it.")
	for i, id := range ids {
		parsed, err := crash.ParseBucketID(id)
		if err != nil {
			t.Fatal(err)
		}
		linked, err := p.Bugs.BucketBugs(t.Context(), parsed)
		if err != nil || (len(linked) == 1) != (i == 0) {
			t.Errorf("problem %d: got bugs %v, %v, want the bug at the first problem only", i, linked, err)
		}
	}
	page := c.Get("/problem/" + ids[1]).Want(http.StatusOK)
	page.WantNone("a[href$='/mute']")
	c.Get("/problem/"+ids[0]).Want(http.StatusOK).WantText("#main", "Mute")
}

// rightsCases has every route of the router. A package matters only if a case names one of its things.
var rightsCases = []rightsCase{
	{route: "GET /", need: everyone},
	{route: "GET /api", need: everyone},
	{route: "GET /keys", need: everyone},
	{route: "GET /theme", need: everyone},
	{route: "GET /gate", need: everyone},
	{route: "GET /gate", need: everyone, path: "/gate?package={source}&version=2"},
	{route: "GET /healthz", need: everyone},
	{route: "GET /readyz", need: everyone},
	{route: "GET /assets/*", need: everyone, path: "/assets/no-such-file"},
	{route: "GET /login", need: everyone},
	{route: "POST /login", need: everyone},
	{route: "POST /login/openid", need: everyone},
	{route: "GET /login/openid/return", need: everyone},
	{route: "POST /login/openid/return", need: everyone},
	{route: "POST /login/oidc", need: everyone},
	{route: "GET /login/oidc/return", need: everyone},
	{route: "POST /login/oidc/logout", need: everyone},
	{route: "GET /login/code", need: everyone},
	{route: "POST /login/code", need: everyone},
	{route: "GET /unsubscribe/{token}", need: everyone},
	{route: "POST /unsubscribe/{token}", need: everyone},
	{route: "GET /problems.{format}", need: everyone, path: "/problems.csv?period=year"},
	{route: "GET /search", need: everyone, path: "/search?q={source}"},
	{route: "GET /search", need: everyone, path: "/search?q=zebra"},
	{route: "GET /search.{format}", need: everyone, path: "/search.csv?q={source}"},
	{route: "GET /search/complete", need: everyone, path: "/search/complete?q=package:{source}"},
	{route: "GET /package/{name}", need: everyone, path: "/package/{source}"},
	{route: "GET /release/{name}", need: everyone, path: "/release/Ubuntu%2024.04"},
	{route: "GET /bug/{number}", need: everyone, path: "/bug/1"},
	{route: "GET /bucket", need: everyone, path: "/bucket?id=x"},
	{route: "GET /bucket/", need: everyone, path: "/bucket/?id=x"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=JournalErrors"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=ProcEnviron&value=LANG%3DC"},
	{route: "GET /problem/{id}/bug", need: everyone, path: "/problem/{problem}/bug"},
	{route: "GET /problem/{id}/versions.{format}", need: everyone, path: "/problem/{problem}/versions.csv"},

	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/bucket/{problem}/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/problem-status/{problem}/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/instances/?id={problem}"},
	{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/oops/{report}/", shows: true},
	{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/instance/?id={report}", shows: true},
	{route: "GET /api/1.0/*", need: allPrivate, path: "/api/1.0/reports-for-system/?system={machine}"},
	{route: "POST /api/1.0/*", need: everyone, path: "/api/1.0/reports-state/"},
	{route: "POST /api/1.0/create-bug-report", need: triage, path: "/api/1.0/create-bug-report",
		form: "signature={signature}"},
	{route: "POST /api/1.0/create-bug-report/", need: triage, path: "/api/1.0/create-bug-report/",
		json: map[string]any{"signature": "{signature}"}},
	{route: "POST /api/1.0/set-problem-status", need: triage, path: "/api/1.0/set-problem-status",
		json: map[string]any{"signature": "{problem}", "kind": "wontfix"}},
	{route: "POST /api/1.0/set-problem-status/", need: triage, path: "/api/1.0/set-problem-status/",
		json: map[string]any{"signature": "{signature}", "kind": "wontfix"}},
	{route: "POST /api/1.0/problem-people", need: triage, path: "/api/1.0/problem-people",
		json: map[string]any{"problem": "{problem}", "assignee": "me"}},
	{route: "POST /api/1.0/problem-people/", need: triage, path: "/api/1.0/problem-people/",
		json: map[string]any{"problem": "{signature}", "add_tags": []string{"sru"}}},

	{route: "POST /api/1.0/erase-machine", need: admin, path: "/api/1.0/erase-machine",
		json: map[string]any{"system": "no-such-machine"}},
	{route: "POST /api/1.0/erase-machine/", need: admin, path: "/api/1.0/erase-machine/",
		json: map[string]any{"system": "no-such-machine"}},

	{route: "GET /account", need: anyPerson},
	{route: "POST /account/identities/link", need: anyPerson},
	{route: "POST /account/identities/{id}/unlink", need: anyPerson},
	{route: "POST /account/password", need: anyPerson},
	{route: "POST /admin/access/second-factor", need: admin},
	{route: "GET /login/resume", need: anyPerson},
	{route: "GET /service/{name}", need: anyPerson}, // of no service account
	{route: "POST /service/{name}/tokens/{id}/renew", need: anyPerson},
	{route: "POST /service/{name}/tokens/{id}/revoke", need: anyPerson},
	{route: "POST /service/{name}/team", need: admin},
	{route: "POST /service/{name}/tokens", need: admin},
	{route: "GET /admin/services", need: admin},
	{route: "POST /admin/services", need: admin},
	{route: "GET /admin/tokens", need: admin},
	{route: "POST /admin/tokens/revoke", need: admin},
	{route: "POST /admin/tokens/{id}/revoke", need: admin},
	{route: "POST /account/sessions/end", need: anyPerson},
	{route: "GET /account/second-factor", need: anyPerson},
	{route: "POST /account/second-factor/begin", need: anyPerson},
	{route: "POST /account/second-factor/confirm", need: anyPerson},
	{route: "POST /account/second-factor/recovery-codes", need: anyPerson},
	{route: "POST /account/second-factor/off", need: anyPerson},
	{route: "POST /account", need: viewer},
	{route: "POST /account/tokens", need: viewer},
	{route: "POST /account/tokens/{id}/revoke", need: viewer},
	{route: "GET /account/notifications", need: viewer},
	{route: "POST /account/notifications", need: viewer},
	{route: "POST /account/notifications/address", need: viewer},
	{route: "POST /account/notifications/remove", need: viewer},
	{route: "POST /account/notifications/test", need: viewer},
	{route: "GET /account/notifications/confirm/{token}", need: viewer},
	{route: "POST /account/notifications/confirm/{token}", need: viewer},
	{route: "GET /embargoed", need: viewer},
	{route: "GET /inbox", need: viewer},
	{route: "GET /inbox.{format}", need: viewer},
	{route: "POST /inbox/read", need: viewer},
	{route: "POST /inbox/unread", need: viewer},
	{route: "GET /my", need: viewer},
	{route: "GET /my.{format}", need: viewer},
	{route: "POST /my/follow", need: viewer},
	{route: "POST /my/unfollow", need: viewer},
	{route: "POST /my/seen", need: viewer},
	{route: "GET /searches", need: viewer},
	{route: "POST /searches", need: viewer},
	{route: "POST /searches/{id}", need: viewer},
	{route: "POST /searches/{id}/delete", need: viewer},
	{route: "POST /searches/{id}/restore", need: viewer},

	{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.csv", shows: true},
	{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.json", shows: true},
	{route: "GET /problem/{id}/traits", need: viewer, path: "/problem/{problem}/traits"},
	{route: "GET /problem/{id}/compare", need: viewer, path: "/problem/{problem}/compare?report={report}"},
	{route: "GET /problem/{id}/symbols", need: viewer, path: "/problem/{problem}/symbols"},
	{route: "POST /problem/{id}/notes", need: viewer, path: "/problem/{problem}/notes"},
	{route: "POST /problem/{id}/notes/{note}", need: triage, path: "/problem/{problem}/notes/{note}", form: "text=better"},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}", shows: true},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.json", shows: true},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.crash", shows: true},
	{route: "GET /oops/{id}", need: core, path: "/oops/{report}.crash?core=yes"},
	{route: "GET /user/", need: somePrivate},
	{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}"},
	{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}.csv"},

	{route: "POST /oops/{id}/symbolise", need: triage, path: "/oops/{report}/symbolise"},
	{route: "POST /problem/{id}/core", need: triage},
	{route: "POST /problem/{id}/core/withdraw", need: triage},
	{route: "GET /problem/{id}/merge", need: triage},
	{route: "GET /problem/{id}/rename", need: triage},
	{route: "POST /problem/{id}/rename", need: triage},
	{route: "GET /problem/{id}/split", need: triage},
	{route: "POST /problem/{id}/split", need: triage},
	{route: "POST /problem/{id}/undo", need: triage},
	{route: "POST /problem/{id}/assign", need: triage},
	{route: "POST /problem/{id}/assign/undo", need: triage},
	{route: "POST /problem/{id}/tags", need: triage},
	{route: "GET /problem/{id}/mute", need: triage},
	{route: "POST /problem/{id}/mute", need: triage},
	{route: "GET /problem/{id}/wontfix", need: triage},
	{route: "POST /problem/{id}/wontfix", need: triage},
	{route: "GET /problem/{id}/fixed", need: triage},
	{route: "POST /problem/{id}/fixed", need: triage},
	{route: "GET /problem/{id}/link", need: triage},
	{route: "POST /problem/{id}/link", need: triage},
	{route: "POST /problem/{id}/unlink", need: triage},
	{route: "POST /problem/{id}/relink", need: triage},
	{route: "POST /problem/{id}/recheck", need: triage},
	{route: "POST /problem/{id}/resume-section", need: triage},
	{route: "GET /problem/{id}/review", need: triage},
	{route: "POST /problem/{id}/review", need: triage},
	{route: "GET /problem/{id}/review/bugs", need: triage},
	{route: "GET /problems/chosen", need: someTriage, path: "/problems/chosen?problems={problem}"},
	{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=recheck"},
	{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=file"},
	{route: "GET /problems/create", need: someTriage, path: "/problems/create?problems={problem}"},
	{route: "GET /problems/link", need: someTriage, path: "/problems/link?problems={problem}"},
	{route: "POST /problems/link", need: triage, form: "problems={problem}&bug=4711"},
	{route: "POST /problems/unlink", need: triage, path: "/problems/unlink?problems={problem}", form: "bug=4711"},
	{route: "GET /problems/merge", need: triage, path: "/problems/merge?problems={problem}"},
	{route: "POST /problems/merge", need: triage, form: "problem={problem}&head={problem}"},
	{route: "GET /problems/assign", need: someTriage, path: "/problems/assign?problems={problem}"},
	{route: "POST /problems/assign", need: triage, form: "problems={problem}&do=me"},
	{route: "POST /problems/unassign", need: triage, path: "/problems/unassign?problems={problem}"},
	{route: "POST /account/tracker/request-token", need: someTriage},
	{route: "POST /account/tracker/access-token", need: someTriage},
	{route: "POST /account/tracker/check", need: someTriage},
	{route: "POST /account/tracker/preference", need: someTriage},
	{route: "POST /account/tracker/disconnect", need: someTriage},
	{route: "GET /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
	{route: "POST /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
	{route: "GET /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
	{route: "POST /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
	{route: "GET /problems/fixed", need: someTriage, path: "/problems/fixed?problems={problem}"},
	{route: "POST /problems/fixed", need: triage, form: "problems={problem}"},
	{route: "GET /problems/mute", need: someTriage, path: "/problems/mute?problems={problem}"},
	{route: "POST /problems/mute", need: triage, form: "problems={problem}"},
	{route: "GET /problems/wontfix", need: someTriage, path: "/problems/wontfix?problems={problem}"},
	{route: "POST /problems/wontfix", need: triage, form: "problems={problem}"},
	{route: "POST /problems/triage/undo", need: triage, form: "entries={entry}"},
	{route: "GET /candidates", need: someTriage},
	{route: "POST /candidates/{id}/decline", need: triage, path: "/candidates/{candidate}/decline"},
	{route: "POST /candidates/{id}/restore", need: triage, path: "/candidates/{candidate}/restore"},
	{route: "POST /candidates/{id}/approve", need: triage, path: "/candidates/{candidate}/approve"},

	{route: "GET /admin", need: admin},
	{route: "GET /admin/audit", need: admin},
	{route: "GET /admin/audit.jsonl", need: admin},
	{route: "GET /admin/tracker", need: admin},
	{route: "POST /admin/tracker/request-token", need: admin},
	{route: "POST /admin/tracker/access-token", need: admin},
	{route: "POST /admin/tracker/check", need: admin},
	{route: "POST /admin/tracker/show-token", need: admin},
	{route: "POST /admin/tracker/forget", need: admin},
	{route: "GET /admin/tracker/updates", need: admin},
	{route: "POST /admin/tracker/updates", need: admin},
	{route: "GET /admin/mail", need: admin},
	{route: "POST /admin/mail/test", need: admin},
	{route: "POST /admin/mail/{id}/retry", need: admin},
	{route: "GET /admin/rules", need: admin},
	{route: "POST /admin/rules", need: admin},
	{route: "GET /admin/rules/new", need: admin},
	{route: "GET /admin/rules/{id}", need: admin},
	{route: "POST /admin/rules/{id}", need: admin},
	{route: "POST /admin/rules/{id}/switch", need: admin},
	{route: "POST /admin/rules/{id}/delete", need: admin},
	{route: "POST /admin/rules/{id}/restore", need: admin},
	{route: "GET /admin/access", need: admin},
	{route: "POST /admin/access", need: admin},
	{route: "POST /admin/access/revoke", need: admin},
	{route: "GET /admin/templates", need: admin},
	{route: "POST /admin/templates", need: admin},
	{route: "GET /admin/privacy", need: admin},
	{route: "POST /admin/privacy/check", need: admin},
	{route: "POST /admin/privacy/apply", need: admin},
	{route: "GET /user/{system}/erase", need: admin, path: "/user/{machine}/erase", shows: true},
	{route: "POST /user/{system}/erase", need: admin, path: "/user/{machine}/erase", form: "confirm=no"},
	{route: "GET /user/{system}/dump.jsonl", need: adminPrivate, path: "/user/{machine}/dump.jsonl", shows: true},
	{route: "GET /admin/erasures", need: admin},
	{route: "GET /admin/regroup", need: admin},
	{route: "POST /admin/regroup", need: admin},
	{route: "POST /admin/regroup/apply", need: admin},
	{route: "POST /admin/regroup/stop", need: admin},
	{route: "GET /admin/symbols", need: admin},
	{route: "GET /admin/symbols.{format}", need: admin},
	{route: "GET /admin/filings", need: admin},
	{route: "GET /admin/filings.{format}", need: admin},
	{route: "GET /admin/filings/{id}", need: admin},
	{route: "POST /admin/filings/{id}/retry", need: admin},
	{route: "POST /admin/filings/{id}/give-up", need: admin},
	{route: "GET /admin/notifications", need: admin},
	{route: "POST /admin/notifications", need: admin},
	{route: "GET /admin/notifications/new", need: admin},
	{route: "POST /admin/notifications/stop", need: admin},
	{route: "POST /admin/notifications/resume", need: admin},
	{route: "GET /admin/notifications/{id}", need: admin},
	{route: "POST /admin/notifications/{id}", need: admin},
	{route: "POST /admin/notifications/{id}/test", need: admin},
	{route: "POST /admin/notifications/{id}/rotate", need: admin},
	{route: "POST /admin/notifications/{id}/enable", need: admin},
	{route: "POST /admin/notifications/{id}/disable", need: admin},
	{route: "POST /admin/notifications/{id}/delete", need: admin},
	{route: "GET /admin/notifications/{id}/deliveries/{delivery}", need: admin},
	{route: "POST /admin/notifications/{id}/deliveries/{delivery}/again", need: admin},

	{route: "POST /logout", need: everyone}, // last: it ends the sessions
}
