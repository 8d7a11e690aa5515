package minidump_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/minidump"
	"mishap/crash/format/minidump/minidumptest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
)

const chartID, reefID, libcID = "aa11bb22cc33dd44", "bb22cc33dd44ee55", "cc33dd44ee55ff66"

func sample() minidumptest.Dump {
	return minidumptest.Dump{Signal: 11, PC: 0x401149, Secret: "hunter2", Modules: []minidumptest.Module{
		{Path: "/opt/chartd/chartd", Start: 0x400000, Size: 0x5000, BuildID: chartID},
		{Path: "/opt/chartd/libreef.so", Start: 0x7f0000000000, Size: 0x9000, BuildID: reefID},
		{Path: "/lib/x86_64-linux-gnu/libc.so.6", Start: 0x7f1000000000, Size: 0x200000, BuildID: libcID},
	}, Stack: []uint64{7, 0x401149, 0x7f0000001a10, 0x7f0000001a10, 0xffffffffffffffff, 0x7f1000029d90, 0x405000}}
}

var project = minidump.Project{Number: 7, Source: "chartd"}

// TestReport checks the fields of a dump, which hold nothing of its command line and environment.
func TestReport(t *testing.T) {
	t.Parallel()
	d, err := minidump.Parse(sample().Bytes(t))
	checktest.NoError(t, err)
	r := d.Report(minidump.Annotations{Version: "0.9 beta", Client: "e1b2"}, project)
	want := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/opt/chartd/chartd", "Signal": "11",
		"Architecture": "amd64", "SourcePackage": "chartd", "Package": "chartd 0.9_beta", "Date": "Sun Nov 22 01:34:50 2026",
		"Stacktrace": "#0  0x0000000000401149 in ?? () from /opt/chartd/chartd\n" +
			"#1  0x00007f0000001a10 in ?? () from /opt/chartd/libreef.so\n" +
			"#2  0x00007f1000029d90 in ?? () from /lib/x86_64-linux-gnu/libc.so.6",
		"StacktraceTop": "?? () from /opt/chartd/chartd\n?? () from /opt/chartd/libreef.so\n" +
			"?? () from /lib/x86_64-linux-gnu/libc.so.6",
		"StacktraceAddressSignature": "/opt/chartd/chartd:11:chartd@" + chartID + "+1149",
		grouping.BuildIDsField: "#0 " + chartID + "+0x1149 /opt/chartd/chartd\n#1 " + reefID +
			"+0x1a10? /opt/chartd/libreef.so\n#2 " + libcID + "+0x29d90? /lib/x86_64-linux-gnu/libc.so.6",
	}
	if diff := cmp.Diff(want, r.Fields); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again := d.Report(minidump.Annotations{}, project)
	if r.Number == "" || again.Number != r.Number || len(r.System) != 128 || again.System != "" {
		t.Errorf("got numbers %q, %q, machines %q, %q", r.Number, again.Number, r.System, again.System)
	}
	if other := d.Report(minidump.Annotations{Client: "e1b2"}, minidump.Project{Number: 8}); other.System == r.System ||
		other.Number == r.Number {
		t.Error("got one machine or number in two projects")
	}
}

// TestPlaces checks the problems of crashes in the C library and at addresses outside all modules: the first return
// address in another module counts.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pc   uint64
		want string
	}{
		"C library":  {0x7f1000029d80, ":libc.so.6@" + libcID + "+29d80:chartd@" + chartID + "+1149"},
		"no module":  {0x1000, ":chartd@" + chartID + "+1149"},
		"its header": {0x400000, ":chartd@" + chartID + "+1149"},
		"a library":  {0x7f0000001a00, ":libreef.so@" + reefID + "+1a00"},
	} {
		s := sample()
		s.PC, s.Signal = c.pc, 6
		d, err := minidump.Parse(s.Bytes(t))
		checktest.NoError(t, err)
		got := d.Report(minidump.Annotations{}, project).Fields["StacktraceAddressSignature"]
		checktest.Equal(t, name, got, "/opt/chartd/chartd:6"+c.want)
	}
}

