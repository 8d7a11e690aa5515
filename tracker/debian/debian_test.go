package debian_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/tracker"
	"mishap/tracker/debian"
	"mishap/tracker/issuetest"
)

var suite = issuetest.Suite{
	Kind: issuetest.Debian(), API: "/cgi-bin/soap.cgi", Target: "elsewhere", Mail: true,
	New: func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker { return debian.New(cfg, creds) },
}

var _ tracker.Forwarder = (*debian.Client)(nil)

func TestDebian(t *testing.T) {
	t.Parallel()
	suite.Run(t)
}

const account = "mishap@example.org"

// connect returns a client for a practice tracker.
func connect(t *testing.T, srv *issuetest.Server, change ...func(*tracker.Config)) *debian.Client {
	t.Helper()
	cfg := tracker.Config{
		URL: srv.URL, APIURL: srv.URL + suite.API, Target: "tidewatch", BaseURL: "https://mishap.example", Version: "1.2",
		Token: crash.AccessToken{Token: account, Secret: "unused"}, Mail: srv.Mailer(), Settle: 1,
	}
	for _, c := range change {
		c(&cfg)
	}
	return debian.New(cfg, tracker.NewCredentials(cfg, &issuetest.Memory{}))
}

func wantOutcome(t *testing.T, err error, want tracker.Outcome, words string) {
	t.Helper()
	e, ok := errors.AsType[*tracker.CallError](err)
	if !ok || e.Outcome != want || !strings.Contains(e.Text, words) || e.Text != tracker.Clean(e.Text, 400) {
		t.Errorf("got %v, want outcome %s with %q", err, want, words)
	}
}

// send files a bug whose mail the relay accepts.
func send(t *testing.T, c tracker.Tracker, in crash.Intent) {
	t.Helper()
	number, err := c.Create(t.Context(), in, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown, "the mail was accepted; Debian sends the number later")
	checktest.Equal(t, "number", number, 0)
}

func find(t *testing.T, c tracker.Tracker, in crash.Intent) int64 {
	t.Helper()
	number, err := c.FindBug(t.Context(), in, time.Now(), nil)
	checktest.NoError(t, err)
	return number
}

// create files a bug and finds it.
func create(t *testing.T, c tracker.Tracker, in crash.Intent) int64 {
	t.Helper()
	send(t, c, in)
	return find(t, c, in)
}

func read(t *testing.T, c tracker.Tracker, number int64) crash.BugReading {
	t.Helper()
	r, err := c.ReadState(t.Context(), number)
	checktest.NoError(t, err)
	return r
}

