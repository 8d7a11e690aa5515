package crash_test

import (
	"os/exec"
	"strings"
	"testing"

	"mishap/crash"
)

// TestMissingSymbolCommand checks the commands that provide symbols. Names come from reports, so
// they are hostile.
func TestMissingSymbolCommand(t *testing.T) {
	t.Parallel()
	const id = "ab12cd34"
	for name, c := range map[string]struct {
		missing crash.MissingSymbol
		want    string
	}{
		"program": {crash.MissingSymbol{Kind: crash.MissingProgram, Package: "libtide1", Version: "1:2.0-1+b2",
			Architecture: "amd64"}, "mishap symbols add libtide1_2.0-1+b2_amd64.deb"},
		"debug file of Ubuntu": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libtide1", Version: "2.0",
			Architecture: "amd64", Release: "Ubuntu 24.04"}, "mishap symbols add libtide1-dbgsym_2.0_amd64.ddeb"},
		"debug file of Debian": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libtide1", Version: "2.0~rc1",
			Architecture: "arm64", Release: "Debian 12"}, "mishap symbols add libtide1-dbgsym_2.0~rc1_arm64.deb"},
		"C library": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libc6", Version: "2.36-9",
			Architecture: "amd64"}, "mishap symbols add libc6-dbg_2.36-9_amd64.deb"},
		"build": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "libtide1", Version: "2.0", Architecture: "amd64"},
			"mishap symbols add libtide1_2.0_amd64.deb libtide1-dbgsym_2.0_amd64.ddeb"},
		"build in an unknown package": {crash.MissingSymbol{Kind: crash.MissingBuild, Path: "/opt/tide",
			Architecture: "amd64"}, ""},
		"program in an unknown package": {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/opt/tide/libtide.so"},
			"mishap symbols add /opt/tide/libtide.so"},
		"debug file of an unknown package": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: id},
			"mishap symbols add /usr/lib/debug/.build-id/ab/12cd34.debug"},
		"version that is none": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: id, Package: "libtide1",
			Version: "$(reboot)", Architecture: "amd64"}, "mishap symbols add /usr/lib/debug/.build-id/ab/12cd34.debug"},
		"package that is none": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "--to=evil", Version: "1",
			Architecture: "amd64"}, ""},
		"architecture that is none": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "tide", Version: "1",
			Architecture: "a;b"}, ""},
		"path for a terminal": {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/opt/a\x1b[2Jb"}, ""},
		"long path":           {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/" + strings.Repeat("x", 600)}, ""},
		"relative path":       {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "-rf"}, ""},
		"build-id that is none": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: "../../x"},
			""},
	} {
		if got := c.missing.Command(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}

	path := `/opt/it's $(id) "x" * ;`
	out, err := exec.CommandContext(t.Context(), "sh", "-c",
		"mishap() { printf %s \"$3\"; }\n"+crash.MissingSymbol{Kind: crash.MissingProgram, Path: path}.Command()).Output()
	if err != nil || string(out) != path {
		t.Errorf("in a shell: got %q, %v; want %q", out, err, path)
	}
}
