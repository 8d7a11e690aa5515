package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash/sizetest"
	"mishap/views"
)

// testCommand returns the command that runs go test and shows the progress.
func testCommand() *cobra.Command {
	var database bool
	cmd := &cobra.Command{
		Use:   "test [--postgres] -- [FLAG…] PACKAGE…",
		Short: "Runs go test and shows which packages have finished",
		Long: "Runs go test with the given flags and packages. While it runs, each finished package gets a line on " +
			"standard error\n" +
			"with the time since the start and the number of packages that remain. Failed tests appear in full on " +
			"standard output\n" +
			"when their package has finished. The lines of go test for all packages come last. The exit status is that " +
			"of go test.",
		Example: "  devtool test -- -race ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !database {
				return runTests(cmd.Context(), args, nil, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return withPostgres(cmd.Context(), func(environ []string) error {
				return runTests(cmd.Context(), args, environ, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	cmd.Flags().BoolVar(&database, "postgres", false, "start a throw-away PostgreSQL for the tests of all packages, "+
		"unless TEST_DATABASE_URL is set")
	return cmd
}

// runTests runs go test with args in environ; nil is the environment of this process.
func runTests(ctx context.Context, args, environ []string, out, progress io.Writer) error {
	first := slices.IndexFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, ".") ||
			strings.HasPrefix(arg, "mishap")
	})
	total := 0
	if first >= 0 {
		packages := args[first:]
		if end := slices.Index(packages, "-args"); end >= 0 { // flags of the test programs follow
			packages = packages[:end]
		}
		listed, err := exec.CommandContext(ctx, "go", append([]string{"list"}, packages...)...).Output()
		if err != nil {
			return fmt.Errorf("list the packages: %w", err)
		}
		total = bytes.Count(listed, []byte("\n"))
	}
	programs, err := os.MkdirTemp("", "mishap-programs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs) }()     // a temporary folder
	if err := os.Chmod(programs, 0o755); err != nil { // gdb runs as another user
		return err
	}
	if environ == nil {
		environ = os.Environ()
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Env, cmd.Stderr = append(environ, sizetest.Programs+"="+programs), os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := newTestReport(out, progress, total)
	readErr := r.read(events)
	if err := cmd.Wait(); err != nil {
		r.finish()
		return err // *exec.ExitError: main exits with the same status
	}
	r.finish()
	return readErr
}

// testEvent is a line of go test -json, see go doc test2json.
type testEvent struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// testReport converts the events of go test -json to progress and to the output of go test without
// -json.
type testReport struct {
	out, progress io.Writer
	began         time.Time
	total         int                       // packages; 0: unknown
	printed       map[string][]*testOutput  // by package: output of tests that have not passed, in order of their start
	results       map[string]string         // last lines, by package
	leftOut       map[string]map[string]int // number of tests, by need and package
	finished      int
}

// testOutput is what one test printed; the empty name stands for the package.
type testOutput struct {
	name string
	text strings.Builder
}

func newTestReport(out, progress io.Writer, total int) *testReport {
	return &testReport{
		out: out, progress: progress, began: time.Now(), total: total,
		printed: map[string][]*testOutput{}, results: map[string]string{}, leftOut: map[string]map[string]int{},
	}
}

// read handles events until the end. It prints lines that are not events unchanged.
func (r *testReport) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e testEvent
			if json.Unmarshal(line, &e) != nil {
				_, _ = r.out.Write(line)
			} else {
				r.handle(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the results of go test: %w", err)
		}
	}
}

func (r *testReport) handle(e testEvent) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		r.output(e.Package, e.Test).text.WriteString(e.Output)
	case e.Test != "" && (e.Action == "pass" || e.Action == "skip"):
		r.drop(e)
	case e.Test == "" && (e.Action == "pass" || e.Action == "skip" || e.Action == "fail"):
		r.finishPackage(e)
	}
}

func (r *testReport) output(pkg, test string) *testOutput {
	for _, o := range r.printed[pkg] {
		if o.name == test {
			return o
		}
	}
	o := &testOutput{name: test}
	r.printed[pkg] = append(r.printed[pkg], o)
	return o
}

// drop discards the output of a test that passed or was skipped. It counts tests that a short run
// omits.
func (r *testReport) drop(e testEvent) {
	output := r.output(e.Package, e.Test).text.String()
	if _, need, ok := strings.Cut(output, sizetest.SkipPrefix); ok && e.Action == "skip" {
		need, _, _ = strings.Cut(need, "\n")
		if r.leftOut[need] == nil {
			r.leftOut[need] = map[string]int{}
		}
		r.leftOut[need][e.Package]++
	}
	r.printed[e.Package] = slices.DeleteFunc(r.printed[e.Package], func(o *testOutput) bool { return o.name == e.Test })
}

// finishPackage prints the failures in a package, the tests that were running when it ended, and
// the progress.
func (r *testReport) finishPackage(e testEvent) {
	r.finished++
	last := r.output(e.Package, "")
	if e.Action == "fail" {
		for _, o := range r.printed[e.Package] {
			if o != last {
				fmt.Fprint(r.out, o.text.String())
			}
		}
		fmt.Fprint(r.out, last.text.String())
	}
	r.results[e.Package] = resultLine(last.text.String())
	delete(r.printed, e.Package)
	remain := ""
	if r.total > 0 {
		remain = fmt.Sprintf(", %d remain", max(0, r.total-r.finished))
	}
	fmt.Fprintf(r.progress, "%7s  %-4s  %s in %.1f s%s\n", time.Since(r.began).Round(time.Second), e.Action, e.Package,
		e.Elapsed, remain)
}

// resultLine returns the last line that go test prints for a package, such as "ok
// mishap/db 12.3s".
func resultLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// finish prints the number of omitted tests, and the result of each package, failures last.
func (r *testReport) finish() {
	for need, packages := range r.leftOut {
		n := 0
		for _, tests := range packages {
			n += tests
		}
		fmt.Fprintf(r.progress, "left out, as they need %s: %s in %s\n", need,
			views.Counted(int64(n), "test", "tests"), views.Counted(int64(len(packages)), "package", "packages"))
	}
	lines := make([]string, 0, len(r.results))
	for _, line := range r.results {
		lines = append(lines, line)
	}
	failed := func(line string) int {
		if strings.HasPrefix(line, "FAIL") {
			return 1
		}
		return 0
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(failed(a)-failed(b), cmp.Compare(a, b)) })
	for _, line := range lines {
		fmt.Fprintln(r.out, line)
	}
}
