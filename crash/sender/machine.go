package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/format/coredump"
)

// Machine is what reports say about the machine.
type Machine struct {
	Release      crash.Release
	Architecture string // Debian's name
	Root         string // root folder with the package manager's data, for rpm, pacman and logs; empty: /
	Packages     string // dpkg-query, rpm or pacman, or a path of it; empty: none of them is installed
}

// ReadMachine reads os-release below root ("/"), and looks for a package manager.
func ReadMachine(root string) Machine {
	m := Machine{Architecture: crash.DebianArchitecture(runtime.GOARCH)}
	for _, file := range [...]string{"etc/os-release", "usr/lib/os-release"} {
		if content, err := os.ReadFile(filepath.Join(root, file)); err == nil {
			m.Release = releaseOf(string(content))
			break
		}
	}
	// Machines may have the package manager of another distribution, without packages.
	for _, p := range [...]struct{ program, data string }{{"dpkg-query", "var/lib/dpkg/status"},
		{"rpm", "usr/lib/sysimage/rpm"}, {"rpm", "var/lib/rpm"}, {"pacman", "var/lib/pacman/local"}} {
		_, err := exec.LookPath(p.program)
		if info, missing := os.Stat(filepath.Join(root, p.data)); err == nil && missing == nil && info.Size() > 0 {
			m.Packages = p.program
			break
		}
	}
	return m
}

// MachineID returns the id by which servers know the machine: the one of whoopsie if that is installed,
// else a hash of the machine-id(5).
func MachineID(root string) (crash.SystemID, error) {
	if id, err := os.ReadFile(filepath.Join(root, "var/lib/whoopsie/whoopsie-id")); err == nil {
		if s := strings.TrimSpace(string(id)); wellFormedID.MatchString(s) {
			return crash.SystemID(s), nil
		}
	}
	id, err := os.ReadFile(filepath.Join(root, "etc/machine-id"))
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(id))
	if len(name) != 32 {
		return "", errors.New("/etc/machine-id holds no machine id; systemd-machine-id-setup writes one")
	}
	return crash.HashedSystemID(name), nil
}

var wellFormedID = regexp.MustCompile(`^[0-9a-f]{128}$`)

// releaseOf returns the release that an os-release file describes.
func releaseOf(osRelease string) crash.Release {
	values := map[string]string{}
	for line := range strings.Lines(osRelease) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return crash.OS{ID: values["ID"], Name: values["NAME"], Version: values["VERSION_ID"],
		Codename: values["VERSION_CODENAME"], Build: values["BUILD_ID"]}.Release()
}

// pack is a package that contains a program.
type pack struct {
	name, version, source, architecture string

	installed time.Time // zero: unknown
}

// field returns the field Package.
func (p pack) field() string { return strings.TrimSpace(p.name + " " + p.version) }

// packageOf asks the package manager for the package of a program. found is false if it is in none.
func (m Machine) packageOf(ctx context.Context, program string) (p pack, found bool, err error) {
	if strings.ContainsAny(program, "*?[]\\\n") || program == "" || program[0] != '/' {
		return p, false, nil // these would be patterns
	}
	switch filepath.Base(m.Packages) {
	case "dpkg-query":
		return m.askDpkg(ctx, program)
	case "rpm":
		out, found, err := ask(ctx, m.Packages, "-qf", "--root="+cmp.Or(m.Root, "/"), "--qf",
			`%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\t%{SOURCERPM}\t%{ARCH}\t%{INSTALLTIME}\n`,
			"--", program)
		if found {
			p, found = parsePackage(out)
			p.version = strings.TrimPrefix(p.version, "0:")
			p.source = sourceRPM.ReplaceAllString(p.source, "")
		}
		return p, found, err
	case "pacman":
		root := "--root=" + cmp.Or(m.Root, "/")
		out, found, err := ask(ctx, m.Packages, "-Qqo", root, "--", filepath.Join(m.Root, program))
		if !found {
			return p, false, err
		}
		name, _, _ := strings.Cut(out, "\n")
		out, found, err = ask(ctx, m.Packages, "-Q", root, "--", name)
		if words := strings.Fields(out); found && len(words) == 2 {
			return pack{name: words[0], version: words[1], architecture: m.Architecture}, true, nil
		}
		return p, false, err
	}
	return p, false, nil
}

