package symbols

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"

	"mishap/crash"
	"mishap/crash/format/minidump"
	"mishap/crash/grouping"
	"mishap/crash/symbols/sandbox"
)

// maxWalked limits what minidump-stackwalk may print, in bytes.
const maxWalked = 16 << 20

// isDump reports whether the file of the job is a minidump.
func (j *Job) isDump() bool {
	head := make([]byte, 4)
	_, err := j.core.file.ReadAt(head, 0)
	return err == nil && minidump.IsDump(head)
}

// runDump names the stack of a minidump by builds and offsets: the stack that minidump-stackwalk works out, if it is
// installed, else that of the report, which was found by scanning.
func (j *Job) runDump(ctx context.Context, report crash.Fields) (Result, error) {
	frames, err := j.walk(ctx)
	if err != nil {
		return Result{}, err
	}
	if len(frames) > 0 {
		walked := maps.Clone(report)
		for _, name := range []string{crash.SymbolisedBy, "Stacktrace", "StacktraceTop", "StacktraceAddressSignature",
			grouping.BuildIDsField} {
			delete(walked, name)
		}
		grouping.SetStack(walked, frames)
		if walked[grouping.BuildIDsField] != "" {
			report = walked
		}
	}
	r, err := j.s.Name(ctx, report)
	if errors.Is(err, ErrUnknownBuilds) || errors.Is(err, errNoAddresses) {
		err = crash.Errorf(crash.Unprocessable, "no_builds", "The minidump has no build-ids of the programs and "+
			"libraries in its stack.")
	}
	return r, err
}

// walk has minidump-stackwalk work out the stack. It returns none if the program is not installed or fails.
func (j *Job) walk(ctx context.Context) ([]grouping.ModuleFrame, error) {
	program, err := exec.LookPath(minidump.Walker)
	if err != nil {
		return nil, nil // it need not be installed
	}
	if err := j.s.checkSandbox(ctx, j.dir); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, j.s.Time)
	defer cancel()
	p, err := sandbox.Start(limited, sandbox.Command{Program: program, Args: []string{"--json", coreName}, Dir: j.dir,
		Memory: j.s.Memory, CPU: j.s.Time})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", minidump.Walker, err)
	}
	printed, err := io.ReadAll(io.LimitReader(p.Out, maxWalked))
	p.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil // the program was ended
	}
	return minidump.Walked(printed), nil
}
