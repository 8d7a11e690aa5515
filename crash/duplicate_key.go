package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReportKey recognises a report that is submitted again. Its first four bytes are the report's Date in seconds since
// 1970 (big-endian; 0 without a readable Date), so that the keys of one time are neighbours in an index. The other
// twelve are a hash.
type ReportKey [16]byte

// occurrence are the fields by which whoopsie's protocol recognises a crash.
var occurrence = [...]string{"Date", "ExecutablePath", "ProcStatus"}

// constantFields never change after apport has created a report, and every version of whoopsie sends them. The last
// five are derived from the crash: a report that differs in one of them belongs to another problem.
var constantFields = [...]string{
	"ProblemType", "Date", "ExecutablePath", "ProcStatus", "ProcCmdline", "ProcCwd", "ExecutableTimestamp", "InterpreterPath",
	"PythonArgs", "Signal", "Package", "SourcePackage", "PackageArchitecture", "Architecture", "DistroRelease", "MachineType", "Snap",
	"DuplicateSignature", "Traceback", "StacktraceTop", "StacktraceAddressSignature", "AssertionMessage",
}

// groupingFields are read by the grouping rules when a report has no DuplicateSignature. Some versions of whoopsie drop
// them, so they only count in that case.
var groupingFields = [...]string{
	"OopsText", "Failure", "ErrorMessage", "DpkgTerminalLog", "PanicMessage", "StdErr", "Stderr", "StandardError", "StackTrace",
	"Stacktrace",
}

// variableFields may differ between two submissions of one report: apport collects them anew or adds them later
// (retraced stacks, logs, the state of the system), whoopsie drops them, or they keep account of uploads. Names that
// begin with an underscore are of the same kind: apport uses them internally.
var variableFields = map[string]bool{
	"ApportVersion": true, "CoreDump": true, "CrashCounter": true, "CrashReports": true, "CurrentDesktop": true, "CurrentDmesg": true,
	"Dependencies": true, "Disassembly": true, "InstallationDate": true, "InstallationMedia": true, "JournalErrors": true,
	"NonfreeKernelModules": true, "ProcModules": true, "Registers": true, "Stacktrace": true, "StacktraceSource": true, "Tags": true,
	"ThreadStacktrace": true, "Title": true, "Uname": true, "UnreportableReason": true, "UpgradeStatus": true, "UserGroups": true,
	"VmCore": true,
}

// DuplicateKey returns the key of a report, which is the same for every submission of it by one machine. Reports are
// recognised by
//   - Date, ExecutablePath and ProcStatus, where all three are present, as every crash of a program has them;
//   - else, with a Date, by the fields that never change and that every version of whoopsie sends;
//   - else by all fields but those that may change.
//
// Texts are compared without the differences between a .crash file and what whoopsie sends of it. The former key is
// that of earlier versions, which compared the three fields as they stood; it is zero where it is the same or there
// was none.
func DuplicateKey(system SystemID, f Fields) (key, former ReportKey) {
	h := newKeyHash(system)
	switch {
	case hasAll(f, occurrence[:]):
		former = formerKey(system, f)
		for _, name := range occurrence {
			h.add(asSent(f[name]))
		}
	case !isBlank(f["Date"]):
		h.addFields(f, constantFields[:])
		if isBlank(f["DuplicateSignature"]) {
			h.addFields(f, groupingFields[:])
		}
	default:
		h.addFields(f, slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool {
			return variableFields[name] || strings.HasPrefix(name, "_")
		}))
	}
	if key = h.key(f["Date"]); key == former {
		former = ReportKey{}
	}
	return key, former
}

// formerKey is the key before texts were compared as whoopsie sends them.
func formerKey(system SystemID, f Fields) ReportKey {
	h := newKeyHash(system)
	for _, name := range occurrence {
		h.add(f[name])
	}
	return h.key(f["Date"])
}

func hasAll(f Fields, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return isBlank(f[name]) })
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// asSent returns the text as whoopsie sends it: with "?" for control characters inside a line, without blank ends.
func asSent(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' {
			return '?'
		}
		return r
	}, strings.TrimSpace(s))
}

// keyHash hashes texts so that no two lists of texts run into each other.
type keyHash struct{ sha hash.Hash }

// newKeyHash begins with the system's name.
func newKeyHash(system SystemID) keyHash {
	h := keyHash{sha256.New()}
	h.add(string(system))
	return h
}

// add adds a text, preceded by its length.
func (h keyHash) add(text string) {
	_, _ = h.sha.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // never fails
	_, _ = io.WriteString(h.sha, text)
}

// addFields adds the names and texts of those fields that are present and not blank. It leaves out blanks, control
// characters and the "?" that whoopsie puts in place of these, and reads texts in place, however long they are.
func (h keyHash) addFields(f Fields, names []string) {
	const end = 0 // neither names nor the letters of a text contain it
	buffer := make([]byte, 0, 512)
	for _, name := range names {
		if isBlank(f[name]) {
			continue
		}
		buffer = append(append(buffer, name...), end)
		for _, r := range f[name] {
			if len(buffer) > cap(buffer)-utf8.UTFMax {
				_, _ = h.sha.Write(buffer)
				buffer = buffer[:0]
			}
			if r != '?' && !unicode.IsSpace(r) && !unicode.IsControl(r) {
				buffer = utf8.AppendRune(buffer, r)
			}
		}
		_, _ = h.sha.Write(append(buffer, end))
		buffer = buffer[:0]
	}
}

func (h keyHash) key(date string) (key ReportKey) {
	if at, ok := OccurredAt(date); ok {
		binary.BigEndian.PutUint32(key[:4], uint32(min(max(at.Unix(), 0), math.MaxUint32)))
	}
	copy(key[4:], h.sha.Sum(nil))
	return key
}
