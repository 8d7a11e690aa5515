package api_test

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// question is one request with a golden answer. The fact names the section about the old service
// that the answer follows.
type question struct {
	name, fact, path string
	signedIn         bool
}

// questions returns at least one request for each resource that can be read.
func (h *fixture) questions() []question {
	native := url.QueryEscape(nativeSignature())
	key := h.bucket(nativeSignature()).ID.String()
	day := "20260518"
	versions := "&old_version=" + older + "&new_version=" + newer
	id := h.ids[len(h.ids)-3].String()
	return []question{
		{"index", "8.1", "", false},
		{"most-common-problems", "9.1", "most-common-problems/?format=json&limit=30&period=day", false},
		{"most-common-problems-month", "9.1",
			"most-common-problems/?period=month&release=Ubuntu+24.04&package=tidewatch&pkg_arch=amd64&version=" + newer, false},
		{"most-common-problems-page", "8.2", "most-common-problems/?limit=2&offset=1&period=day", false},
		{"bucket", "9.2", "bucket/" + url.PathEscape(nativeSignature()) + "/", false},
		{"bucket-signed-in", "9.2", "bucket/" + key + "/", true},
		{"problem-status", "own", "problem-status/" + key + "/", false},
		{"versions", "9.2", "versions/?limit=0&id=" + native, false},
		{"instances", "9.2", "instances/?limit=100&id=" + url.QueryEscape(odd), false},
		{"average-instances", "9.2", "average-instances/?limit=0&id=" + native, false},
		{"average-crashes", "9.4", "average-crashes/?limit=0&release=Ubuntu+24.04", false},
		{"average-crashes-package", "9.4", "average-crashes/?limit=0&release=Ubuntu+24.04&package=tidewatch&version=" + older,
			false},
		{"rate-increase", "9.3",
			"package-rate-of-crashes/?format=json&release=Ubuntu+24.04&package=tidewatch&phased_update_percentage=10&date=" +
				day + versions, false},
		{"rate-no-increase", "9.3", "package-rate-of-crashes/?release=Ubuntu+24.04&package=tidewatch&date=" + day +
			"&old_version=" + newer + "&new_version=" + older, false},
		{"new-buckets", "9.2", "package-version-new-buckets/?format=json&package=tidewatch&previous_version=" + older +
			"&new_version=" + newer, false},
		{"update-gate", "added", "update-gate/?package=tidewatch&version=" + newer + "&against=" + older, false},
		{"instances-count", "9.5", "instances-count/?limit=3", false},
		{"problems-count", "9.5", "problems-count/?limit=3", false},
		{"retracers-results", "9.5", "retracers-results/?limit=1&format=json", false},
		{"retracers-results-day", "9.5", "retracers-results/" + day + "/", false},
		{"retracers-time", "9.5", "retracers-average-processing-time/?limit=1&format=json", false},
		{"retracer-queue-length", "9.5", "retracer-queue-length/?hours=48", false},
		{"reports-for-system", "9.6", "reports-for-system/?limit=3&system=machine-6", true},
		{"dayoops", "9.6", "dayoops/" + day + "/?limit=2", false},
		{"dayoops-details", "9.6", "dayoops/2026-05-18/?limit=2&details=&details=1&release=Debian+13", false},
		{"oops", "9.6", "oops/" + id + "/", true},
		{"instance", "9.6", "instance/?id=" + id, true},
		{"binary-package-versions", "9.7",
			"binary-package-versions/?format=json&binary_package=tidewatch&release=Ubuntu+24.04", false},
		{"system-image-versions", "9.7", "system-image-versions/?image_type=device_image", true},
		{"symbols-missing", "added", "symbols/missing/?limit=1", true},
		{"crash-signatures-for-bug", "9.2", "crash-signatures-for-bug/?bug=1", false},
	}
}

// TestGolden compares whole answers with golden files.
func TestGolden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	visitor, viewer := h.Visitor(t), h.As(t, crash.RoleViewer)
	// The first request for an archive fact finds it unknown. After the tracker was read it is known.
	for _, q := range h.questions() {
		if !q.signedIn {
			visitor.Get(api(q.path)).Want(http.StatusOK)
		} else if strings.HasPrefix(q.path, "bucket") {
			visitor.Get(api(q.path)).Want(http.StatusOK)
		} else {
			visitor.Get(api(q.path)).Want(http.StatusUnauthorized)
		}
	}
	h.read()
	for _, q := range h.questions() {
		t.Run(q.name, func(t *testing.T) {
			c := visitor
			if q.signedIn {
				c = viewer
			}
			a := c.Get(api(q.path)).Want(http.StatusOK)
			if got := a.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("%s: got %s, want application/json", q.path, got)
			}
			compare(t, q.name, "# "+q.fact+": GET "+api(q.path)+"\n"+a.Body+"\n")
		})
	}
}

// compare compares a text with a golden file, or writes the file with -update.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
