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
	"strconv"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// childEnv turns the test program into an instance that a test can kill.
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

// child configures a child process.
type child struct {
	Database, URL, APIURL, Token, Secret string
	Settle                               time.Duration
	Count                                int   // problems whose bugs it requests, numbered from 0
	Own                                  int64 // id of the person whose own account files every other bug; 0: nobody
}

// runChild requests all bugs at once, as many people would, and works on filings until it is
// killed.
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
		Timeout: 2 * time.Second, Settle: c.Settle, Backoff: 10 * time.Millisecond, Pause: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	filer := tracker.NewFiler(cfg, bugs.New(store),
		tracker.NewClient(cfg, tracker.NewCredentials(cfg, bugs.New(store))))
	var people sync.WaitGroup
	for i := range c.Count {
		people.Go(func() {
			opts := tracker.Options{Person: "ines", Wait: time.Minute}
			if i%2 == 0 {
				opts.Own = c.Own
			}
			if _, err := filer.CreateBug(ctx, problemSignature(i), opts); err != nil {
				fmt.Fprintln(os.Stderr, "create:", err)
			}
		})
	}
	go func() { // closed when the parent dies
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return work(ctx, store, filer)
}

// start starts a child. The test kills it, at the latest when it ends.
func (h *fixture) start(c child) *exec.Cmd {
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

// killsEnv names the variable with the number of bugs during which instances are killed. Without it
// there are few, so that the tests are fast.
const killsEnv = "MISHAP_TEST_KILLS"

// atLeastOne reads a number from an environment variable. If the variable is not set, it returns
// otherwise.
func atLeastOne(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: got %q, want a number of at least 1", name, text)
	}
	return n
}

// TestMoreKilledInstances runs two instances on one database and kills them at random moments while
// they file bugs at a failing tracker, every other one with the account of a person, which the
// tracker rejects halfway. No bug may be lost or filed twice.
func TestMoreKilledInstances(t *testing.T) {
	t.Parallel()
	bugs := atLeastOne(t, killsEnv, 40)
	h := newFixture(t)
	for i := range bugs {
		h.problem(i)
	}
	for range bugs / 5 {
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
			Delay: 50 * time.Millisecond, Times: 3})
		h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
		h.lp.Fail(trackertest.OpCreate, trackertest.Error500)
	}
	token, ines := h.cfg.Token, h.person("ines")
	own := h.connect(h.instance(), ines, "WRITE_PUBLIC")
	spec := child{
		Database: h.url, URL: h.lp.URL, APIURL: h.lp.APIURL, Token: token.Token, Secret: string(token.Secret),
		Settle: 300 * time.Millisecond, // the practice tracker works for at most 50 ms
		Count:  bugs,
		Own:    ines.ID,
	}
	filed := func() int { return int(h.totals()[crash.FilingFiled]) }
	instances := []*exec.Cmd{h.start(spec), h.start(spec)}
	killed, whileSending, mostKills := 0, 0, bugs/2
	for filed() < bugs && killed < mostKills {
		for range rand.IntN(4) { // usually after some progress
			before := len(h.lp.Requests(trackertest.OpCreate))
			h.until("a bug is sent", nil, func() bool {
				return len(h.lp.Requests(trackertest.OpCreate)) > before ||
					filed() == bugs
			})
		}
		pause(t, rand.N(60*time.Millisecond))
		if h.totals()[crash.FilingSending] > 0 {
			whileSending++
		}
		i := rand.IntN(len(instances))
		if err := instances[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = instances[i].Wait() // it was killed
		if killed++; killed == mostKills/2 {
			h.lp.Revoke(own.Token)
		}
		instances[i] = h.start(spec)
	}
	h.until("all bugs are filed", nil, func() bool { return filed() == bugs && h.lp.Working() == 0 })
	for i := range bugs {
		h.wantOneBug(problemSignature(i))
	}
	if got := len(h.lp.Bugs()); got != bugs {
		t.Errorf("got %d bugs in the tracker after %d kills, want %d", got, killed, bugs)
	}
	t.Logf("%d kills, %d of them while a bug was being sent; %d bugs, %d calls to create, %d searches",
		killed, whileSending, len(h.lp.Bugs()), len(h.lp.Requests(trackertest.OpCreate)),
		len(h.lp.Requests(trackertest.OpSearch)))
}