// parse reads a mail as others do, and checks its form.
func parse(t *testing.T, raw []byte) (header mail.Header, subject, text string) {
	t.Helper()
	for line := range strings.SplitSeq(string(raw), "\n") {
		if len(line) > 999 || line != "" && !strings.HasSuffix(line, "\r") {
			t.Errorf("the mail has the line %.100q", line)
		}
	}
	strange := func(r rune) bool { return r > '~' || r < ' ' && r != '\r' && r != '\n' && r != '\t' }
	if i := bytes.IndexFunc(raw, strange); i >= 0 {
		t.Errorf("the mail has the byte %q", raw[i])
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	checktest.NoError(t, err)
	subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	checktest.NoError(t, err)
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	b, err := io.ReadAll(body)
	checktest.NoError(t, err)
	return m.Header, subject, strings.ReplaceAll(string(b), "\r\n", "\n")
}

// TestMails compares mails with what debbugs expects.
func TestMails(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	now := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	c := connect(t, srv, func(cfg *tracker.Config) { cfg.Now = func() time.Time { return now } })
	in := crash.Intent{
		Target: "tidewatch/2.0~rc1-1", Title: "tidewatch crashed in léak()", Description: "It did.\n\nürgs",
		Tags: []string{"patch", "crash", "from-reports", "not a tag", "ftbfs"}, Marker: "https://mishap.example/problem/1",
	}
	number := create(t, c, in)
	sent := srv.Requests("create")[0]
	checktest.Equal(t, "recipient", sent.Path, "submit@127.0.0.1")
	header, subject, text := parse(t, sent.Body)
	checktest.Equal(t, "subject", subject, in.Title)
	checktest.Equal(t, "text", text, `Source: tidewatch
Version: 2.0~rc1-1
Tags: patch ftbfs
User: mishap@example.org
Usertags: crash from-reports

It did.

ürgs
`)
	for name, want := range map[string]string{
		"From": "<mishap@example.org>", "To": "<submit@127.0.0.1>", "Date": "Mon, 02 Nov 2026 03:04:05 +0000",
		"Message-Id":   "<mishap-193adcac1fe460cf48fbee96396dde@mishap.example>",
		"Content-Type": "text/plain; charset=utf-8", "User-Agent": "mishap/1.2",
	} {
		checktest.Equal(t, name, header.Get(name), want)
	}

	checktest.NoError(t, c.Comment(t.Context(), number, "It is back."))
	comment, subject, text := parse(t, srv.Requests("comment")[0].Body)
	checktest.Equal(t, "subject of the comment", subject, "Re: "+in.Title)
	checktest.Equal(t, "text of the comment", text, "It is back.\n")
	checktest.Equal(t, "thread of the comment", comment.Get("In-Reply-To"), header.Get("Message-Id"))
	checktest.NoError(t, c.Comment(t.Context(), number, "It is back."))
	again, _, _ := parse(t, srv.Requests("comment")[1].Body)
	checktest.Equal(t, "Message-ID of the same comment", again.Get("Message-Id"), comment.Get("Message-Id"))
	if comment.Get("Message-Id") == header.Get("Message-Id") {
		t.Error("the comment has the Message-ID of the bug")
	}

	for range 2 {
		checktest.NoError(t, c.Forward(t.Context(), number, "https://bugs.example.org/show_bug.cgi?id=7"))
	}
	_, _, text = parse(t, srv.Requests("control")[0].Body)
	checktest.Equal(t, "commands", text, "forwarded 1000001 https://bugs.example.org/show_bug.cgi?id=7\nthanks\n")
	checktest.Equal(t, "status", read(t, c, number).Tasks[0].Status, "Forwarded")
	for _, address := range []string{"", "x", "mailto:kim@example.org", "https://", "https://e.example/\nclose 1",
		"https://e.example/ü", "https://e.example/ x", "https://e.example/" + strings.Repeat("x", 500)} {
		wantOutcome(t, c.Forward(t.Context(), number, address), tracker.OutcomeRefused, "only to a web address")
	}
	wantOutcome(t, c.Forward(t.Context(), 99, "https://e.example/"), tracker.OutcomeRefused, "Debian has no bug 99.")
}

// TestHostileTexts files and comments with texts that debbugs, or a relay, would take for something else.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Control: close -1\nx", "Package: mallory\n\nx", "\n\nControl: close 1000001\nControl: severity 1000001 grave",
		"\uFEFFControl: close 1000001", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\nx",
		".\r\n.\nMAIL FROM:<mallory@example.org>", "From mallory", "a\x00b\x1bc\r\nd\re",
		strings.Repeat("ü", 5000), strings.Repeat("x", 5000), "x\n.\n..\n", "thanks\nclose 1000001", "=3D=\n=20", " \t ",
		"a\xff\xfe",
		"=?utf-8?q?Bug=231000001_x?=", "\u200b\u202ex", "--\nclose 1000001", "line\u2028Control: close 1000001",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			srv := issuetest.New(t, suite.Kind)
			c := connect(t, srv)
			in := crash.Intent{
				Target: "tidewatch", Description: text + "\n" + issuetest.Intent.Marker, Marker: issuetest.Intent.Marker,
			}
			forged := "\r\nX-Debbugs-Cc: mallory@example.org\r\n"
			if in.Title = "Re: bug #1000001: " + strings.ReplaceAll(text, "\x00", forged); strings.HasPrefix(text, "=?") {
				in.Title = text
			}
			first := srv.Add("other", "kim@example.org", "first", "text")
			number := create(t, c, in)
			checktest.NoError(t, c.Comment(t.Context(), number, text))
			checktest.NoError(t, c.Comment(t.Context(), first, text))
			issues := srv.Issues()
			if len(issues) != 2 || number != issues[1].Number {
				t.Fatalf("got the bugs %+v, want two", issues)
			}
			for _, i := range issues {
				severity, _ := i.Extra["severity"].(string)
				if i.Closed || severity != "" || len(i.Comments) > 1 {
					t.Errorf("debbugs executed commands: %+v", i)
				}
			}
			header, _, sent := parse(t, srv.Requests("create")[0].Body)
			if issues[1].Project != "tidewatch" || header.Get("X-Debbugs-Cc") != "" || !strings.Contains(sent, in.Marker) ||
				strings.HasPrefix(strings.ToLower(issues[1].Title), "re:") {
				t.Errorf("got the bug %+v", issues[1])
			}
			parse(t, srv.Requests("comment")[0].Body)
			if strings.TrimSpace(text) == "" {
				return
			}
			// Ends of lines and control characters differ; the rest arrives as it was.
			plain := func(s string) string { return tracker.Clean(s, 10000) }
			has, err := c.HasComment(t.Context(), number, func(got string) bool { return plain(got) == plain(text) })
			checktest.NoError(t, err)
			checktest.Equal(t, "has the comment", has, true)
		})
	}
}

