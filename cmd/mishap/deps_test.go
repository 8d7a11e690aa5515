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

// rule says what a package may import in addition to the standard library, and which packages of
// the standard library it may not use.
type rule struct {
	ours   string // our packages; a trailing /* includes all packages below
	others string // third-party packages, with all packages below
	never  string // packages of the standard library, with all below ("=net": without), not even indirectly
	itself string // the same, but indirect imports are allowed
}

// areaLibraries are the libraries that the areas of the web side may import.
const areaLibraries = "github.com/a-h/templ github.com/go-chi/chi/v5 github.com/justinas/nosurf"

// rules lists what each package may import. A package without a row is an error, so that a new one
// gets a place on purpose.
var rules = map[string]rule{
	"migrations": {},
	"assets":     {},

	"crash/privacy":    {ours: "crash", others: "", never: "=net database net/http os/exec"},
	"crash/index":      {ours: "crash crash/cache crash/dpkg crash/privacy crash/stats", others: "", never: "=net database net/http os/exec"},
	"crash/dpkg":       {never: "=net net/http os/exec database"},
	"crash":            {ours: "crash/dpkg crash/pytext", never: "=net net/http os/exec database"},
	"crash/pytext":     {never: "=net net/http os/exec database"},
	"crash/grouping":   {ours: "crash crash/pytext", never: "=net net/http os/exec database"},
	"crash/stats":      {ours: "crash crash/dpkg crash/pytext", never: "=net net/http os/exec database"},
	"crash/gate":       {ours: "crash crash/dpkg crash/stats", never: "=net net/http os/exec database"},
	"crash/compressed": {others: "github.com/klauspost/compress", never: "net/http database"},
	"crash/apport":     {ours: "crash crash/compressed", never: "net/http database"},
	"crash/whoopsie":   {ours: "crash crash/compressed", never: "net/http database"},
	"crash/intake":     {ours: "crash crash/grouping crash/privacy", never: "net/http database"},
	"crash/cache":      {others: "github.com/hashicorp/golang-lru/v2", never: "=net net/http os/exec database"},
	"crash/health":     {ours: "crash", never: "=net net/http os/exec database"},
	"crash/audit":      {never: "=net net/http os/exec database"},
	"crash/networks":   {never: "=net net/http os/exec database"},
	"crash/span":       {ours: "crash", others: "go.opentelemetry.io/otel/attribute go.opentelemetry.io/otel/codes go.opentelemetry.io/otel/trace", never: "=net net/http os/exec database"},

	"crash/symbols": {ours: "crash crash/cache crash/grouping crash/symbols/addr crash/symbols/builds crash/symbols/corefile crash/symbols/debuginfo crash/symbols/elffile crash/symbols/gdb crash/symbols/sandbox",
		others: "golang.org/x/sync",
		never:  "database testing"},
	"crash/symbols/addr": {ours: "crash crash/symbols/elffile",
		others: "github.com/ianlancetaylor/demangle github.com/klauspost/compress",
		never:  "=net net/http os/exec database"},
	"crash/symbols/blobs":    {ours: "crash", others: "github.com/minio/minio-go/v7", never: "testing"},
	"crash/symbols/builds":   {ours: "crash crash/pytext crash/symbols/elffile", never: "=net net/http os/exec database"},
	"crash/symbols/elffile":  {never: "=net net/http os/exec database"},
	"crash/symbols/corefile": {ours: "crash crash/symbols/elffile", never: "=net net/http os/exec database"},
	"crash/symbols/debuginfo": {ours: "crash crash/symbols/elffile",
		others: "github.com/klauspost/compress github.com/therootcompany/xz", never: "os/exec database"},
	"crash/symbols/gdb": {ours: "crash crash/symbols/sandbox", never: "=net net/http database"},
	"crash/symbols/cores": {ours: "crash crash/symbols/blobs", others: "filippo.io/age github.com/klauspost/compress",
		never: "testing"},
	"crash/symbols/sandbox": {ours: "crash", others: "github.com/landlock-lsm/go-landlock golang.org/x/net/bpf golang.org/x/sys/unix", never: "net/http database"},

	"crash/symbols/worker": {ours: "crash crash/compressed crash/symbols crash/symbols/builds crash/symbols/cores crash/symbols/debuginfo",
		others: "github.com/prometheus/client_golang", never: "testing"},

	"notify/mail": {ours: "crash crash/privacy crash/span",
		others: "github.com/a-h/templ github.com/prometheus/client_golang github.com/wneessen/go-mail"},

	"db/disk": {ours: "crash", others: "github.com/prometheus/client_golang"},

	"tracker": {ours: "crash crash/grouping crash/privacy crash/span",
		others: "github.com/prometheus/client_golang"},
	"tracker/watch": {ours: "crash tracker", others: "github.com/prometheus/client_golang"},

	"notify/webhook": {ours: "crash",
		others: "github.com/prometheus/client_golang github.com/standard-webhooks/standard-webhooks",
		never:  "database testing"},
	"notify/rules": {ours: "crash", never: "=net net/http os/exec database"},

	"db/problems": {ours: "crash crash/dpkg crash/gate crash/grouping crash/index crash/stats db", others: "github.com/jackc/pgx/v5"},
	"db/people":   {ours: "crash db db/reader", others: "github.com/alexedwards/argon2id github.com/jackc/pgx/v5 github.com/pquerna/otp"},
	"db/events":   {ours: "crash crash/audit crash/dpkg crash/index db db/people db/reader notify/rules", others: "github.com/jackc/pgx/v5"},
	"db/bugs":     {ours: "crash db db/reader", others: "github.com/jackc/pgx/v5"},
	"db": {
		ours:   "crash crash/audit crash/grouping crash/stats crash/index crash/cache crash/dpkg crash/privacy crash/span db/body db/connect db/reader db/record db/schema migrations",
		others: "github.com/jackc/pgx/v5 github.com/jackc/puddle/v2 github.com/riverqueue/river github.com/prometheus/client_golang golang.org/x/time",
		never:  "net/http/httptest testing",
	},
	"db/body":   {ours: "crash", others: "github.com/klauspost/compress golang.org/x/sync", never: "net/http database"},
	"db/reader": {ours: "crash", others: "github.com/jackc/pgx/v5"},
	"db/schema": {ours: "crash db/connect migrations",
		others: "github.com/jackc/pgx/v5 github.com/jackc/tern/v2 github.com/riverqueue/river"},
	"db/connect": {ours: "crash", others: "github.com/jackc/pgx/v5 golang.org/x/sys/unix"},
	"db/record":  {ours: "crash/audit", others: "github.com/jackc/pgx/v5"},
	"db/audits":  {ours: "crash/audit db", others: "github.com/jackc/pgx/v5"},
	"db/check":   {ours: "crash crash/dpkg db", others: "github.com/jackc/pgx/v5"},
	"db/erase":   {ours: "crash crash/audit db", others: "github.com/jackc/pgx/v5"},
	"db/jobs":    {ours: "crash crash/audit crash/grouping crash/span db", others: "github.com/jackc/pgx/v5 github.com/riverqueue/river"},
	"db/vitals": {ours: "crash crash/health db db/backups db/bugs db/symbols",
		others: "github.com/jackc/pgx/v5 github.com/prometheus/client_golang"},
	"db/symbols":   {ours: "crash crash/symbols/builds crash/symbols/elffile db", others: "github.com/jackc/pgx/v5"},
	"db/backups":   {ours: "crash db", others: "github.com/jackc/pgx/v5 github.com/prometheus/client_golang"},
	"db/retention": {ours: "crash crash/grouping crash/privacy db", others: "github.com/jackc/pgx/v5"},
	"db/backup": {ours: "crash crash/symbols/blobs db db/backups db/connect db/embedded db/schema migrations",
		others: "github.com/jackc/pgx/v5"},
	"db/embedded": {ours: "crash", others: "golang.org/x/sys/unix", never: "net/http"},

	"views": {ours: "crash crash/audit crash/gate crash/privacy crash/grouping crash/stats crash/index crash/dpkg notify/rules assets",
		others: "github.com/a-h/templ github.com/boombuler/barcode", itself: "net/http database"},
	"handlers/negotiate": {},
	"handlers/proxies":   {ours: "crash/networks", others: "github.com/go-chi/chi/v5"},
	"handlers/api":       {ours: "crash/* db db/people db/bugs db/problems db/erase db/symbols handlers/negotiate"},
	"handlers/web": {
		ours:   "crash/* db db/people db/bugs db/problems db/events db/reader db/symbols db/vitals notify/mail notify/webhook tracker views handlers/negotiate handlers/proxies",
		others: "github.com/a-h/templ github.com/alexedwards/scs/v2 github.com/go-chi/chi/v5 github.com/justinas/nosurf github.com/klauspost/compress github.com/prometheus/client_golang",
	},
	"handlers/people/openid": {ours: "crash", never: "database testing"},
	"handlers/export":        {ours: "crash db/reader handlers/negotiate handlers/web"},
	// The areas. None may import another.
	"handlers/bugs":  {ours: "crash/* db db/people db/bugs db/problems tracker views handlers/export handlers/web", others: areaLibraries},
	"handlers/admin": {ours: "crash/* db db/people db/audits db/bugs db/problems db/erase db/retention db/symbols tracker views handlers/export handlers/web", others: areaLibraries},
	"handlers/people/oidc": {ours: "crash", others: "github.com/coreos/go-oidc/v3 golang.org/x/oauth2",
		never: "database testing"},
	"handlers/people":   {ours: "crash crash/* db db/bugs db/people db/problems handlers/people/oidc handlers/people/openid handlers/proxies handlers/web tracker views", others: areaLibraries + " github.com/pquerna/otp"},
	"handlers/events":   {ours: "crash crash/* db db/bugs db/events db/people db/problems db/symbols handlers/export handlers/web notify/mail notify/rules notify/webhook tracker views", others: areaLibraries},
	"handlers/problems": {ours: "crash/* db db/bugs db/people db/problems db/symbols handlers/export handlers/web views", others: areaLibraries},
	"handlers": {
		ours:   "crash crash/gate views assets handlers/people handlers/admin handlers/api handlers/bugs handlers/events handlers/export handlers/problems handlers/proxies handlers/web",
		others: "github.com/go-chi/chi/v5 github.com/go-chi/httprate github.com/klauspost/compress",
	},
	"handlers/ingest": {
		ours:   "crash/* db db/disk handlers/proxies",
		others: "github.com/go-chi/chi/v5 github.com/go-chi/httprate github.com/hashicorp/golang-lru/v2 github.com/prometheus/client_golang golang.org/x/sync",
	},
	"cmd/mishap/config": {
		ours:   "crash crash/grouping crash/networks crash/privacy crash/symbols/blobs crash/symbols/debuginfo handlers/proxies notify/*",
		others: "github.com/jackc/pgx/v5/pgconn github.com/pelletier/go-toml/v2",
		never:  "testing",
	},
	"cmd/mishap/doctor": {
		ours:   "cmd/mishap/config cmd/mishap/traces crash crash/health crash/symbols/blobs crash/symbols/debuginfo crash/symbols/gdb crash/symbols/sandbox db db/backups db/disk db/embedded db/bugs tracker",
		others: "golang.org/x/sys/unix",
		never:  "testing net/http/httptest",
	},
	"cmd/mishap/traces": {
		ours:   "crash crash/span",
		others: "github.com/exaring/otelpgx github.com/jackc/pgx/v5 github.com/prometheus/client_golang go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp go.opentelemetry.io/otel",
		never:  "testing net/http/httptest",
	},
	"cmd/mishap": {
		ours:   "assets cmd/mishap/config cmd/mishap/doctor cmd/mishap/traces crash/* db/* notify/* tracker tracker/watch handlers/* views",
		others: "github.com/jackc/pgx/v5 github.com/prometheus/client_golang github.com/schollz/progressbar/v3 golang.org/x/sys/unix github.com/spf13/cobra golang.org/x/sync golang.org/x/term",
		never:  "testing net/http/httptest",
	},

	// These packages are for tests, demonstrations and development.
	"crash/crashtest":                   {ours: "crash crash/apport crash/whoopsie", never: "net/http database testing"},
	"crash/sizetest":                    {},
	"crash/symbols/blobs/blobstest":     {ours: "crash/sizetest", others: "github.com/minio/minio-go/v7"},
	"crash/symbols/sandbox/sandboxtest": {others: "golang.org/x/net/bpf golang.org/x/sys/unix"},
	"crash/symbols/symboltest":          {ours: "crash/sizetest crash/symbols/elffile crash/symbols/sandbox"},
	"db/disk/disktest":                  {},
	"db/dbtest": {ours: "crash crash/sizetest db db/disk db/embedded migrations",
		others: "github.com/alexedwards/argon2id github.com/jackc/pgx/v5 github.com/prometheus/procfs github.com/riverqueue/river"},
	"notify/mail/mailtest":       {others: "github.com/emersion/go-sasl github.com/emersion/go-smtp"},
	"tracker/trackertest":        {ours: "crash"},
	"handlers/people/openidtest": {},
	"handlers/people/oidctest":   {others: "github.com/go-jose/go-jose/v4 github.com/zitadel/oidc/v3"},
	"handlers/handlertest": {ours: "crash/* db/* handlers handlers/proxies handlers/web notify/mail notify/webhook tracker/*",
		others: "github.com/PuerkitoBio/goquery github.com/go-chi/chi/v5 github.com/prometheus/client_golang golang.org/x/net/html"},
	"handlers/browsertest": {ours: "crash/sizetest", others: "github.com/chromedp/cdproto github.com/chromedp/chromedp"},
	"views/gallery": {ours: "crash crash/audit crash/gate crash/privacy crash/grouping crash/index crash/stats notify/rules views assets",
		others: "github.com/a-h/templ"},
	"cmd/devtool": {
		ours:   "crash/* db/* notify/* tracker/* handlers/* views/* assets migrations",
		others: "github.com/PuerkitoBio/goquery github.com/jackc/pgx/v5 github.com/schollz/progressbar/v3 github.com/spf13/cobra github.com/tsenart/vegeta/v12 golang.org/x/sync golang.org/x/term",
	},
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
	seen := map[string]bool{}
	for _, p := range goList(t, "mishap/...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		r, ok := rules[name]
		if !ok {
			t.Errorf("%s has no row in the table of this test", name)
			continue
		}
		seen[name] = true
		for _, i := range p.Imports {
			if !r.permits(i) || isBelow(i, r.itself) {
				t.Errorf("%s imports %s, which the table of this test does not permit", name, i)
			}
		}
		for _, dep := range p.Deps {
			if strings.HasSuffix(dep, "test") && strings.HasPrefix(dep, module) && !forTests(name) {
				t.Errorf("%s depends on %s, which is only for tests", name, dep)
			}
			if isBelow(dep, r.never) {
				t.Errorf("%s depends on %s, which the table of this test forbids", name, dep)
			}
		}
	}
	for name := range rules {
		if !seen[name] {
			t.Errorf("the table has a row for %s, but there is no such package", name)
		}
	}
}

// permits reports whether a package under rule r may import this one directly.
func (r rule) permits(imported string) bool {
	if name, ours := strings.CutPrefix(imported, module); ours {
		return slices.ContainsFunc(strings.Fields(r.ours), func(allowed string) bool {
			if below, all := strings.CutSuffix(allowed, "/*"); all {
				return within(name, below)
			}
			return name == allowed
		})
	}
	first, _, _ := strings.Cut(imported, "/")
	standard := !strings.Contains(first, ".")
	return standard || isBelow(imported, r.others)
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

// forTests reports whether a package may use packages for tests.
func forTests(name string) bool { return strings.HasSuffix(name, "test") || name == "cmd/devtool" }

func TestFolders(t *testing.T) {
	t.Parallel()
	top := strings.Fields("assets cmd crash db handlers migrations notify tracker views")
	vague := strings.Fields("internal pkg util utils models common helpers misc lib")
	for _, p := range goList(t, "mishap/...") {
		folders := strings.Split(strings.TrimPrefix(p.ImportPath, module), "/")
		if !slices.Contains(top, folders[0]) {
			t.Errorf("%s: %s is not a folder of the top level; the README describes them", p.ImportPath, folders[0])
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
