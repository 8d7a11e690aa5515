package ingest_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
)

// signatures maps the samples to the signatures that they get when newer whoopsies send them. These
// come from apport 2.36, or from our own rule if apport gives none. Empty means that the report has
// no signature. bare is the signature with whoopsie 0.1.33, which drops more fields.
var signatures = map[string]struct{ modern, bare string }{
	"_usr_bin_tidewatch.1000": both(
		"/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"),
	"_usr_bin_tidewatch.1001": both(
		"/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"),
	"_usr_bin_quillpad.1000": both("/usr/bin/quillpad:ERROR:../src/buffer.c:120:buffer_take: " +
		"assertion failed (buf->ref > 0): (ADDR)"),
	"_usr_bin_harbor-sync.0":    both("/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load"),
	"_usr_bin_harbor-sync.1000": both("/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load"),
	"_usr_bin_żeglarz.1000": {"/usr/bin/żeglarz:OSError(28):główna:zapisz",
		"/usr/bin/żeglarz:OSError:główna:zapisz"},
	"_usr_bin_lumen-shell.1000":         both("address"),
	"_usr_libexec_reefd.117":            both("/usr/libexec/reefd:index-rebuild-needed"),
	"brigwifi-dkms.0":                   both("package:brigwifi-dkms:2.0-1ubuntu3\n"),
	"susres.2026-02-03_06:07:08.123456": both("suspend/resume:Marlin Corp. SeaBook 14:M14ET29W (1.17 )"),
	"linux-image-6.8.0-41-generic.3f1b77aa": {"kernel:NULL pointer dereference:brig_tx_done [brigwifi]:brig_irq " +
		"[brigwifi]:__handle_irq_event_percpu:handle_irq_event", ""},
	"linux-image-5.15.0-97-generic.77aa01": {"kernel NULL pointer dereference:brig_tx_done+0x62/0x110 " +
		"[brigwifi]:brig_irq+0x41/0x80 [brigwifi]:handle_irq_event_percpu+0x4c/0x190", ""},
	"linux-image-7.0.0-12-generic-202607010203": both(""),
}

func both(signature string) struct{ modern, bare string } {
	return struct{ modern, bare string }{signature, signature}
}

// TestSamples posts the bytes of real daemons, each from its own machine, and checks their
// grouping.
func TestSamples(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, file := range samples(t, "*.bson") {
		name := strings.TrimSuffix(filepath.Base(file), ".bson")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := h.report(t, h.post(t, "/"+name, bytes.NewReader(body)).stored(t))
			if string(r.System) != name || r.Fields["Package"] == "" {
				t.Errorf("got system %q, Package %q", r.System, r.Fields["Package"])
			}
			crashName, modern := strings.CutSuffix(name, ".modern")
			want := signatures[crashName].modern
			if !modern {
				want = signatures[strings.TrimSuffix(name, ".v0133")].bare
			}
			h.wantBucket(t, r, want)
		})
	}
}

func (h *fixture) wantBucket(t *testing.T, r crash.StoredReport, signature string) {
	t.Helper()
	if r.Bucket == nil {
		if signature != "" || r.Unbucketed == "" {
			t.Errorf("got no bucket (%q), want %q", r.Unbucketed, signature)
		}
		return
	}
	h.counted(t)
	b, err := h.store.Bucket(t.Context(), *r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if signature == "address" {
		signature = r.AddressSignature
		if !b.Provisional {
			t.Error("got a final bucket, want a provisional one")
		}
	}
	if signature == "" || !strings.HasPrefix(b.Signature, signature) {
		t.Errorf("got bucket %q, want %q", b.Signature, signature)
	}
	if b.ID != crash.BucketIDOf(b.Signature) {
		t.Errorf("bucket %q has the id %s", b.Signature, b.ID)
	}
}

// TestSamplesOnce sends all samples from one machine, as two versions of its daemon would: each
// crash counts once.
func TestSamplesOnce(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	first := map[string]crash.OopsID{}
	for _, file := range samples(t, "_usr_bin_tidewatch.*.bson") {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id := h.post(t, "/one-machine", bytes.NewReader(body)).stored(t)
		crashName := strings.Join(strings.Split(filepath.Base(file), ".")[:2], ".")
		if known, ok := first[crashName]; ok && known != id {
			t.Errorf("%s: got id %s, want that of the first sending, %s", file, id, known)
		}
		first[crashName] = id
	}
	h.counted(t)
	b, err := h.store.Bucket(t.Context(), crash.BucketIDOf(signatures["_usr_bin_tidewatch.1000"].modern))
	if err != nil {
		t.Fatal(err)
	}
	if b.Reports != 2 || b.Systems != 1 || b.LowestVersion != "1.4.2-1ubuntu0.1" || b.HighestVersion != "1.4.9-2" ||
		b.LowestRelease != "Ubuntu 22.04" || b.HighestRelease != "Ubuntu 24.04" || b.HighestVersionRelease != "Ubuntu 24.04" {
		t.Errorf("got %+v", b)
	}
}

func TestSampleCores(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, file := range samples(t, "*.core.txt") {
		report, err := os.ReadFile(strings.TrimSuffix(file, ".core.txt") + ".modern.bson")
		if err != nil {
			t.Fatal(err)
		}
		coreText, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id := h.post(t, "/machine", bytes.NewReader(report)).stored(t)
		h.ask(t, id.String(), "machine")
		h.post(t, "/"+id.String()+"/submit-core/amd64/machine", bytes.NewReader(coreText)).want(t, http.StatusOK, id.String())
		if kept := h.core(t, id); kept != string(coreText) {
			t.Errorf("%s: got %d bytes, want the %d that were sent", file, len(kept), len(coreText))
		}
	}
}

// core returns the stored core of a report.
func (h *fixture) core(t *testing.T, id crash.OopsID) string {
	t.Helper()
	in, err := openCores(t, h.data).Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
