package symbols

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/sandbox"
)

//go:embed gdb_names.py
var namesScript string

// gdbNamer is a gdb that names addresses of code in programs and libraries, without a core. It serves many
// stacks, because starting it and reading the files takes a hundred times as long as naming addresses.
// It is not safe for concurrent use.
type gdbNamer struct {
	Version string // of gdb
	s       *session
	time    time.Duration // for one stack
}

// gdbPlace is an address in a program or library.
type gdbPlace struct {
	File    string // its name in the folder
	Address uint64
}

// gdbNamed is what gdb knows about a place. The lists of frames begin with the innermost inlined function.
// A frame without a function is unknown.
type gdbNamed struct {
	At      []gdbFrame // the functions at the address
	Before  []gdbFrame // those of the code before it, which are those of a call with this return address
	Tail    []gdbFrame // functions between this call and the place before, which were left by a jump
	Code    []byte     // the bytes before the address; nil: unknown
	Problem string     // why gdb could not read the debug information; empty: none
}

// codeBefore is the length of gdbNamed.Code, the longest call.
const codeBefore = 7

// startNamer starts gdb. r has no core and no modules; r.Time is for each call of Name. Errors:
// Unavailable if gdb cannot be confined, or is too old.
func startNamer(ctx context.Context, r gdbRequest) (*gdbNamer, error) {
	const cpu = 24 * time.Hour // in all; each call has its own limit
	p, err := sandbox.Start(context.WithoutCancel(ctx), sandbox.Command{Program: r.Program, Args: gdbArguments(r),
		Dir: r.Dir, Memory: r.Memory, CPU: cpu})
	if err != nil {
		return nil, err
	}
	n := &gdbNamer{s: newSession(p), time: r.Time}
	err = n.within(ctx, func() error {
		if n.Version, err = n.s.version(); err != nil {
			return err
		}
		_, err := n.s.do("-interpreter-exec console %s", quoteMI("python "+namesScript))
		return err
	})
	if refused, ok := errors.AsType[*commandError](err); ok {
		err = crash.Errorf(crash.Unavailable, "no_debugger",
			"This gdb cannot name addresses; install gdb 12 or newer, with Python (apt-get install gdb): %s.",
			strings.TrimSuffix(refused.message, "."))
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Close ends gdb.
func (n *gdbNamer) Close() { n.s.p.Close() }

// Name names the places of a stack, the innermost first. After an error, gdbNamer is of no use.
func (n *gdbNamer) Name(ctx context.Context, places []gdbPlace) (named []gdbNamed, err error) {
	var list strings.Builder
	for _, p := range places {
		_, _ = fmt.Fprintf(&list, " %s:%x", p.File, p.Address)
	}
	var answer value
	err = n.within(ctx, func() error {
		answer, err = n.s.do("-names%s", list.String())
		return err
	})
	if err == nil && len(answer.get("names").items) != len(places) {
		err = errMI
	}
	if err != nil {
		return nil, err
	}
	for _, v := range answer.get("names").items {
		one := gdbNamed{At: namedFrames(v.get("at")), Before: namedFrames(v.get("before")), Tail: namedFrames(v.get("tail")),
			Problem: crash.Shorten(cleanName(v.get("problem").text), 300)}
		if code, err := hex.DecodeString(v.get("code").text); err == nil && len(code) == codeBefore {
			one.Code = code
		}
		named = append(named, one)
	}
	return named, nil
}

// within kills gdb if a conversation takes too long.
func (n *gdbNamer) within(ctx context.Context, talk func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, n.time, namesFailed(fmt.Sprintf("it took longer than %s", n.time)))
	defer cancel()
	defer context.AfterFunc(ctx, n.s.p.Kill)()
	n.s.left = maxOutput
	err := talk()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, ok := errors.AsType[*commandError](err); ok {
		return err
	}
	return namesFailed(err.Error())
}

func namesFailed(why string) error {
	return crash.Errorf(crash.Unprocessable, "debugger_failed", "gdb could not name the addresses: %s.",
		strings.TrimSuffix(why, "."))
}

func namedFrames(v value) []gdbFrame {
	var frames []gdbFrame
	for _, i := range v.items {
		line, _ := strconv.Atoi(i.get("line").text)
		f := gdbFrame{Function: cleanName(i.get("symbol").text), File: cleanName(i.get("file").text), Line: line}
		if name := i.get("func").text; name != "" {
			f.Function = cleanName(withoutArguments(name))
		}
		frames = append(frames, f)
	}
	return frames
}

// withoutArguments removes the types of the arguments from the name of a C++ function, as gdb does in
// stacks. gdb leaves them if it cannot parse the name, which is so with types without a name.
func withoutArguments(name string) string {
	if strings.Contains(name, "{lambda") || strings.Contains(name, "{unnamed") {
		return name
	}
	s := strings.TrimSuffix(name, " const")
	depth := 0
	for i := len(s) - 1; i > 0 && strings.HasSuffix(s, ")"); i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			return s[:i]
		}
	}
	return name
}
