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
			steps := "1. Open /home/wendeline/letters/secret.odt\n\n2. Press Ctrl+S twice\x1b[31m as " +
				"wendeline@harbour.example\n" + strings.Repeat("3. again\n", 60)
			return h.save("m", day(18), crashtest.Native(crashtest.Set("DuplicateSignature", "steps"),
				crashtest.Set("ProcEnviron", "USER=wendeline\nHOME=/home/wendeline"),
				crashtest.Set("StepsToReproduce", steps)))
		},
		"test machine": func(h *fixture) string {
			return h.save("deadbeef01", day(18), crashtest.Recoverable())
		},
	}
	inTurn(t, tests, func(t *testing.T, h *fixture, save func(*fixture) string) {
		bug := h.bugOf(save(h))
		got := bug.Title + "\n\n" + bug.Description + "\n" + strings.Join(bug.Tags, " ") + "\n"
		file := filepath.Join("testdata", "bugs", strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")+".txt")
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

func sectionProblem(n int, versions int) tracker.SectionProblem {
	day := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := tracker.SectionProblem{Marker: fmt.Sprint("https://mishap.example/problem/", n), Bucket: crash.Bucket{
		ID: crash.BucketIDOf(fmt.Sprint(n)), Reports: 10, Systems: 3, FirstSeen: day.AddDate(0, -1, 0), LastSeen: day,
		LastSeenVersion: "1.4-2", LastSeenRelease: "Ubuntu 24.04",
		Status: crash.Status{Releases: []crash.ReleaseStatus{
			{Release: "Ubuntu 26.04", Word: crash.StateFixed, Fix: "1.5-1", Reports: 2, Highest: "1.4-2", Week: 1},
			{Release: "Ubuntu 24.04", Word: crash.StateGone, Highest: "1.4-2", Newer: "1.4-3", NewerSince: day, Reports: 8},
			{Release: "Ubuntu 22.04", Word: crash.StateOpen, Highest: "1.0-1", Reports: 1, Ended: true},
		}},
	}}
	for v := range versions {
		p.Versions = append(p.Versions, crash.VersionCount{Version: fmt.Sprintf("1.4-%d\n=== End of crash "+
			"reports ===", versions-v),
			Release: "Ubuntu 24.04", Reports: 1})
	}
	return p
}

func TestComposeSection(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	one := tracker.ComposeSection([]tracker.SectionProblem{sectionProblem(1, 30)}, today, 20)
	for _, want := range []string{
		"10 reports from 3 machines since 2026-10-20. Last report: 2026-11-20, version 1.4-2 (Ubuntu 24.04).\n",
		"\nProbable fix: 1.5-1 (Ubuntu 26.04), by 1.4-3 (Ubuntu 24.04)\n",
		"\nUbuntu 24.04: seen up to 1.4-2; 1.4-3 is in use without it since 20 November 2026\n",
		"\nand 10 older versions\n", "\nAs of 2026-11-22. Current counts: https://mishap.example/problem/1\n",
	} {
		if !strings.Contains(one.Text, want) {
			t.Errorf("got\n%s\nwant it to contain %q", one.Text, want)
		}
	}
	if strings.Contains(one.Text, "Ubuntu 22.04: ") {
		t.Errorf("got\n%s\nwant no release whose support has ended", one.Text)
	}
	found := tracker.SectionsIn("Hello\n\n" + one.Text + "\n")
	if len(found) != 1 || found[0].Hash != one.Hash() {
		t.Errorf("got the sections %+v of a description, want the one with the hash %s", found, one.Hash())
	}
	next := sectionProblem(1, 30)
	next.Bucket.Reports, next.Bucket.Status.Releases[0].Week = 11, 2
	if later := tracker.ComposeSection([]tracker.SectionProblem{next}, today.AddDate(0, 0, 1),
		20); later.Facts.Worth(one.Facts) ||
		later.Hash() == one.Hash() {
		t.Errorf("one more report: got %+v, want another text that is not worth an update", later.Facts)
	}
	next.Bucket.Status.Releases[1].Newer = "1.4-4"
	if later := tracker.ComposeSection([]tracker.SectionProblem{next}, today, 20); !later.Facts.Worth(one.Facts) {
		t.Errorf("another probable fix: got %+v, want it to be worth an update", later.Facts)
	}

	var many []tracker.SectionProblem
	for n := range 7 {
		many = append(many, sectionProblem(n, 2))
	}
	several := tracker.ComposeSection(many, today, 20)
	if !strings.Contains(several.Text, "Problem 5: https://mishap.example/problem/4\n") ||
		!strings.Contains(several.Text, "\nand 2 other problems\n") || strings.Contains(several.Text, "Problem 6") ||
		several.Facts.Reports != 70 {
		t.Errorf("several problems: got\n%s\n%+v", several.Text, several.Facts)
	}
	tests := tracker.ComposeSection([]tracker.SectionProblem{{Marker: "x"}}, today, 20)
	if !strings.Contains(tests.Text, "Only test machines") {
		t.Errorf("test machines: got\n%s", tests.Text)
	}
}

func TestSectionsIn(t *testing.T) {
	t.Parallel()
	section := tracker.ComposeSection([]tracker.SectionProblem{sectionProblem(1, 1)}, time.Now(), 20).Text
	quoted := "> " + strings.ReplaceAll(section, "\n", "\n> ")
	begin, _, _ := strings.Cut(section, "\n")
	for name, c := range map[string]struct {
		description string
		sections    int
		line        bool
		without     string
	}{
		"none":           {"Nothing", 0, false, "Nothing"},
		"at the end":     {tracker.AppendSection("Above", section), 1, true, "Above\n"},
		"in the middle":  {"Above\n\n" + section + "\n\nBelow\n", 1, true, "Above\n\nBelow\n"},
		"alone":          {section, 1, true, "\n"},
		"twice":          {section + "\n" + section + "\nBelow", 2, true, "Below"},
		"other line end": {strings.ReplaceAll("Above\n"+section+"\n", "\n", "\r\n"), 1, true, "Above\n"},
		"quoted":         {quoted, 0, false, quoted},
		"without an end": {"Above\n" + begin + "\nBelow", 0, true, "Above\n" + begin + "\nBelow"},
		"two beginnings": {begin + "\nAbove\n" + section, 1, true, begin + "\nAbove\n"},
	} {
		found := tracker.SectionsIn(c.description)
		if len(found) != c.sections || tracker.HasSectionLine(c.description) != c.line ||
			tracker.WithoutSections(c.description) != c.without {
			t.Errorf("%s: got %d sections, a line: %t, without them %q; want %+v", name, len(found),
				tracker.HasSectionLine(c.description), tracker.WithoutSections(c.description), c)
		}
		for _, s := range found {
			if s.Hash != (tracker.Section{Text: section}).Hash() {
				t.Errorf("%s: got another hash", name)
			}
		}
	}
}
