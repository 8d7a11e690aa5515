package symbols

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/symbols/sandbox"
)

// session is a conversation with gdb through its machine interface, in which no name can forge an answer.
// gdb is never asked for the values of variables, except for the message with which a library aborted the
// program.
type session struct {
	p     *sandbox.Process
	out   *bufio.Reader
	left  int // bytes that gdb may still write
	token int
	said  []string // console text since the last command
	no    string   // gdb's last refusal
}

func newSession(p *sandbox.Process) *session {
	return &session{p: p, out: bufio.NewReaderSize(p.Out, 64<<10), left: maxOutput}
}

// commandError is gdb's refusal of one command. The conversation goes on.
type commandError struct{ message string }

func (e *commandError) Error() string { return e.message }

// do sends a command and returns its results. The error is a *commandError if gdb refuses the
// command; others end the conversation.
func (s *session) do(format string, args ...any) (value, error) {
	s.token++
	s.said = nil
	if _, err := fmt.Fprintf(s.p.In, "%d"+format+"\n", append([]any{s.token}, args...)...); err != nil {
		return value{}, s.ended(err)
	}
	for {
		line, err := s.line()
		if err != nil {
			return value{}, err
		}
		r, err := parseRecord(line)
		switch {
		case err != nil:
			continue // output of something that does not speak MI
		case r.kind == '~' && len(s.said) < 100:
			s.said = append(s.said, r.value.text)
		case r.kind == '^' && r.token == s.token:
			if r.class == "error" {
				return value{}, &commandError{crash.Shorten(cleanName(r.value.get("msg").text), 300)}
			}
			return r.value, nil
		}
	}
}

// line reads one line.
func (s *session) line() (string, error) {
	var b strings.Builder
	for {
		part, err := s.out.ReadSlice('\n')
		if s.left -= len(part); s.left < 0 {
			return "", fmt.Errorf("gdb wrote more than %d bytes", maxOutput)
		}
		b.Write(part)
		switch {
		case err == nil:
			return b.String(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", s.ended(err)
		}
	}
}

// ended returns why gdb does not answer.
func (s *session) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("gdb ended (%s)", s.p.Ended())
	}
	return err
}

// try sends a command that may fail without consequences. It returns an error only if the
// conversation has ended.
func (s *session) try(format string, args ...any) (value, error) {
	v, err := s.do(format, args...)
	if no, ok := errors.AsType[*commandError](err); ok {
		s.no = no.message
		return value{}, nil
	}
	return v, err
}

// version returns the name and version of gdb.
func (s *session) version() (string, error) {
	_, err := s.try("-gdb-version")
	if len(s.said) == 0 {
		return "", err
	}
	return cleanName(strings.TrimSpace(s.said[0])), err
}

// work sends all commands, the most important first.
func (s *session) work(r gdbRequest, found *gdbStack) error {
	var err error
	if found.Version, err = s.version(); err != nil {
		return err
	}
	if _, err := s.do("-target-select core %s", r.Core); err != nil {
		return err
	}
	for _, m := range r.Modules {
		commands := []string{fmt.Sprintf("add-symbol-file %s -o %#x", m.File, m.Offset)}
		if m.Main {
			// Only the file of symbol-file has a main function, only that of add-symbol-file code.
			commands = []string{fmt.Sprintf("symbol-file %s -o %#x", m.File, m.Offset),
				fmt.Sprintf("add-symbol-file -readnever %s -o %#x", m.File, m.Offset)}
		}
		for _, c := range commands {
			if _, err := s.try("-interpreter-exec console %s", quoteMI(c)); err != nil {
				return err
			}
		}
	}
	first, err := s.thread(1, maxFrames)
	if err != nil {
		return err
	}
	if len(first.Frames) == 0 {
		return errors.New(cmp.Or(s.no, "it found no frames"))
	}
	found.Threads = append(found.Threads, first)
	if r.Aborted {
		for expression, into := range map[string]*string{
			"__abort_msg->msg": &found.AbortMessage, "(char*) __glib_assert_msg": &found.GLibMessage,
		} {
			v, err := s.try("-data-evaluate-expression %s", quoteMI(expression))
			if err != nil {
				return err
			}
			*into = crash.Shorten(cleanName(v.get("value").text), 4096)
		}
	}
	if err := s.registers(found); err != nil {
		return err
	}
	if err := s.instructions(found); err != nil {
		return err
	}
	for n := 2; n <= min(r.Threads, maxThreads); n++ {
		t, err := s.thread(n, maxThreadFrames)
		if err != nil {
			return err
		}
		found.Threads = append(found.Threads, t)
	}
	return nil
}

