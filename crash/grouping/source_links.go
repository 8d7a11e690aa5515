package grouping

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
)

// LinkTemplates make addresses of pages about source packages, one for each distribution or release: the first whose name the
// release begins with is taken, the longest names first.
type LinkTemplates []LinkTemplate

// LinkTemplate is an address with {source}, {version}, {tag}, {codename}, {file} and {line} in it. {tag} is the version as git
// tags of source packages have it: ":" is "%", "~" is "_".
type LinkTemplate struct{ Release, Address string }

// DefaultSourceLinks show a line of a file of a source package, by its version.
const DefaultSourceLinks = "Debian https://sources.debian.org/src/{source}/{version}/{file}#L{line} " +
	"Ubuntu https://git.launchpad.net/ubuntu/+source/{source}/tree/{file}?h=applied/{tag}#n{line}"

// DefaultVersionLinks show a version of a source package.
const DefaultVersionLinks = "Debian https://snapshot.debian.org/package/{source}/{version}/ " +
	"Ubuntu https://launchpad.net/ubuntu/+source/{source}/{version}"

// ParseLinkTemplates reads pairs of a distribution or release and an address, all parted by blanks: "Debian https://… Ubuntu
// 24.04 https://…". An empty text has none. An error is a sentence.
func ParseLinkTemplates(text string) (LinkTemplates, error) {
	var all LinkTemplates
	var name []string
	for _, word := range strings.Fields(text) {
		if !strings.HasPrefix(word, "https://") && !strings.HasPrefix(word, "http://") {
			name = append(name, word)
			continue
		}
		plain := strings.NewReplacer("{source}", "x", "{version}", "x", "{tag}", "x", "{codename}", "x", "{file}", "x", "{line}", "1").Replace(word)
		if u, err := url.Parse(plain); err != nil || u.Host == "" || strings.ContainsAny(plain, "{}") {
			return nil, crash.Errorf(crash.Invalid, "bad_link", "%q is no address with {source}, {version}, {tag}, {codename}, {file} and {line}", word)
		}
		if len(name) == 0 {
			return nil, crash.Errorf(crash.Invalid, "bad_link", "no distribution or release stands before %q", word)
		}
		all = append(all, LinkTemplate{strings.Join(name, " "), word})
		name = nil
	}
	if len(name) > 0 {
		return nil, crash.Errorf(crash.Invalid, "bad_link", "no address follows %q", strings.Join(name, " "))
	}
	slices.SortStableFunc(all, func(a, b LinkTemplate) int { return len(b.Release) - len(a.Release) })
	return all, nil
}

// For is the template of a release; empty when there is none.
func (l LinkTemplates) For(r crash.Release) LinkTemplate {
	for _, t := range l {
		if rest, ok := strings.CutPrefix(string(r), t.Release); ok && (rest == "" || rest[0] == ' ') {
			return t
		}
	}
	return LinkTemplate{}
}

// Version is the address of a version of a source package; empty when something is missing.
func (l LinkTemplates) Version(r crash.Release, source, version string) string {
	return l.For(r).fill(r, source, version, "", 0)
}

// Source is the address of a line of a source package's file; empty when something is missing.
func (l LinkTemplates) Source(r crash.Release, at SourcePlace) string {
	if at.File == "" {
		return ""
	}
	return l.For(r).fill(r, at.Package, at.Version, at.File, at.Line)
}

