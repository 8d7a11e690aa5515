package tracker_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// bugOf files the bug of a problem and returns it from the tracker.
func (h *fixture) bugOf(signature string) trackertest.Bug {
	h.t.Helper()
	if err := h.db.WaitCounted(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	r, err := h.instance().filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ines", Wait: patience,
		Distribution: true})
	if err != nil {
		h.t.Fatalf("create: %v", err)
	}
	for _, b := range h.lp.Bugs() {
		if b.Number == r.Bug {
			return b
		}
	}
	h.t.Fatalf("the tracker has no bug %d", r.Bug)
	return trackertest.Bug{}
}

// save stores a report of a machine with the given time and returns its signature.
func (h *fixture) save(system string, at time.Time, r crashtest.Report) string {
	h.t.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 3660, Now: func() time.Time { return at }}, h.db)
	report := crash.Report{ID: crash.NewOopsID(at), System: crash.SystemID(system), Fields: r.Fields()}
	rec, err := in.Examine(report)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := in.Accept(h.t.Context(), report); err != nil {
		h.t.Fatal(err)
	}
	dbtest.Counted(h.t, h.db)
	return rec.Grouping.Signature
}

// TestReleaseTags checks that bugs in Ubuntu get no codenames of other distributions and derivatives.
func TestReleaseTags(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	day := time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)
	var signature string
	for i, release := range []crash.Release{"Ubuntu 22.04", "Debian 13", "Ubuntu Kylin 24.04", "Linux Mint 22",
		"Ubuntu 24.04"} {
		signature = h.save(fmt.Sprint("machine", i), day, crashtest.Native(crashtest.On(release), crashtest.Process(i)))
	}
	if got := strings.Join(h.bugOf(signature).Tags, " "); got != "jammy noble" {
		t.Errorf("got tags %q, want those of Ubuntu's releases", got)
	}
}

// TestBugTexts compares the texts of bugs with golden files. "go test ./tracker -run TestBugTexts
// -update" updates them.
func TestBugTexts(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 5, n, 9, 0, 0, 0, time.UTC) }
	tests := map[string]func(h *fixture) string{
		"native": func(h *fixture) string {
			var signature string
			for i, v := range []string{"1.4.9-2", "1.4.9-2", "1.4.10-1", "1.5~beta1-1"} {
				release := crash.Release([]string{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 24.04", "Ubuntu 26.04"}[i])
				for n := range 3 {
					signature = h.save(fmt.Sprintf("machine%d", i+n), day(18+i+n), crashtest.Native(crashtest.At(day(18+i+n)),
						crashtest.On(release), crashtest.Version(v), crashtest.Process(100*i+n),
						crashtest.Set("Architecture", []string{"amd64", "amd64", "arm64", "amd64"}[i])))
				}
			}
			return signature
		},
		"go": func(h *fixture) string {
			noise := strings.Repeat("2026/05/18 08:59:59 sounding\n", 300)
			secret := "opening /home/wendeline/charts for wendeline@harbour.example\n" +
				"-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0IGtleSBvZiB3ZW5kZWxpbmU=\n-----END RSA PRIVATE KEY-----\ntoken=hunter2 " +
				"wendeline\n"
			return h.save("m", day(18), crashtest.GoPanic(crashtest.Set("ProcEnviron", "USER=wendeline"),
				crashtest.Set("StdErr", noise+secret+crashtest.GoPanic()["StdErr"]+strings.Repeat("\tmore\n", 100))))
		},
		"rust":         func(h *fixture) string { return h.save("m", day(18), crashtest.RustPanic()) },
		"bare package": func(h *fixture) string { return h.save("m", day(18), crashtest.BarePackage()) },
		"java":         func(h *fixture) string { return h.save("m", day(18), crashtest.Java()) },
		"compiler":     func(h *fixture) string { return h.save("m", day(18), crashtest.CompilerError()) },
		"modern oops":  func(h *fixture) string { return h.save("m", day(18), crashtest.ModernOops()) },
		"snap":         func(h *fixture) string { return h.save("m", day(18), crashtest.Snap()) },
		"hang":         func(h *fixture) string { return h.save("m", day(18), crashtest.ThreadHang()) },
		"suspend":      func(h *fixture) string { return h.save("m", day(18), crashtest.Suspend()) },
		"python":       func(h *fixture) string { return h.save("m", day(18), crashtest.Python()) },
		"assertion":    func(h *fixture) string { return h.save("m", day(18), crashtest.Assertion()) },
		"package":      func(h *fixture) string { return h.save("m", day(18), crashtest.Package()) },
		"kernel":       func(h *fixture) string { return h.save("m", day(18), crashtest.Oops()) },
		"nameless":     func(h *fixture) string { return h.save("m", day(18), crashtest.Unsymbolised()) },
		"markup":       func(h *fixture) string { return h.save("m", day(18), crashtest.Markup()) },
		"unicode":      func(h *fixture) string { return h.save("m", day(18), crashtest.Unicode()) },
		"long":         func(h *fixture) string { return h.save("m", day(18), crashtest.Long()) },
		"steps": func(h *fixture) string {
			return h.save("m", day(18), crashtest.Native(crashtest.Set("ProcEnviron", "USER=wendeline\nHOME=/home/wendeline"),
				crashtest.Set("StepsToReproduce", "1. Open /home/wendeline/letters/secret.odt\n\n2. Press Ctrl+S twice\x1b[31m as "+
					"wendeline@harbour.example\n"+strings.Repeat("3. again\n", 60))))
		},
		"test machine": func(h *fixture) string {
			return h.save("deadbeef01", day(18), crashtest.Recoverable())
		},
	}
	for name, save := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			bug := h.bugOf(save(h))
			got := bug.Title + "\n\n" + bug.Description + "\n" + strings.Join(bug.Tags, " ") + "\n"
			file := filepath.Join("testdata", "bugs", strings.ReplaceAll(name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the text has changed (-want +got):\n%s", diff)
			}
			for i, n := range []int{utf8.RuneCountInString(bug.Title), utf8.RuneCountInString(bug.Description)} {
				if limit := []int{200, 50_000}[i]; n > limit || n == 0 {
					t.Errorf("got %d characters, want at most %d", n, limit)
				}
			}
		})
	}
}
