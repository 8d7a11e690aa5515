package hooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// service is how a service calls its webhooks.
type service struct {
	kind    string
	event   string // body of the event that an issue was closed; %s is the project and %d the issue
	other   string // body of another event
	headers func(id, body string) http.Header
}

func mac(body, secret string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(body))
	return hex.EncodeToString(sum.Sum(nil))
}

// headersOf returns headers from names and values.
func headersOf(pairs ...string) http.Header {
	h := http.Header{}
	for pair := range slices.Chunk(pairs, 2) {
		h.Set(pair[0], pair[1])
	}
	return h
}

// eventOf returns the name of an event whose body has an issue, or does not.
func eventOf(body string) string {
	if strings.Contains(body, `"issue"`) {
		return "issues"
	}
	return "push"
}

const (
	gitHubEvent = `{"action":"closed","issue":{"url":"https://api.github.com/repos/sandbox/trial/issues/7",
"number":%[2]d,"title":"It fell over","state":"closed","state_reason":"completed","user":{"login":"ada"}},
"repository":{"id":35129377,"name":"trial","full_name":%[1]q,"private":false},"sender":{"login":"ada"}}`
	forgejoEvent = `{"action":"closed","number":%[2]d,"issue":{"id":91,"number":%[2]d,"title":"It fell over",
"state":"closed","repository":{"id":4,"full_name":%[1]q}},"repository":{"id":4,"full_name":%[1]q},
"sender":{"login":"ada"},"commit_id":""}`
	gitLabEvent = `{"object_kind":"issue","event_type":"issue","user":{"username":"ada"},"project":{"id":1,"name":"trial",
"path_with_namespace":%[1]q,"web_url":"https://gitlab.example/sandbox/trial"},"object_attributes":{"id":301,"iid":%[2]d,
"title":"It fell over","state":"closed","action":"close"},"changes":{"state_id":{"previous":1,"current":2}}}`
	gitPush    = `{"ref":"refs/heads/main","repository":{"id":4,"full_name":"sandbox/trial"},"commits":[]}`
	gitLabNote = `{"object_kind":"note","project":{"path_with_namespace":"sandbox/trial"},
"object_attributes":{"id":12,"note":"Me too."},"issue":{"iid":7}}`
)

var services = map[string]service{
	"GitHub": {"github", gitHubEvent, gitPush, func(id, body string) http.Header {
		return headersOf("X-GitHub-Event", eventOf(body), "X-GitHub-Delivery", id, "X-Hub-Signature-256",
			"sha256="+mac(body, handlertest.WebhookSecret))
	}},
	"Forgejo": {"forgejo", forgejoEvent, gitPush, func(id, body string) http.Header {
		sum := mac(body, handlertest.WebhookSecret)
		return headersOf("X-Forgejo-Event", eventOf(body), "X-Forgejo-Delivery", id, "X-Forgejo-Signature", sum,
			"X-Gitea-Event", eventOf(body), "X-Gitea-Delivery", id, "X-Gitea-Signature", sum)
	}},
	"Gitea": {"forgejo", forgejoEvent, gitPush, func(id, body string) http.Header {
		return headersOf("X-Gitea-Event", eventOf(body), "X-Gitea-Delivery", id, "X-Gitea-Signature",
			mac(body, handlertest.WebhookSecret))
	}},
	"GitLab with a token": {"gitlab", gitLabEvent, gitLabNote, func(id, _ string) http.Header {
		return headersOf("X-Gitlab-Event", "Issue Hook", "X-Gitlab-Event-UUID", id, "X-Gitlab-Token",
			handlertest.WebhookSecret)
	}},
	"GitLab with a signature": {"gitlab", gitLabEvent, gitLabNote, func(id, body string) http.Header {
		return signed(id, body, time.Now())
	}},
}

// signed returns the headers of a call of GitLab with a signature of some time.
func signed(id, body string, at time.Time) http.Header {
	signer, err := standardwebhooks.NewWebhook(handlertest.WebhookSecret)
	if err != nil {
		panic(err)
	}
	signature, err := signer.Sign(id, at, []byte(body))
	if err != nil {
		panic(err)
	}
	return headersOf("Idempotency-Key", id, "webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10),
		"webhook-signature", signature)
}

// fixture is a site with a bug that was read, so that it is not due.
type fixture struct {
	*handlertest.Pages
	client *handlertest.Client
	place  int
	bug    int64
}

func newFixture(t *testing.T, kind string) *fixture {
	t.Helper()
	p := handlertest.NewPagesIn(t, handlertest.Options{Trackers: []string{"github", "forgejo", "gitlab", "bugzilla"}})
	site, err := p.Filer.Sites().At(t.Context(), kind, "sandbox/trial")
	if err != nil {
		t.Fatal(err)
	}
	p.Accept("m", handlertest.Numbered(1))
	f := &fixture{p, p.Visitor(t), site.Place(), crash.NumberAt(site.Place(), 7)}
	id := handlertest.BucketOf(t, handlertest.Numbered(1))
	dbtest.Must(p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: f.bug, URL: site.Tracker.BugURL(f.bug)}))(t)
	f.read(t)
	return f
}

// read stores a state of the bug, so that it is not due.
func (f *fixture) read(t *testing.T) {
	t.Helper()
	checktest.NoError(t, f.Bugs.SaveBugReading(t.Context(), crash.BugReading{Number: f.bug}, "", time.Hour))
	f.wantDue(t, false)
}

