package sentry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/sentry"
	"mishap/crash/intake"
)

var project = sentry.Project{Number: 7, Name: "harbor", Source: "harbor-sync"}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	checktest.NoError(t, err)
	return body
}

func parse(t *testing.T, name string, body []byte) sentry.Envelope {
	t.Helper()
	if strings.HasSuffix(name, ".json") {
		return sentry.Event(body)
	}
	e, err := sentry.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}

func examine(t *testing.T, name string, body []byte) crash.Record {
	t.Helper()
	report, _, stored, err := parse(t, name, body).Report(project)
	if err != nil || !stored {
		t.Fatalf("%s: got %v, stored %v", name, err, stored)
	}
	rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(report)
	checktest.NoError(t, err)
	return rec
}

// event returns a record of an event on its own.
func event(t *testing.T, members string) crash.Record {
	t.Helper()
	return examine(t, "event.json", []byte(`{"platform":"ruby",`+members+`}`))
}

// TestSamples checks what is stored of events that real libraries have sent.
func TestSamples(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"python.json": {"Crash", "duplicate-signature", "harbor:KeyError:main:<module>",
			"harbor crashed with KeyError in main()", "harbor-sync 2.3-1", "", "Traceback"},
		"node.envelope": {"RecoverableProblem", "duplicate-signature", "harbor:TypeError:readTide:main",
			"harbor crashed with TypeError in readTide()", "harbor-sync 1.4.2", "Debian 12.11", "StackTrace"},
		"go.envelope": {"Crash", "duplicate-signature", "harbor:*fmt.wrapError:main.main",
			"harbor crashed with *fmt.wrapError in main.main()", "harbor-sync 0.9.1", "", "StackTrace"},
		"go-panic.envelope": {"Crash", "duplicate-signature", "harbor:runtime.plainError:main.func1:main.main",
			"harbor crashed with runtime.plainError in main.func1()", "harbor-sync 0.9.1", "", "StackTrace"},
		"harbor.envelope": {"Crash", "duplicate-signature", "harbor:ValueError:main:<module>",
			"harbor crashed with ValueError in main()", "harbor-sync 2.3-1ubuntu1", "Ubuntu 26.04", "Traceback"},
		"drkonqi.envelope": {"Crash", "stacktrace", "kompass:11:Chart::load:main:__libc_start_call_main",
			"kompass crashed with SIGSEGV in Chart::load()", "harbor-sync 24.08.1", "openSUSE Tumbleweed",
			"Stacktrace"},
		"native.envelope": {"Crash", "address", "/usr/bin/kompass:11:kompass@aa11bb22cc33+1234:" +
			"kompass@aa11bb22cc33+1a10:libc.so.6@dd44ee55+29d90",
			"kompass crashed with SIGSEGV", "harbor-sync 24.08.1", "Debian 13", "Stacktrace"},
	} {
		rec := examine(t, name, sample(t, name))
		for i, got := range []string{rec.ProblemType, string(rec.Grouping.Rule), rec.Grouping.Signature, rec.Title,
			rec.Package + " " + rec.Version, string(rec.Release)} {
			checktest.Equal(t, name, got, want[i])
		}
		if rec.Fields[want[6]] == "" || rec.SourcePackage != "harbor-sync" || rec.DuplicateKey == (crash.ReportKey{}) ||
			rec.Occurred.IsZero() {
			t.Errorf("%s: got %+v, fields %v; want a trace, the source package, a key, a time", name, rec.Summary,
				rec.Fields)
		}
		for field, text := range rec.Fields {
			for _, private := range []string{"hunter2", "ada@", "buoy", "Ada", "secret\""} {
				if strings.Contains(text, private) {
					t.Errorf("%s: %s contains %q", name, field, private)
				}
			}
		}
	}
}

