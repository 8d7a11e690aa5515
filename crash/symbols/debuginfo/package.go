package debuginfo

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"mishap/crash"
	"mishap/crash/pytext"
)

// A Debian package is an ar archive: debian-binary, control.tar, then data.tar with the files.
const (
	arMagic      = "!<arch>\n"
	arHeaderSize = 60
)

const (
	maxUnpacked = 64 << 30  // bytes of all files together
	maxWindow   = 128 << 20 // bytes of the decoder's memory; a package chooses what it needs
)

func isPackageName(name string) bool {
	return strings.HasSuffix(name, ".deb") || strings.HasSuffix(name, ".ddeb")
}

func (f *Folder) addPackage(ctx context.Context, in io.Reader, name string, report func(Added)) error {
	err := f.addData(ctx, bufio.NewReaderSize(in, 64<<10), name, report)
	if err != nil && !errors.Is(err, errDisk) && ctx.Err() == nil {
		report(Added{Name: name, Refused: fmt.Errorf("the package is damaged: %w", err)})
		return nil
	}
	return err
}

func (f *Folder) addData(ctx context.Context, in *bufio.Reader, name string, report func(Added)) error {
	data, form, described, err := findData(in)
	if err != nil {
		return err
	}
	files, err := decompress(data, form)
	if err != nil {
		return err
	}
	defer files.Close() //nolint:errcheck // only read
	archive := tar.NewReader(&atMost{r: crash.UntilDone(ctx, files), left: maxUnpacked})
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		content := bufio.NewReaderSize(archive, 4096)
		if start, err := content.Peek(4); err != nil || string(start) != elf.ELFMAG {
			continue
		}
		inside := strings.TrimPrefix(filepath.Clean("/"+entry.Name), "/")
		err = f.addELF(ctx, content, name+": "+inside, filepath.Base(name), func(a Added) {
			a.Package, a.Path = described, "/"+inside
			report(a)
		})
		if err != nil {
			return err
		}
	}
}

// findData returns the member data.tar of an ar archive, and how it is compressed: "", ".gz", ".xz"
// or ".zst". It also returns what the member before it, control.tar, says.
func findData(in *bufio.Reader) (data io.Reader, form string, described Package, err error) {
	if _, err := in.Discard(len(arMagic)); err != nil {
		return nil, "", described, err
	}
	for {
		header := make([]byte, arHeaderSize)
		if _, err := io.ReadFull(in, header); err != nil {
			return nil, "", described, errors.New("it has no member data.tar")
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(header[48:58])), 10, 64)
		if err != nil || size < 0 || string(header[58:]) != "`\n" {
			return nil, "", described, errors.New("it is not an ar archive")
		}
		member := strings.TrimRight(string(header[:16]), " /")
		if form, ok := strings.CutPrefix(member, "data.tar"); ok {
			return io.LimitReader(in, size), form, described, nil
		}
		content := &io.LimitedReader{R: in, N: size + size%2}
		if form, ok := strings.CutPrefix(member, "control.tar"); ok {
			if described, err = readControl(io.LimitReader(content, size), form); err != nil {
				return nil, "", described, err
			}
		}
		if _, err := io.CopyN(io.Discard, content, content.N); err != nil {
			return nil, "", described, err
		}
	}
}

func decompress(data io.Reader, form string) (io.ReadCloser, error) {
	switch form {
	case "":
		return io.NopCloser(data), nil
	case ".gz":
		return gzip.NewReader(data)
	case ".xz":
		r, err := xz.NewReader(data, maxWindow)
		return io.NopCloser(r), err
	case ".zst":
		r, err := zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	default:
		return nil, fmt.Errorf("its files are compressed in the unknown form %q", form)
	}
}

type atMost struct {
	r    io.Reader
	left int64
}

func (a *atMost) Read(b []byte) (int, error) {
	if a.left <= 0 {
		return 0, errors.New("its files are too large")
	}
	n, err := a.r.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	return n, err
}

// Package is what a Debian package says about itself.
type Package struct {
	Name         string
	Version      string
	Architecture string // "all" for packages without programs
}

// maxControl limits the unpacked size of the part of a package that describes it, in bytes.
const maxControl = 64 << 20

func readControl(in io.Reader, form string) (Package, error) {
	files, err := decompress(in, form)
	if err != nil {
		return Package{}, err
	}
	defer files.Close() //nolint:errcheck // only read
	archive := tar.NewReader(&atMost{r: files, left: maxControl})
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return Package{}, errors.New("it has no file control")
		}
		if err != nil {
			return Package{}, err
		}
		if entry.Typeflag == tar.TypeReg && path.Clean("/"+entry.Name) == "/control" {
			return parseControl(archive)
		}
	}
}

// parseControl reads fields such as "Version: 1.0". Continued lines begin with a blank.
func parseControl(in io.Reader) (Package, error) {
	var p Package
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "package":
			p.Name = value
		case "version":
			p.Version = value
		case "architecture":
			p.Architecture = value
		}
	}
	if err := lines.Err(); err != nil {
		return p, fmt.Errorf("its file control: %w", err)
	}
	return p, nil
}

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

// ArchitectureOf returns the architecture of the program that crashed, as Debian names it.
func ArchitectureOf(f crash.Fields) string {
	if a := crash.DebianArchitecture(f["PackageArchitecture"]); a != "" && a != "all" {
		return a
	}
	return crash.DebianArchitecture(f["Architecture"])
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

func withoutEpoch(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		return rest
	}
	return version
}
