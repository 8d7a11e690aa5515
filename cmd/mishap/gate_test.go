package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
)

// TestGate asks the gate about updates in a small fleet, and checks its exit status.
func TestGate(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	in := intake.New(intake.Config{MaxAgeDays: 366}, store)
	process := 0
	save := func(machine, days int, version string, options ...crashtest.Option) {
		t.Helper()
		process++
		at := time.Now().AddDate(0, 0, -days)
		report := crashtest.Native(append([]crashtest.Option{crashtest.Version(version), crashtest.At(at),
			crashtest.Process(process)}, options...)...)
		if _, err := in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), Fields: report.Fields(),
			System: crash.NewSystemID(fmt.Sprint("machine ", machine))}); err != nil {
			t.Fatal(err)
		}
	}
	for machine := range 60 { // reports of another package make the machines active
		save(machine, 80, "1.0", crashtest.Set("Package", "other 1.0"))
		save(machine, 40+machine%30, "1.9-1")
	}
	save(1, 30, "1.10-1")
	for machine := range 8 {
		save(machine, machine, "1.11-1", crashtest.Set("DuplicateSignature", "a new \x1b problem"))
	}
	dbtest.Counted(t, store)
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_BASE_URL=https://crashes.example"}
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		status, stdout, stderr := runIn(t.Context(), nil, environ, append([]string{"gate", noConfig(t)}, args...)...)
		if status != want {
			t.Errorf("%q: got status %d, want %d; output:\n%s%s", args, status, want, stdout, stderr)
		}
		return stdout, stderr
	}
	contains := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("got %q, want %q in it", text, want)
			}
		}
	}

	stdout, _ := run(exitOK, "tidewatch", "1.10-1")
	contains(stdout, "Pass: no sign that tidewatch 1.10-1 made things worse.\nhttps://crashes.example/gate?",
		"\nUbuntu 24.04: pass\n  Compared with 1.9-1, the version before.", "  before  1.9-1 ", "  after   1.10-1 ")
	stdout, _ = run(exitWorse, "tidewatch", "1.11-1", "--release=Ubuntu 24.04", "--against", "1.9-1")
	contains(stdout, "Worse since tidewatch 1.11-1 arrived.\n", "NEW PROBLEM", "1 problem is new",
		"Compared with 1.9-1, as asked.",
		"https://crashes.example/problem/"+crash.BucketIDOf("a new \x1b problem").String()+"  8 ")
	if strings.Contains(stdout, "\x1b") {
		t.Errorf("got a control character in %q", stdout)
	}
	stdout, _ = run(exitNotEnough, "tidewatch", "1.9-1")
	contains(stdout, "Not enough data yet", "There is no report of a lower version")
	stdout, _ = run(exitNotEnough, "tidewatch", "1.12-1")
	contains(stdout, "no release has a report of tidewatch 1.12-1", "Versions that reports name: 1.11-1, 1.10-1, 1.9-1\n")
	run(exitNotEnough, "tidewatch", "1.11-1", "--release=Debian 13")
	_, stderr := run(exitNoAnswer, "nosuch", "1")
	contains(stderr, "mishap: No report of a binary package nosuch")
	_, stderr = run(exitUsage, "tidewatch", "1.9-1", "--against=1.10-1")
	contains(stderr, "1.10-1 is not lower than 1.9-1")
	run(exitUsage, "tidewatch")
	environ[0] = "MISHAP_DATABASE_URL=postgres://127.0.0.1:1/none"
	run(exitNoAnswer, "tidewatch", "1.11-1")
	run(exitNoAnswer, "tidewatch", "1.11-1", "--config="+configFile(t, "lisen = 1\n"))
	environ[0] = "MISHAP_DATABASE_URL=" + url
	var answer struct {
		Objects []struct {
			Verdict  string
			Releases []struct {
				Problems []struct {
					Machines int
					Function string
				} `json:"new_problems"`
			}
		}
	}
	stdout, _ = run(exitWorse, "tidewatch", "1.11-1", "--json")
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Fatal(err)
	}
	if o := answer.Objects; len(o) != 1 || o[0].Verdict != "worse" || len(o[0].Releases) != 1 ||
		len(o[0].Releases[0].Problems) != 1 || o[0].Releases[0].Problems[0].Machines != 8 {
		t.Errorf("got %s", stdout)
	}
}
