package events_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/notify/webhook"
	view "mishap/views/events"
	"mishap/views/layout"
)

// webhookReceiver is a receiver of webhooks that checks their signatures.
type webhookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	answer string
	bodies []string
	heads  []http.Header
}

func newWebhookReceiver(t *testing.T) *webhookReceiver {
	t.Helper()
	h := &webhookReceiver{status: http.StatusOK, answer: "thanks <b>"}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bodies, h.heads = append(h.bodies, string(body)), append(h.heads, r.Header.Clone())
		w.WriteHeader(h.status)
		_, _ = io.WriteString(w, h.answer)
	}))
	t.Cleanup(h.Close)
	return h
}

// last returns the number of requests, and the body and header of the last one.
func (h *webhookReceiver) last() (n int, body string, header http.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.bodies) == 0 {
		return 0, "", nil
	}
	return len(h.bodies), h.bodies[len(h.bodies)-1], h.heads[len(h.heads)-1]
}

func (h *webhookReceiver) answers(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

// newEndpointSite returns a site whose endpoints may be on this machine, its worker and an admin.
func newEndpointSite(t *testing.T) (*handlertest.Site, *webhook.Worker, *handlertest.Client) {
	t.Helper()
	allow, err := crash.ParseNetworks("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	site := handlertest.New(t, handlertest.Options{AllowNetworks: allow})
	worker, err := webhook.NewWorker(site.Events, site.Sender, dbtest.Log(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return site, worker, site.As(t, crash.RoleAdmin)
}

// publishTo publishes an event to an endpoint.
func publishTo(t *testing.T, site *handlertest.Site, edge string, endpoint int64) {
	t.Helper()
	err := site.Store.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := site.Store.Publish(t.Context(), tx, crash.Event{Edge: edge, Kind: crash.EventNew,
			Title: "zsh <crashed> " + edge, Package: "zsh", Text: "It is new."}, crash.Recipients{Endpoints: []int64{endpoint}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func verifySignature(t *testing.T, secret, body string, header http.Header) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify([]byte(body), header); err != nil {
		t.Errorf("signature: %v", err)
	}
}

// TestWebhookPages drives a webhook from its creation to its deletion through the pages.
func TestWebhookPages(t *testing.T) {
	t.Parallel()
	site, worker, c := newEndpointSite(t)
	h := newWebhookReceiver(t)
	c.Get(layout.PathEndpoints).WantRedirect(http.StatusMovedPermanently, layout.PathRules+"#endpoints")
	c.Get(layout.PathRules).WantText(".admin-nav [aria-current]", "Rules and notifications").WantText("main",
		"No chat or program gets notifications yet.")
	c.Get(layout.PathEndpoints + "/new?kind=pigeon").Want(http.StatusBadRequest)
	c.Get(layout.PathEndpoints+"/new?kind=webhook").WantText("h1", "Webhook").WantText("select", "ada-admin")
	form := url.Values{"kind": {"webhook"}, "name": {"ops <b>"}, "address": {h.URL + "/hook?key=s3cret"},
		"per_minute": {"60"}, "owner": {"0"}}
	bad := c.Post(layout.PathEndpoints, handlertest.With(form, "address", "file:///etc/passwd", "per_minute", "0")).
		Want(http.StatusUnprocessableEntity)
	bad.WantText("#endpoint-address-error", "https://").WantText("#endpoint-per_minute-error", "from 1 to 600")
	if got := bad.Attr("#endpoint-name", "value"); got != "ops <b>" {
		t.Errorf("got name %q, want what was typed", got)
	}
	c.Post(layout.PathEndpoints, handlertest.With(form, "owner", "999")).WantText("#endpoint-owner-error", "Choose")
	added := c.Post(layout.PathEndpoints, form).Want(http.StatusCreated).WantText("h1", "ops <b>")
	secret := added.Attr("#secret-shown", "value")
	if !strings.HasPrefix(secret, "whsec_") || len(secret) < 40 {
		t.Errorf("got secret %q", secret)
	}
	c.Post(layout.PathEndpoints, form).Want(http.StatusUnprocessableEntity).WantText("#endpoint-name-error", "already")
	path := view.EndpointPath(1, "")
	shown := c.Get(path).Want(http.StatusOK).WantNone("#secret-shown").WantText(".endpoint-facts", h.URL).
		WantText(".empty", "Nothing has been delivered yet")
	for _, body := range []string{shown.Body, c.Get(layout.PathRules).Body} {
		if strings.Contains(body, "s3cret") || strings.Contains(body, secret) {
			t.Error("a page shows a secret")
		}
	}

	// The test button shows the answer.
	c.Post(path+"/test", nil).Want(http.StatusOK).WantText("#test-result", "The test was accepted.").
		WantText("#test-result", "thanks <b>").WantText(".endpoint-facts", "Last success 200, just now")
	_, body, header := h.last()
	verifySignature(t, secret, body, header)
	if !strings.HasPrefix(body, `{"type":"test"`) {
		t.Errorf("got %s, want a test", body)
	}
	h.answers(http.StatusTeapot)
	c.Post(path+"/test", nil).Want(http.StatusOK).WantText("#test-result", "The test failed. It answered 418").
		WantText(".endpoint-facts", "Last failure 418, just now")

	// A delivery fails, and is sent again.
	publishTo(t, site, "1", 1)
	deliverAll(t, worker)
	c.Get(layout.PathRules).WantText(".endpoints tbody", "failing").WantText(".endpoints tbody", "418")
	list := c.Get(path).WantText(".endpoint-facts", "1 attempt since the last success").
		WantText(".deliveries tbody", "waiting").WantText(".deliveries tbody", "zsh <crashed> 1")
	delivery := list.Attr(".deliveries tbody a", "href")
	page := c.Get(delivery).Want(http.StatusOK).WantText(".attempts", "418").WantText(".attempts", "thanks <b>").
		WantText(".delivery-payload", `"type": "problem.new"`)
	id := delivery[strings.LastIndexByte(delivery, '/')+1:]
	page.WantText(".facts", id)
	h.answers(http.StatusOK)
	c.Post(delivery+"/again", nil).WantRedirect(http.StatusSeeOther, delivery)
	c.Get(delivery).WantText(".flash-done", "Sending it again")
	deliverAll(t, worker)
	_, body, header = h.last()
	verifySignature(t, secret, body, header)
	if header.Get("webhook-id") != id {
		t.Errorf("got id %s, want %s", header.Get("webhook-id"), id)
	}
	c.Get(delivery).WantText(".facts", "delivered").WantText(".attempts", "accepted")
	c.Get(path+"?state=delivered").WantText(".filing-states [aria-current]", "delivered 1")
	c.Get(path+"?state=failed").WantText(".empty", "No deliveries in this state")
	c.Get(path + "?state=odd").Want(http.StatusBadRequest)
	c.Get(path + "?after=1.x").Want(http.StatusBadRequest)
	c.Get(path + "/deliveries/" + strings.Repeat("0", 36)).Want(http.StatusNotFound)

	// Rotation shows a new secret, once; the other one works, too.
	fresh := c.Post(path+"/rotate", nil).Want(http.StatusOK).Attr("#secret-shown", "value")
	c.Get(path).WantNone("#secret-shown").WantText(".endpoint-facts", "signs, too, until")
	publishTo(t, site, "2", 1)
	deliverAll(t, worker)
	_, body, header = h.last()
	verifySignature(t, fresh, body, header)
	verifySignature(t, secret, body, header)

	// Settings: an empty address leaves the stored one.
	owner := fmt.Sprint(site.AddUser(t, crash.RoleAdmin).ID)
	c.Post(path, handlertest.With(form, "name", "ops 2", "address", "", "owner", owner)).WantRedirect(http.StatusSeeOther,
		path)
	c.Get(path).WantText("h1", "ops 2").WantText(".endpoint-facts", "ada-admin")
	c.Post(path, handlertest.With(form, "name", "")).Want(http.StatusUnprocessableEntity).WantText("#endpoint-name-error",
		"Enter")
	publishTo(t, site, "3", 1)
	deliverAll(t, worker)
	if _, body, _ = h.last(); !strings.Contains(body, "zsh <crashed> 3") {
		t.Errorf("got %s, want the third event at the same address", body)
	}

	c.Post(path+"/disable", nil).WantRedirect(http.StatusSeeOther, path)
	c.Get(path).WantText(".endpoint-facts", "ada-admin switched it off.")
	c.Post(delivery+"/again", nil).Want(http.StatusConflict)
	c.Post(path+"/disable", nil).Want(http.StatusNotFound)
	c.Post(path+"/enable", nil).WantRedirect(http.StatusSeeOther, path)
	c.Post(path+"/delete", nil).WantRedirect(http.StatusSeeOther, layout.PathRules+"#endpoints")
	c.Get(layout.PathRules).WantText(".flash-done", "“ops 2” was deleted").WantNone(".endpoints")
	c.Get(path).Want(http.StatusNotFound)
	checkEndpointAudit(t, site, h.URL)
}

func deliverAll(t *testing.T, worker *webhook.Worker) {
	t.Helper()
	if err := worker.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker.Wait()
}

// checkEndpointAudit checks that every action was recorded, without secrets.
func checkEndpointAudit(t *testing.T, site *handlertest.Site, host string) {
	t.Helper()
	rows, err := site.Store.Pool.Query(t.Context(),
		`select action || ' ' || person || ' ' || detail::text || coalesce(before::text, '') || coalesce(after::text, '') from audit_events
		where action like 'endpoint.%' or action like 'delivery.%'`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(lines, "\n")
	for _, action := range []string{"endpoint.add", "endpoint.change", "endpoint.test", "endpoint.rotate",
		"endpoint.enable", "endpoint.disable", "endpoint.delete", "delivery.again"} {
		if !strings.Contains(all, action+" ada-admin") {
			t.Errorf("no audit event %s in\n%s", action, all)
		}
	}
	if strings.Contains(all, "s3cret") || strings.Contains(all, "whsec_") || !strings.Contains(all, host) {
		t.Errorf("got audit events\n%s", all)
	}
}

// TestChatPages adds a chat of each kind.
func TestChatPages(t *testing.T) {
	t.Parallel()
	site, worker, c := newEndpointSite(t)
	h := newWebhookReceiver(t)
	for i, kind := range []string{"slack", "mattermost", "matrix"} {
		c.Get(layout.PathEndpoints + "/new?kind=" + kind).Want(http.StatusOK)
		form := url.Values{"kind": {kind}, "name": {kind}, "address": {h.URL}, "per_minute": {"20"}, "owner": {"0"}}
		if kind == "matrix" {
			c.Post(layout.PathEndpoints, form).Want(http.StatusUnprocessableEntity).WantText("#endpoint-channel-error",
				"room").
				WantText("#endpoint-secret-error", "token")
			form.Set("channel", "!room:example.org")
			form.Set("secret", "syt_t0ken")
		}
		path := view.EndpointPath(int64(i)+1, "")
		c.Post(layout.PathEndpoints, form).WantRedirect(http.StatusSeeOther, path)
		page := c.Get(path).WantText(".flash-done", "was added").WantNone("#endpoint-rotate").WantNone("#secret-shown")
		if strings.Contains(page.Body, "syt_t0ken") {
			t.Error("the page shows the token")
		}
		c.Post(path+"/rotate", nil).Want(http.StatusNotFound)
		c.Post(path+"/test", nil).WantText("#test-result", "The test was accepted.")
		publishTo(t, site, kind, int64(i)+1)
		deliverAll(t, worker)
		if n, body, _ := h.last(); n != 2*(i+1) || !strings.Contains(body, "New problem") {
			t.Errorf("%s: got %d requests, the last is %s", kind, n, body)
		}
	}
}

// TestStopPages stops all notifications and resumes them.
func TestStopPages(t *testing.T) {
	t.Parallel()
	site, worker, c := newEndpointSite(t)
	h := newWebhookReceiver(t)
	form := url.Values{"kind": {"slack"}, "name": {"chat"}, "address": {h.URL}, "per_minute": {"20"}, "owner": {"0"}}
	path := view.EndpointPath(1, "")
	c.Post(layout.PathEndpoints, form).WantRedirect(http.StatusSeeOther, path)
	c.Post(layout.PathEndpoints+"/stop", nil).WantRedirect(http.StatusSeeOther, layout.PathRules)
	for _, page := range []string{layout.PathRules, path} {
		c.Get(page).WantText(".notifications-stopped", "All notifications are stopped.").
			WantText(".notifications-stopped", "Stopped by ada-admin").WantNone("#stop-notifications")
	}
	c.Get(path).WantNone("#endpoint-test")
	c.Post(path+"/test", nil).Want(http.StatusConflict)
	publishTo(t, site, "1", 1)
	deliverAll(t, worker)
	if n, _, _ := h.last(); n != 0 {
		t.Errorf("got %d requests while stopped, want none", n)
	}
	c.Post(layout.PathEndpoints+"/resume", nil).WantRedirect(http.StatusSeeOther, layout.PathRules)
	c.Get(layout.PathRules).WantNone(".notifications-stopped").WantText(".flash-done", "are sent again")
	deliverAll(t, worker)
	if n, _, _ := h.last(); n != 1 {
		t.Errorf("got %d requests, want the one that waited", n)
	}
}

// TestDeliveryPaging pages through many deliveries.
func TestDeliveryPaging(t *testing.T) {
	t.Parallel()
	site, _, c := newEndpointSite(t)
	form := url.Values{"kind": {"slack"}, "name": {"chat"}, "address": {"https://a.example/"}, "per_minute": {"20"},
		"owner": {"0"}}
	path := view.EndpointPath(1, "")
	c.Post(layout.PathEndpoints, form).WantRedirect(http.StatusSeeOther, path)
	for i := range 60 {
		publishTo(t, site, fmt.Sprint(i), 1)
	}
	seen := map[string]bool{}
	for next := path + "?state=waiting"; next != ""; {
		page := c.Get(next).Want(http.StatusOK)
		for _, row := range page.HTML().Find(".deliveries tbody a").EachIter() {
			address, _ := row.Attr("href")
			seen[address] = true
		}
		next, _ = page.HTML().Find(".paging a[rel=next]").Attr("href")
	}
	if len(seen) != 60 {
		t.Errorf("got %d deliveries on all pages, want 60", len(seen))
	}
}