func (f *fixture) wantDue(t *testing.T, want bool) {
	t.Helper()
	due, err := f.Bugs.DueBugs(t.Context(), f.place, 10)
	if err != nil || slices.Contains(due, f.bug) != want {
		t.Errorf("due bugs: got %v, %v, want bug %d: %v", due, err, f.bug, want)
	}
}

func (f *fixture) call(t *testing.T, name string, h http.Header, body string) *handlertest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/hooks/tracker/"+name,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	req.Header.Set("Content-Type", "application/json")
	return f.client.Do(req)
}

// want checks the answer to a call, and whether the bug is due then.
func (f *fixture) want(t *testing.T, a *handlertest.Answer, status int, text string, due bool) {
	t.Helper()
	if a.Status != status || !strings.Contains(a.Body, text) {
		t.Errorf("got status %d and %q, want %d and %q", a.Status, a.Body, status, text)
	}
	f.wantDue(t, due)
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for name, s := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, s.kind)
			body := fmt.Sprintf(s.event, "Sandbox/trial", 7)
			f.want(t, f.call(t, s.kind, s.headers("call-1", body), body), 200, `"accepted"`, true)
			f.read(t)
			f.want(t, f.call(t, s.kind, s.headers("call-1", body), body), 200, `"known"`, false)
			f.want(t, f.call(t, s.kind, s.headers("call-2", body), body), 200, `"known"`, false) // the same body
			again := strings.Replace(body, "It fell over", "It fell over again", 1)
			f.want(t, f.call(t, s.kind, s.headers("call-1", again), again), 200, `"known"`, false) // the same id
			f.want(t, f.call(t, s.kind, s.headers("call-3", again), again), 200, `"accepted"`, true)
			f.read(t)

			f.want(t, f.call(t, s.kind, s.headers("call-4", s.other), s.other), 200, `"ignored"`, false)
			for _, body := range []string{fmt.Sprintf(s.event, "other/trial", 7), fmt.Sprintf(s.event, "sandbox/trial", -7),
				fmt.Sprintf(s.event, "", 7), fmt.Sprintf(s.event, "sandbox/trial", int64(1<<40))} {
				f.want(t, f.call(t, s.kind, s.headers("call-5", body), body), 200, `"ignored"`, false)
			}
			places := dbtest.Must(f.Bugs.BugPlaces(t.Context()))(t)
			for _, place := range places {
				if place.Project != "" && place.Project != "sandbox/trial" {
					t.Errorf("a call has added the place %+v", place)
				}
			}
			eight := fmt.Sprintf(s.event, "sandbox/trial", 8)
			f.want(t, f.call(t, s.kind, s.headers("call-6", eight), eight), 200, "", false)
		})
	}
}

func TestCallsAreRefused(t *testing.T) {
	t.Parallel()
	for name, s := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, s.kind)
			body := fmt.Sprintf(s.event, "sandbox/trial", 7)
			none := s.headers("call", body)
			for header := range none {
				if strings.Contains(header, "Signature") || strings.Contains(header, "Token") {
					none.Del(header)
				}
			}
			f.want(t, f.call(t, s.kind, none, body), 401, "webhook_secret", false)
			wrong := s.headers("call", body)
			for header := range wrong {
				if strings.Contains(header, "Signature") || strings.Contains(header, "Token") {
					wrong.Set(header, strings.Replace(s.headers("call", body+" ").Get(header), "whsec", "whsek", 1))
				}
			}
			f.want(t, f.call(t, s.kind, wrong, body), 401, "webhook_secret", false)
			without := s.headers("", body)
			if name != "GitLab with a signature" { // the signature includes the id
				f.want(t, f.call(t, s.kind, without, body), 400, "no_call_id", false)
			}
			long := strings.Repeat("x", 201)
			f.want(t, f.call(t, s.kind, s.headers(long, body), body), 400, "no_call_id", false)
			for _, hostile := range []string{`{"issue":`, `{"issue":7,"object_kind":7}`,
				strings.Repeat(`{"issue":`, 20_000), `{"issue":{"number":"x"},"object_attributes":{"iid":"x"}}`,
				"payload=%7B%22issue%22%7D"} {
				h := s.headers("call", hostile)
				for _, event := range []string{"X-GitHub-Event", "X-Forgejo-Event", "X-Gitea-Event"} {
					h.Set(event, "issues")
				}
				f.want(t, f.call(t, s.kind, h, hostile), 400, "bad_call", false)
			}
			large := `{"x":"` + strings.Repeat("x", 3<<20) + `"}`
			f.want(t, f.call(t, s.kind, s.headers("call", large), large), 413, "2 MiB", false)
			for _, tracker := range []string{"launchpad", "bugzilla", "nowhere", "%00", "..%2fgithub"} {
				f.want(t, f.call(t, tracker, s.headers("call", body), body), 404, "", false)
			}
			f.want(t, f.call(t, s.kind, s.headers("call", body), body), 200, `"accepted"`, true) // none of these was stored
		})
	}
}

func TestOldSignature(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "gitlab")
	body := fmt.Sprintf(gitLabEvent, "sandbox/trial", 7)
	f.want(t, f.call(t, "gitlab", signed("call", body, time.Now().Add(-time.Hour)), body), 401, "clocks", false)
	h := signed("call", body, time.Now())
	h.Set("Webhook-Id", "another") // it is signed
	f.want(t, f.call(t, "gitlab", h, body), 401, "clocks", false)
}
