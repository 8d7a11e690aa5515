package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

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
	{of: "crash/apport crash/whoopsie", ours: "crash crash/compressed", never: "net/http database"},
	{of: "crash/blobs", ours: "crash", never: "testing"},
	{of: "crash/symbols/*", ours: "crash/*", never: "testing"},
	{of: "crash/*", ours: "crash/* " + noCores, never: pure},
	{of: "tracker/*", ours: "crash/* tracker/* " + noCores},
	{of: "notify/rules", ours: "crash", never: pure},
	{of: "notify/*", ours: "crash/* notify/* " + noCores},

	{of: "db/disk db/embedded db/reader", ours: "crash"},
	{of: "db", ours: "crash/* db/reader migrations " + noCores},
	{of: "db/upkeep", ours: "crash/* db db/bugs db/symbols " + noCores},
	{of: "db/backup", ours: "crash/* db db/upkeep db/embedded migrations"},
	{of: "db/events", ours: "crash/* db db/people db/reader notify/rules " + noCores},
	{of: "db/*", ours: "crash/* db db/reader"}, // no area imports another

	{of: "views/layout", ours: "crash/* notify/rules assets " + noCores, itself: "net/http database"},
	{of: "views/*", ours: "crash/* notify/rules assets views/* " + noCores, itself: "net/http database"},
	{of: "handlers/negotiate handlers/proxies", ours: "crash"},
	{of: "handlers/people/oidc handlers/people/openid", ours: "crash"},
	{of: "handlers/web", ours: "crash/* db/* notify/* tracker views/* handlers/negotiate handlers/proxies"},
	{of: "handlers/panel", ours: "crash/* db/* tracker views/* handlers/web"},
	{of: "handlers/export", ours: "crash db db/reader handlers/negotiate handlers/web"},
	{of: "handlers", ours: "crash/* db/* notify/* views/* assets handlers/*"},
	{of: "handlers/*", ours: "crash/* db/* notify/* tracker views/* handlers/export handlers/negotiate handlers/proxies " +
		"handlers/panel handlers/web handlers/people/oidc handlers/people/openid"}, // no area imports another
	{of: "cmd/mishap/config", ours: "crash/* handlers/proxies notify/*"},
	{of: "cmd/mishap/traces", ours: "crash/*"},
	{of: "cmd/mishap/*", ours: "assets cmd/* crash/* db/* handlers/* notify/* tracker/* views/*",
		never: "testing net/http/httptest"},
}

// libraries lists where each library may be used.
var libraries = map[string]string{
	"filippo.io/age":                                 "crash/symbols/*",
	"github.com/a-h/templ":                           "views/* handlers/* notify/mail",
	"github.com/alexedwards/argon2id":                "db/people",
	"github.com/alexedwards/scs/v2":                  "handlers/web",
	"github.com/boombuler/barcode":                   "views/people",
	"github.com/coreos/go-oidc/v3":                   "handlers/people/oidc",
	"github.com/exaring/otelpgx":                     "cmd/mishap/traces",
	"github.com/go-chi/chi/v5":                       "handlers/*",
	"github.com/go-chi/httprate":                     "handlers handlers/ingest",
	"github.com/hashicorp/golang-lru/v2":             "crash/cache handlers/ingest",
	"github.com/jackc/pgx/v5":                        "db/* cmd/mishap/*",
	"github.com/jackc/puddle/v2":                     "db",
	"github.com/jackc/tern/v2":                       "db",
	"github.com/justinas/nosurf":                     "handlers/*",
	"github.com/klauspost/compress":                  "crash/compressed crash/symbols/* db handlers/*",
	"github.com/landlock-lsm/go-landlock":            "crash/symbols/sandbox",
	"github.com/minio/minio-go/v7":                   "crash/blobs",
	"github.com/pelletier/go-toml/v2":                "cmd/mishap/config",
	"github.com/pquerna/otp":                         "db/people handlers/people",
	"github.com/prometheus/client_golang":            "crash/symbols/* tracker/* notify/* db/* handlers/* cmd/mishap/*",
	"github.com/riverqueue/river":                    "db/*",
	"github.com/schollz/progressbar/v3":              "cmd/mishap",
	"github.com/spf13/cobra":                         "cmd/mishap",
	"github.com/standard-webhooks/standard-webhooks": "notify/webhook",
	"github.com/therootcompany/xz":                   "crash/symbols/*",
	"github.com/wneessen/go-mail":                    "notify/mail",
	"go.opentelemetry.io/contrib":                    "cmd/mishap/traces",
	"go.opentelemetry.io/otel":                       "crash/span cmd/mishap/traces",
	"golang.org/x/net/bpf":                           "crash/symbols/sandbox",
	"golang.org/x/oauth2":                            "handlers/people/oidc",
	"golang.org/x/sync":                              "crash/symbols/* db handlers/ingest cmd/mishap",
	"golang.org/x/sys/unix":                          "crash/symbols/sandbox db db/embedded cmd/mishap/*",
	"golang.org/x/term":                              "cmd/mishap",
	"golang.org/x/time":                              "db",
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
