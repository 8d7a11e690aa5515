package intake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
)

var (
	today  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	config = intake.Config{MaxAgeDays: 366, Now: func() time.Time { return today }}
)

func examine(r crashtest.Report) (crash.Record, error) {
	return intake.New(config, nil).Examine(crash.Report{System: "machine", Fields: r.Fields()})
}

// TestRefusals tests every reason of a refusal, and reports that almost meet it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	with := func(fields ...string) crashtest.Report {
		r := crashtest.Python()
		for i := 0; i < len(fields); i += 2 {
			r[fields[i]] = fields[i+1]
		}
		return r
	}
	for _, c := range []struct {
		name         string
		report       crashtest.Report
		reason, text string // empty: accepted
	}{
		{"usual", with(), "", ""},
		{"empty", crashtest.Report{}, "empty", "Empty report."},
		{"end of life", with("DistroRelease", "Ubuntu 12.04"), "end_of_life", "Ubuntu 12.04 is End of Life"},
		{"alive on the day of the crash", with("DistroRelease", "Ubuntu 25.10", "Date", "Mon Jan 12 07:00:01 2026"), "", ""},
		{"dead on the day of the crash", with("DistroRelease", "Ubuntu 25.10", "Date", "Fri Nov 20 07:00:01 2026"),
			"end_of_life", "Ubuntu 25.10 is End of Life"},
		{"dead on arrival, no date", with("DistroRelease", "Ubuntu 25.10", "Date", ""), "end_of_life",
			"Ubuntu 25.10 is End of Life"},
		{"a date that is not believed", with("DistroRelease", "Ubuntu 12.04", "Date", "Thu Nov  1 07:00:01 2012"),
			"end_of_life", "Ubuntu 12.04 is End of Life"},
		{"a derivative", with("DistroRelease", "Plum Linux 12.04"), "", ""},
		{"no release", with("DistroRelease", ""), "", ""},
		{"armel", with("Architecture", "armel"), "armel", "armel architecture is obsoleted."},
		{"armhf", with("Architecture", "armhf"), "", ""},
		{"no package", with("Package", ""), "no_package", "Incomplete crash report."},
		{"blanks for a package", with("Package", " \n"), "no_package", "Incomplete crash report."},
		{"a package that is not installed", with("Package", "harbor (not installed)"), "", ""},
		{"a kernel without a package", with("Package", "", "ProblemType", "KernelOops"), "no_package",
			"Incomplete crash report."},
		{"a snap", with("Package", "", "ProblemType", "Snap"), "", ""},
		{"a repair by snapd", with("Package", "", "ProblemType", "Repair"), "", ""},
		{"several reasons", with("DistroRelease", "Ubuntu 12.04", "Architecture", "armel", "Package", ""), "end_of_life",
			"Ubuntu 12.04 is End of Life"},
	} {
		_, err := examine(c.report)
		e, _ := errors.AsType[*crash.Error](err)
		switch {
		case c.reason == "" && err != nil:
			t.Errorf("%s: got %v, want it accepted", c.name, err)
		case c.reason != "" && (e == nil || e.Kind != crash.Invalid || e.Code != c.reason || e.Message != c.text):
			t.Errorf("%s: got %v, want %s %q", c.name, err, c.reason, c.text)
		}
	}
}

// TestSamples checks what is stored for realistic reports.
func TestSamples(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		checktest.NoError(t, err)
		return d
	}
	for name, want := range map[string]struct {
		rule     crash.GroupingRule
		pkg      string
		day      time.Time
		complete bool
	}{
		// The crash was more than 366 days ago.
		"_usr_bin_tidewatch.1000": {crash.RuleStacktrace, "tidewatch 1.4.2-1ubuntu0.1", today, true},
		"_usr_bin_quillpad.1000":  {crash.RuleAssertion, "quillpad 0.9.1-1", day("2026-01-12"), true},
		// The crash was exactly 366 days ago.
		"_usr_bin_harbor-sync.0": {crash.RuleTraceback, "harbor-sync 2.1-1", day("2025-11-20"), true},
		"susres.2026-02-03_06:07:08.123456": {crash.RuleDuplicateSignature, "linux-image-6.17.0-8-generic 6.17.0-8.8",
			day("2026-02-03"), false},
		"linux-image-7.0.0-12-generic-202607010203": {crash.RuleNone, "linux-image-7.0.0-12-generic 7.0.0-12.12",
			day("2026-07-01"), false},
	} {
		file, err := os.ReadFile(filepath.Join("..", "apport", "testdata", "crashes", name+".crash"))
		checktest.NoError(t, err)
		fields, _, err := apport.Read(bytes.NewReader(file), apport.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rec, err := intake.New(config, nil).Examine(crash.Report{System: "machine", Fields: fields})
		if err != nil {
			t.Fatalf("%s: got %v, want it accepted", name, err)
		}
		if rec.Grouping.Rule != want.rule || (rec.Grouping.Signature == "") != (rec.Grouping.Reason != "") {
			t.Errorf("%s: got grouping %+v, want rule %q", name, rec.Grouping, want.rule)
		}
		checktest.Equal(t, name+": package", rec.Package+" "+rec.Version, want.pkg)
		if !rec.Day.Equal(want.day.Truncate(24*time.Hour)) || rec.ID.Received() != today {
			t.Errorf("%s: got day %v, arrival %v; want %v, %v", name, rec.Day, rec.ID.Received(), want.day, today)
		}
		if rec.Complete != want.complete || rec.DuplicateKey == (crash.ReportKey{}) || !rec.Counted {
			t.Errorf("%s: got complete %v, key %x, counted %v", name, rec.Complete, rec.DuplicateKey, rec.Counted)
		}
		if diff := cmp.Diff(fields, rec.Fields); diff != "" {
			t.Errorf("%s: fields differ:\n%s", name, diff)
		}
	}
}

