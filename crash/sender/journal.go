package sender

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"mishap/crash"
	"mishap/crash/format/coredump"
)

// maxEntry limits one line of journalctl, in bytes. Stacks of programs with many threads are long.
const maxEntry = 16 << 20

// firstDay is how old the crashes may be that the first start reports.
const firstDay = "--since=-1d"

const cursorFile = "cursor"

// cursor matches the places of the journal. Another text would make journalctl fail at each start.
var cursor = regexp.MustCompile(`^[a-z]=[0-9a-f]+(;[a-z]=[0-9a-f]+)+$`)

// journal reads the entries of systemd-coredump and of the kernel from journalctl.
type journal struct {
	program string // journalctl
	state   string // folder of the cursor
}

// read calls each for every entry since the stored cursor and, with follow, for new ones until ctx is done.
// It only reads the pipe of journalctl, so it needs no time while nothing crashes.
func (j journal) read(ctx context.Context, follow bool, each func(coredump.Entry) error) error {
	args := []string{"--all", "--output=json", "--output-fields=" + strings.Join(coredump.Wanted[:], ","), "--no-pager",
		"--quiet"}
	if follow {
		args = append(args, "--follow", "--no-tail")
	}
	from, last := firstDay, ""
	stored, err := os.ReadFile(filepath.Join(j.state, cursorFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if place := strings.TrimSpace(string(stored)); cursor.MatchString(place) {
		// Not --after-cursor: version 252 then leaves out an entry too many if the journal has lost the last one.
		from, last = "--cursor="+place, place
	}
	args = append(args, from, "MESSAGE_ID="+coredump.MessageID, "+", "_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=kernel")

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, j.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var complaint limitedText
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start journalctl: %w", err)
	}
	err = readLines(out, func(line []byte) error {
		e, err := coredump.Parse(line)
		if err != nil || e.Cursor() == last && last != "" {
			return err
		}
		return each(e)
	})
	stopped := ctx.Err()
	if err != nil {
		stop() // or it would wait until somebody reads its output
	}
	ended := cmd.Wait()
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return err
	case ended != nil:
		return fmt.Errorf("journalctl ended: %w: %s", ended, strings.TrimSpace(complaint.String()))
	case follow:
		return errors.New("journalctl ended")
	}
	return nil
}

// readLines calls each for every line. It leaves out lines that are too long.
func readLines(r io.Reader, each func([]byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxEntry {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF): // an incomplete line is read again at the next start
			return nil
		case err != nil:
			return err
		}
		if len(line) <= maxEntry {
			if err := each(line); err != nil {
				return err
			}
		}
		line = nil
	}
}

// moveTo stores the place of the last entry that needs no more attention.
func (j journal) moveTo(place string) error {
	if !cursor.MatchString(place) {
		return nil
	}
	return writeFile(filepath.Join(j.state, cursorFile), []byte(place+"\n"))
}

// limitedText keeps the beginning of what is written to it.
type limitedText struct{ strings.Builder }

func (t *limitedText) Write(p []byte) (int, error) {
	if room := 1000 - t.Len(); room > 0 {
		_, _ = t.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// report is a crash that may be reported.
type report struct {
	fields crash.Fields
	uid    int64  // user whose program crashed; kernelUser: the kernel, unknownUser: unknown
	core   string // file with the core dump, or ""
}

const (
	unknownUser = -1
	kernelUser  = -2
)

// crashes makes reports of the entries of the journal.
type crashes struct {
	machine Machine
	kernel  oopses
	seen    *seen // oopses
}

// take calls each for the crash that an entry completes, if any, or with the reason why it cannot be reported. It
// returns whether all entries up to this one need no more attention.
func (c *crashes) take(ctx context.Context, e coredump.Entry, each func(report, error) error) (done bool, err error) {
	if e.Kernel() {
		o := c.kernel.add(lineOf(e))
		if o == nil {
			return false, nil
		}
		return c.kernel.open == nil, c.takeOops(ctx, o, each)
	}
	r, err := c.machine.report(ctx, e)
	return c.kernel.open == nil, each(r, err)
}

// takeOops does the same for a problem of the kernel, unless it was seen before.
func (c *crashes) takeOops(ctx context.Context, o *oops, each func(report, error) error) error {
	if !c.seen.first(o) {
		return nil
	}
	fields, err := c.machine.oops(ctx, o)
	return each(report{fields: fields, uid: kernelUser}, err)
}

// report makes the report of an entry of systemd-coredump, or returns why there is none.
func (m Machine) report(ctx context.Context, e coredump.Entry) (report, error) {
	if !e.Genuine() {
		return report{}, errors.New("systemd-coredump did not write the entry")
	}
	f, err := e.Fields(func(file string) string {
		if e.Elsewhere() {
			return ""
		}
		return buildID(file, e.Crashed())
	})
	if err != nil {
		return report{}, err
	}
	if err := m.complete(ctx, e, f); err != nil {
		return report{}, err
	}
	return report{fields: f, uid: e.UID(), core: e.CoreFile()}, nil
}