func (t LinkTemplate) fill(r crash.Release, source, version, file string, line int) string {
	if t.Address == "" || source == "" || version == "" {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(file, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	tag := strings.NewReplacer(":", "%", "~", "_").Replace(version)
	return strings.NewReplacer(
		"{source}", url.PathEscape(source), "{version}", url.PathEscape(version), "{tag}", url.QueryEscape(tag), "{codename}", url.PathEscape(r.Codename()),
		"{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(line, 1)),
	).Replace(t.Address)
}

// SourcePlace is a line of a file of a source package.
type SourcePlace struct {
	Package, Version string
	File             string // within the package: "src/parse.c"; empty: not known
	Line             int
}

// builtFrom is how Debian and Ubuntu name folders in which packages are built, in debug information.
var builtFrom = regexp.MustCompile(`^/(?:usr/src|build)/([a-z0-9][a-z0-9+.-]+?)-((?:[0-9]+%3[aA])?[0-9][A-Za-z0-9.+~-]*)/(.+)$`)

// randomFolder is the folder of a build: "/build/tidewatch-Ab3dE9/tidewatch-1.4.9/src/parse.c".
var randomFolder = regexp.MustCompile(`^/build/(?:reproducible-path/)?(?:[a-z0-9][a-z0-9+.-]*-[A-Za-z0-9]{6}/)?([a-z0-9][a-z0-9+.-]+?)-[^/]+/(.+)$`)

// PlaceOf works out where the source of a frame stands. of is the report's source package and version. Frames of other
// packages, and files that are made while a package is built, have no place, or none that could be told.
func PlaceOf(f Frame, of SourcePlace, executable string) SourcePlace {
	file := f.File
	place := SourcePlace{Line: f.Line}
	if m := randomFolder.FindStringSubmatch(file); m != nil && m[1] == of.Package {
		place.Package, place.Version, file = of.Package, of.Version, m[2]
	} else if m := builtFrom.FindStringSubmatch(file); m != nil {
		place.Package, place.Version, file = m[1], strings.NewReplacer("%3a", ":", "%3A", ":").Replace(m[2]), m[3]
	} else if _, rest, ok := strings.Cut(file, "/dist-packages/"); ok && strings.HasPrefix(file, "/usr/lib/python3") {
		// A module of the package lies in its source as it is installed, mostly.
		if first, _, _ := strings.Cut(rest, "/"); strings.ReplaceAll(first, "_", "-") != strings.ReplaceAll(of.Package, "_", "-") {
			return SourcePlace{}
		}
		place.Package, place.Version, file = of.Package, of.Version, rest
	} else {
		if strings.HasPrefix(file, "/") || !ownModule(f, of, executable) || foreign(f) {
			return SourcePlace{}
		}
		place.Package, place.Version = of.Package, of.Version
	}
	// Folders in which a package is built lie beside or in its source: what leads out of them leads into the source.
	file = strings.TrimLeft(path.Clean("/"+strings.TrimPrefix(file, "./")), "/")
	for {
		first, rest, ok := strings.Cut(file, "/")
		if !ok || !strings.HasPrefix(first, "obj-") {
			break
		}
		file = rest
	}
	if file == "" || strings.ContainsAny(file, "<>\x00") {
		return SourcePlace{}
	}
	place.File = file
	return place
}

// ownModule reports whether a frame is of the package of the program: of the program itself, of a library in a folder of its
// own, or of a library that bears its name. Where the module is not known, it may be.
func ownModule(f Frame, of SourcePlace, executable string) bool {
	if f.Module == "" || f.Module == executable {
		return true
	}
	name := strings.TrimPrefix(path.Base(f.Module), "lib")
	return of.Package != "" && (strings.Contains(f.Module, "/"+of.Package+"/") || strings.HasPrefix(name, of.Package))
}

// foreign reports whether a frame is the C library's start or end of a program or thread.
func foreign(f Frame) bool {
	name := f.Function
	for _, begins := range []string{"__libc_", "__GI_", "__pthread_", "_start", "start_thread", "clone", "__clone", "raise", "abort", "__assert_fail"} {
		if name == begins || begins[0] == '_' && strings.HasPrefix(name, begins) {
			return true
		}
	}
	for _, folder := range []string{"sysdeps/", "nptl/", "csu/", "stdlib/", "posix/"} {
		if strings.Contains(f.File, "../"+folder) || strings.HasPrefix(f.File, "./"+folder) {
			return true
		}
	}
	return false
}

// WithModules fills in which file each frame is of, by its address and the memory map of the process.
func WithModules(frames []Frame, procMaps string) []Frame {
	if procMaps == "" || len(frames) == 0 {
		return frames
	}
	maps, ok := parseMaps(procMaps)
	if !ok {
		return frames
	}
	frames = slices.Clone(frames)
	for i, f := range frames {
		if f.Module != "" || f.Address == "" {
			continue
		}
		if _, place, ok := findPlace(maps, strings.TrimPrefix(f.Address, "0x")); ok && place != "" {
			frames[i].Module = crash.Shorten(place[:strings.LastIndexByte(place, '+')], maxCell)
		}
	}
	return frames
}
