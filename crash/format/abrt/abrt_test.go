package abrt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/abrt"
	"mishap/crash/intake"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	checktest.NoError(t, err)
	return body
}

func examine(t *testing.T, body []byte) crash.Record {
	t.Helper()
	report, err := abrt.Parse(body)
	checktest.NoError(t, err)
	rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(report)
	checktest.NoError(t, err)
	return rec
}

// TestTypes checks the problem, the title, the package and the release of a µReport of each type.
func TestTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"core.json": {"stacktrace", "/usr/bin/tidewatch:11:tide_parse_row:tide_load:__libc_start_call_main",
			"tidewatch crashed with SIGSEGV in tide_parse_row()", "tidewatch 1.4.9-2.fc43 x86_64", "Fedora 43"},
		"core-addresses.json": {"address", "/usr/bin/tidewatch:11:tidewatch@aa11bb22cc33+9234:" +
			"tidewatch@aa11bb22cc33+9a10:libc.so.6@dd44ee55+29d90",
			"tidewatch crashed with SIGSEGV", "tidewatch 1.4.9-2.fc43 x86_64", "Fedora 43"},
		"version1.json": {"stacktrace", "/usr/bin/tidewatch:11:tide_parse_row:tide_load",
			"tidewatch crashed with SIGSEGV in tide_parse_row()", "tidewatch 1.4.9-2.fc18 x86_64", "Fedora 18"},
		"python.json": {"traceback", "/usr/bin/quillpad:KeyError:/usr/bin/quillpad@8:main:load",
			"quillpad crashed with KeyError in load()", "quillpad 2:3.1-4.fc43 x86_64", "Fedora 43"},
		"ruby.json": {"duplicate-signature", "/usr/bin/tidepool:Wrap::MyException:func:times:<class:WillClass>:<main>",
			"tidepool crashed with Wrap::MyException in func", "tidepool 1.0-1.fc43 x86_64", "Fedora 43"},
		"java.json": {"java", "chartroom:chartroom.Gone:chartroom.Main.run:chartroom.Main.main:caused by " +
			"java.io.FileNotFoundException:java.io.FileInputStream.open0:chartroom.Store.open",
			"chartroom crashed with chartroom.Gone in chartroom.Main.run()", "chartroom 5.2-1.fc43 x86_64",
			"Fedora 43"},
		"kerneloops.json": {"kernel", "kernel:NULL pointer dereference:reef_read [reef]:vfs_read:ksys_read",
			"BUG: kernel NULL pointer dereference, address: 0000000000000008", "kernel-core 6.17.4-300.fc43 x86_64",
			"Fedora 43"},
		"kerneloops-frames.json": {"kernel", "kernel:NULL pointer dereference:vfs_read:reef_poll [reef]",
			"BUG: kernel NULL pointer dereference, address: 0000000000000008", "kernel 6.17.4-300.fc43.x86_64 ",
			"Fedora 43"},
	} {
		rec := examine(t, sample(t, name))
		for i, got := range []string{string(rec.Grouping.Rule), rec.Grouping.Signature, rec.Title,
			rec.Package + " " + rec.Version + " " + rec.PackageArchitecture, string(rec.Release)} {
			checktest.Equal(t, name, got, want[i])
		}
		checktest.Equal(t, name+": architecture", rec.Architecture, "x86_64")
	}
}

// TestMachines checks that the machine is known by a hash of its id. Without one, no report is a duplicate.
func TestMachines(t *testing.T) {
	t.Parallel()
	known, anonymous := examine(t, sample(t, "core-addresses.json")), examine(t, sample(t, "core.json"))
	if len(known.System) != 128 || known.DuplicateKey == (crash.ReportKey{}) ||
		known.Fields["HostName"] != "ant.example" {
		t.Errorf("got machine %q, key %x, host %q", known.System, known.DuplicateKey, known.Fields["HostName"])
	}
	if anonymous.System != "" || anonymous.DuplicateKey != (crash.ReportKey{}) {
		t.Errorf("without an id: got machine %q, key %x; want none", anonymous.System, anonymous.DuplicateKey)
	}
	for name, text := range known.Fields {
		if strings.Contains(text, "4e1d8b0c") {
			t.Errorf("got the id of the machine in %s", name)
		}
	}
}

