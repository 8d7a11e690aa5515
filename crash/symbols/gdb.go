package symbols

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/symbols/sandbox"
)

// The limits of a stack. The outermost frames of a deep recursion cost minutes, so gdb is asked only
// for the innermost ones.
const (
	maxFrames       = 200 // of the thread that crashed
	maxThreadFrames = 64  // of another thread
	maxThreads      = 64
	maxOutput       = 16 << 20 // bytes
	maxInstructions = 16
)

type gdbRequest struct {
	Program string      // path of gdb
	Dir     string      // folder with the core and the files, absolute; gdb can read nothing else of this kind
	Modules []gdbModule // programs and libraries
	Threads int         // in the core
	Aborted bool        // the program aborted: look for a message

	NoDWARF bool // read no debug information, only tables of symbols

	Memory int64         // bytes of address space
	Time   time.Duration // in all
}

type gdbModule struct {
	File   string // its name in the folder
	Offset uint64 // difference between addresses in the process and in the file
	Main   bool   // the program, not a library: it has the function at which stacks end
}

type gdbStack struct {
	Version      string // of gdb
	Threads      []gdbThread
	Registers    []gdbRegister    // of the thread that crashed
	Instructions []gdbInstruction // at the place of the crash
	AbortMessage string           // as gdb prints __abort_msg, with its address; empty: none
	GLibMessage  string           // the same of GLib's message

	Incomplete string // why something is missing; empty: nothing is
	Usage      sandbox.Usage
	Seconds    float64
}

type gdbThread struct {
	Number int
	Target string // gdb's name: "LWP 4711"
	Frames []gdbFrame
}

type gdbFrame struct {
	Address  uint64   `json:"-"`
	Function string   `json:"f,omitempty"` // "??" if unknown
	Args     []string `json:"-"`           // names of the arguments
	File     string   `json:"s,omitempty"` // source file
	Line     int      `json:"l,omitempty"`
}

type gdbRegister struct {
	Name, Value string // Value is hexadecimal
}

type gdbInstruction struct {
	Address  uint64
	Function string // that contains it; may be empty
	Offset   string // in the function
	Text     string
}

// FindDebugger returns the path of a gdb that reads cores of an architecture (Debian's name). The error is
// Unavailable and says what to install.
func FindDebugger(architecture string) (string, error) {
	native := map[string][]string{"amd64": {"amd64", "i386"}, "arm64": {"arm64", "armhf"}}
	programs := []string{"gdb-multiarch"}
	if slices.Contains(native[runtime.GOARCH], architecture) {
		programs = []string{"gdb", "gdb-multiarch"}
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", crash.Errorf(crash.Unavailable, "no_debugger",
		"%s is not installed, so native crashes of %s get no function names; install it (apt-get install %s).",
		programs[0], architecture, programs[0])
}

// runGDB has gdb work out the stack. It returns a stack with a reason in Incomplete if gdb ended, or
// reached a limit, after it had found at least one frame. Errors: Unavailable (no_sandbox) if gdb
// cannot be confined; Unprocessable (debugger_failed) if it found nothing.
//
// If gdb refuses to show a stack because of the debug information, it runs once more without.
func runGDB(ctx context.Context, r gdbRequest) (gdbStack, error) {
	found, err := tryGDB(ctx, r)
	if known, ok := errors.AsType[*crash.Error](err); ok && !r.NoDWARF && strings.Contains(known.Message, badDWARF) {
		r.NoDWARF = true
		again, errAgain := tryGDB(ctx, r)
		if errAgain == nil {
			if again.Incomplete == "" {
				again.Incomplete = "gdb could not read the debug information, so inlined functions and lines are missing"
			}
			return again, nil
		}
	}
	return found, err
}

const badDWARF = "Dwarf Error"

