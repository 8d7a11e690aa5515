package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/handlers/handlertest"
)

// secret is what visitors must not find out: a message, which nothing reveals as private, and data
// in the form of a home directory and of an address, which redaction recognises everywhere.
type secret struct{ message, home, mail string }

// secrets are two secrets that differ in every letter, sort differently, and have other lengths.
var secrets = [2]secret{
	{"code cerise at pier 7", "/home/wendeline", "wendeline@quay.example"},
	{"kumquat", "/home/bo", "bo@dock.example.org"},
}

// reports returns reports that have the secret in every field that visitors may not see.
func (s secret) reports() []crashtest.Report {
	set := crashtest.Set
	var hidden []crashtest.Option
	for _, field := range (*privacy.Table)(nil).Rows() {
		if name := field.Name; field.Class != privacy.Public && !slices.Contains([]string{"CoreDump", "VmCore",
			"Date", "Signal", "SignalName", "Stacktrace", "StacktraceTop", "ThreadStacktrace", "Traceback",
			"AssertionMessage", "OopsText", "ErrorMessage",
			"DialogBody", "DpkgTerminalLog", "Failure", "MachineType", "SnapChangeKind", "Snap", "PanicMessage",
			"JavaStackTrace", "StackTrace", "PreprocessedSource", "InterpreterPath", "PythonArgs", "VmCoreDmesg"}, name) {
			hidden = append(hidden, set(field.Name, s.message+" "+s.home+" "+s.mail))
		}
	}
	native := crashtest.Native(hidden...)
	return []crashtest.Report{
		native,
		crashtest.Python(set("Traceback", strings.Replace(crashtest.Python()["Traceback"], "invalid literal for int() with "+
			"base 10: 'host-77'", s.message+" "+s.home, 1))),
		crashtest.Recoverable(set("Title", "reefd: "+s.message), set("DialogBody", s.message)),
		crashtest.Package(set("ErrorMessage", s.message), set("DuplicateSignature", "package:brigwifi-dkms:failed")),
		crashtest.Native(set("ExecutablePath", s.home+"/bin/tide")),
		crashtest.Recoverable(set("DuplicateSignature", "labels:main"), set("Package", s.mail+" 1.0-"+s.mail),
			set("SourcePackage", s.mail), set("DistroRelease", "Ubuntu of "+s.mail), set("Architecture", s.mail),
			set("PackageArchitecture", s.mail), set("ProblemType", s.home)),
		crashtest.Assertion(set("AssertionMessage", s.home+"/src/buffer.c:120: take: for "+s.mail)),
	}
}

// attackerRequests returns what a visitor can ask to find out a secret: each field and operator of
// searches, each filter, order and completion of lists, and each parameter of the API, with the
// secrets, parts of them, and what redaction leaves.
func attackerRequests(t *testing.T, site *handlertest.Site) []string {
	t.Helper()
	var guesses []string
	for _, s := range secrets {
		label := "Ubuntu of " + s.mail
		guesses = append(guesses, s.message, s.message[:1], s.message[:4], "*"+s.message[2:5]+"*", "load(): "+s.message[:1],
			s.home, s.home[:8], s.home+"/bin/tide", s.mail, s.mail[:3], s.mail[:4]+"*", "1.0-"+s.mail, label)
	}
	guesses = append(guesses, "[removed]", "*")
	var paths []string
	add := func(path string, pairs ...string) {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		paths = append(paths, path+"?"+values.Encode())
	}
	fields := []string{""}
	for _, f := range index.Fields() {
		fields = append(fields, f.Name+":", f.Name+":>=", f.Name+":<")
	}
	for _, guess := range guesses {
		quoted := `"` + guess + `"`
		for _, field := range fields {
			add("/search.json", "q", field+quoted, "period", "year")
			if !strings.HasSuffix(field, "=") && !strings.HasSuffix(field, "<") {
				add("/search.json", "q", "-"+field+quoted, "period", "year")
				add("/search.json", "q", "is:provisional OR "+field+quoted, "period", "year")
				add("/search/complete", "q", field+guess)
				add("/api/1.0/most-common-problems/", "q", field+quoted, "period", "year", "limit", "100")
			}
		}
		add("/search", "q", quoted)
		add("/search.csv", "q", quoted)
		add("/search.atom", "q", "-title:"+quoted)
		for _, filter := range []string{"package", "source", "version", "pkg_arch", "type", "release", "user", "packageset"} {
			add("/problems.json", filter, guess, "period", "year")
			add("/", filter, guess, "period", "year")
		}
		for _, name := range []string{"package", "source", "version", "assignee", "tag"} {
			add("/search/complete", "of", name, name, guess, "package", guess)
		}
		add("/gate", "package", guess, "version", guess)
		for _, path := range []string{"/package/", "/release/"} {
			for _, format := range []string{"", ".json"} {
				paths = append(paths, path+url.PathEscape(guess)+format)
			}
		}
		add("/problem/0", "release", guess)
		for path, names := range map[string][]string{
			"most-common-problems/": {"release", "package", "packageset", "user", "version", "pkg_arch", "first_appearance",
				"snap"},
			"instances-count/": {"release", "version"}, "problems-count/": {"release"},
			"package-version-new-buckets/": {"package", "previous_version", "new_version"},
			"binary-package-versions/":     {"binary_package"}, "update-gate/": {"package", "version", "release", "against"},
			"average-crashes/": {"release", "package", "version"}, "retracers-results/": {"release"},
			"versions/": {"id"}, "instances/": {"id"}, "average-instances/": {"id"},
		} {
			var all []string
			for _, name := range names {
				all = append(all, name, guess)
				add("/api/1.0/"+path, name, guess, "period", "2026", "limit", "20")
			}
			add("/api/1.0/"+path, append(all, "limit", "20")...)
		}
	}
	for _, sort := range []string{"count", "package", "first", "last", "problem", "bug"} {
		for _, order := range []string{"", "up"} {
			for _, path := range []string{"/", "/problems.json", "/problems.csv"} {
				add(path, "period", "year", "sort", sort, "order", order)
			}
		}
	}
	for _, period := range []string{"2026", "2025"} {
		add("/api/1.0/most-common-problems/", "period", period, "limit", "3")
		add("/api/1.0/most-common-problems/", "period", period, "limit", "100", "snap", "x")
	}
	paths = append(paths, "/", "/gate", "/release/Ubuntu%2024.04", "/package/harbor-sync", "/package/reefd",
		"/package/quillpad", "/package/brigwifi-dkms.csv")
	for i := range secrets[0].reports() {
		for _, path := range []string{"/problem/%d", "/problem/%d/versions.json", "/api/1.0/bucket/%d/",
			"/api/1.0/versions/?id=%d", "/api/1.0/instances/?id=%d", "/api/1.0/average-instances/?id=%d",
			"/problem/%d?via=%%2F%%3Fsort%%3Dproblem%%26period%%3Dyear"} {
			paths = append(paths, fmt.Sprintf(path, i))
		}
	}
	return paths
}