// TestJournal checks that the last 50 lines of the journal are stored, and everything else
// unchanged.
func TestJournal(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 80 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	for name, c := range map[string]struct{ given, want string }{
		"long":                    {strings.Join(lines, "\n"), strings.Join(lines[30:], "\n")},
		"long, with a last break": {strings.Join(lines, "\n") + "\n", strings.Join(lines[30:], "\n") + "\n"},
		"fifty":                   {strings.Join(lines[30:], "\n"), strings.Join(lines[30:], "\n")},
		"short":                   {"one\ntwo\n", "one\ntwo\n"},
		"one long line":           {strings.Repeat("x", 10_000), strings.Repeat("x", 10_000)},
		"empty":                   {"", ""},
		"breaks only":             {strings.Repeat("\n", 100), strings.Repeat("\n", 50)},
	} {
		given := crashtest.Python(crashtest.Set("JournalErrors", c.given))
		rec, err := examine(given)
		checktest.NoError(t, err)
		if got := rec.Fields["JournalErrors"]; got != c.want {
			t.Errorf("%s: got %d lines, want %d", name, strings.Count(got, "\n"), strings.Count(c.want, "\n"))
		}
		if given["JournalErrors"] != c.given || len(rec.Fields) != len(given) {
			t.Errorf("%s: the given fields were changed, or others were lost", name)
		}
	}
}

// TestNumbers checks how reports that are sent again are recognised.
func TestNumbers(t *testing.T) {
	t.Parallel()
	in := intake.New(config, nil)
	key := func(r crash.Report) crash.ReportKey {
		r.Fields = crashtest.Python().Fields()
		rec, err := in.Examine(r)
		checktest.NoError(t, err)
		return rec.DuplicateKey
	}
	numbered := key(crash.Report{Number: "tests 7"})
	checktest.Equal(t, "the same number of another machine", key(crash.Report{System: "m", Number: "tests 7"}), numbered)
	checktest.Equal(t, "without a name of the machine", key(crash.Report{Anonymous: true, Number: "tests 7"}), numbered)
	checktest.Equal(t, "no number", key(crash.Report{Anonymous: true}), crash.ReportKey{})
	for name, other := range map[string]crash.Report{
		"another number": {Number: "tests 8"}, "no number, but a machine": {System: "tests 7"},
		"a machine called like the number": {System: "number"},
	} {
		if key(other) == numbered {
			t.Errorf("%s: got the same key", name)
		}
	}
}

// store records the reports that it receives and returns configured answers.
type store struct {
	got       []crash.Record
	first     crash.OopsID
	duplicate bool
	err       error
}

func (s *store) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	s.got = append(s.got, rec)
	return s.first, s.duplicate, s.err
}

func TestAccept(t *testing.T) {
	t.Parallel()
	first := crash.NewOopsID(today.Add(-time.Hour))
	s := &store{first: first, duplicate: true}
	in := intake.New(config, s)
	receipt, err := in.Accept(t.Context(), crash.Report{System: "deadbeef1", Fields: crashtest.Ungroupable().Fields()})
	if want := (intake.Receipt{ID: first, Duplicate: true, Unbucketed: true}); receipt != want || err != nil {
		t.Errorf("got %+v, %v; want %+v", receipt, err, want)
	}
	if rec := s.got[0]; rec.ID.Received() != today || rec.Counted || rec.Grouping.Reason == "" {
		t.Errorf("got record %+v; want the present time, a test machine, and a reason", rec)
	}
	if _, err := in.Accept(t.Context(), crash.Report{Fields: crash.Fields{}}); !errors.Is(err, crash.Invalid) ||
		len(s.got) != 1 {
		t.Errorf("refused: got %v and %d stored, want kind Invalid and nothing stored", err, len(s.got))
	}
	s.err = errors.New("disk on fire")
	if _, err := in.Accept(t.Context(), crash.Report{Fields: crashtest.Python().Fields()}); !errors.Is(err, s.err) {
		t.Errorf("got %v, want %v", err, s.err)
	}
}