// TestSteps lets a mail fail at each step before it is sent, and checks that this is certain.
func TestSteps(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]map[issuetest.Fault]tracker.Outcome{
		"hello": {issuetest.DropBefore: tracker.OutcomeNotSent, issuetest.Busy: tracker.OutcomeBusy,
			issuetest.Expired: tracker.OutcomeNotSent},
		"sender": {issuetest.DropBefore: tracker.OutcomeNotSent, issuetest.Busy: tracker.OutcomeBusy,
			issuetest.Forbidden: tracker.OutcomeRefused},
	} {
		for fault, outcome := range want {
			t.Run(step+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				srv := issuetest.New(t, suite.Kind)
				c := connect(t, srv)
				srv.Fail(step, fault)
				if step == "hello" && fault != issuetest.DropBefore { // clients try the older HELO, too
					srv.Fail(step, fault)
				}
				_, err := c.Create(t.Context(), issuetest.Intent, tracker.MaxSending)
				wantOutcome(t, err, outcome, "")
				checktest.Equal(t, "bugs", len(srv.Issues()), 0)
				create(t, c, issuetest.Intent)
				checktest.Equal(t, "bugs", len(srv.Issues()), 1)
			})
		}
	}
	srv := issuetest.New(t, suite.Kind)
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	checktest.NoError(t, err)
	checktest.NoError(t, closed.Close())
	srv.Relay = "smtp://" + closed.Addr().String()
	_, err = connect(t, srv).Create(t.Context(), issuetest.Intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeNotSent, "connection refused")

	srv.Relay = ""
	_, err = connect(t, srv).Create(t.Context(), issuetest.Intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeRefused, "There is no relay for mail.")
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	srv = issuetest.New(t, suite.Kind)
	_, err = connect(t, srv).Create(late, issuetest.Intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeNotSent, "")
	checktest.Equal(t, "mails", len(srv.Requests("create")), 0)
}

// TestFindBug searches for bugs whose mails were changed on their way, or that are elsewhere now.
func TestFindBug(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := connect(t, srv)
	copied := issuetest.Intent
	copied.Marker, copied.Description = "https://mishap.example/problem/2", "See "+issuetest.Intent.Marker
	other := create(t, c, copied)
	number := create(t, c, issuetest.Intent)
	checktest.Equal(t, "bug by Message-ID", number, other+1)
	for what, change := range map[string]func(*issuetest.Issue){
		"a Message-ID without brackets": func(i *issuetest.Issue) {
			i.Extra["msgid"] = strings.Trim(fmt.Sprint(i.Extra["msgid"]), "<>")
		},
		"a name of the submitter": func(i *issuetest.Issue) { i.Extra["originator"] = `"A, b" <mishap@example.org>` },
		"a broken submitter":      func(i *issuetest.Issue) { i.Extra["originator"] = `A: b <mishap@example.org>, x` },
		"an archived bug":         func(i *issuetest.Issue) { i.Closed, i.Extra["archived"] = true, 1 },
		"another package":         func(i *issuetest.Issue) { i.Project = "linux" },
	} {
		srv.Change("", number, change)
		checktest.Equal(t, "with "+what, find(t, c, issuetest.Intent), number)
	}
	srv.Change("", number, func(i *issuetest.Issue) { i.Extra["msgid"] = "<0100019@email.amazonses.example>" })
	checktest.Equal(t, "bug that quotes the marker", find(t, c, issuetest.Intent), other)
	found, err := c.FindBug(t.Context(), issuetest.Intent, time.Now(), []int64{other})
	checktest.NoError(t, err)
	checktest.Equal(t, "bug with another Message-ID", found, number)
	srv.Fail("log", issuetest.ErrorBefore)
	_, err = c.FindBug(t.Context(), issuetest.Intent, time.Now(), []int64{other})
	wantOutcome(t, err, tracker.OutcomeUnknown, "502 Bad Gateway")
	changed, err := c.Changed(t.Context(), time.Time{})
	checktest.NoError(t, err)
	checktest.Diff(t, "changed, without archived bugs", changed, []int64{other})
	wantOutcome(t, c.Comment(t.Context(), number, "x"), tracker.OutcomeRefused, "is archived")
}

