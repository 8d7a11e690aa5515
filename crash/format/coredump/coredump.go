// Package coredump makes reports of what systemd-coredump writes to the journal about crashes, as
// "journalctl --all -o json" prints it. It takes only the fields in [Wanted], so that environment, command
// line, folders and names of machines stay where they are.
package coredump

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
)

// MessageID is the MESSAGE_ID of the entries about crashes.
const MessageID = "fc2e22bc6ee647b6b90729ab34a250b1"

// Wanted lists the fields of entries that this package reads; it ignores all others. Of the memory map, only paths of
// modules are used, to find their builds on the machine itself.
var Wanted = [...]string{
	"MESSAGE", "MESSAGE_ID", "_SYSTEMD_UNIT", "_TRANSPORT", "SYSLOG_IDENTIFIER", "_BOOT_ID",
	"_SOURCE_MONOTONIC_TIMESTAMP", "COREDUMP_UID", "COREDUMP_FILENAME", "COREDUMP_USER_UNIT",
	"COREDUMP_EXE", "COREDUMP_SIGNAL", "COREDUMP_SIGNAL_NAME", "COREDUMP_TIMESTAMP", "COREDUMP_ROOT",
	"COREDUMP_PACKAGE_JSON", "COREDUMP_PACKAGE_NAME", "COREDUMP_PACKAGE_VERSION", "COREDUMP_PROC_MAPS",
}

const (
	maxFrames    = 200 // of the stack
	maxPath      = 4096
	cursorField  = "__CURSOR"
	writtenField = "__REALTIME_TIMESTAMP"
	sinceBoot    = "__MONOTONIC_TIMESTAMP"
)

// Entry is an entry of the journal, with the wanted fields only.
type Entry map[string]string

