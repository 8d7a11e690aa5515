package grouping

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
)

// BuildIDsField is the field with the builds and offsets of the frames of the thread that crashed. Each frame
// whose build is known has a line with its number in Stacktrace: "#2 4f9b0c61d2…+0x1149 /usr/bin/tidewatch". A
// question mark behind the offset says that the frame was found by scanning the stack.
const BuildIDsField = "StacktraceBuildIDs"

// ModuleFrame is a frame of a native stack, as described by clients that know modules, but not always functions.
type ModuleFrame struct {
	Address  uint64
	Function string // empty: unknown
	Module   string // program or library, as path or file name; empty: unknown
	BuildID  string // of the module; empty: unknown
	Offset   uint64 // of the address from where the first segment of the module is mapped; 0: unknown
	Scanned  bool   // it looks like a return address on the stack, but need not be one
}

func (f ModuleFrame) placed() bool { return f.Offset != 0 && (f.Module != "" || f.BuildID != "") }

// SetStack sets the fields of a native crash that follow from the stack of the thread that crashed, from the crash
// outwards. The fields have the program and the signal already. The address signature,
// "program:signal:module@build+offset…", is left out if some functions have names and the others can get none: then
// names tell more. The builds are set only if names are missing. Frames beyond the first 500 are left out.
func SetStack(f crash.Fields, frames []ModuleFrame) {
	if len(frames) == 0 {
		return
	}
	frames = slices.Clone(frames[:min(len(frames), maxFrames)])
	var stack strings.Builder
	for i := range frames {
		frame := &frames[i]
		frame.clean()
		function, module := frame.Function, frame.Module
		if function == "" {
			function = "??"
		}
		if !strings.HasSuffix(function, ")") {
			function += " ()"
		}
		if module != "" {
			module = " from " + module
		}
		_, _ = fmt.Fprintf(&stack, "#%d  0x%016x in %s%s\n", i, frame.Address, function, module)
	}
	f["Stacktrace"] = strings.TrimSuffix(stack.String(), "\n")
	if top := StacktraceTop(f["Stacktrace"]); top != "" {
		f["StacktraceTop"] = top
	}
	byNames := SignatureOf(f)
	address := offsetSignature(f["ExecutablePath"], f["Signal"], frames)
	if address == "" || byNames.Rule == crash.RuleStackPartial && !canName(frames) {
		return
	}
	f["StacktraceAddressSignature"] = address
	if builds := buildIDs(frames); builds != "" && (byNames.Signature == "" || byNames.Rule == crash.RuleStackPartial) {
		f[BuildIDsField] = builds
	}
}

var buildIDForm = regexp.MustCompile(`^([0-9a-f]{2}){4,64}$`)

func (f *ModuleFrame) clean() {
	f.Function, f.Module = cleanCell(f.Function), cleanCell(f.Module)
	if f.BuildID = strings.ToLower(f.BuildID); !buildIDForm.MatchString(f.BuildID) {
		f.BuildID = ""
	}
}

func cleanCell(s string) string {
	return strings.TrimSpace(crash.Truncate(withoutControl(strings.ToValidUTF8(s, "\uFFFD")), maxCell))
}

// canName reports whether all frames of the address signature without a name could get one.
func canName(frames []ModuleFrame) bool {
	return !slices.ContainsFunc(frames[:min(len(frames), maxPlaced)], func(f ModuleFrame) bool {
		return f.Function == "" && (f.BuildID == "" || f.Offset == 0)
	})
}

// offsetSignature returns the address signature of a stack. It is empty if less than half of the frames are placed,
// or none outside the C library, since each program that aborts has the same ones there. Modules have no folders,
// since not all clients know these. Of frames that were found by scanning, which vary, it needs at most one.
func offsetSignature(program, signal string, frames []ModuleFrame) string {
	if program == "" || signal == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(program + ":" + signal)
	frames = frames[:min(len(frames), maxPlaced)]
	placed, own := 0, false
	read := 0
	for _, f := range frames {
		if f.Scanned && own {
			break
		}
		read++
		if !f.placed() {
			continue
		}
		placed++
		name := ""
		if f.Module != "" {
			name = path.Base(f.Module)
		}
		inLibc := strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "ld-")
		if f.Scanned && inLibc {
			continue
		}
		own = own || !inLibc
		b.WriteString(":" + strings.ReplaceAll(name, ":", ".."))
		if f.BuildID != "" {
			b.WriteString("@" + f.BuildID)
		}
		b.WriteString("+" + strconv.FormatUint(f.Offset, 16))
	}
	if !own || 2*placed < read {
		return ""
	}
	return b.String()
}

func buildIDs(frames []ModuleFrame) string {
	var b strings.Builder
	for i, f := range frames {
		if f.BuildID != "" && f.Offset != 0 {
			mark := ""
			if f.Scanned {
				mark = "?"
			}
			_, _ = fmt.Fprintf(&b, "#%d %s+0x%x%s %s\n", i, f.BuildID, f.Offset, mark, f.Module)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