// thread returns the stack of a thread.
func (s *session) thread(number, frames int) (gdbThread, error) {
	t := gdbThread{Number: number}
	info, err := s.try("-thread-info %d", number)
	if err != nil {
		return t, err
	}
	if threads := info.get("threads").items; len(threads) == 1 {
		t.Target = crash.Shorten(cleanName(threads[0].get("target-id").text), 100)
	}
	v, err := s.try("-stack-list-frames --thread %d 0 %d", number, frames-1)
	if err != nil {
		return t, err
	}
	for _, f := range v.get("stack").items {
		address, _ := strconv.ParseUint(strings.TrimPrefix(f.get("addr").text, "0x"), 16, 64)
		line, _ := strconv.Atoi(f.get("line").text)
		t.Frames = append(t.Frames, gdbFrame{Address: address, Function: cleanName(f.get("func").text),
			File: cleanName(f.get("file").text), Line: line})
	}
	v, err = s.try("-stack-list-arguments --thread %d --no-values 0 %d", number, frames-1)
	if err != nil {
		return t, err
	}
	for _, f := range v.get("stack-args").items {
		level, err := strconv.Atoi(f.get("level").text)
		if err != nil || level < 0 || level >= len(t.Frames) {
			continue
		}
		for _, a := range f.get("args").items {
			name := a.text
			if name == "" {
				name = a.get("name").text
			}
			t.Frames[level].Args = append(t.Frames[level].Args, cleanName(name))
		}
	}
	return t, nil
}

// general lists the general registers of all architectures. Vector registers are not among them,
// because copied texts, such as passwords, are left in them.
var generalRegisters = strings.Fields(`rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip
	eax ecx edx ebx esp ebp esi edi eip eflags cs ss ds es fs gs fs_base gs_base
	x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30
	r0 r1 r2 r3 r4 r5 r6 r7 sp lr pc cpsr ra`)

func (s *session) registers(found *gdbStack) error {
	v, err := s.try("-data-list-register-names")
	if err != nil {
		return err
	}
	numbers := map[string]int{}
	for i, name := range v.get("register-names").items {
		numbers[name.text] = i
	}
	if _, wide := numbers["rax"]; wide { // gdb names the halves of registers, too
		for _, half := range strings.Fields("eax ecx edx ebx esp ebp esi edi eip") {
			delete(numbers, half)
		}
	}
	var asked []string
	names := map[string]string{}
	for _, name := range generalRegisters {
		if i, ok := numbers[name]; ok {
			asked = append(asked, strconv.Itoa(i))
			names[strconv.Itoa(i)] = name
		}
	}
	if len(asked) == 0 {
		return nil
	}
	v, err = s.try("-data-list-register-values x %s", strings.Join(asked, " "))
	if err != nil {
		return err
	}
	values := map[string]string{}
	for _, one := range v.get("register-values").items {
		values[one.get("number").text] = crash.Shorten(cleanName(one.get("value").text), 40)
	}
	for _, number := range asked {
		if v, ok := values[number]; ok {
			found.Registers = append(found.Registers, gdbRegister{names[number], v})
		}
	}
	return nil
}

// instructions disassembles at the place of the crash. The second try is for code at the end of its
// mapping.
func (s *session) instructions(found *gdbStack) error {
	for _, size := range []int{128, 16} {
		v, err := s.try(`-data-disassemble -s "$pc" -e "$pc + %d" -- 0`, size)
		if err != nil {
			return err
		}
		for _, i := range v.get("asm_insns").items {
			if len(found.Instructions) == maxInstructions {
				break
			}
			address, _ := strconv.ParseUint(strings.TrimPrefix(i.get("address").text, "0x"), 16, 64)
			found.Instructions = append(found.Instructions, gdbInstruction{Address: address,
				Function: cleanName(i.get("func-name").text), Offset: cleanName(i.get("offset").text),
				Text: cleanName(i.get("inst").text)})
		}
		if len(found.Instructions) > 0 {
			break
		}
	}
	return nil
}