// TestSignatures checks the signature and the title of an event.
func TestSignatures(t *testing.T) {
	t.Parallel()
	frames := func(text string) string { return `"stacktrace":{"frames":[` + text + `]}` }
	for name, c := range map[string]struct{ members, signature, title string }{
		"frames of the program": {`"exception":{"values":[{"type":"Sunk",` + frames(`{"function":"run","in_app":true},`+
			`{"function":"call"},{"function":"dive","in_app":true},{"function":"raise","in_app":false}`) + `}]}`,
			"harbor:Sunk:dive:run", "harbor crashed with Sunk in dive()"},
		"recursion": {`"exception":[{"type":"Sunk",` +
			frames(`{"function":"run"},{"function":"dive"},{"function":"dive"}`) + `}]`,
			"harbor:Sunk:dive:run", "harbor crashed with Sunk in dive()"},
		"a single exception": {`"exception":{"type":"Sunk","value":"at 54.3 N"},"transaction":"/boats/17"`,
			"harbor:Sunk:/boats/N", "harbor crashed with Sunk in /boats/N"},
		"the outermost of several": {`"exception":{"values":[{"type":"Cause"},{"type":"Sunk",` +
			frames(`{"function":"dive"}`) + `}]}`, "harbor:Sunk:dive", "harbor crashed with Sunk in dive()"},
		"numbered exceptions": {`"exception":[{"type":"Sunk","mechanism":{"exception_id":0},` +
			frames(`{"function":"dive"}`) + `},{"type":"Cause","mechanism":{"exception_id":1,"parent_id":0}}]`,
			"harbor:Sunk:dive", "harbor crashed with Sunk in dive()"},
		"a stack of a thread": {`"exception":[{"type":"Sunk"}],"threads":{"values":[{"id":1},{"crashed":true,` +
			frames(`{"function":"dive"}`) + `}]}`, "harbor:Sunk:dive", "harbor crashed with Sunk in dive()"},
		"a fingerprint": {`"fingerprint":["boats","{{ default }}"],"exception":[{"type":"Sunk",` +
			frames(`{"function":"dive"}`) + `}]`, "harbor:boats:Sunk:dive", "harbor crashed with Sunk in dive()"},
		"the usual fingerprint": {`"fingerprint":["{{default}}"],"exception":[{"type":"Sunk",` +
			frames(`{"function":"dive"}`) + `}]`, "harbor:Sunk:dive", "harbor crashed with Sunk in dive()"},
		"a message with a template": {`"logentry":{"message":"boat %s is lost","formatted":"boat Ada is lost"}`,
			"harbor:message:boat %s is lost", "harbor: boat %s is lost"},
		"a message": {`"message":"boat 17 is lost"`, "harbor:message:boat N is lost", "harbor: boat N is lost"},
		"a value only": {`"exception":[{"type":"Sunk","value":"depth 17\nmore"}]`, "harbor:Sunk:depth N",
			"harbor crashed with Sunk"},
		"nothing": {`"level":"error"`, "harbor:", "harbor reported an error"},
	} {
		rec := event(t, c.members)
		checktest.Equal(t, name, rec.Grouping.Signature, c.signature)
		checktest.Equal(t, name, rec.Title, c.title)
	}
}

// TestMembers checks fields that libraries send in several forms, and members of wrong types.
func TestMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, field, want string }{
		{`"timestamp":1764583872.25`, "Date", "Mon Dec  1 10:11:12 2025"},
		{`"timestamp":"1764583872"`, "Date", "Mon Dec  1 10:11:12 2025"},
		{`"timestamp":"2025-12-01T11:11:12.5+01:00"`, "Date", "Mon Dec  1 10:11:12 2025"},
		{`"timestamp":"2025-12-01T10:11:12.123456"`, "Date", "Mon Dec  1 10:11:12 2025"},
		{`"timestamp":"yesterday"`, "Date", ""},
		{`"timestamp":1e300`, "Date", ""},
		{`"release":"tide@1.0+build.7"`, "Package", "harbor-sync 1.0+build.7"},
		{`"release":"2.0"`, "Package", "harbor-sync 2.0"},
		{`"release":"0123456789abcdef0123456789abcdef01234567"`, "Package", "harbor-sync"},
		{`"release":"tide@unknown"`, "Package", "harbor-sync"},
		{`"release":17,"dist":"b1"`, "EventDist", "b1"},
		{`"environment":"fleet\na\u0000"`, "EventEnvironment", "fleet a\uFFFD"},
		{`"tags":{"b":"2","a":"1","n":3}`, "EventTags", "a=1\nb=2\n"},
		{`"tags":[["b","2"],["a","1"]]`, "EventTags", "b=2\na=1\n"},
		{`"modules":{"tide":"1.0"}`, "Dependencies", "tide 1.0\n"},
		{`"exception":"none","dist":"b2"`, "EventDist", "b2"},
		{`"exception":{"values":[null,{"type":5,"value":"v"}]},"dist":"b3"`, "EventDist", "b3"},
		{`"extra":{ "depth" : 17 }`, "EventExtra", `{"depth":17}`},
		{`"breadcrumbs":null,"extra":{}`, "EventExtra", ""},
		{`"user":{"email":"ada@example.org"},"request":{"url":"https://ada"}`, "EventExtra", ""},
	} {
		if got := event(t, c.members).Fields[c.field]; got != c.want {
			t.Errorf("%s: got %s %q, want %q", c.members, c.field, got, c.want)
		}
	}
}

