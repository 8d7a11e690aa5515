package grouping_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
)

// groupCase is one problem of testdata/group: reports that belong together, and similar reports
// that do not.
type groupCase struct {
	name, signature string
	rule            crash.Rule
	same, differs   []groupReport // the first of same is the report itself
}

type groupReport struct {
	name   string
	fields crash.Fields
}

// readGroupCases reads a file of problems: "=== rule | signature", then "--- report", "--- same",
// "--- differs", each with the fields of a report in apport's format. Those after the first modify
// the fields of the first report.
func readGroupCases(t *testing.T, path string) []groupCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []groupCase
	for i, text := range strings.Split("\n"+string(data), "\n=== ") {
		if i == 0 {
			continue
		}
		head, rest, _ := strings.Cut(text, "\n")
		rule, signature, ok := strings.Cut(head, " | ")
		if !ok {
			t.Fatalf("%s: got %q, want a rule and a signature", path, head)
		}
		c := groupCase{signature: strings.ReplaceAll(signature, `\n`, "\n"), rule: crash.Rule(rule),
			name: signature[:min(len(signature), 60)]}
		for j, part := range strings.Split("\n"+rest, "\n--- ") {
			if j == 0 {
				continue
			}
			what, body, _ := strings.Cut(part, "\n")
			fields, _, err := apport.Read(strings.NewReader(strings.TrimRight(body, "\n")+"\n"), apport.Limits{})
			if err != nil {
				t.Fatalf("%s: %s: %s: %v", path, signature, what, err)
			}
			r := groupReport{what, fields}
			if len(c.same) > 0 {
				r.fields = maps.Clone(c.same[0].fields)
				maps.Copy(r.fields, fields)
			}
			if strings.HasPrefix(what, "differs") {
				c.differs = append(c.differs, r)
			} else {
				c.same = append(c.same, r)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func allGroupCases(t *testing.T) map[string][]groupCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/group/*.txt")
	if err != nil || len(paths) < 9 {
		t.Fatalf("got %d files of problems, want 9 or more (%v)", len(paths), err)
	}
	cases := map[string][]groupCase{}
	for _, path := range paths {
		cases[strings.TrimSuffix(filepath.Base(path), ".txt")] = readGroupCases(t, path)
	}
	return cases
}

// TestGrouping checks that reports of one problem have one signature, whatever the machine and
// version, and that others differ.
func TestGrouping(t *testing.T) {
	t.Parallel()
	owner := map[string]string{} // of signatures
	for file, cases := range allGroupCases(t) {
		if len(cases) == 0 {
			t.Errorf("%s: got no problems", file)
		}
		for _, c := range cases {
			name := file + ": " + c.name
			want := crash.Grouping{Signature: c.signature, Rule: c.rule, Provisional: c.rule == crash.RuleAddress}
			for _, r := range c.same {
				if got := grouping.SignatureOf(r.fields); got != want {
					t.Errorf("%s: %s\n got %+v\nwant %+v", name, r.name, got, want)
				}
			}
			claim(t, owner, c.signature, name)
			for _, r := range c.differs {
				got := grouping.SignatureOf(r.fields)
				if got.Signature == "" {
					t.Errorf("%s: %s: got no signature: %s", name, r.name, got.Reason)
				}
				claim(t, owner, got.Signature, name+": "+r.name)
			}
		}
	}
}

// claim fails if another problem has that signature.
func claim(t *testing.T, owner map[string]string, signature, name string) {
	t.Helper()
	if other, taken := owner[signature]; taken && signature != "" {
		t.Errorf("%s and %s have the same signature %q", name, other, signature)
	}
	owner[signature] = name
}
