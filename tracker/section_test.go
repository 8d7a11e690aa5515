package tracker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

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
