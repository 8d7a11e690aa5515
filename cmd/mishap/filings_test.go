package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

// TestReconcile checks that bugs missing from a restored database are found and linked. Repeating
// it changes nothing.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	const me = "practice-person"
	marked := func(id crash.BucketID) string { return "It crashed.\n\nhttp://localhost:8080" + id.Path() + "\n" }
	for i := range 301 { // more than one page of the tracker
		p.tracker.Add(trackertest.Bug{Title: fmt.Sprintf("by hand %d", i), Description: "nothing of ours", Reporter: me,
			Package: "tidewatch"})
	}
	lost := p.tracker.Add(trackertest.Bug{Title: "tidewatch crashed", Description: marked(p.bucket), Reporter: me,
		Package: "tidewatch", Status: "Invalid", DuplicateOf: 2100001})
	foreign := p.tracker.Add(trackertest.Bug{Title: "elsewhere", Description: marked(crash.BucketIDOf("not here")),
		Reporter: me})
	other := p.tracker.Add(trackertest.Bug{Title: "copied", Description: marked(p.bucket), Reporter: "someone-else"})
	// The intent is known, but not what became of it.
	filing, _, err := bugs.New(p.store).RequestFiling(t.Context(), crash.Intent{Bucket: p.bucket, Target: "/ubuntu",
		Title: "t", Description: "d", Marker: "m"}, crash.Filing{})
	if err != nil {
		t.Fatal(err)
	}

	reconcile := func(args ...string) string {
		t.Helper()
		return mustRun(t, p.environ, append([]string{"filings", "reconcile"}, args...)...)
	}
	line := func(out string, number int64) string {
		for l := range strings.SplitSeq(out, "\n") {
			if strings.HasPrefix(l, fmt.Sprint(number)+" ") {
				return l
			}
		}
		return ""
	}
	for range 2 { // listing changes nothing
		out := reconcile()
		if l := line(out, lost); !strings.Contains(l, "can be linked") || !strings.Contains(l, p.bucket.String()) {
			t.Errorf("the lost bug: got %q, want an offer to link it", l)
		}
		if l := line(out, foreign); !strings.Contains(l, "not in the database") {
			t.Errorf("a bug of another problem: got %q", l)
		}
		if line(out, other) != "" || !strings.Contains(out, "1 can be linked; --apply does it.") ||
			strings.Count(out, "names no problem") != 301 {
			t.Errorf("got %s", out)
		}
	}
	if l := line(reconcile("--apply"), lost); !strings.Contains(l, "linked") || strings.Contains(l, "can be") {
		t.Errorf("with --apply: got %q, want it linked", l)
	}
	b, err := p.store.Bucket(t.Context(), p.bucket)
	if err != nil || b.Bug.Number != lost || b.Bug.How != crash.Filed || b.Filing.State != crash.FilingFiled ||
		b.Filing.ID != filing.ID {
		t.Errorf("got %+v, %+v, %v, want bug %d as outcome of the filing", b.Bug, b.Filing, err, lost)
	}
	if out := reconcile("--apply"); line(out, lost) != "" || strings.Contains(out, "linked") {
		t.Errorf("again: got %s, want nothing to link", out)
	}
	entries, err := bugs.New(p.store).Ledger(t.Context(), crash.LedgerFilter{Bucket: p.bucket, Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Lines[len(entries[0].Lines)-1].Action != "bug.reconciled" {
		t.Errorf("ledger: got %+v, %v, want a line about the reconciliation", entries, err)
	}
}

func TestReconcileCannot(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	p.tracker.Fail(trackertest.OpSearch, trackertest.Offline503)
	status, _, stderr := mishap(t, p.environ, "filings", "reconcile")
	if status != exitFailed || !strings.Contains(stderr, "no usable answer") && !strings.Contains(stderr, "is busy") {
		t.Errorf("got status %d and %q, want a message", status, stderr)
	}
	wantStatus(t, p.environ, exitUsage, "", "filings")
}

func TestTrackerName(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	name := func() string {
		t.Helper()
		u, err := people.New(p.store).ByName(t.Context(), "tess")
		if err != nil {
			t.Fatal(err)
		}
		return u.TrackerName
	}
	wantOutput(t, p.environ, []string{"user", "tracker-name", "tess", "~tess-lp"}, "tess is tess-lp")
	runSteps(t, p.environ, []step{
		{"user tracker-name tess not-A-Name", exitFailed, "An account name has"},
		{"user tracker-name nobody tess-lp", exitFailed, "nobody"},
		{"user tracker-name", exitUsage, ""},
	}...)
	if name() != "tess-lp" {
		t.Errorf("saved: got %q, want tess-lp", name())
	}
	if mustRun(t, p.environ, "user", "tracker-name", "tess"); name() != "" {
		t.Errorf("after removing: got %q, want none", name())
	}
}

// setup is one run of setup-oauth-token with a person who reads its output and acts.
type setup struct {
	t      *testing.T
	output *bufio.Reader
	answer io.WriteCloser
	seen   bytes.Buffer
	status chan int
	stderr bytes.Buffer
}

func startSetup(t *testing.T, environ []string, args ...string) *setup {
	t.Helper()
	s := &setup{t: t, status: make(chan int, 1)}
	in, answer := io.Pipe()
	read, out := io.Pipe()
	s.answer, s.output = answer, bufio.NewReader(read)
	p := &program{in: in, out: out, err: &s.stderr, environ: environ}
	go func() {
		s.status <- p.run(t.Context(), append([]string{"setup-oauth-token"}, args...))
		_ = out.Close() // closing an in-process pipe cannot fail
	}()
	return s
}

// until reads the output up to a text.
func (s *setup) until(text string) {
	s.t.Helper()
	from := s.seen.Len()
	for !strings.Contains(s.seen.String()[from:], text) {
		c, err := s.output.ReadByte()
		if err != nil {
			s.t.Fatalf("output: got %q and %q, want %q", s.seen.String(), s.stderr.String(), text)
		}
		s.seen.WriteByte(c)
	}
}

func (s *setup) says(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.answer, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// end reads the remaining output and returns the exit status.
func (s *setup) end() int {
	s.t.Helper()
	if _, err := io.Copy(&s.seen, s.output); err != nil {
		s.t.Fatal(err)
	}
	return <-s.status
}

// requestKey returns the request token in the printed address.
func (s *setup) requestKey() string {
	s.t.Helper()
	s.until("Press Enter when that is done.")
	found := regexp.MustCompile(`http://\S+/\+authorize-token\?\S+`).FindString(s.seen.String())
	u, err := url.Parse(found)
	if err != nil || found == "" {
		s.t.Fatalf("output: got %q, want an address for authorising", s.seen.String())
	}
	return u.Query().Get("oauth_token")
}

func trackerEnviron(tr *trackertest.Tracker, more ...string) []string {
	return append([]string{"MISHAP_TRACKER_URL=" + tr.URL, "MISHAP_TRACKER_API_URL=" + tr.APIURL}, more...)
}

func TestSetupOAuthToken(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	database := dbtest.URL(t)
	file := configFile(t, "# mine\ntracker_consumer_key = \"my app\" # keep\n")
	s := startSetup(t, trackerEnviron(tr, "MISHAP_DATABASE_URL="+database), "--config", file)
	key := s.requestKey()
	s.says("")
	s.until("mishap has not been authorised on the tracker's page yet")
	s.until("Press Enter when that is done.")
	tr.Authorize(key, "WRITE_PUBLIC")
	s.says("")
	if status := s.end(); status != exitOK {
		t.Fatalf("got status %d, %q and %q", status, s.seen.String(), s.stderr.String())
	}
	wantTexts(t, s.seen.String(), "It is limited to: nothing", "It is written to "+file, "It is saved in the database")

	c, err := config.Load(file, true, trackerEnviron(tr))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.seen.String()+s.stderr.String(), string(c.TrackerOAuthSecret)) {
		t.Error("output: got the secret in it")
	}
	doc, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(doc), "# mine\ntracker_consumer_key = \"my app\" # keep\n") {
		t.Errorf("file: got %q, %v, want the previous contents kept", doc, err)
	}
	// The token works, and an instance without its own token gets it from the database.
	store := dbtest.Open(t, database)
	settings := trackerConfig(c, dbtest.Log(t), nil)
	for _, token := range []crash.AccessToken{settings.Token, {}} {
		settings.Token = token
		client := launchpad.New(settings, tracker.NewCredentials(settings, bugs.New(store)))
		if who, err := tracker.Check(t.Context(), client); err != nil {
			t.Errorf("token from %q: got %v, want it to work", token.Token, err)
		} else if who != "practice-person" {
			t.Errorf("account: got %q, want practice-person", who)
		}
	}
}

func TestSetupOAuthTokenRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(tr *trackertest.Tracker, key string)
		want string
	}{
		{"no access", func(tr *trackertest.Tracker, key string) { tr.Authorize(key, "UNAUTHORIZED") },
			"Access was declined " +
				"on the tracker's page"},
		{"expired", func(tr *trackertest.Tracker, key string) {
			tr.Authorize(key, "WRITE_PUBLIC")
			tr.Advance(3 * 60 * 60 * 1e9)
		}, "has expired; start over"},
		{"used", func(tr *trackertest.Tracker, key string) {
			tr.Authorize(key, "WRITE_PUBLIC")
			tr.Fail(trackertest.OpAccessToken, trackertest.DropAfter)
		}, "already been used, or the answer was lost. Start over"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := trackertest.New(t)
			file := filepath.Join(t.TempDir(), "local_config.toml")
			s := startSetup(t, trackerEnviron(tr, "MISHAP_DATABASE_URL=postgres://127.0.0.1:1/none"), "--config", file)
			tt.do(tr, s.requestKey())
			s.says("")
			if tt.name == "used" {
				s.until("Press Enter when that is done.") // the outcome of the first exchange is unknown
				s.says("")
			}
			if status := s.end(); status != exitFailed {
				t.Errorf("status: got %d, want %d", status, exitFailed)
			}
			if !strings.Contains(s.stderr.String(), tt.want) {
				t.Errorf("standard error: got %q, want %q", s.stderr.String(), tt.want)
			}
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("configuration file: got %v, want none", err)
			}
		})
	}
}

