package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/cores"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestDownloadReport(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	for name, report := range map[string]crashtest.Report{
		"native": crashtest.Native(), "newlines": crashtest.Package(), "Unicode": crashtest.Unicode(),
		"long": crashtest.Long(),
		"odd": crashtest.Native(crashtest.Process(7), crashtest.Set("Odd", "\n\n base64\n\t x \r\n"),
			crashtest.Set("B", "base64"), crashtest.Set("Empty", ""),
			crashtest.Set("../x y", "lost"), crashtest.Set("\n: z", "lost")),
	} {
		id := p.Accept("m", report)
		stored, err := p.Store.Report(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		a := c.Get("/oops/" + id.String() + ".crash").Want(http.StatusOK)
		if got, want := a.Header.Get("Content-Disposition"), `attachment; filename="`+id.String()+`.crash"`; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		got, binary, err := apport.Read(strings.NewReader(a.Body), apport.Limits{})
		if err != nil || binary != nil {
			t.Fatalf("%s: parse: %v, binary %v", name, err, binary)
		}
		want := stored.Fields
		if name == "odd" {
			delete(want, "../x y")
			delete(want, "\n: z")
			want["MishapLeftOut"] = "\n: z\n../x y"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", name, diff)
		}
		var raw struct {
			ID, URL, Machine, Problem, Rule string
			Arrived, Occurred               string
			Fields                          crash.Fields
		}
		c.Get("/oops/" + id.String() + ".json").Want(http.StatusOK).JSON(&raw)
		if stored, err = p.Store.Report(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored.Fields, raw.Fields); diff != "" || raw.ID != id.String() || raw.Machine != "m" ||
			!strings.HasSuffix(raw.Problem, stored.Bucket.Path()) {
			t.Errorf("%s: JSON: got %s %s %s, fields (-want +got):\n%s", name, raw.ID, raw.Machine, raw.Problem, diff)
		}
		page := c.Get("/oops/" + id.String()).Want(http.StatusOK)
		for i, ending := range []string{".json", ".crash"} {
			if got, want := page.HTML().Find(".downloads a").Eq(i).AttrOr("href", ""), "/oops/"+id.String()+ending; got != want {
				t.Errorf("%s: link: got %q, want %q", name, got, want)
			}
		}
		c.Get("/oops/" + id.String() + ".xml").Want(http.StatusNotFound)
		p.Visitor(t).Get("/oops/"+id.String()+".crash").WantRedirect(http.StatusSeeOther, "/login?next=%2Foops%2F"+
			id.String()+".crash")
	}
}

// TestDownloadCore checks that people who may file bugs get the core dump exactly as its machine
// sent it.
func TestDownloadCore(t *testing.T) {
	t.Parallel()
	store, err := cores.OpenFolder(t.Context(), t.TempDir(), "the key of this test")
	if err != nil {
		t.Fatal(err)
	}
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.New(t), Cores: store})
	id := p.Accept("m", crashtest.Native())
	path := "/oops/" + id.String()
	triager := p.As(t, crash.RoleTriager)
	triager.Get(path).Want(http.StatusOK).WantNone(".downloads a:nth-child(3)")
	triager.Get(path + ".crash?core=yes").Want(http.StatusNotFound)
	// "core dump\n" compressed by gzip. Each line is padded separately, as apport does.
	const sent = "H4sICAAAAAAC/0NvcmVEdW1wAA==\nS84vSlVIKc0t4AIAUSBh1QoAAAA="
	if _, _, err := store.Put(t.Context(), id, strings.NewReader(sent)); err != nil {
		t.Fatal(err)
	}
	if got, want := triager.Get(path).Attr(".downloads a:nth-child(3)", "href"), path+".crash?core=yes"; got != want {
		t.Errorf("link: got %q, want %q", got, want)
	}
	a := triager.Get(path + ".crash?core=yes").Want(http.StatusOK)
	if _, binary, err := apport.Read(strings.NewReader(a.Body), apport.Limits{}); err != nil || len(binary) != 1 ||
		binary[0] != (apport.Binary{Name: "CoreDump", Size: 10}) {
		t.Errorf("parse: got %v, %v; want a core dump of 10 bytes", binary, err)
	}
	if want := "CoreDump: base64\n H4sICAAAAAAC/0NvcmVEdW1wAA==\n S84vSlVIKc0t4AIAUSBh1QoAAAA=\n"; !strings.HasSuffix(
		a.Body, want) {
		t.Errorf("end of the file: got %q, want %q", a.Body[max(len(a.Body)-120, 0):], want)
	}
	viewer := p.As(t, crash.RoleViewer)
	viewer.Get(path).Want(http.StatusOK).WantNone(".downloads a:nth-child(3)")
	viewer.Get(path + ".crash?core=yes").Want(http.StatusForbidden)
	var logged int
	row := p.Store.Pool.QueryRow(t.Context(), "select count(*) from audit_events where action = 'read.core' and "+
		"person = 'ada-triager' and subject = $1", id.String())
	if err := row.Scan(&logged); err != nil || logged != 1 {
		t.Errorf("audit log: got %d downloads, %v; want the one of the triager", logged, err)
	}
	if strings.Contains(viewer.Get(path+".crash").Want(http.StatusOK).Body, "CoreDump") {
		t.Errorf("got the core dump in a download without cores")
	}
}
