package crash_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

func term(field crash.TermField, value string) crash.Condition {
	return crash.Condition{Terms: []crash.Term{{Field: field, Value: value}}}
}

func TestConditionHolds(t *testing.T) {
	t.Parallel()
	id := crash.NewOopsID(time.Now())
	s := crash.Summary{
		Package: "tidewatch", Version: "1.4.9-2", Executable: "/usr/bin/tidewatch", Architecture: "arm64",
		Release: "Ubuntu 24.04",
	}
	native, python := crashtest.Native().Fields(), crashtest.Python().Fields()
	tests := map[string]struct {
		condition crash.Condition
		fields    crash.Fields
		want      bool
	}{
		"chosen":            {crash.Condition{Reports: []crash.OopsID{id}}, nil, true},
		"another chosen":    {crash.Condition{Reports: []crash.OopsID{crash.NewOopsID(time.Now())}}, nil, false},
		"nothing":           {crash.Condition{}, nil, false},
		"package":           {term(crash.TermPackage, "tidewatch"), nil, true},
		"other package":     {term(crash.TermPackage, "tidewatch-dbg"), nil, false},
		"executable":        {term(crash.TermExecutable, "/usr/bin/tidewatch"), nil, true},
		"architecture":      {term(crash.TermArchitecture, "amd64"), nil, false},
		"release":           {term(crash.TermRelease, "Ubuntu 24.04"), nil, true},
		"same version":      {term(crash.TermFrom, "1.4.9-2"), nil, true},
		"by dpkg, not text": {term(crash.TermFrom, "1.4.10"), nil, false},
		"below":             {term(crash.TermBelow, "1.4.10"), nil, true},
		"not below itself":  {term(crash.TermBelow, "1.4.9-2"), nil, false},
		"frame":             {term(crash.TermFrame, "tide_load"), native, true},
		"part of a frame":   {term(crash.TermFrame, "tide_loa"), native, false},
		"frame of python":   {term(crash.TermFrame, grouping.Tracebacks(python)[0].Frames[0].Function), python, true},
		"all terms": {crash.Condition{Terms: []crash.Term{
			{Field: crash.TermRelease, Value: "Ubuntu 24.04"}, {Field: crash.TermArchitecture, Value: "amd64"},
		}}, nil, false},
	}
	for name, test := range tests {
		calls := func(function string) bool { return grouping.Calls(test.fields, function) }
		if got := test.condition.Holds(id, s, calls); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestConditionCheck(t *testing.T) {
	t.Parallel()
	id := crash.NewOopsID(time.Now())
	tests := map[string]struct {
		condition crash.Condition
		code      string // empty: no error
	}{
		"fine":    {term(crash.TermFrame, "tide_load"), ""},
		"chosen":  {crash.Condition{Reports: []crash.OopsID{id}}, ""},
		"nothing": {crash.Condition{}, "no_condition"},
		"both": {crash.Condition{Reports: []crash.OopsID{id}, Terms: term(crash.TermPackage, "a").Terms},
			"two_conditions"},
		"many":          {crash.Condition{Reports: make([]crash.OopsID, crash.MaxChosen+1)}, "too_many_reports"},
		"many terms":    {crash.Condition{Terms: make([]crash.Term, 9)}, "too_many_terms"},
		"no field":      {term("colour", "red"), "unknown_field"},
		"empty":         {term(crash.TermPackage, ""), "bad_value"},
		"two lines":     {term(crash.TermPackage, "a\nb"), "bad_value"},
		"long":          {term(crash.TermPackage, strings.Repeat("a", 501)), "bad_value"},
		"not a version": {term(crash.TermFrom, "newest"), "bad_version"},
	}
	for name, test := range tests {
		if code := codeOf(test.condition.Check()); code != test.code {
			t.Errorf("%s: got %q, want %q", name, code, test.code)
		}
	}
}

func TestConditionAsJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []crash.Condition{
		{Reports: []crash.OopsID{crash.NewOopsID(time.Now()), crash.NewOopsID(time.Now())}},
		term(crash.TermFrom, "1:2.0~rc1-1"),
	} {
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got crash.Condition
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b, diff)
		}
	}
}

func TestSplitSignature(t *testing.T) {
	t.Parallel()
	if got, want := crash.SplitSignature("/usr/bin/a:11:f:g", term(crash.TermArchitecture, "arm64"), 7),
		"/usr/bin/a:11:f:g [architecture arm64]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := crash.SplitSignature(strings.Repeat("ü", crash.MaxSignature),
		crash.Condition{Reports: make([]crash.OopsID, 2)}, 7)
	if got := len([]rune(long)); got != crash.MaxSignature || !strings.HasSuffix(long, "ü [2 chosen reports, no. 7]") {
		t.Errorf("got %d code points that end in %q, want %d", got, long[len(long)-40:], crash.MaxSignature)
	}
}
