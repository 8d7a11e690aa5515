package handlers_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/handlers/handlertest"
)

// logBuffer collects the log of a server.
type logBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// wantNoSecret fails the test if a public text contains a part of a secret.
func wantNoSecret(t *testing.T, where, text string, s crashtest.Secret) {
	t.Helper()
	for _, hide := range s.Hide {
		if at := strings.Index(text, hide); at >= 0 {
			t.Errorf("%s: %s shows %q: …%s…", s.Kind, where, hide, text[max(0, at-100):min(len(text), at+60)])
		}
	}
}

// TestSecretsInEveryOutput sends each kind of private data through each public output: pages, lists,
// searches, files, feeds, the API, events (of which mails and webhooks are made), bugs and logs. Package
// mail checks what it adds.
func TestSecretsInEveryOutput(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	p := handlertest.NewPagesIn(t, handlertest.Options{Log: slog.New(slog.NewTextHandler(log, nil)),
		CreateWait: handlertest.Patience})
	set := crashtest.Set
	accept := func(r crashtest.Report) crash.BucketID {
		p.PID++
		signature := grouping.SignatureOf(r.Fields()).Signature
		if _, err := p.Intake.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprint(p.PID)),
			Fields: r.Fields()}); err != nil || signature == "" {
			t.Fatalf("accept: %v, signature %q", err, signature)
		}
		return crash.BucketIDOf(signature)
	}
	secrets := crashtest.Secrets()
	var ids []crash.BucketID
	for i, s := range secrets {
		name := fmt.Sprintf("/usr/bin/harbor-%d", i)
		ids = append(ids,
			accept(crashtest.Python(set("ExecutablePath", name), set("Traceback", strings.Replace(
				crashtest.Python()["Traceback"], "invalid literal for int() with base 10: 'host-77'", s.Text, 1)))),
			accept(crashtest.Recoverable(set("DuplicateSignature", name+":"+s.Text), set("DialogBody", s.Text))),
			accept(crashtest.Native(set("ExecutablePath", name), set("Title", "harbor: "+s.Text))))
	}
	if err := p.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	visitor := p.Visitor(t)
	paths := []string{"/?period=year", "/problems.json?period=year", "/problems.csv?period=year",
		"/problems.atom?period=year", "/search?q=harbor", "/search.json?q=harbor", "/search.csv?q=reefd",
		"/search.atom?q=harbor",
		"/package/reefd",
		"/package/harbor-sync", "/release/Ubuntu%2024.04", "/search/complete?q=frame:l", "/search/complete?q=program:h",
		"/api/1.0/most-common-problems/?period=2026&limit=1000"}
	for i, id := range ids {
		s := secrets[i/3]
		for _, path := range []string{id.Path(), id.Path() + "/versions.json", "/api/1.0/bucket/" + id.String() + "/"} {
			wantNoSecret(t, path, visitor.Get(path).Want(http.StatusOK).Body, s)
		}
		if err := p.Store.InTx(t.Context(), func(tx pgx.Tx) error {
			e, err := p.Store.LockProblem(t.Context(), tx, id)
			wantNoSecret(t, "an event", fmt.Sprint(e), s)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		body := visitor.Get(path).Want(http.StatusOK).Body
		for _, s := range secrets {
			wantNoSecret(t, path, body, s)
		}
	}
	admin := p.As(t, crash.RoleAdmin)
	for i := range ids {
		b := p.Bucket(t, ids[i])
		admin.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
		bugs := p.Tracker.Bugs()
		bug := bugs[len(bugs)-1]
		wantNoSecret(t, "a bug", bug.Title+"\n"+bug.Description+"\n"+strings.Join(bug.Tags, " "), secrets[i/3])
	}
	for _, s := range secrets {
		wantNoSecret(t, "the log", log.String(), s)
	}
}

// hidden are characters that nobody sees: some change the direction of text, others have no width.
const hidden = "\u202e\u200b\u2066\ufeff\u00ad"

// TestHiddenCharacters checks titles of pages, files, feeds, events, names of files and bugs.
func TestHiddenCharacters(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{CreateWait: handlertest.Patience})
	set := crashtest.Set
	report := crashtest.Native(set("ExecutablePath", "/usr/bin/tide"+hidden+"watch\x1b[31m"),
		set("Package", "tide"+hidden+"watch 1.4.9-2"))
	p.Accept("m", report)
	b := p.Bucket(t, handlertest.BucketOf(t, report))
	if !strings.Contains(b.Title, hidden) {
		t.Fatalf("got title %q, want it as it came", b.Title)
	}
	admin, visitor := p.As(t, crash.RoleAdmin), p.Visitor(t)
	for who, c := range map[string]*handlertest.Client{"admin": admin, "visitor": visitor} {
		page := c.Get(b.ID.Path()).Want(http.StatusOK)
		for _, at := range []string{"title", "h1"} {
			got := page.HTML().Find(at).First().Text()
			if strings.ContainsAny(got, hidden+"\x1b") || !strings.Contains(got, "tidewatch") {
				t.Errorf("%s: got %s %q, want no hidden characters", who, at, got)
			}
		}
		for _, format := range []string{"csv", "atom"} {
			file := c.Get("/package/" + url.PathEscape(b.Package) + "." + format).Want(http.StatusOK)
			text := file.Body
			if format == "atom" {
				text, _, _ = strings.Cut(text[strings.Index(text, "<entry>"):], "</title>")
			}
			if got := text + file.Header.Get("Content-Disposition"); strings.ContainsAny(got, hidden+"\x1b") ||
				!strings.Contains(got, "tidewatch") {
				t.Errorf("%s: got %s %q, want no hidden characters", who, format, got)
			}
		}
	}
	if err := p.Store.InTx(t.Context(), func(tx pgx.Tx) error {
		e, err := p.Store.LockProblem(t.Context(), tx, b.ID)
		if strings.ContainsAny(e.Title, hidden+"\x1b") {
			t.Errorf("got an event with the title %q", e.Title)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	admin.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	if got := p.Tracker.Bugs()[0].Title; strings.ContainsAny(got, hidden+"\x1b") {
		t.Errorf("got a bug with the title %q", got)
	}
}
