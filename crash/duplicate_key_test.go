package crash_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
)

func keyOf(system crash.SystemID, r crashtest.Report) crash.ReportKey {
	key, _ := crash.DuplicateKey(system, r.Fields())
	return key
}

// TestDuplicateKey changes one field at a time and checks whether the report is still recognised as
// a duplicate.
func TestDuplicateKey(t *testing.T) {
	t.Parallel()
	const same, other = true, false
	for _, c := range []struct {
		name   string
		report func(...crashtest.Option) crashtest.Report
		change crashtest.Option
		want   bool
	}{
		{"crash, nothing changed", crashtest.Native, crashtest.Without(), same},
		{"crash, another package", crashtest.Native, crashtest.Set("Package", "another 1"), same},
		{"crash, another process", crashtest.Native, crashtest.Process(7), other},
		{"crash, another date", crashtest.Native, crashtest.Set("Date", "Mon May  5 14:46:11 2025"), other},
		{"crash, another program", crashtest.Native, crashtest.Set("ExecutablePath", "/usr/bin/other"), other},
		{"package, nothing changed", crashtest.Package, crashtest.Without(), same},
		{"package, upgrade status as of another day", crashtest.Package, crashtest.Set("UpgradeStatus", "Upgraded to noble "+
			"on 2026-04-29 (20 days ago)"), same},
		{"package, logs and bookkeeping added", crashtest.Package, all(
			crashtest.Set("JournalErrors", "x"), crashtest.Set("_MarkForUpload", "True"), crashtest.Set("CrashCounter", "2"),
			crashtest.Set("Title", "y")), same},
		{"package, fields that old clients drop", crashtest.Package, crashtest.Without("ErrorMessage", "DpkgTerminalLog",
			"Tags", "UpgradeStatus"), same},
		{"package, another version", crashtest.Package, crashtest.Version("9"), other},
		{"package, another date", crashtest.Package, crashtest.Set("Date", "Mon May  5 14:46:11 2025"), other},
		{"package, another fault", crashtest.Package, crashtest.Set("DuplicateSignature", "z"), other},
		{"package without a signature, another log", crashtest.BarePackage,
			crashtest.Set("DpkgTerminalLog", "Setting up x (1) ..."), other},
		{"oops, nothing changed", crashtest.Oops, crashtest.Without(), same},
		{"oops, another text", crashtest.Oops, crashtest.Set("OopsText", "BUG: other"), other},
		{"snap, nothing changed", crashtest.Snap, crashtest.Without(), same},
		{"snap, another one", crashtest.Snap, crashtest.Set("Snap", "other"), other},
		{"snap, another message", crashtest.Snap, crashtest.Set("ErrorMessage", "other"), other},
		{"no date, nothing changed", dateless, crashtest.Without(), same},
		{"no date, retraced and collected again", dateless, all(crashtest.Set("ThreadStacktrace", "x"),
			crashtest.Set("Uname", "y"), crashtest.Without("Dependencies")), same},
		{"no date, a field of unknown meaning", dateless, crashtest.Set("BrigStatus", "7"), other},
		{"no date, another text", dateless, crashtest.Set("OopsText", "BUG: other"), other},
	} {
		before, after := keyOf("m", c.report()), keyOf("m", c.report(c.change))
		if (before == after) != c.want {
			t.Errorf("%s: got keys %x and %x, want the same: %v", c.name, before, after, c.want)
		}
		if before == (crash.ReportKey{}) || keyOf("m2", c.report()) == before {
			t.Errorf("%s: got key %x, want one that is not zero and belongs to one machine", c.name, before)
		}
	}
}

func all(options ...crashtest.Option) crashtest.Option {
	return func(r crashtest.Report) {
		for _, o := range options {
			o(r)
		}
	}
}

func dateless(options ...crashtest.Option) crashtest.Report {
	return crashtest.Oops(append([]crashtest.Option{crashtest.Without("Date")}, options...)...)
}

// TestDuplicateKeyTime checks the time in keys, by which they are partitioned.
func TestDuplicateKeyTime(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"Mon May  5 14:46:10 2025": "\x68\x18\xcf\x32", "": "\x00\x00\x00\x00", "yesterday": "\x00\x00\x00\x00",
		"Mon Jan  1 00:00:00 1900": "\x00\x00\x00\x00", "Fri Dec 31 23:59:59 9999": "\xff\xff\xff\xff",
	} {
		for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Package()} {
			key := keyOf("m", dated(r, date))
			if got := string(key[:4]); got != want {
				t.Errorf("%s of %q: got time % x, want % x", r["ProblemType"], date, got, want)
			}
		}
	}
}

func dated(r crashtest.Report, date string) crashtest.Report {
	r = crashtest.Report(r.Fields())
	r["Date"] = date
	return r
}

// TestDuplicateKeyAcrossForms compares apport's files with what two versions of whoopsie send of
// them.
func TestDuplicateKeyAcrossForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("apport", "testdata", "crashes", "*.crash"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	compared := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".crash")
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close() //nolint:errcheck // only read
		fields, _, err := apport.Read(in, apport.Limits{})
		if err != nil {
			continue // a damaged sample
		}
		want, _ := crash.DuplicateKey("m", fields)
		for _, form := range []string{"modern", "v0133"} {
			body, err := os.ReadFile(filepath.Join("whoopsie", "testdata", name+"."+form+".bson"))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := crashtest.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			compared++
			got, former := crash.DuplicateKey("m", sent)
			// Without OopsText, nothing distinguishes this oops from another one in the same
			// second.
			lost := form == "v0133" && strings.HasPrefix(name, "linux-image-") && fields["OopsText"] != ""
			if (got == want) == lost {
				t.Errorf("%s, %s: got key %x, of the file %x; want the same: %v", name, form, got, want, !lost)
			}
			if former != (crash.ReportKey{}) {
				t.Errorf("%s, %s: got a former key, want none: it is the same", name, form)
			}
		}
	}
	if compared < 20 {
		t.Errorf("compared %d bodies only", compared)
	}
}
