package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// childEnv turns the test program into a unit of its own, which a test can kill.
const childEnv = "MISHAP_TEST_UNIT"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := runChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child says what a child process does.
type child struct {
	Database, URL, APIURL, Token, Secret string
	Settle                               time.Duration
	First, Count                         int // problems whose bugs it asks for
}

// runChild asks for all bugs, as many people would at once, and keeps the filings going until it is killed.
func runChild(spec string) error {
	var c child
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := db.Open(ctx, db.Config{URL: c.Database, MaxConns: 6})
	if err != nil {
		return err
	}
	cfg := tracker.Config{
		URL: c.URL, APIURL: c.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token:   crash.AccessToken{Token: c.Token, Secret: crash.Secret(c.Secret)},
		Timeout: 2 * time.Second, Settle: c.Settle, Backoff: 10 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	filer := tracker.NewFiler(cfg, store, tracker.NewClient(cfg, tracker.NewCredentials(cfg, store)))
	var people sync.WaitGroup
	for i := range c.Count {
		people.Go(func() {
			opts := tracker.Options{Person: "ines", Wait: time.Minute}
			if _, err := filer.CreateBug(ctx, problemSignature(c.First+i), opts); err != nil {
				fmt.Fprintln(os.Stderr, "create:", err)
			}
		})
	}
	go func() { // a parent that is gone closes this
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	filer.Run(ctx)
	return nil
}

// start starts a child; it is killed by the test, or by the test's end.
func (h *house) start(c child) *exec.Cmd {
	h.t.Helper()
	spec, err := json.Marshal(c)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(h.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd.Stderr = h.t.Output()
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = stdin.Close() })
	return cmd
}

// A unit that is killed at any moment, again and again, with another beside it that goes on, neither loses a bug nor files
// one twice.
func TestKilledUnits(t *testing.T) {
	t.Parallel()
	const problems, kills = 120, 24
	h := newHouse(t)
	settle := 300 * time.Millisecond // the practice tracker works for at most 50 ms
	for i := range problems {
		h.problem(i)
	}
	for range 40 {
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow, Delay: 50 * time.Millisecond})
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.DropAfter})
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Error500})
	}
	token := h.cfg.Token
	spec := child{
		Database: h.url, URL: h.lp.URL, APIURL: h.lp.APIURL, Token: token.Token, Secret: string(token.Secret), Settle: settle,
	}
	steady := h.unit(func(c *tracker.Config) { c.Settle = settle })
	steady.run(t)
	filed := func() int {
		totals, err := h.db.FilingTotals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return int(totals.States[crash.FilingFiled])
	}
	killed := 0
	for range kills {
		spec.First, spec.Count = rand.IntN(problems-30), 30
		cmd := h.start(spec)
		before := filed()
		target := before + rand.IntN(5)
		h.until("a child has begun", nil, func() bool { return filed() >= target || filed() >= problems-30 })
		pause(t, rand.N(120*time.Millisecond))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		killed++
	}
	for i := range problems {
		if _, err := steady.filer.CreateBug(t.Context(), problemSignature(i), tracker.Options{Person: "theo"}); err != nil && crash.KindOf(err) != crash.Unavailable {
			t.Errorf("create after the kills: %v", err)
		}
	}
	h.until("all bugs are filed", []*unit{steady}, func() bool { return filed() == problems && h.lp.Working() == 0 })
	for i := range problems {
		h.wantOneBug(problemSignature(i))
	}
	if got := len(h.lp.Bugs()); got != problems {
		t.Errorf("got %d bugs in the tracker after %d kills, want %d", got, killed, problems)
	}
	t.Logf("%d kills, %d bugs", killed, len(h.lp.Bugs()))
}
