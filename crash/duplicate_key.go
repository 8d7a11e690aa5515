package crash

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ReportKey identifies a report that is submitted again. Its first four bytes are the report's Date
// in seconds since 1970 (big-endian; 0 without a readable Date), so keys of one time are adjacent
// in an index. The other twelve are a hash.
type ReportKey [16]byte

// occurrence lists the fields by which whoopsie's protocol recognises a crash.
var occurrence = [...]string{"Date", "ExecutablePath", "ProcStatus"}

// constantFields lists fields that never change after apport has created a report, and that every
// version of whoopsie sends. The last five describe the crash: reports that differ in one of them
// belong to different problems.
var constantFields = [...]string{
	"ProblemType", "Date", "ExecutablePath", "ProcStatus", "ProcCmdline", "ProcCwd", "ExecutableTimestamp",
	"InterpreterPath", "PythonArgs", "Signal", "Package", "SourcePackage", "PackageArchitecture", "Architecture",
	"DistroRelease", "MachineType", "Snap", "DuplicateSignature", "Traceback", "StacktraceTop",
	"StacktraceAddressSignature", "AssertionMessage",
}

// groupingFields lists the fields that grouping rules read when a report has no DuplicateSignature.
// Some versions of whoopsie drop them, so the key includes them only in that case.
var groupingFields = [...]string{
	"OopsText", "Failure", "ErrorMessage", "DpkgTerminalLog", "PanicMessage", "StdErr", "Stderr", "StandardError",
	"StackTrace", "Stacktrace",
}

// variableFields lists fields that may differ between two submissions of one report. Apport
// collects them again or adds them later (retraced stacks, logs), whoopsie drops them, or they
// count uploads. Names with a leading underscore belong here, too: apport uses them internally.
var variableFields = map[string]bool{
	"ApportVersion": true, "CoreDump": true, "CrashCounter": true, "CrashReports": true, "CurrentDesktop": true,
	"CurrentDmesg": true, "Dependencies": true, "Disassembly": true, "InstallationDate": true,
	"InstallationMedia": true, "JournalErrors": true, "NonfreeKernelModules": true, "ProcModules": true,
	"Registers": true, "Stacktrace": true, "StacktraceSource": true, "Tags": true, "ThreadStacktrace": true,
	"Title": true, "Uname": true, "UnreportableReason": true, "UpgradeStatus": true, "UserGroups": true,
	"VmCore": true,
}

// DuplicateKey returns the key of a report, which is the same each time one machine submits the
// report. It hashes
//   - Date, ExecutablePath and ProcStatus, if all three are present, as in every program crash;
//   - else, with a Date, the fields that never change and that every version of whoopsie sends;
//   - else all fields but those that may change.
//
// It ignores the differences between a .crash file and what whoopsie sends of it. The former key
// is the one that earlier versions of mishap stored, which hashed the three fields unchanged. It is
// zero if it equals key or did not exist.
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

// formerKey returns the key that earlier versions of mishap computed, which hashed texts unchanged.
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

// asSent returns the text as whoopsie sends it: control characters within lines become "?", and
// outer blanks are removed.
func asSent(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' {
			return '?'
		}
		return r
	}, strings.TrimSpace(s))
}

// keyHash hashes a list of texts. It includes their lengths, so different lists never hash the same
// bytes.
type keyHash struct{ sha hash.Hash }

// newKeyHash returns a keyHash that already includes the system's name.
func newKeyHash(system SystemID) keyHash {
	h := keyHash{sha256.New()}
	h.add(string(system))
	return h
}

// add hashes a text, preceded by its length.
func (h keyHash) add(text string) {
	_, _ = h.sha.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // never fails
	_, _ = io.WriteString(h.sha, text)
}

// addFields hashes the names and texts of the fields that are not blank. It ignores blanks, control
// characters, and the "?" that whoopsie substitutes for these. It needs a fixed amount of memory,
// whatever the length of the texts.
func (h keyHash) addFields(f Fields, names []string) {
	const end = 0 // occurs neither in names nor among the hashed characters
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

// KeysAt returns the range of the keys of reports with a Date: those of a time begin with low or a
// higher key, and below high.
func KeysAt(date time.Time) (low, high []byte) {
	seconds := min(max(date.Unix(), 0), math.MaxUint32)
	low = binary.BigEndian.AppendUint32(nil, uint32(seconds))
	if seconds == math.MaxUint32 {
		return low, bytes.Repeat([]byte{0xff}, len(ReportKey{})+1)
	}
	return low, binary.BigEndian.AppendUint32(nil, uint32(seconds+1)) //nolint:gosec // below MaxUint32, see above
}
