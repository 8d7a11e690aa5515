package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mishap/crash/sizetest"
)

// TestRunTests runs go test on a small module with tests that pass, fail, print, are omitted, panic
// or do not compile.
func TestRunTests(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module mishap\n",
		"a/a.go": "package a\n",
		"b/b.go": "package b\n",
		"c/c.go": "package c\n",
		"d/d.go": "package d\n",
		"a/a_test.go": "package a\nimport (\n\"os\"\n\"testing\"\n)\nfunc TestGood(t *testing.T) { t.Log(\"quiet\") }\n" +
			"func TestShared(t *testing.T) { _, err := os.Stat(os.Getenv(\"" + sizetest.Programs + "\"))\n" +
			"if err != nil { t.Error(err) } }\n" +
			"func TestAway(t *testing.T) { t.Skip(\"left out of a short run: needs a moon\") }\n",
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Run(\"part\", func(t *testing.T) { " +
			"t.Error(\"the reason\") }) }\n" +
			"func TestGood(t *testing.T) { t.Log(\"quiet\") }\n",
		"c/c_test.go": "package c\nimport \"testing\"\nfunc TestPanic(t *testing.T) { panic(\"at the disco\") }\n",
		"d/d_test.go": "package d\nimport \"testing\"\nfunc TestTypo(t *testing.T) { misspelt() }\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("GOFLAGS", "")
	var out, progress strings.Builder
	err := runTests(t.Context(), []string{"./...", "-args", "-test.timeout=1m"}, nil, &out, &progress)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("got %v, want the exit status 1 of go test", err)
	}
	for _, want := range []string{"the reason", "--- FAIL: TestBad", "panic: at the disco", "undefined: misspelt"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from the output", want)
		}
	}
	if strings.Contains(out.String(), "quiet") {
		t.Error("got the output of a test that passed, want none")
	}
	last := regexp.MustCompile(
		`ok  \tmishap/a\t[0-9.]+s\nFAIL\tmishap/b\t[0-9.]+s\nFAIL\tmishap/c\t[0-9.]+s\nFAIL\tmishap/d \[build failed\]\n$`)
	if !last.MatchString(out.String()) {
		t.Errorf("got other output after the lines of go test:\n%s", &out)
	}
	for _, want := range []string{"mishap/b", "3 remain\n", " 0 remain\n", "left out, as they need a moon: 1 test in " +
		"1 package\n"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("%q is missing from the progress:\n%s", want, &progress)
		}
	}
}