// TestStates reads bugs that maintainers have changed.
func TestStates(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := connect(t, srv)
	low := srv.Add("tidewatch", "kim@example.org", "first", "text")
	number := create(t, c, issuetest.Intent)
	r := read(t, c, number)
	if r.DuplicateOf != 0 || len(r.Fixes) != 0 || r.InformationType != "Public" || r.Tasks[0].Status != "Open" {
		t.Errorf("got %+v, want an open bug", r)
	}
	srv.Change("", number, func(i *issuetest.Issue) {
		i.Extra["fixed"] = []string{"elsewhere/2.0-1", "1:2.0~rc1-1", "x y", "Elsewhere/1", "/", "elsewhere/"}
		i.Extra["severity"], i.Assignee = "grave", "Ada\x07 <ada@example.org>"
	})
	r = read(t, c, number)
	if len(r.Fixes) != 0 || r.Tasks[0].Complete || r.Tasks[0].Importance != "grave" ||
		r.Tasks[0].Assignee != "Ada <ada@example.org>" {
		t.Errorf("got %+v, want a bug that was opened again", r)
	}
	srv.Change("", number, func(i *issuetest.Issue) { i.Closed = true })
	r = read(t, c, number)
	checktest.Diff(t, "fixes", r.Fixes, []crash.BugFix{
		{Package: "elsewhere", Version: "2.0-1"}, {Package: "elsewhere", Version: "1:2.0~rc1-1"},
	})
	if r.Tasks[0].Status != crash.FixReleased || !r.Tasks[0].Complete || !r.Tasks[0].Closed.IsZero() {
		t.Errorf("got %+v, want a fixed bug", r.Tasks[0])
	}
	for merged, want := range map[string]int64{
		"": 0, "1000009": 0, "1000001": low, "1000009 1000001 5": 5, "x -1 0 99999999999999999999": 0,
	} {
		srv.Change("", number, func(i *issuetest.Issue) { i.Extra["mergedwith"] = merged })
		checktest.Equal(t, "duplicate of, merged with "+merged, read(t, c, number).DuplicateOf, want)
	}
	checktest.Equal(t, "address", c.BugURL(number), srv.URL+"/1000002")
	resp, err := http.Get(c.BugURL(number))
	checktest.NoError(t, err)
	checktest.NoError(t, resp.Body.Close())
	checktest.Equal(t, "page", resp.StatusCode, http.StatusOK)
}

// TestRefusals checks what is refused here, before anything is sent.
func TestRefusals(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := connect(t, srv)
	in := issuetest.Intent
	in.InformationType = crash.InformationPrivate
	_, err := c.Create(t.Context(), in, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeRefused, "Debian has no private bugs")
	in.InformationType, in.Target = "", "Not/A/Package"
	_, err = connect(t, srv, func(cfg *tracker.Config) { cfg.Target = "a b" }).Create(t.Context(), in, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeRefused, "not the name of a source package")
	for _, name := range []string{"kim", "Kim <kim@example.org>", "kim@example.org\r\nBcc: x@example.org",
		`"a b"@example.org`, "a@b@example.org", "kim@example.org>", strings.Repeat("x", 65) + "@e.example", "kïm@e.eu"} {
		bad := connect(t, srv, func(cfg *tracker.Config) { cfg.Token.Token = name })
		_, err := bad.Create(t.Context(), issuetest.Intent, tracker.MaxSending)
		wantOutcome(t, err, tracker.OutcomeRefused, "not a mail address")
		_, err = bad.Me(t.Context())
		wantOutcome(t, err, tracker.OutcomeRefused, "not a mail address")
	}
	checktest.Equal(t, "mails", len(srv.Requests("create")), 0)
	checktest.NoError(t, c.Subscribe(t.Context(), 7, "Mishap@example.org"))
	wantOutcome(t, c.Subscribe(t.Context(), 7, "kim@example.org"), tracker.OutcomeRefused, "7-subscribe@127.0.0.1")
	name, err := c.Me(t.Context())
	checktest.NoError(t, err)
	checktest.Equal(t, "account", name, account)
	for _, fault := range issuetest.Faults {
		if slices.Contains([]issuetest.Fault{issuetest.HangBefore, issuetest.HangAfter}, fault) {
			continue
		}
		srv.Fail("me", fault)
		if name, err := tracker.Check(t.Context(), c); err == nil || name != "" {
			t.Errorf("with the fault %s: got %q, want an error", fault, name)
		}
	}
}

