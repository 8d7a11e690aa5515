package grouping_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/grouping"
)

const tideID, reefID = "aa11bb22cc33dd44", "bb22cc33dd44ee55"

// TestSetStack checks the fields of stacks of which modules are known, with and without names.
func TestSetStack(t *testing.T) {
	t.Parallel()
	nameless := []grouping.ModuleFrame{
		{Address: 0x55d000009234, Module: "/usr/bin/tide:watch", BuildID: tideID, Offset: 0x9234},
		{Address: 0x7f2210001a10, Module: "libreef.so.1", BuildID: "BB22CC33DD44EE55", Offset: 0x1a10},
		{Address: 0x7f2210029d90, Module: "/lib64/libc.so.6", BuildID: "../etc", Offset: 0x29d90},
		{},
	}
	named := []grouping.ModuleFrame{
		{Address: 0x55d000009234, Function: "tide_parse\n#9  0x1 in evil", Module: "tide", BuildID: tideID, Offset: 1},
		{Address: 0x55d000009a34, Function: "tide_load(int)", Module: "tide", BuildID: tideID, Offset: 2},
	}
	for name, c := range map[string]struct {
		frames []grouping.ModuleFrame
		want   crash.Fields
	}{
		"no names": {nameless, crash.Fields{
			"Stacktrace": "#0  0x000055d000009234 in ?? () from /usr/bin/tide:watch\n" +
				"#1  0x00007f2210001a10 in ?? () from libreef.so.1\n#2  0x00007f2210029d90 in ?? () from /lib64/libc.so.6\n" +
				"#3  0x0000000000000000 in ?? ()",
			"StacktraceTop": "?? () from /usr/bin/tide:watch\n?? () from libreef.so.1\n?? () from /lib64/libc.so.6\n?? ()",
			"StacktraceAddressSignature": "/usr/bin/tide:11:tide..watch@" + tideID + "+9234:libreef.so.1@" + reefID +
				"+1a10:libc.so.6+29d90",
			grouping.BuildIDsField: "#0 " + tideID + "+0x9234 /usr/bin/tide:watch\n#1 " + reefID + "+0x1a10 libreef.so.1",
		}},
		"names": {named, crash.Fields{
			"Stacktrace": "#0  0x000055d000009234 in tide_parse #9  0x1 in evil () from tide\n" +
				"#1  0x000055d000009a34 in tide_load(int) from tide",
			"StacktraceTop":              "tide_parse #9  0x1 in evil () from tide\ntide_load(int) from tide",
			"StacktraceAddressSignature": "/usr/bin/tide:11:tide@" + tideID + "+1:tide@" + tideID + "+2",
		}},
		"mostly without modules": {[]grouping.ModuleFrame{nameless[0], {}, {}}, crash.Fields{
			"Stacktrace": "#0  0x000055d000009234 in ?? () from /usr/bin/tide:watch\n" +
				"#1  0x0000000000000000 in ?? ()\n#2  0x0000000000000000 in ?? ()",
			"StacktraceTop": "?? () from /usr/bin/tide:watch\n?? ()\n?? ()",
		}},
		"none": {nil, crash.Fields{}},
	} {
		got := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tide", "Signal": "11"}
		grouping.SetStack(got, c.frames)
		delete(got, "ProblemType")
		delete(got, "ExecutablePath")
		delete(got, "Signal")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
