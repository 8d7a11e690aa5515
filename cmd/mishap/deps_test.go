package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is one entry of testdata/crashes/manifest.json: apport's results for a sample report.
type sample struct {
	File               string
	Signature          *string `json:"crash_signature"`
	DuplicateSignature *string
	AddressSignature   *string `json:"crash_signature_addresses"`
	Title              *string `json:"standard_title"`
	ProblemType        *string
	DistroRelease      *string
	Architecture       *string
	Package            string
	SourcePackage      *string
	LoadError          string `json:"apport_load_error"`
}

func samples(t *testing.T) []sample {
	t.Helper()
	doc, err := os.ReadFile("testdata/crashes/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(doc, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// want returns the expected output of inspect. The report's own signature takes precedence, then
// apport's, then the provisional one.
func (s sample) want() map[string]any {
	file := "testdata/crashes/" + s.File
	if s.LoadError != "" {
		return map[string]any{"file": file}
	}
	text := func(p *string) any {
		if p == nil {
			return nil
		}
		return *p
	}
	signature := text(s.AddressSignature)
	if s.Signature != nil {
		signature = *s.Signature
	}
	if s.DuplicateSignature != nil {
		signature = *s.DuplicateSignature
	}
	if own, ok := ownSignatures[s.File]; ok {
		signature = own
	}
	words := strings.Fields(s.Package)
	return map[string]any{
		"file": file, "problem_type": text(s.ProblemType), "signature": signature,
		"address_signature": text(s.AddressSignature), "title": text(s.Title), "package": words[0], "version": words[1],
		"source_package": text(s.SourcePackage), "release": text(s.DistroRelease), "architecture": text(s.Architecture),
	}
}

// ownSignatures are the signatures of samples to which apport gives none.
var ownSignatures = map[string]string{
	"linux-image-6.8.0-41-generic.3f1b77aa.crash": "kernel:NULL pointer dereference:brig_tx_done [brigwifi]:brig_irq " +
		"[brigwifi]:__handle_irq_event_percpu:handle_irq_event",
}

func TestInspectSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.File, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := mishap(t, []string{"MISHAP_DATABASE_URL=postgres://nowhere.invalid/x"}, "inspect",
				"--json", "testdata/crashes/"+s.File)
			var got map[string]any
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("got %q, which is not one JSON object: %v", stdout, err)
			}
			want, wantStatus := s.want(), exitOK
			if s.LoadError != "" {
				if got["refused"] == "" || got["refused"] == nil {
					t.Errorf("refused: got %v, want a reason", got["refused"])
				}
				delete(got, "refused")
				wantStatus = exitFailed
			}
			if rule, ok := got["rule"].(string); ok != (got["signature"] != nil) || ok && rule == "" {
				t.Errorf("got rule %v for signature %v", got["rule"], got["signature"])
			}
			delete(got, "rule")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inspect (-want +got):\n%s", diff)
			}
			if status != wantStatus || stderr != "" {
				t.Errorf("got status %d and %q, want %d and nothing", status, stderr, wantStatus)
			}
		})
	}
}

func TestInspectForPeople(t *testing.T) {
	t.Parallel()
	status, stdout, _ := mishap(t, nil, "inspect", "testdata/crashes/_usr_bin_tidewatch.1000.crash",
		"testdata/crashes/brigwifi-dkms.0.crash", "testdata/none.crash")
	if status != exitFailed {
		t.Errorf("status: got %d, want %d for a missing file", status, exitFailed)
	}
	wantTexts(t, stdout, "testdata/crashes/_usr_bin_tidewatch.1000.crash\n  problem type       Crash\n",
		"  problem            /problem/aa9a862bb2b97f1c90aff26e60c184c881e9e309\n",
		`package:brigwifi-dkms:2.0-1ubuntu3\nSetting up brigwifi-dkms`,
		"testdata/none.crash\n  refused  no such file or directory\n")
}