func tryGDB(ctx context.Context, r gdbRequest) (gdbStack, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Time, fmt.Errorf("it took longer than %s", r.Time))
	defer cancel()
	start := time.Now()
	p, err := sandbox.Start(ctx, sandbox.Command{Program: r.Program, Args: gdbArguments(r), Dir: r.Dir, Memory: r.Memory,
		CPU: r.Time})
	if err != nil && ctx.Err() == nil {
		return gdbStack{}, err
	}
	if err != nil {
		return gdbStack{}, gdbFailed(context.Cause(ctx).Error())
	}
	s := newSession(p)
	var found gdbStack
	err = s.work(r, &found)
	found.Usage = p.Close()
	found.Seconds = time.Since(start).Seconds()
	if err != nil {
		why := err.Error()
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, context.Canceled) {
				return gdbStack{}, cause
			}
			why = cause.Error()
		}
		found.Incomplete = strings.ReplaceAll(why, r.Dir+"/", "")
	}
	if len(found.Threads) == 0 {
		return found, gdbFailed(found.Incomplete)
	}
	return found, nil
}

func gdbFailed(why string) error {
	return crash.Errorf(crash.Unprocessable, "debugger_failed", "gdb could not read the core: %s.",
		strings.TrimSuffix(why, "."))
}

// gdbArguments returns gdb's command line. The settings prevent gdb from running scripts out of files
// or folders, from downloading, and from using libraries of this machine.
func gdbArguments(r gdbRequest) []string {
	args := []string{"-nx", "-nh", "-q", "-i=mi3"}
	for _, set := range []string{
		"auto-load no", "debuginfod enabled off", "sysroot /nonexistent", "auto-solib-add off",
		"libthread-db-search-path /nonexistent", "confirm off", "width 0", "height 0", "history save off",
		// Cores do not hold the code; take it from the files. Without it gdb would show zeros.
		"trust-readonly-sections on",
		"debug-file-directory " + filepath.Join(r.Dir, debugDir),
	} {
		args = append(args, "-iex", "set "+set)
	}
	if r.NoDWARF {
		args = append(args, "-readnever")
	}
	return args
}

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

func (s *session) version() (string, error) {
	_, err := s.try("-gdb-version")
	if len(s.said) == 0 {
		return "", err
	}
	return cleanName(strings.TrimSpace(s.said[0])), err
}

