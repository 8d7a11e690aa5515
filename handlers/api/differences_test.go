package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
)

// TestDocumentedDifferences checks the differences from errors.ubuntu.com that docs/api.md lists
// and no other test covers.
func TestDocumentedDifferences(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	stacked := h.save(1, now, crashtest.Native(crashtest.Set("Stacktrace", "#0 main ()"),
		crashtest.Set("ThreadStacktrace", "Thread 1: #0 main ()"), crashtest.Set("ProcMaps", "0-1 r-xp x")))
	traced := h.save(2, now, crashtest.Python(crashtest.Set("ProcMaps", "0-1 r-xp x")))
	kernel := h.save(3, now, crashtest.Native(crashtest.Set("ProblemType", "KernelCrash"),
		crashtest.Set("KernelCrash", "yes"), crashtest.Set("VmCoreDmesg", "panic")))
	for i := range 3 { // only derivatives have this problem
		h.save(10+i, now, crashtest.Native(crashtest.On("Linux Mint 22"), crashtest.Version(newer),
			crashtest.Set("DuplicateSignature", "on derivatives")))
	}
	h.save(20, now, crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1.4.8-1"),
		crashtest.Set("DuplicateSignature", "on derivatives")))
	c := h.As(t, crash.RoleViewer)
	fields := func(id crash.OopsID) map[string]string {
		var oops struct{ Data map[string]string }
		c.Get(api("oops/" + id.String() + "/")).Want(http.StatusOK).JSON(&oops)
		return oops.Data
	}
	if f := fields(stacked); f["Stacktrace"] == "" || f["ThreadStacktrace"] == "" || f["ProcMaps"] == "" {
		t.Errorf("the client's stacks and ProcMaps are not stored: %v", f)
	}
	f := fields(traced)
	if f["ProcMaps"] == "" || f["Traceback"] == "" {
		t.Errorf("the ProcMaps beside a traceback are not stored: %v", f)
	}
	if invented, ok := f["DuplicateSignature"]; ok || f["SAS"] == "" {
		t.Errorf("got DuplicateSignature %q and SAS %q, want no added field and the signature", invented, f["SAS"])
	}
	if f := fields(kernel); f["ProblemType"] != "KernelCrash" {
		t.Errorf("kernel crash: got %v, want it stored", f)
	}
	rows := get(t, c, "versions/?id="+url.QueryEscape("on derivatives")).Objects
	if got := fmt.Sprint(rows[len(rows)-1]["derivatives"], rows[len(rows)-1]["total"]); got != "4 4" {
		t.Errorf("versions: got derivatives and total %s, want 4 4", got)
	}
	for _, o := range get(t, c, "most-common-problems/?period=day").Objects {
		if o["function"] == "on derivatives" && (o["first_seen"] != "1.4.8-1" || o["first_seen_release"] != "Debian 13") {
			t.Errorf("first seen: got %v %v, want the version of Debian", o["first_seen"], o["first_seen_release"])
		}
	}
	path := "package-version-new-buckets/?package=tidewatch&previous_version=" + older + "&new_version=" + newer
	h.Visitor(t).Get(api(path))
	h.read()
	if got := get(t, c, path).Objects; len(got) != 1 || got[0]["function"] != "on derivatives" {
		t.Errorf("new buckets: got %v, want the bucket of the derivatives", got)
	}
	ask := api("most-common-problems/?packageset=no-such-set&release=Ubuntu+24.04")
	c.Get(ask).Want(http.StatusServiceUnavailable) // until the archive has answered
	h.read()
	var refused refusal
	c.Get(ask).Want(http.StatusNotFound).JSON(&refused)
	if refused.Code == "" || refused.Error == "" {
		t.Errorf("unknown package set: got %+v, want a message and a code", refused)
	}
	triager := h.As(t, crash.RoleTriager)
	var made struct{ Signature string }
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": "on%20derivatives"}).Want(
		http.StatusCreated).JSON(&made)
	if made.Signature != "on derivatives" {
		t.Errorf("create-bug-report: got the signature %q, want it decoded", made.Signature)
	}
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": "nothing"}).Want(http.StatusNotFound).JSON(
		&refused)
	if refused.Error == "" || refused.Code != "unknown_bucket" {
		t.Errorf("create-bug-report without a signature: got %+v, want error and code", refused)
	}
}