// Parse parses a line of "journalctl --all -o json". Of a field with several values, it takes the first.
// Values may be texts, bytes as an array of numbers, or null, which stands for a value left out.
func Parse(line []byte) (Entry, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return nil, fmt.Errorf("an entry of the journal is not a JSON object: %w", err)
	}
	e := Entry{}
	for _, name := range append(Wanted[:], cursorField, writtenField, sinceBoot) {
		if value, ok := text(all[name]); ok {
			e[name] = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return e, nil
}

// text returns a value as text, or false if it is none.
func text(value json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(value, &s); err == nil && s != nil {
		return *s, true
	}
	var raw []byte
	if err := json.Unmarshal(value, &raw); err == nil && len(raw) > 0 {
		return string(raw), true
	}
	var several []json.RawMessage
	if err := json.Unmarshal(value, &several); err != nil || len(several) == 0 || several[0][0] == '[' {
		return "", false
	}
	return text(several[0])
}

// Cursor returns the entry's place in the journal, or "".
func (e Entry) Cursor() string { return e[cursorField] }

// Genuine reports whether systemd-coredump wrote the entry. Any user can write entries with the same
// MESSAGE_ID and fields. But the journal itself adds the system unit of the writer.
func (e Entry) Genuine() bool {
	instance, ok := strings.CutPrefix(e["_SYSTEMD_UNIT"], "systemd-coredump@")
	return ok && strings.HasSuffix(instance, ".service") && e["MESSAGE_ID"] == MessageID
}

// Kernel reports whether the kernel wrote the entry.
func (e Entry) Kernel() bool {
	return e["_TRANSPORT"] == "kernel" && e["SYSLOG_IDENTIFIER"] == "kernel"
}

// Times returns when the entry was written: since the boot, and the time of day. They are zero if unknown.
func (e Entry) Times() (stamp time.Duration, at time.Time) {
	for _, name := range [...]string{"_SOURCE_MONOTONIC_TIMESTAMP", sinceBoot} {
		if µs, err := strconv.ParseInt(e[name], 10, 64); err == nil && µs >= 0 && µs < 1<<50 {
			stamp = time.Duration(µs) * time.Microsecond
			break
		}
	}
	if µs, err := strconv.ParseInt(e[writtenField], 10, 64); err == nil && µs > 0 {
		at = time.UnixMicro(µs)
	}
	return stamp, at
}

// UID returns the id of the user whose program crashed, or -1.
func (e Entry) UID() int64 {
	uid, err := strconv.ParseUint(e["COREDUMP_UID"], 10, 32)
	if err != nil {
		return -1
	}
	return int64(uid)
}

// CoreFolder is where systemd-coredump stores core dumps.
const CoreFolder = "/var/lib/systemd/coredump"

// CoreFile returns the file of the core dump in [CoreFolder], or "" if there is none.
func (e Entry) CoreFile() string {
	name := e["COREDUMP_FILENAME"]
	if path.Dir(name) != CoreFolder || !strings.HasPrefix(path.Base(name), "core.") || path.Clean(name) != name {
		return ""
	}
	return name
}

// Elsewhere reports whether the program ran with another root folder, as in containers. Then the machine's
// own packages say nothing about it.
func (e Entry) Elsewhere() bool { root := e["COREDUMP_ROOT"]; return root != "" && root != "/" }

const deleted = " (deleted)"

// Replaced reports whether the file of the program was deleted or replaced while it ran, as by upgrades.
func (e Entry) Replaced() bool { return strings.HasSuffix(e["COREDUMP_EXE"], deleted) }

// Crashed returns when the program crashed, or zero if the entry does not say so.
func (e Entry) Crashed() time.Time {
	for _, name := range [...]string{"COREDUMP_TIMESTAMP", writtenField} {
		if µs, err := strconv.ParseInt(e[name], 10, 64); err == nil && µs > 0 {
			return time.UnixMicro(µs)
		}
	}
	return time.Time{}
}

// Fields returns the report, as far as the entry describes it. Release and architecture of the machine are
// missing. The package is that of the program's package note, if it has one: Package then names the
// program's source package. buildID returns the build-id of a file of the machine, or ""; Fields asks it for modules of
// the stack whose builds the entry does not name.
func (e Entry) Fields(buildID func(file string) string) (crash.Fields, error) {
	program := strings.TrimSuffix(e["COREDUMP_EXE"], deleted)
	signal, err := strconv.Atoi(e["COREDUMP_SIGNAL"])
	switch {
	case !path.IsAbs(program) || path.Clean(program) != program || len(program) > maxPath:
		return nil, errors.New("the entry names no program")
	case err != nil || signal <= 0 || signal > 64:
		return nil, errors.New("the entry names no signal")
	}
	f := crash.Fields{"ProblemType": "Crash", "ExecutablePath": program, "Signal": strconv.Itoa(signal)}
	if name := e["COREDUMP_SIGNAL_NAME"]; signalName.MatchString(name) {
		f["SignalName"] = name
	}
	if at := e.Crashed(); !at.IsZero() {
		f["Date"] = at.UTC().Format(time.ANSIC)
	}
	notes := e.notes()
	if note, ok := notes[path.Base(program)]; ok && note.Name != "" && note.Version != "" {
		f["Package"], f["SourcePackage"] = note.Name+" "+note.Version, note.Name
		if note.Architecture != "" {
			f["PackageArchitecture"] = note.Architecture
		}
	} else if name, version := e["COREDUMP_PACKAGE_NAME"], e["COREDUMP_PACKAGE_VERSION"]; word.MatchString(name) &&
		word.MatchString(version) {
		f["Package"], f["SourcePackage"] = name+" "+version, name
	}
	frames := stack(e["MESSAGE"])
	ids := e.buildIDs(notes)
	var files map[string]string
	for i := range frames {
		module := path.Base(frames[i].Module)
		if _, known := ids[module]; !known {
			if files == nil {
				files = e.files()
			}
			if ids[module] = ""; files[module] != "" {
				ids[module] = buildID(files[module])
			}
		}
		frames[i].BuildID = ids[module]
	}
	grouping.SetStack(f, frames)
	return f, nil
}

var (
	signalName = regexp.MustCompile(`^SIG[A-Z0-9+-]{2,12}$`)
	word       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+.:~^_-]{0,199}$`)
	hex        = regexp.MustCompile(`^[0-9a-f]{8,64}$`)
)

// note is the package note of a module.
type note struct{ Name, Version, Architecture, BuildID string }

// notes returns the package notes by the file name of the module, with the valid values only.
func (e Entry) notes() map[string]note {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte(e["COREDUMP_PACKAGE_JSON"]), &all) // optional
	notes := map[string]note{}
	for module, value := range all {
		var n note
		if json.Unmarshal(value, &n) != nil { // elfType and others
			continue
		}
		for field, valid := range map[*string]*regexp.Regexp{&n.Name: word, &n.Version: word, &n.Architecture: word,
			&n.BuildID: hex} {
			if !valid.MatchString(*field) {
				*field = ""
			}
		}
		notes[path.Base(module)] = n
	}
	return notes
}

// buildIDLine matches what versions of systemd print for modules without a package note.
var buildIDLine = regexp.MustCompile(`(?m)^(?:Found module|Module) (\S+) with build-id:? ([0-9a-f]{8,64})$`)

func (e Entry) buildIDs(notes map[string]note) map[string]string {
	ids := map[string]string{}
	for _, m := range buildIDLine.FindAllStringSubmatch(e["MESSAGE"], -1) {
		ids[path.Base(m[1])] = m[2]
	}
	for module, n := range notes {
		if n.BuildID != "" {
			ids[module] = n.BuildID
		}
	}
	return ids
}

// files returns the paths of the modules that the program had loaded, by file name. Names of several files are left
// out.
func (e Entry) files() map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(e["COREDUMP_PROC_MAPS"]) {
		const columns = 6 // address, access, offset, device, inode, path
		words := strings.Fields(line)
		if len(words) != columns || !strings.Contains(words[1], "x") || !path.IsAbs(words[5]) {
			continue // data, no file, or deleted since: "… (deleted)"
		}
		name := path.Base(words[5])
		if other, ok := files[name]; ok && other != words[5] {
			files[name] = ""
			continue
		}
		files[name] = words[5]
	}
	return files
}

// frameLine matches "#0  0x000055d000009234 tide_parse_row (tidewatch + 0x9234)".
var frameLine = regexp.MustCompile(`^#[0-9]+ +0x([0-9a-f]{1,16}) (.+) \((.+) \+ 0x([0-9a-f]{1,16})\)$`)

// stack returns the stack of the thread that crashed: the first one.
func stack(message string) (frames []grouping.ModuleFrame) {
	_, message, _ = strings.Cut(message, "\nStack trace of thread ")
	_, message, _ = strings.Cut(message, "\n")
	for line := range strings.Lines(message) {
		m := frameLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || len(frames) == maxFrames {
			break
		}
		known := func(s string) string {
			if s == "n/a" {
				return ""
			}
			return s
		}
		address, _ := strconv.ParseUint(m[1], 16, 64) // 16 digits at most
		offset, _ := strconv.ParseUint(m[4], 16, 64)
		frames = append(frames, grouping.ModuleFrame{Address: address, Function: known(m[2]), Module: known(m[3]),
			Offset: offset})
	}
	return frames
}
