package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestPassages checks that the pages of problems and reports show the field that a rule read, with
// the used lines marked. Only people who may read reports see it.
func TestPassages(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	reader, visitor := p.As(t, crash.RoleViewer), p.Visitor(t)
	for name, tt := range map[string]struct {
		report crashtest.Report
		field  string
		used   []string
	}{
		"Go": {crashtest.GoPanic(), "StdErr", []string{"panic: runtime error: index out of range [5] with length 3",
			"main.load(", "main.run.func1(...)", "main.main()"}},
		"Rust": {crashtest.RustPanic(), "StdErr", []string{"panicked at src/index.rs:88:31:", "called `Option::unwrap()`",
			"rustle::index::load", "rustle::main"}},
		"Java": {crashtest.Java(), "StackTrace", []string{"java.lang.IllegalStateException",
			"at chartroom.Store.open(Store.java:88)", "Caused by: java.io.FileNotFoundException"}},
		"package": {crashtest.BarePackage(), "DpkgTerminalLog", []string{"Error! Bad return status",
			"dpkg: error processing package"}},
		"own word": {crashtest.Package(), "DpkgTerminalLog", []string{"Error! Bad return status"}},
		"compiler": {crashtest.CompilerError(), "PreprocessedSource", []string{"internal compiler error: in gimplify_expr",
			"gimplify_stmt"}},
		"kernel": {crashtest.ModernOops(), "OopsText", []string{"BUG: kernel NULL pointer dereference",
			"RIP: 0010:brig_tx_done", "handle_irq_event+"}},
		"old oops": {crashtest.Oops(), "OopsText", []string{"IP: [<ffffffffa04b1e22>] brig_tx_done"}},
		"suspend":  {crashtest.Suspend(), "Failure", []string{"suspend/resume"}},
		"hang":     {crashtest.ThreadHang(), "ThreadStacktrace", []string{"lumen_wait_reply"}},
		"snap":     {crashtest.Snap(), "ErrorMessage", []string{"cannot perform the following tasks", "Mount snap"}},
		"message":  {crashtest.BareRecoverable(), "DialogBody", []string{"was damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := p.Accept("m", tt.report)
			report, err := p.Store.Report(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if name != "suspend" && !report.Complete {
				t.Errorf("got an incomplete report, want a complete one")
			}
			for _, path := range []string{report.Bucket.Path(), "/oops/" + id.String()} {
				a := reader.Get(path).Want(http.StatusOK)
				a.WantText(".excerpt h3", tt.field)
				if marked := a.HTML().Find(".excerpt mark.used").Text(); !containsAll(marked, tt.used) {
					t.Errorf("%s: got the marked lines %q, want %q", path, marked, tt.used)
				}
				if strings.Contains(a.HTML().Find(".stack").Text(), "no stack and no traceback") {
					t.Errorf("%s: got a page that says there is no passage", path)
				}
			}
			visitor.Get(report.Bucket.Path()).Want(http.StatusOK).WantNone(".excerpt").WantNone("mark")
			if raw := reader.Get("/oops/" + id.String() + ".json").Want(http.StatusOK).Body; !strings.Contains(raw,
				`"evidence"`) || !strings.Contains(raw, `"`+tt.field+`"`) {
				t.Errorf("JSON of the report: got no evidence in %.300s", raw)
			}
			if name == "hang" {
				return // the answer contains the field itself
			}
			address := "/api/1.0/bucket/" + report.Bucket.String() + "/"
			if raw := reader.Get(address).Want(http.StatusOK).Body; !strings.Contains(raw, `"field": "`+tt.field+`"`) &&
				!strings.Contains(raw, `"field":"`+tt.field+`"`) {
				t.Errorf("JSON of the problem: got no evidence in %.600s", raw)
			}
			if raw := visitor.Get(address).Want(http.StatusOK).Body; strings.Contains(raw, tt.field) {
				t.Errorf("JSON of the problem for visitors: got evidence in %.600s", raw)
			}
		})
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