// changing matches what differs between any two servers: ids of reports, and the parts of pages that
// name them.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|http://127\.0\.0\.1:\d+|` +
	`, request [A-Z0-9]+|name="csrf_token" value="[^"]*"|"X-CSRF-Token":"[^"]*"`)

// TestVisitorsInferNothing plays an attacker: two servers have reports that differ in what visitors may
// not see only. All answers must be the same.
func TestVisitorsInferNothing(t *testing.T) {
	t.Parallel()
	type side struct {
		*handlertest.Pages
		visitor *handlertest.Client
		ids     []crash.BucketID
	}
	var sides [2]side
	for i, s := range secrets {
		p := handlertest.NewPages(t)
		sides[i] = side{Pages: p, visitor: p.Visitor(t)}
		for n, report := range s.reports() {
			// Problems with the same id have equal counts. Lists sort others of equal counts by id.
			for m := range max(1, n/2, n*(n/4)) {
				report := crashtest.Report(report.Fields())
				crashtest.Process(1000*n + m)(report)
				p.Accept(crash.SystemID(fmt.Sprintf("m-%d-%d", n, m)), report)
			}
			sides[i].ids = append(sides[i].ids, handlertest.BucketOf(t, report))
		}
		if err := p.Store.WaitCounted(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	inProblem := regexp.MustCompile(`/problem/(\d)\b|(/bucket/|id=)(\d)\b`)
	requests := attackerRequests(t, sides[0].Site)
	found := 0
	for _, request := range requests {
		var answers [2]string
		for i, side := range sides {
			path := inProblem.ReplaceAllStringFunc(request, func(m string) string {
				return m[:len(m)-1] + side.ids[m[len(m)-1]-'0'].String()
			})
			a := side.visitor.Get(path)
			if a.Status == http.StatusInternalServerError {
				t.Errorf("%s: got status %d", request, a.Status)
			}
			text := a.Body
			for n, id := range side.ids { // the id of a problem is a hash of the whole signature
				text = strings.ReplaceAll(text, id.String(), fmt.Sprintf("problem %d", n))
				text = strings.ReplaceAll(text, id.String()[:8], fmt.Sprintf("problem %d", n))
			}
			answers[i] = fmt.Sprint(a.Status, " ", changing.ReplaceAllString(text, ""))
			found += strings.Count(answers[i], "problem 1")
		}
		if a, b := answers[0], answers[1]; a != b {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			cut := func(s string) string { return s[max(0, min(len(s), at)-120):min(len(s), at+80)] }
			t.Errorf("%s: the answers depend on the secret:\n…%s…\n…%s…", request, cut(a), cut(b))
		}
	}
	if found == 0 {
		t.Error("no answer contains a problem")
	}
	t.Logf("%d requests", len(requests))
	reader := sides[0].As(t, crash.RoleViewer)
	body := reader.Get(handlertest.SearchFor(`package:harbor-sync "load(): c"`)).Body
	if !strings.Contains(body, sides[0].ids[1].String()) {
		t.Error("people who may read reports do not find the message of a title")
	}
}