func TestInspectSeveralAsJSON(t *testing.T) {
	t.Parallel()
	hostile := filepath.Join(t.TempDir(), "a\x1b]0;x\n.crash")
	if err := os.WriteFile(hostile, []byte("ProblemType: Crash\nPackage: a 1\nExecutablePath: /a\x1b[2J<b>\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := mishap(t, nil, "inspect", "--json", hostile, t.TempDir())
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(lines) != 2 || status != exitFailed {
		t.Fatalf("got status %d and %q, want 1 and two lines", status, stdout)
	}
	for i, want := range []string{"title", "refused"} {
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
		if _, ok := got[want]; !ok {
			t.Errorf("line %d: got %v, want a member %s", i+1, got, want)
		}
	}
	_, text, _ := mishap(t, nil, "inspect", hostile)
	if strings.Contains(text+stdout, "\x1b") {
		t.Errorf("got an escape character of the report on the terminal: %q", text)
	}
}

func TestImportSamples(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	args := []string{"import", noConfig(t), "testdata/none.crash"}
	for _, s := range samples(t) {
		args = append(args, "testdata/crashes/"+s.File)
	}
	status, stdout, stderr := runIn(t.Context(), nil, environ, args...)
	if want := "13 stored, 0 known already, 2 refused.\n"; status != exitFailed || stdout != want {
		t.Errorf("import: got status %d and %q, want 1 and %q", status, stdout, want)
	}
	wantTexts(t, stderr, "testdata/none.crash: no such file or directory\n",
		"testdata/crashes/_usr_bin_broken.1000.crash: Line 3 has no colon")
	if status, stdout, _ = runIn(t.Context(), nil, environ, args...); stdout != "0 stored, 13 known already, 2 "+
		"refused.\n" || status != exitFailed {
		t.Errorf("import again: got status %d and %q, want only known reports", status, stdout)
	}
	for _, c := range []struct{ system, want string }{
		{"0a1b2c", "13 stored, 0 known already, 2 refused.\n"}, // another machine
		{"0a1b2c", "0 stored, 13 known already, 2 refused.\n"},
	} {
		if _, stdout, _ = runIn(t.Context(), nil, environ, append(args, "--system", c.system)...); stdout != c.want {
			t.Errorf("import as a machine: got %q, want %q", stdout, c.want)
		}
	}
	for _, name := range []string{"", " ", "a b", "a/b", "\xff", "a\n", strings.Repeat("0", 257)} {
		status, stdout, stderr := runIn(t.Context(), nil, environ, append(args, "--system", name)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, "--system: expected the hash") {
			t.Errorf("system %q: got status %d, %q and %q; want %d and a message", name, status, stdout, stderr,
				exitUsage)
		}
	}
}

// rule says what a group of packages may import of ours, and which packages of the standard library it
// may not use. A pattern that ends in /* includes the package itself and all below it; one that begins
// with - excludes.
type rule struct {
	of     string // patterns of packages; the first rule that fits a package counts
	ours   string // patterns of our packages
	never  string // packages of the standard library, with all below ("=net": without), not even indirectly
	itself string // the same, but indirect imports are allowed
}

const (
	pure    = "=net net/http os/exec database" // what calculating does not need
	noCores = "-crash/symbols/* -crash/blobs"
)

// rules lists the groups from the bottom to the top. A package without a rule is an error, so that a new
// one gets a place on purpose. Packages for tests and development may import all others.
var rules = []rule{
	{of: "migrations assets"},
	{of: "crash/apport", ours: "crash", never: "net/http database"},
	{of: "crash/blobs", ours: "crash", never: "testing"},
	{of: "crash/symbols/*", ours: "crash/*", never: "testing"},
	{of: "crash/sender", ours: "crash/* " + noCores, never: "database testing"},
	{of: "crash/*", ours: "crash/* " + noCores, never: pure},
	{of: "tracker/*", ours: "crash/* tracker/* " + noCores},
	{of: "notify/rules", ours: "crash crash/pytext crash/stats crash/version", never: pure},
	{of: "notify/*", ours: "crash/* notify/* " + noCores},

	{of: "db/embedded", ours: "crash"},
	{of: "db", ours: "crash/* migrations " + noCores},
	{of: "db/upkeep", ours: "crash/* db db/bugs db/symbols " + noCores},
	{of: "db/backup", ours: "crash/* db db/upkeep db/embedded migrations"},
	{of: "db/events", ours: "crash/* db db/people notify/rules " + noCores},
	{of: "db/*", ours: "crash/* db"}, // no area imports another

	{of: "views/layout", ours: "crash/* notify/rules assets " + noCores, itself: "net/http database"},
	{of: "views/*", ours: "crash/* notify/rules assets views/* " + noCores, itself: "net/http database"},
	{of: "handlers/proxies", ours: "crash"},
	{of: "handlers/web", ours: "crash/* db/* notify/* tracker tracker/launchpad views/* handlers/proxies"},
	{of: "handlers/panel", ours: "crash/* db/* tracker views/* handlers/web"},
	{of: "handlers/export", ours: "crash db handlers/web"},
	{of: "handlers", ours: "crash/* db/* notify/* views/* assets handlers/*"},
	{of: "handlers/*", ours: "crash/* db/* notify/* tracker tracker/launchpad views/* handlers/export handlers/proxies " +
		"handlers/panel handlers/web"}, // no area imports another
	{of: "cmd/mishap/config", ours: "crash/* handlers/proxies notify/* tracker/kinds"},
	{of: "cmd/mishap/traces", ours: "crash/*"},
	{of: "cmd/mishap/send", ours: "crash crash/sender", never: "database testing"},
	{of: "cmd/mishap-send", ours: "cmd/mishap/send", never: "database testing"}, // small: no server
	{of: "cmd/mishap/*", ours: "assets cmd/* crash/* db/* handlers/* notify/* tracker/* views/*",
		never: "testing net/http/httptest"},
}

// libraries lists where each library may be used.
var libraries = map[string]string{
	"filippo.io/age":                     "crash/symbols/*",
	"github.com/a-h/templ":               "views/* handlers/* notify/mail",
	"github.com/alexedwards/argon2id":    "db/people",
	"github.com/alexedwards/scs/v2":      "handlers/web",
	"github.com/andybalholm/brotli":      "handlers/ingest",
	"github.com/boombuler/barcode":       "views/people",
	"github.com/coreos/go-oidc/v3":       "handlers/people",
	"github.com/exaring/otelpgx":         "cmd/mishap/traces",
	"github.com/go-chi/chi/v5":           "handlers/*",
	"github.com/go-chi/httprate":         "handlers handlers/ingest handlers/proxies",
	"github.com/google/jsonschema-go":    "handlers/mcp",
	"github.com/hashicorp/golang-lru/v2": "crash/cache handlers/ingest",
	"github.com/jackc/pgx/v5":            "db/* cmd/mishap/*",
	"github.com/jackc/puddle/v2":         "db",
	"github.com/jackc/tern/v2":           "db",
	"github.com/justinas/nosurf":         "handlers/*",
	"github.com/klauspost/compress": "crash/apport crash/format/minidump crash/sender " +
		"crash/symbols/* db handlers/*",
	"github.com/landlock-lsm/go-landlock":            "crash/symbols/sandbox",
	"github.com/minio/minio-go/v7":                   "crash/blobs",
	"github.com/modelcontextprotocol/go-sdk":         "handlers/mcp cmd/mishap",
	"github.com/pelletier/go-toml/v2":                "cmd/mishap/config cmd/mishap/send",
	"github.com/pquerna/otp":                         "db/people handlers/people",
	"github.com/prometheus/client_golang":            "crash/symbols/* tracker/* notify/* db/* handlers/* cmd/mishap/*",
	"github.com/riverqueue/river":                    "db/*",
	"github.com/schollz/progressbar/v3":              "cmd/mishap",
	"github.com/spf13/cobra":                         "cmd/mishap cmd/mishap/send cmd/mishap-send",
	"github.com/standard-webhooks/standard-webhooks": "notify/webhook tracker/gitlab",
	"github.com/therootcompany/xz":                   "crash/format/minidump crash/symbols/*",
	"github.com/wneessen/go-mail":                    "notify/mail",
	"go.opentelemetry.io/contrib":                    "cmd/mishap/traces",
	"go.opentelemetry.io/otel":                       "crash/span cmd/mishap/traces",
	"golang.org/x/net/bpf":                           "crash/symbols/sandbox",
	"golang.org/x/oauth2":                            "handlers/people",
	"golang.org/x/sync": "crash/sender crash/symbols/* db db/archive handlers/ingest " +
		"cmd/mishap",
	"golang.org/x/sys/unix": "crash/sender crash/symbols/sandbox db db/embedded cmd/mishap/*",
	"golang.org/x/term":     "cmd/mishap",
	"golang.org/x/time":     "db",
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

const module = "mishap/"

func TestImports(t *testing.T) {
	t.Parallel()
	used := map[string]bool{} // rules and libraries
	for _, p := range goList(t, "mishap/...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if forTests(name) {
			continue
		}
		n := slices.IndexFunc(rules, func(r rule) bool { return fits(name, r.of) })
		if n < 0 {
			t.Errorf("%s has no rule in this test", name)
			continue
		}
		r := rules[n]
		used[r.of] = true
		for _, i := range p.Imports {
			our, ours := strings.CutPrefix(i, module)
			first, _, _ := strings.Cut(i, "/")
			switch {
			case ours && !fits(our, r.ours), isBelow(i, r.itself):
				t.Errorf("%s imports %s, which the rules of this test do not permit", name, i)
			case !ours && strings.Contains(first, "."):
				library := ""
				for l, by := range libraries {
					if isBelow(i, l) && fits(name, by) {
						library = l
					}
				}
				used[library] = true
				if library == "" {
					t.Errorf("%s imports %s, which the list of libraries of this test does not permit", name, i)
				}
			}
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, module) && forTests(strings.TrimPrefix(dep, module)) {
				t.Errorf("%s depends on %s, which is only for tests", name, dep)
			}
			if isBelow(dep, r.never) {
				t.Errorf("%s depends on %s, which the rules of this test forbid", name, dep)
			}
		}
	}
	for _, r := range rules {
		if !used[r.of] {
			t.Errorf("there is no package for the rule of %s", r.of)
		}
	}
	for l := range libraries {
		if !used[l] {
			t.Errorf("no package imports %s where the list permits it", l)
		}
	}
}

// fits reports whether one of our packages fits patterns (see rule).
func fits(name, patterns string) bool {
	found := false
	for _, p := range strings.Fields(patterns) {
		p, excluded := strings.CutPrefix(p, "-")
		above, all := strings.CutSuffix(p, "/*")
		if name == above || all && within(name, above) {
			if excluded {
				return false
			}
			found = true
		}
	}
	return found
}

// isBelow reports whether a package is one of those in a list, or below one.
func isBelow(name, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(above string) bool { return within(name, above) })
}

// within reports whether a package is the given one or below it.
func within(name, above string) bool {
	if exact, ok := strings.CutPrefix(above, "="); ok {
		return name == exact
	}
	return name == above || strings.HasPrefix(name, above+"/")
}

// forTests reports whether a package is for tests or development.
func forTests(name string) bool {
	return strings.HasSuffix(name, "test") || name == "cmd/devtool" || name == "views/gallery"
}

func TestFolders(t *testing.T) {
	t.Parallel()
	top := strings.Fields("assets cmd crash db handlers migrations notify tracker views")
	vague := strings.Fields("internal pkg util utils models common helpers misc lib")
	for _, p := range goList(t, "mishap/...") {
		folders := strings.Split(strings.TrimPrefix(p.ImportPath, module), "/")
		if !slices.Contains(top, folders[0]) {
			t.Errorf("%s: %s is not a folder of the top level; CONTRIBUTING.md describes them", p.ImportPath, folders[0])
		}
		for _, f := range folders {
			if slices.Contains(vague, f) {
				t.Errorf("%s: the name %q does not describe the contents", p.ImportPath, path.Base(f))
			}
		}
	}
}

func goList(t *testing.T, pattern string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", pattern)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