// TestRefused checks dumps of other systems, of no crash, and damaged ones.
func TestRefused(t *testing.T) {
	t.Parallel()
	change := func(at int, value uint32) []byte {
		b := sample().Bytes(t)
		binary.LittleEndian.PutUint32(b[at:], value)
		return b
	}
	windows, requested, odd := sample(), sample(), sample()
	windows.Platform, requested.Signal, odd.Signal = 2, 0xffffffff, 0xc0000005
	good := sample().Bytes(t)
	for name, c := range map[string]struct {
		dump []byte
		code string
	}{
		"empty": {nil, "invalid_minidump"}, "a text": {[]byte("a text"), "invalid_minidump"},
		"only a head": {good[:32], "invalid_minidump"}, "Windows": {windows.Bytes(t), "minidump_system"},
		"on request": {requested.Bytes(t), "no_crash"}, "no signal": {odd.Bytes(t), "invalid_minidump"},
		"many streams": {change(8, 1<<31), "invalid_minidump"}, "no streams": {change(8, 0), "invalid_minidump"},
		"directory outside": {change(12, 0xfffffff0), "invalid_minidump"},
		"modules outside":   {change(32+2*12+8, 0xffffffff), "invalid_minidump"},
		"no exception":      {change(32+3*12, 99), "no_crash"},
		"short":             {good[:len(good)/2], "no_crash"},
	} {
		_, err := minidump.Parse(c.dump)
		if e, ok := err.(*crash.Error); !ok || e.Kind != crash.Invalid || e.Code != c.code { //nolint:errorlint // its type
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
}

// TestUnpack checks the compressions of dumps, and that bombs end at the limit.
func TestUnpack(t *testing.T) {
	t.Parallel()
	good := sample().Bytes(t)
	packed := map[string][]byte{"none": good}
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	_, err := g.Write(good)
	checktest.NoError(t, err)
	checktest.NoError(t, g.Close())
	packed["gzip"] = b.Bytes()
	z, err := zstd.NewWriter(nil)
	checktest.NoError(t, err)
	packed["zstd"] = z.EncodeAll(good, nil)
	for _, program := range []string{"xz", "bzip2"} {
		cmd := exec.CommandContext(t.Context(), program, "-c")
		cmd.Stdin = bytes.NewReader(good)
		out, err := cmd.Output()
		checktest.NoError(t, err)
		packed[program] = out
	}
	for name, data := range packed {
		got, err := minidump.Unpack(data, int64(len(good)))
		if err != nil || !bytes.Equal(got, good) || minidump.Compressed(data) != (name != "none") {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if name == "none" {
			continue
		}
		if _, err := minidump.Unpack(data, int64(len(good))-1); crash.KindOf(err) != crash.TooLarge {
			t.Errorf("%s: got %v, want too large", name, err)
		}
		if _, err := minidump.Unpack(data[:len(data)/2], 1<<20); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want it refused as cut short", name, err)
		}
	}
}

// TestWalked checks the frames in what minidump-stackwalk prints. The sample is written by hand by its documented
// schema.
func TestWalked(t *testing.T) {
	t.Parallel()
	printed, err := os.ReadFile("testdata/walked.json")
	checktest.NoError(t, err)
	want := []grouping.ModuleFrame{
		{Address: 0x401149, Module: "chartd", BuildID: chartID, Offset: 0x1149},
		{Address: 0x401a02, Function: "chart::draw", Module: "chartd", BuildID: chartID, Offset: 0x1a02},
		{Address: 0x7f0000001a10, Module: "libreef.so", BuildID: reefID, Offset: 0x1a10, Scanned: true},
		{Address: 0x1235},
	}
	if diff := cmp.Diff(want, minidump.Walked(printed)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, text := range []string{"", "{}", "[]", strings.Replace(string(printed), `"OK"`, `"ERROR_NO_THREAD_LIST"`, 1),
		strings.Replace(string(printed), "0x0000000000401a01", "soon", 1)} {
		if got := minidump.Walked([]byte(text)); got != nil {
			t.Errorf("%.40q: got %v, want none", text, got)
		}
	}
}

// FuzzParse checks that any body gives a report that can be stored, or a refusal.
func FuzzParse(f *testing.F) {
	f.Add(sample().Bytes(f))
	f.Add([]byte("PMDM"))
	in := intake.New(intake.Config{MaxAgeDays: 10000}, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := minidump.Parse(body)
		if err != nil {
			if crash.KindOf(err) != crash.Invalid {
				t.Errorf("got %v, want a refusal", err)
			}
			return
		}
		r := d.Report(minidump.Annotations{Version: string(body), Client: "c"}, project)
		for name, text := range r.Fields {
			if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
				t.Errorf("%s: got %q, which cannot be stored", name, crash.Truncate(text, 200))
			}
		}
		if _, err := in.Examine(r); err != nil && crash.KindOf(err) != crash.Invalid {
			t.Errorf("got %v", err)
		}
	})
}
