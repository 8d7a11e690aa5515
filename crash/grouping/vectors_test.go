package grouping_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mishap/crash"
	"mishap/crash/grouping"
)

// signatureVector is one report with apport 2.36's result. Our empty text corresponds to null, and
// to an exception.
type signatureVector struct {
	Name             string            `json:"name"`
	Note             string            `json:"note"`
	Report           crash.Fields      `json:"report"`
	Signature        *string           `json:"crash_signature"`
	Addresses        *string           `json:"crash_signature_addresses"`
	Title            *string           `json:"standard_title"`
	UsefulStacktrace bool              `json:"has_useful_stacktrace"`
	TopFunction      *string           `json:"stacktrace_top_function"`
	Raises           map[string]string `json:"raises"`
}

func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	var vectors []signatureVector
	readVectors(t, "crash_signature.json", &vectors, 98)
	raising := 0
	for _, v := range vectors {
		raising += len(v.Raises)
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			checkText(t, "CrashSignature", grouping.CrashSignature(v.Report), v.Signature, v.Note)
			checkText(t, "AddressSignature", grouping.AddressSignature(v.Report), v.Addresses, v.Note)
			checkText(t, "StandardTitle", grouping.StandardTitle(v.Report), v.Title, v.Note)
			checkText(t, "TopFunction", grouping.TopFunction(v.Report), v.TopFunction, v.Note)
			if got := grouping.HasUsefulStacktrace(v.Report); got != v.UsefulStacktrace {
				t.Errorf("HasUsefulStacktrace: got %v, want %v (%s)", got, v.UsefulStacktrace, v.Note)
			}
			for what, how := range v.Raises {
				got := map[string]string{
					"crash_signature":           grouping.CrashSignature(v.Report),
					"crash_signature_addresses": grouping.AddressSignature(v.Report),
					"standard_title":            grouping.StandardTitle(v.Report),
				}[what]
				if got != "" {
					t.Errorf("%s: got %q, want none: apport raises %s", what, got, how)
				}
			}
			checkGrouping(t, v)
		})
	}
	if raising != 4 {
		t.Errorf("got %d cases in which apport raises, want 4", raising)
	}
}

// checkGrouping derives the result of SignatureOf from a vector. If apport gives neither a
// signature nor addresses, our own rules may give one; their own tests check that.
func checkGrouping(t *testing.T, v signatureVector) {
	t.Helper()
	got := grouping.SignatureOf(v.Report)
	if (got.Reason == "") != (got.Signature != "") || (got.Rule == crash.RuleNone) != (got.Signature == "") ||
		got.Provisional != (got.Rule == crash.RuleAddress) {
		t.Errorf("SignatureOf: got rule %q and reason %q with signature %q", got.Rule, got.Reason, got.Signature)
	}
	want := v.Report["DuplicateSignature"]
	if want == "" && v.Signature != nil {
		want = *v.Signature
	}
	if want == "" && v.Addresses != nil {
		want = *v.Addresses
	}
	if want == "" {
		if slices.Contains(apportRules, got.Rule) {
			t.Errorf("SignatureOf: got %q by rule %q, where apport has none", got.Signature, got.Rule)
		}
		return
	}
	if got.Signature != want {
		t.Errorf("SignatureOf: got %q, want %q", got.Signature, want)
	}
}

// apportRules lists apport's rules and the one for addresses.
var apportRules = []crash.Rule{
	crash.RuleDuplicateSignature, crash.RuleKernelCrash, crash.RuleAssertion, crash.RuleStacktrace, crash.RuleTraceback,
	crash.RuleSuspendResume,
	crash.RuleOops, crash.RuleAddress,
}

func TestStacktraceTopVectors(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Name       string  `json:"name"`
		Note       string  `json:"note"`
		Stacktrace string  `json:"Stacktrace"`
		Top        string  `json:"StacktraceTop"`
		Signature  *string `json:"crash_signature"`
	}
	readVectors(t, "stacktrace_top.json", &vectors, 16)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			top := grouping.StacktraceTop(v.Stacktrace)
			if top != v.Top {
				t.Errorf("StacktraceTop: got %q, want %q (%s)", top, v.Top, v.Note)
			}
			report := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch", "Signal": "11",
				"StacktraceTop": top}
			checkText(t, "CrashSignature", grouping.CrashSignature(report), v.Signature, v.Note)
		})
	}
}

// readVectors fails if the file does not contain exactly n cases, so that none can be lost
// unnoticed.
func readVectors[T any](t *testing.T, name string, into *[]T, n int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
	if len(*into) != n {
		t.Fatalf("%s: got %d cases, want %d", name, len(*into), n)
	}
}

func checkText(t *testing.T, what, got string, want *string, note string) {
	t.Helper()
	expected := ""
	if want != nil {
		expected = *want
	}
	if got != expected {
		t.Errorf("%s: got %q, want %q (%s)", what, got, expected, note)
	}
}