// TestRefused checks the reasons for which µReports are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	head := `{"ureport_version":2,"packages":[{"name":"x","version":"1","package_role":"affected"}],"problem":{"type":`
	core := string(sample(t, "core.json"))
	for body, want := range map[string]string{
		"":                              "invalid_json",
		"x":                             "invalid_json",
		core[:200]:                      "invalid_json",
		core + "{}":                     "invalid_json",
		`{}"x"`:                         "invalid_json",
		"[]":                            "invalid_ureport",
		"{}":                            "invalid_ureport",
		`{"ureport_version":3}`:         "invalid_ureport",
		`{"ureport_version":"2"}`:       "invalid_ureport",
		head + `"selfie"}}`:             "problem_type",
		head + `"core"}}`:               "invalid_ureport",
		head + `"core","signal":"SEGV"`: "invalid_json",
		head + `"core","signal":11,"stacktrace":[{"frames":[]}]}}`:       "invalid_ureport",
		head + `"core","stacktrace":[{"frames":[{"address":-1}]}]}}`:     "invalid_ureport",
		head + `"python","stacktrace":[{}]}}`:                            "invalid_ureport",
		head + `"python","exception_name":"E"}}`:                         "invalid_ureport",
		head + `"java","threads":[{"frames":[{"name":"a.b"}]}]}}`:        "invalid_ureport",
		head + `"kerneloops"}}`:                                          "invalid_ureport",
		`{"a":1,"a":2}`:                                                  "duplicate_name",
		`{"a":1,"A":2}`:                                                  "duplicate_name",
		`{"\u0061":1}`:                                                   "escaped_name",
		`{"ureport_version":2,"x":[` + strings.Repeat(`{"a":{}},`, 60e3): "too_many_values",
		strings.Repeat("[", 100_000):                                     "too_deep",
		strings.Repeat(`{"a":`, 100_000):                                 "too_deep",
		`{"ureport_version":1,"type":"ruby"}`:                            "invalid_ureport",
	} {
		report, err := abrt.Parse([]byte(body))
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Kind != crash.Invalid || e.Code != want {
			t.Errorf("%.100q: got %v, fields %d; want %s", body, err, len(report.Fields), want)
		}
	}
}

// TestOddTexts checks that odd but honest texts are kept, in limits.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	core := string(sample(t, "core.json"))
	odd := strings.NewReplacer("tide_parse_row", `evil\n#9 0x1 in f\u0000`, "tide_load", "\xff\xfe",
		"/lib64/libc.so.6", strings.Repeat("/x", 50_000)).Replace(core)
	frame := `{"address":1,"build_id":"aa","build_id_offset":5,"function_name":"deep","file_name":"/usr/bin/deep"},`
	for name, body := range map[string]string{"odd": odd, "deep": strings.Replace(core, `"frames": [`, `"frames": [`+
		strings.Repeat(frame, 5000), 1)} {
		rec := examine(t, []byte(body))
		if rec.Grouping.Signature == "" || len(rec.Fields["Stacktrace"]) > 100_000 {
			t.Errorf("%s: got signature %q, stack of %d bytes", name, rec.Grouping.Signature,
				len(rec.Fields["Stacktrace"]))
		}
		wantClean(t, rec.Fields)
	}
}

func wantClean(t *testing.T, f crash.Fields) {
	t.Helper()
	for name, text := range f {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			t.Errorf("%s: got %q, which cannot be stored", name, crash.Truncate(text, 200))
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	checktest.NoError(t, abrt.CheckAttachment([]byte(`{"bthash":"98dae8","type":"RHBZ","data":"2101233"}`)))
	for body, want := range map[string]crash.Kind{
		"": crash.Invalid, `{"bthash":"x","type":"url","data":""}`: crash.Invalid,
		`{"bthash":"98","data":""}`: crash.Invalid, `{"bthash":"98","type":"url"}`: crash.Invalid,
		`{"bthash":"98","type":"url","data":7}`:                                       crash.Invalid,
		`{"bthash":"98","type":"url","data":"` + strings.Repeat("x", 1025) + `"}`:     crash.Invalid,
		`{"bthash":"98","type":"` + strings.Repeat("x", 65) + `","data":""}`:          crash.Invalid,
		`{"bthash":"98","type":"comment","data":"` + strings.Repeat("x", 3000) + `"}`: crash.TooLarge,
	} {
		if err := abrt.CheckAttachment([]byte(body)); crash.KindOf(err) != want {
			t.Errorf("%.100q: got %v, want %v", body, err, want)
		}
	}
}

// FuzzParse checks that any body gives a report that can be stored, or a refusal.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	checktest.NoError(f, err)
	for _, file := range files {
		f.Add(sample(f, filepath.Base(file)))
	}
	in := intake.New(intake.Config{MaxAgeDays: 366}, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		report, err := abrt.Parse(body)
		if err == nil {
			wantClean(t, report.Fields)
			_, err = in.Examine(report)
		}
		if err != nil && crash.KindOf(err) != crash.Invalid {
			t.Errorf("got %v, want a refusal", err)
		}
		if err := abrt.CheckAttachment(body); err != nil && crash.KindOf(err) == 0 {
			t.Errorf("attachment: got %v", err)
		}
	})
}