func (s *session) work(r gdbRequest, found *gdbStack) error {
	var err error
	if found.Version, err = s.version(); err != nil {
		return err
	}
	if _, err := s.do("-target-select core " + coreName); err != nil {
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

type record struct {
	token int    // of the command that it answers; 0: none
	kind  byte   // '^' result, '~' console text, '*' '=' '+' events, '&' '@' other text; 0: the prompt
	class string // of results and events: "done", "error"
	value value  // the results by name, or the text
}

// value is a value of MI: a text, or a list of values, which have names in a tuple.
type value struct {
	text  string
	items []item
}

type item struct {
	name string // empty in lists of plain values
	value
}

func (v value) get(name string) value {
	for _, i := range v.items {
		if i.name == name {
			return i.value
		}
	}
	return value{}
}

// maxDepth limits the nesting of values. gdb's answers here have at most five levels.
const maxDepth = 32

var errMI = errors.New("gdb's answer is malformed")

func parseRecord(line string) (record, error) {
	line = escapes.Replace(strings.TrimRight(line, "\r\n"))
	if strings.TrimSpace(line) == "(gdb)" {
		return record{}, nil
	}
	digits := 0
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	var r record
	if digits > 0 {
		token, err := strconv.Atoi(line[:digits])
		if err != nil {
			return record{}, errMI
		}
		r.token = token
	}
	p := parser{in: line[digits:]}
	if p.in == "" {
		return record{}, errMI
	}
	r.kind = p.in[0]
	p.in = p.in[1:]
	switch r.kind {
	case '~', '@', '&':
		text, err := p.text()
		r.value.text = text
		return r, err
	case '^', '*', '=', '+':
	default:
		return record{}, errMI
	}
	end := strings.IndexByte(p.in, ',')
	if end < 0 {
		r.class = p.in
		return r, nil
	}
	r.class, p.in = p.in[:end], p.in[end:]
	for strings.HasPrefix(p.in, ",") {
		p.in = p.in[1:]
		i, err := p.named(0)
		if err != nil {
			return record{}, err
		}
		r.value.items = append(r.value.items, i)
	}
	if p.in != "" {
		return record{}, errMI
	}
	return r, nil
}

type parser struct{ in string }

func (p *parser) named(depth int) (item, error) {
	name, rest, ok := strings.Cut(p.in, "=")
	if !ok || name == "" || strings.ContainsAny(name, `"[]{},`) {
		return item{}, errMI
	}
	p.in = rest
	v, err := p.value(depth)
	return item{name, v}, err
}

func (p *parser) value(depth int) (value, error) {
	if p.in == "" || depth > maxDepth {
		return value{}, errMI
	}
	switch p.in[0] {
	case '"':
		text, err := p.text()
		return value{text: text}, err
	case '{':
		return p.items('}', depth)
	case '[':
		return p.items(']', depth)
	default:
		return value{}, errMI
	}
}

func (p *parser) items(end byte, depth int) (value, error) {
	var v value
	p.in = p.in[1:]
	for {
		if p.in == "" {
			return value{}, errMI
		}
		if p.in[0] == end {
			p.in = p.in[1:]
			return v, nil
		}
		if len(v.items) > 0 {
			if p.in[0] != ',' {
				return value{}, errMI
			}
			p.in = p.in[1:]
		}
		var i item
		var err error
		if p.in != "" && strings.IndexByte(`"[{`, p.in[0]) >= 0 {
			i.value, err = p.value(depth + 1)
		} else {
			i, err = p.named(depth + 1)
		}
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, i)
	}
}

// escapes writes gdb's one escape that Go does not know as another one.
var escapes = strings.NewReplacer(`\\`, `\\`, `\e`, `\033`)

// text parses a string in C's notation.
func (p *parser) text() (string, error) {
	quoted, err := strconv.QuotedPrefix(p.in)
	if err != nil || quoted[0] != '"' {
		return "", errMI
	}
	p.in = p.in[len(quoted):]
	text, err := strconv.Unquote(quoted)
	return strings.ToValidUTF8(text, "\uFFFD"), err
}

// maxName limits names from debug information, in code points.
const maxName = 1024

// clean makes a name from debug information safe for a line of text: it replaces control characters,
// which would forge frames, and cuts the name.
func cleanName(name string) string {
	if cut := crash.Truncate(name, maxName); cut != name {
		name = cut + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, name)
}

func quoteMI(s string) string { return fmt.Sprintf("%q", s) }

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

type gdbPlace struct {
	File    string // its name in the folder
	Address uint64
	Callee  uint64 // the place before, if it is in the same file
	Called  bool   // it is
}

// gdbNamed is what gdb knows about a place. The lists of frames begin with the innermost inlined function.
// A frame without a function is unknown.
type gdbNamed struct {
	At      []gdbFrame `json:"at"`               // the functions at the address
	Before  []gdbFrame `json:"before,omitempty"` // of the code before it: of a call with this return address
	Tail    []gdbFrame `json:"tail,omitempty"`   // between this call and the place before, left by a jump
	Code    []byte     `json:"code,omitempty"`   // the bytes before the address; nil: unknown
	Problem string     `json:"-"`                // why gdb could not read the debug information; empty: none
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

func (n *gdbNamer) Close() { n.s.p.Close() }

// Name names the places of a stack, the innermost first. After an error, gdbNamer is of no use.
func (n *gdbNamer) Name(ctx context.Context, places []gdbPlace) (named []gdbNamed, err error) {
	var list strings.Builder
	for _, p := range places {
		_, _ = fmt.Fprintf(&list, " %s:%x", p.File, p.Address)
		if p.Called {
			_, _ = fmt.Fprintf(&list, ":%x", p.Callee)
		}
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
