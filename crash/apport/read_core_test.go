package apport_test

import (
	"bytes"
	"errors"
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
