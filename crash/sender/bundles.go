package sender

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/format/coredump"
)

var (
	snapPath     = regexp.MustCompile(`^(?:/var/lib/snapd)?(/snap/([a-z0-9][a-z0-9_-]*)/)(x?[0-9]+)(/.+)$`)
	snapVersion  = regexp.MustCompile(`(?m)^version: *['"]?([A-Za-z0-9][A-Za-z0-9.:+~-]*)['"]? *$`)
	flatpakUnit  = regexp.MustCompile(`^app-flatpak-(.{1,300})-[0-9]+\.scope$`)
	flatpakID    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){2,}$`)
	flatpakUses  = regexp.MustCompile(`(?m)^runtime=([A-Za-z0-9_./-]+)$`)
	commitDigits = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

const (
	maxBundleFile = 1 << 20
	commitLength  = 12 // of its digits in the version
)

// bundle adds the snap or the application of flatpak to which a program belongs. It reports whether there is one.
func (m Machine) bundle(e coredump.Entry, f crash.Fields, at time.Time) bool {
	program := f["ExecutablePath"]
	if parts := snapPath.FindStringSubmatch(program); parts != nil {
		m.snap(f, parts[2], parts[3])
		// The revision would make each one a program of its own. snapd has this link.
		move(f, program, parts[1]+"current"+parts[4])
		return true
	}
	unit := flatpakUnit.FindStringSubmatch(e["COREDUMP_USER_UNIT"])
	if unit == nil || !strings.HasPrefix(program, "/app/") {
		return false
	}
	id := strings.ReplaceAll(unit[1], `\x2d`, "-") // systemd escapes hyphens
	if !flatpakID.MatchString(id) {
		return false
	}
	m.flatpak(f, id, at)
	move(f, program, "/app/"+id+strings.TrimPrefix(program, "/app")) // each application has its own /app
	return true
}

// move changes the path of the program.
func move(f crash.Fields, from, to string) {
	f["ExecutablePath"] = to
	if s, ok := strings.CutPrefix(f["StacktraceAddressSignature"], from+":"); ok {
		f["StacktraceAddressSignature"] = to + ":" + s
	}
}

// snap adds name, version and revision of a snap, as apport writes them.
func (m Machine) snap(f crash.Fields, name, revision string) {
	version := ""
	meta := readSome(filepath.Join(m.Root, "/snap", name, revision, "meta/snap.yaml"))
	if found := snapVersion.FindStringSubmatch(meta); found != nil {
		version = found[1]
	}
	p := pack{name: name, version: version}
	f["Package"], f["SourcePackage"] = p.field(), name
	f["Snap"] = p.field() + " (" + revision + ")"
}

// flatpak adds application, commit and runtime.
func (m Machine) flatpak(f crash.Fields, id string, at time.Time) {
	p := pack{name: id}
	f["Flatpak"] = id
	installations := []string{filepath.Join(m.Root, "/var/lib/flatpak")}
	if home, err := os.UserHomeDir(); err == nil {
		installations = append(installations, filepath.Join(home, ".local/share/flatpak"))
	}
	for _, installation := range installations {
		active := filepath.Join(installation, "app", id, "current/active")
		commit, err := os.Readlink(active)
		if err != nil || !commitDigits.MatchString(commit) {
			continue
		}
		if info, err := os.Lstat(active); err == nil && (at.IsZero() || !info.ModTime().After(at)) {
			p.version = commit[:commitLength] // else it was updated since the crash
			f["Flatpak"] += " " + commit
		}
		if uses := flatpakUses.FindStringSubmatch(readSome(filepath.Join(active, "metadata"))); uses != nil {
			f["Flatpak"] += " (" + uses[1] + ")"
		}
		break
	}
	f["Package"], f["SourcePackage"] = p.field(), id
}

// readSome returns the beginning of a file, or "".
func readSome(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(file, maxBundleFile))
	if err != nil {
		return ""
	}
	return string(content)
}
