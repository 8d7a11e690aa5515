package symbols

import (
	"cmp"
	"context"
	"debug/elf"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/symbols/debuginfo"
)

// Builds knows which build of a program or library a machine had.
type Builds interface {
	// BuildsOf returns the build-ids of files of the machine that sent a report with these fields. It
	// leaves out a file unless it is certain which build it was.
	BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]debuginfo.BuildID, error)
}

// ErrUnknownBuilds is the error of address signatures with a program or library whose build is not
// known. The modules of the result say which.
var ErrUnknownBuilds = crash.Errorf(crash.Unprocessable, "unknown_builds",
	"It is not known which builds of the programs and libraries crashed.")

// place is one part of an address signature: an offset in a mapping of a file.
type place struct {
	path   string
	offset uint64
	module int // -1: no file, such as the kernel's own code
}

// Name names the functions of a report's address signature. It names none unless the exact builds of
// all files in it are known. It computes the fields and the grouping of the report, as [Job.Run]
// does with a core, except for what only a core holds. Errors: ErrUnknownBuilds; Unprocessable if the
// report has no address signature or an unknown architecture.
func (s *Symboliser) Name(ctx context.Context, report crash.Fields) (Result, error) {
	began := time.Now()
	places, signal, ok := parseAddresses(grouping.AddressSignature(report))
	if !ok {
		return Result{}, crash.Errorf(crash.Unprocessable, "no_addresses", "The report has no address signature.")
	}
	machine, class, ok := machineOf(debuginfo.ArchitectureOf(report))
	if !ok {
		return Result{}, crash.Errorf(crash.Unprocessable, "unknown_architecture",
			"mishap does not know the architecture %q.", crash.Shorten(debuginfo.ArchitectureOf(report), 50))
	}
	if s.Builds == nil {
		return Result{}, ErrUnknownBuilds
	}
	var r Result
	program := cmp.Or(report["InterpreterPath"], report["ExecutablePath"])
	var paths []string
	number := map[string]int{}
	for i := range places {
		p := &places[i]
		p.module = -1
		if !strings.HasPrefix(p.path, "/") {
			continue
		}
		at, ok := number[p.path]
		if !ok {
			at = len(r.Modules)
			number[p.path] = at
			paths = append(paths, p.path)
			r.Modules = append(r.Modules, Module{Path: p.path, program: p.path == program})
		}
		r.Modules[at].Frames++
		p.module = at
	}
	builds, err := s.Builds.BuildsOf(ctx, report, paths)
	if err != nil {
		return r, err
	}
	unknown := false
	for i := range r.Modules {
		r.Modules[i].BuildID = builds[r.Modules[i].Path]
		unknown = unknown || r.Modules[i].BuildID == ""
	}
	if unknown || len(r.Modules) == 0 {
		return r, ErrUnknownBuilds
	}
	stack := addressStack{places: places, modules: r.Modules}
	if err := s.naming.name(ctx, s, &stack, report, machine, class); err != nil {
		return r, err
	}
	r.Engine = stack.engine
	for i, m := range stack.opened {
		if problem := stack.problem(i); m.file != "" && problem != "" && r.Incomplete == "" {
			r.Incomplete = filepath.Base(m.Path) + ": " + problem
		}
	}
	r.Fields = crash.Fields{"Stacktrace": stack.render()}
	r.group(report, crash.Fields{"Signal": signal}, func(number int) int { return stack.numbers[number] })
	if signal == "6" && report["AssertionMessage"] == "" && stack.aborted() {
		r.State, r.Incomplete = Partial, "only a core dump holds the message with which the program ended"
		r.Grouping = grouping.SignatureOf(report)
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// parseAddresses splits an address signature, "path:signal:elf+offset:elf+offset…". The path can
// contain colons, so the parts are read from the end.
func parseAddresses(signature string) (places []place, signal string, ok bool) {
	parts := strings.Split(signature, ":")
	first := len(parts)
	for first > 0 {
		path, hex, found := cutLast(parts[first-1], '+')
		offset, err := strconv.ParseUint(hex, 16, 64)
		if !found || err != nil || path == "" {
			break
		}
		places = append([]place{{path: path, offset: offset}}, places...)
		first--
	}
	if first < 2 || len(places) == 0 {
		return nil, "", false
	}
	if _, err := strconv.Atoi(parts[first-1]); err != nil {
		return nil, "", false
	}
	return places, parts[first-1], true
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// machineOf returns what ELF files of an architecture say.
func machineOf(architecture string) (elf.Machine, elf.Class, bool) {
	switch architecture {
	case "amd64":
		return elf.EM_X86_64, elf.ELFCLASS64, true
	case "i386":
		return elf.EM_386, elf.ELFCLASS32, true
	case "arm64":
		return elf.EM_AARCH64, elf.ELFCLASS64, true
	case "armhf":
		return elf.EM_ARM, elf.ELFCLASS32, true
	case "riscv64":
		return elf.EM_RISCV, elf.ELFCLASS64, true
	case "ppc64el":
		return elf.EM_PPC64, elf.ELFCLASS64, true
	case "s390x":
		return elf.EM_S390, elf.ELFCLASS64, true
	}
	return 0, 0, false
}