// sourceRPM matches what follows the name of the source package in "reef-5.5-1.fc43.src.rpm".
var sourceRPM = regexp.MustCompile(`-[^-]*-[^-]*$`)

func (m Machine) askDpkg(ctx context.Context, program string) (p pack, found bool, err error) {
	names := []string{program}
	// Packages may contain a file at its place before /bin became a link to /usr/bin.
	if short, ok := strings.CutPrefix(program, "/usr"); ok && strings.HasPrefix(short, "/") {
		names = append(names, short)
	}
	for _, name := range names {
		out, known, err := ask(ctx, m.Packages, "-S", "--", name)
		if err != nil {
			return p, false, err
		}
		for line := range strings.Lines(out) {
			owner, file, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !known || !ok || file != name || strings.Contains(owner, " ") { // "diversion by …", several packages
				continue
			}
			out, found, err = ask(ctx, m.Packages, "-W", "-f",
				`${binary:Package}\t${Version}\t${source:Package}\t${Architecture}\t${db-fsys:Last-Modified}\n`, "--", owner)
			if found {
				p, found = parsePackage(out)
				p.name, _, _ = strings.Cut(p.name, ":")
			}
			return p, found, err
		}
	}
	return p, false, nil
}

func parsePackage(out string) (pack, bool) {
	line, _, _ := strings.Cut(out, "\n")
	words := strings.Split(line, "\t")
	if len(words) < 4 || words[0] == "" || words[1] == "" {
		return pack{}, false
	}
	p := pack{name: words[0], version: words[1], source: words[2], architecture: crash.DebianArchitecture(words[3])}
	if len(words) > 4 {
		if seconds, err := strconv.ParseInt(words[4], 10, 64); err == nil {
			p.installed = time.Unix(seconds, 0)
		}
	}
	return p, true
}

// ask runs a program of the package manager. found is false if it exits with an error, as for unknown files.
func ask(ctx context.Context, program string, args ...string) (out string, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	answer, err := cmd.Output()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", false, fmt.Errorf("%s does not answer: %w", program, ctx.Err())
	case failed, errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	}
	return string(answer), err == nil, err
}

// errNoPackage is why a crash is not reported: servers take only reports of programs of packages.
var errNoPackage = errors.New("the program belongs to no package")

// complete adds release, architecture and package to the report of an entry of the journal.
func (m Machine) complete(ctx context.Context, e coredump.Entry, f crash.Fields) error {
	f["Architecture"] = m.Architecture
	at, _ := time.Parse(time.ANSIC, f["Date"])
	bundled := m.bundle(e, f, at)
	if m.Release != "" && (bundled || !e.Elsewhere()) {
		f["DistroRelease"] = string(m.Release)
	}
	if !bundled && !e.Elsewhere() {
		p, found, err := m.packageAt(ctx, f["ExecutablePath"], at)
		if err != nil {
			return err
		}
		if found {
			_, noted, _ := strings.Cut(f["Package"], " ")
			// The package manager knows only the version that replaced the one that ran.
			if e.Replaced() || p.version == "" {
				p.version = noted
			}
			f["Package"], f["PackageArchitecture"] = p.field(), p.architecture
			if p.source != "" {
				f["SourcePackage"] = p.source
			}
		}
	}
	if f["Package"] == "" {
		return errNoPackage
	}
	if f["PackageArchitecture"] != "" {
		f["PackageArchitecture"] = crash.DebianArchitecture(f["PackageArchitecture"])
	}
	return nil
}