// TestHostileAnswers checks answers over SOAP that make no sense, or that lie.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	envelope := func(body string) string {
		return `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="x"><soap:Body>` + body +
			`</soap:Body></soap:Envelope>`
	}
	status := func(fields string) string {
		return envelope(`<get_statusResponse><s-gensym3><item><key>7</key><value>` + fields +
			`</value></item></s-gensym3></get_statusResponse>`)
	}
	const number = `<bug_num>7</bug_num>`
	for name, body := range map[string]string{
		"nothing": "", "a page": "<html><title>Down</title></html>", "JSON": `{"a":1}`, "no body": envelope(""),
		"other method": envelope(`<get_bugsResponse><a><item>7</item></a></get_bugsResponse>`),
		"no list":      envelope(`<get_statusResponse/>`),
		"two lists":    envelope(`<get_statusResponse><a/><a/></get_statusResponse>`),
		"cut":          status(`<bug_num>7</bug_num>`)[:200],
		"another bug":  status(`<bug_num>8</bug_num>`), "no number": status(`<subject>x</subject>`),
		"negative":     status(`<bug_num>-7</bug_num>`),
		"long number":  status(`<bug_num>99999999999999999999</bug_num>`),
		"entities":     `<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]>` + status(number+`<subject>&c;</subject>`),
		"a file":       `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>` + status(number+`<subject>&b;</subject>`),
		"other coding": `<?xml version="1.0" encoding="UTF-7"?>` + status(`<bug_num>7</bug_num>`),
		"deep nesting": status(`<bug_num>7</bug_num>` + strings.Repeat("<a>", 100000)),
		"a fault":      envelope(`<soap:Fault><faultstring>a` + "\u202e" + `<![CDATA[<b>]]></faultstring></soap:Fault>`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/xml")
				_, _ = io.WriteString(w, body)
			}))
			t.Cleanup(srv.Close)
			c := connect(t, &issuetest.Server{URL: srv.URL})
			_, err := c.ReadState(t.Context(), 7)
			wantOutcome(t, err, tracker.OutcomeUnknown, "")
			_, err = c.FindBug(t.Context(), issuetest.Intent, time.Now(), nil)
			wantOutcome(t, err, tracker.OutcomeUnknown, "")
			wantOutcome(t, c.Comment(t.Context(), 7, "x"), tracker.OutcomeNotSent, "")
		})
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, status(`<bug_num> 7 </bug_num><subject xsi:type="xsd:base64Binary">w7wB
Cg==</subject><done xsi:type="xsd:base64Binary">!!</done><package>src:a</package>`+
			`<fixed_versions><item>a/1</item></fixed_versions>`))
	}))
	t.Cleanup(srv.Close)
	r := read(t, connect(t, &issuetest.Server{URL: srv.URL}), 7)
	if r.Title != "ü" || r.Tasks[0].Complete || r.Tasks[0].Name != "a" || len(r.Fixes) != 0 {
		t.Errorf("got %+v", r)
	}
}

// TestSlow gives up waiting for an answer over SOAP.
func TestSlow(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := connect(t, srv)
	number := create(t, c, issuetest.Intent)
	for operation, call := range map[string]func(context.Context) error{
		"me": func(ctx context.Context) error { _, err := c.Me(ctx); return err },
		"list": func(ctx context.Context) error {
			_, err := c.FindBug(ctx, issuetest.Intent, time.Now(), nil)
			return err
		},
		"read": func(ctx context.Context) error { _, err := c.ReadState(ctx, number); return err },
		"log": func(ctx context.Context) error {
			_, err := c.HasComment(ctx, number, func(string) bool { return true })
			return err
		},
	} {
		srv.Fail(operation, issuetest.HangBefore)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-srv.Hung()
			cancel()
		}()
		wantOutcome(t, call(ctx), tracker.OutcomeUnknown, "stopped here before the answer came")
	}
}