// TestEnvelopes checks the forms of envelopes, and what is not stored of them.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	const id = "9f0c1d2e3b4a59687766554433221100"
	const item = "{\"type\":\"event\"}\n"
	sunk := `{"event_id":"` + id + `","exception":[{"type":"Sunk"}]}`
	for name, c := range map[string]struct {
		body    string
		stored  bool
		dropped int
	}{
		"no items":                 {`{"event_id":"` + id + `"}`, false, 0},
		"a length":                 {fmt.Sprintf("{}\n{\"type\":\"event\",\"length\":%d}\n%s", len(sunk), sunk), true, 0},
		"no length":                {"{}\n" + item + sunk, true, 0},
		"no length, a line end":    {"{}\n" + item + sunk + "\n\n", true, 0},
		"ends of lines of Windows": {"{}\r\n{\"type\":\"event\"}\r\n" + sunk + "\r\n", true, 0},
		"an id in the header": {"{\"event_id\":\"9F0C1D2E-3b4a-5968-7766-554433221100\"}\n" + item + "{}",
			true, 0},
		"unknown items around an event": {"{}\n{\"type\":\"hologram\"}\nx\n" + item + sunk +
			"\n{\"type\":\"session\"}\n{}", true, 2},
		"a second event": {"{}\n" + item + sunk + "\n" + item + sunk, true, 1},
		"a warning":      {"{}\n" + item + "{\"level\":\"warning\"}", false, 0},
		"a transaction":  {"{}\n" + item + "{\"type\":\"transaction\"}", false, 0},
		"an empty item":  {"{}\n{\"type\":\"attachment\",\"length\":0}\n\n" + item + sunk, true, 1},
	} {
		e := parse(t, name, []byte(c.body))
		r, got, stored, err := e.Report(project)
		if err != nil || stored != c.stored || e.Dropped != c.dropped || stored && got != id ||
			stored && r.Fields["EventID"] != id {
			t.Errorf("%s: got id %q, stored %v, %d dropped, %v; want %v, %d", name, got, stored, e.Dropped, err,
				c.stored, c.dropped)
		}
	}
	e := parse(t, "native.envelope", sample(t, "native.envelope"))
	if e.Lost != 3 || e.Dropped != 3 {
		t.Errorf("got %d lost and %d dropped, want 3 of each", e.Lost, e.Dropped)
	}
	e = parse(t, "drkonqi.envelope", sample(t, "drkonqi.envelope"))
	r, _, _, err := e.Report(project)
	checktest.NoError(t, err)
	checktest.Equal(t, "key", e.Key, "0123456789abcdef0123456789abcdef")
	checktest.Equal(t, "comment", r.Fields["UserComment"], "I opened the chart of the bay.")
	_, _, stored, err := parse(t, "go-message.envelope", sample(t, "go-message.envelope")).Report(project)
	if stored || err != nil {
		t.Errorf("a message of level info: got stored %v, %v; want it left out", stored, err)
	}
}

// TestRefused checks what is no envelope.
func TestRefused(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		"":          "invalid_json",
		"null":      "invalid_json",
		"[]":        "invalid_json",
		"{}\nevent": "invalid_json",
		"{}\n{\"type\":\"event\",\"length\":5}\n{}":                        "invalid_envelope",
		"{}\n{\"type\":\"event\",\"length\":-1}\n{}":                       "invalid_envelope",
		"{}\n{\"type\":\"event\",\"length\":9223372036854775807}\n{}":      "invalid_envelope",
		"{\"event_id\":\"" + strings.Repeat("x", 9000) + "\"}":             "invalid_envelope",
		"{}\n" + strings.Repeat("{\"type\":\"x\"}\n1\n", 300):              "invalid_envelope",
		"{}\n{\"type\":\"event\"}\n" + strings.Repeat("[", 100_000):        "too_deep",
		"{}\n{\"type\":\"event\"}\n[" + strings.Repeat("1,", 200_000):      "too_many_values",
		"{}\n{\"type\":\"event\"}\n{\"a\":\"" + strings.Repeat("x", 5<<20): "too_large",
		"{}\n{\"type\":\"event\"}\n{\"a\":":                                "invalid_json",
		"{}\n{\"type\":\"event\"}\n17":                                     "invalid_json",
	} {
		e, err := sentry.Parse([]byte(body))
		if err == nil {
			_, _, _, err = e.Report(project)
		}
		if refusal, ok := errors.AsType[*crash.Error](err); !ok || refusal.Code != code {
			t.Errorf("%.60q: got %v, want %s", body, err, code)
		}
	}
}

// TestMachines checks that machines are told apart by their names, and those of two projects, too.
func TestMachines(t *testing.T) {
	t.Parallel()
	system := func(number int64, members string) crash.SystemID {
		p := sentry.Project{Number: number, Name: "p", Source: "s"}
		r, _, _, err := sentry.Event([]byte(`{` + members + `}`)).Report(p)
		checktest.NoError(t, err)
		return r.System
	}
	a := system(1, `"server_name":"ant"`)
	if len(a) != 128 || a != system(1, `"server_name":"ant"`) || a == system(2, `"server_name":"ant"`) ||
		a == system(1, `"server_name":"bee"`) || system(1, `"level":"error"`) != "" {
		t.Error("the ids of machines do not follow their names and projects")
	}
}

// FuzzParse checks that no envelope causes a panic or a report with invalid texts.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"go.envelope", "node.envelope", "drkonqi.envelope", "native.envelope",
		"harbor.envelope"} {
		f.Add(sample(f, name))
	}
	f.Add(append([]byte("{}\n{\"type\":\"event\"}\n"), sample(f, "python.json")...))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := sentry.Parse(body)
		var r crash.Report
		if err == nil {
			r, _, _, err = e.Report(project)
		}
		if err != nil {
			if _, ok := errors.AsType[*crash.Error](err); !ok {
				t.Fatalf("got %v, want an answer for the sender", err)
			}
			return
		}
		for name, text := range r.Fields {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Fatalf("%s: got %q, want UTF-8 without NUL", name, text)
			}
		}
	})
}