// TestSetupOAuthTokenUnwritable checks that the command offers to print the lines if neither the
// file nor the database can be written.
func TestSetupOAuthTokenUnwritable(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	for _, show := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "missing", "local_config.toml")
		s := startSetup(t, trackerEnviron(tr, "MISHAP_DATABASE_URL=postgres://127.0.0.1:1/none"), "--config", file)
		tr.Authorize(s.requestKey(), "WRITE_PUBLIC")
		s.says("")
		s.until("with the secret? [y/N] ")
		answer, wantStatus := "n", exitFailed
		if show {
			answer, wantStatus = "y", exitOK
		}
		s.says(answer)
		if status := s.end(); status != wantStatus {
			t.Errorf("answer %s: got status %d, want %d", answer, status, wantStatus)
		}
		if got := strings.Contains(s.seen.String(), "\ntracker_oauth_secret = \""); got != show {
			t.Errorf("answer %s: got the lines %t, want %t: %q", answer, got, show, s.seen.String())
		}
		if !strings.Contains(s.seen.String(), "The token was not saved in the database") || !strings.Contains(s.seen.String(),
			"cannot be written") {
			t.Errorf("output: got %q, want both errors in it", s.seen.String())
		}
	}
}

func TestSetupOAuthTokenUnattended(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	wantRefusal(t, trackerEnviron(tr), "the standard input has ended", "setup-oauth-token")
}
