package debuginfo

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Fact says which build of a file a package holds.
type Fact struct {
	Path         string  `json:"path"`    // see NormalPath
	Package      string  `json:"package"` // the binary package
	Version      string  `json:"version"`
	Architecture string  `json:"architecture"` // Debian's name
	Build        BuildID `json:"build"`
}

// maxText limits each text of a fact, in bytes: all five are in one index, which takes 2,704. Longer ones
// are not stored.
const maxText = 500

// Valid reports whether a fact is complete and fit for storing.
func (f Fact) Valid() bool {
	for _, text := range []string{f.Path, f.Package, f.Version, f.Architecture, string(f.Build)} {
		if text == "" || len(text) > maxText || strings.ContainsAny(text, "\x00\n") {
			return false
		}
	}
	return path.IsAbs(f.Path)
}

// NormalPath returns the one form of a path for which facts are stored. Packages and processes name
// the same file with and without /usr: /lib/x86_64-linux-gnu/libc.so.6.
func NormalPath(name string) string {
	for _, dir := range []string{"/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(name, dir) {
			return "/usr" + name
		}
	}
	return name
}

// Installed maps binary packages of a machine to their versions.
type Installed map[string]string

// maxInstalled limits the packages that are read from one report.
const maxInstalled = 10_000

// InstalledOf returns the packages that a report names: its own and those in Dependencies. It leaves
// out packages with modified files.
func InstalledOf(f crash.Fields) Installed {
	installed := Installed{}
	for line := range pytext.Lines(f["Dependencies"] + "\n" + f["Package"]) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[1], "(") || len(installed) == maxInstalled {
			continue
		}
		if strings.Contains(line, "[modified:") {
			delete(installed, words[0])
			continue
		}
		installed[words[0]] = words[1]
	}
	return installed
}

// ArchitectureOf returns the architecture of the program that crashed.
func ArchitectureOf(f crash.Fields) string {
	if a := f["PackageArchitecture"]; a != "" && a != "all" {
		return a
	}
	return f["Architecture"]
}

// Loaded is a program or library of a process.
type Loaded struct {
	Path    string
	Build   BuildID
	Archive string // name of the package that the same build was found in, such as libc6_2.36-9_amd64.deb
	Deleted bool   // the file was replaced while the process ran, so the packages say nothing about it
}

// BuildsOfCore returns what the core of a report says. owners are the packages that hold each path in other
// versions, as far as is known.
func BuildsOfCore(f crash.Fields, loaded []Loaded, owners map[string][]string) []Fact {
	installed, architecture := InstalledOf(f), ArchitectureOf(f)
	own, _, _ := strings.Cut(strings.TrimSpace(f["Package"]), " ")
	var facts []Fact
	for _, l := range loaded {
		if l.Deleted || l.Build == "" {
			continue
		}
		owner := ""
		name, version, _ := parseArchive(l.Archive)
		switch candidates := installedOwners(owners[NormalPath(l.Path)], installed); {
		case l.Path == f["ExecutablePath"] && f["InterpreterPath"] == "":
			owner = own
		case name != "" && withoutEpoch(installed[name]) == withoutEpoch(version):
			owner = name
		case len(candidates) == 1:
			owner = candidates[0]
		}
		fact := Fact{NormalPath(l.Path), owner, installed[owner], architecture, l.Build}
		if fact.Valid() {
			facts = append(facts, fact)
		}
	}
	return facts
}

// OwnersOf returns the packages of the machine that may hold a file: that of the crashed program, or
// those of owners, which hold it in other versions.
func OwnersOf(f crash.Fields, name string, owners []string) []string {
	installed := InstalledOf(f)
	if name == f["ExecutablePath"] && f["InterpreterPath"] == "" {
		if own, _, _ := strings.Cut(strings.TrimSpace(f["Package"]), " "); installed[own] != "" {
			return []string{own}
		}
	}
	return installedOwners(owners, installed)
}

func installedOwners(owners []string, installed Installed) []string {
	return slices.DeleteFunc(slices.Clone(owners), func(name string) bool { return installed[name] == "" })
}

// parseArchive splits the name of a package's file. The version in it lacks the epoch.
func parseArchive(name string) (binary, version, architecture string) {
	base, isPackage := strings.CutSuffix(name, ".deb")
	parts := strings.Split(base, "_")
	if !isPackage || len(parts) != 3 {
		return "", "", ""
	}
	version, err := url.PathUnescape(parts[1])
	if err != nil {
		return "", "", ""
	}
	return parts[0], version, parts[2]
}

// withoutEpoch removes "1:" from a version.
func withoutEpoch(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		return rest
	}
	return version
}
