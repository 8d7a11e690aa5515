package apport_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
)

type broken struct{ error }

func (b broken) Write([]byte) (int, error) { return 0, b.error }

func TestReadCore(t *testing.T) {
	t.Parallel()
	core := strings.Repeat("core\x00", 10_000)
	field := "CoreDump: base64\n " + strings.ReplaceAll(crashtest.Compressed(core), "\n", "\n ") + "\n"
	report := "ProblemType: Crash\n" + field + "Signal: 11\n"
	var got bytes.Buffer
	fields, binary, err := apport.ReadCore(strings.NewReader(report), apport.Limits{}, &got)
	if err != nil || got.String() != core || fields["Signal"] != "11" || len(binary) != 1 ||
		binary[0].Size != int64(len(core)) {
		t.Errorf("got %d bytes, %v, %v, %v", got.Len(), fields, binary, err)
	}
	_, _, err = apport.ReadCore(strings.NewReader(report+field), apport.Limits{}, &got)
	if crash.KindOf(err) != crash.Invalid || !strings.Contains(err.Error(), "begins a second core dump") {
		t.Errorf("two cores: got %v", err)
	}
	full := errors.New("disk full")
	if _, _, err := apport.ReadCore(strings.NewReader(report), apport.Limits{}, broken{full}); !errors.Is(err, full) ||
		crash.KindOf(err) != 0 {
		t.Errorf("a full disk: got %v", err)
	}
	got.Reset()
	_, binary, err = apport.ReadCore(strings.NewReader(report), apport.Limits{Decompressed: 1000}, &got)
	if err != nil || got.Len() != 1000 || !binary[0].More {
		t.Errorf("a limit: got %d bytes, %+v, %v", got.Len(), binary, err)
	}
}

// TestOpenCore checks that a core is found in the form in which whoopsie sends it, under both names.
func TestOpenCore(t *testing.T) {
	t.Parallel()
	text := crashtest.Compressed("core")
	for _, name := range []string{"CoreDump", "CoreDump.zst"} {
		report := "ProblemType: Crash\nStacktrace:\n #0\n #1\n" + name + ": base64\n " + strings.ReplaceAll(text, "\n",
			"\n ") +
			"\nSignal: 11\n"
		_, binary, err := apport.Read(strings.NewReader(report), apport.Limits{})
		if err != nil || len(binary) != 1 || !apport.IsCore(binary[0].Name) || binary[0].Size != 4 {
			t.Errorf("%s: got %v, %v; want it listed", name, binary, err)
		}
		core, err := apport.OpenCore(strings.NewReader(report))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(core); err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(text) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, text)
		}
	}
	for _, report := range []string{"", "ProblemType: Crash\n", "CoreDump: core\n", "CoreDump:\n core\n"} {
		if _, err := apport.OpenCore(strings.NewReader(report)); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v", report, err)
		}
	}
}
