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

// LinkTemplates are addresses of pages about source packages, by distribution or release. They are
// sorted by length of name, longest first; the first one whose name is a prefix of the release
// applies.
type LinkTemplates []LinkTemplate

// LinkTemplate is an address that contains {source}, {version}, {tag}, {codename}, {file} or
// {line}. {tag} is the version in git tags of source packages: "%" for ":" and "_" for "~".
type LinkTemplate struct{ Release, Address string }

// DefaultSourceLinks are the built-in links to a line of a file of a source package.
const DefaultSourceLinks = "Debian https://sources.debian.org/src/{source}/{version}/{file}#L{line} " +
	"Ubuntu https://git.launchpad.net/ubuntu/+source/{source}/tree/{file}?h=applied/{tag}#n{line}"

// DefaultVersionLinks are the built-in links to a version of a source package.
const DefaultVersionLinks = "Debian https://snapshot.debian.org/package/{source}/{version}/ " +
	"Ubuntu https://launchpad.net/ubuntu/+source/{source}/{version}"

// ParseLinkTemplates parses pairs of a distribution or release and an address, separated by blanks:
// "Debian https://… Ubuntu 24.04 https://…". Its errors have the kind Invalid and are sentences for
// people.
func ParseLinkTemplates(text string) (LinkTemplates, error) {
	var all LinkTemplates
	var name []string
	for _, word := range strings.Fields(text) {
		if !strings.HasPrefix(word, "https://") && !strings.HasPrefix(word, "http://") {
			name = append(name, word)
			continue
		}
		plain := strings.NewReplacer("{source}", "x", "{version}", "x", "{tag}", "x", "{codename}", "x", "{file}", "x",
			"{line}", "1").Replace(word)
		if u, err := url.Parse(plain); err != nil || u.Host == "" || strings.ContainsAny(plain, "{}") {
			return nil, crash.Errorf(crash.Invalid, "bad_link",
				"%q is no address with {source}, {version}, {tag}, {codename}, {file} and {line}", word)
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

// For returns the template of a release, or an empty one.
func (l LinkTemplates) For(r crash.Release) LinkTemplate {
	for _, t := range l {
		if rest, ok := strings.CutPrefix(string(r), t.Release); ok && (rest == "" || rest[0] == ' ') {
			return t
		}
	}
	return LinkTemplate{}
}

// Version returns the address of a version of a source package, or "" if a value is missing.
func (l LinkTemplates) Version(r crash.Release, source, version string) string {
	return l.For(r).fill(r, source, version, "", 0)
}

// Source returns the address of a source line, or "" if a value is missing.
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
		"{source}", url.PathEscape(source), "{version}", url.PathEscape(version), "{tag}", url.QueryEscape(tag), "{codename}",
		url.PathEscape(r.Codename()),
		"{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(line, 1)),
	).Replace(t.Address)
}

// SourcePlace is a line of a file of a source package.
type SourcePlace struct {
	Package, Version string
	File             string // relative to the package: "src/parse.c"; empty: unknown
	Line             int
}

// builtFrom matches build directories of Debian and Ubuntu in debug information.
var builtFrom = regexp.MustCompile(`^/(?:usr/src|build)/([a-z0-9][a-z0-9+.-]+?)-` +
	`((?:[0-9]+%3[aA])?[0-9][A-Za-z0-9.+~-]*)/(.+)$`)

// randomFolder matches temporary build directories:
// "/build/tidewatch-Ab3dE9/tidewatch-1.4.9/src/parse.c".
var randomFolder = regexp.MustCompile(`^/build/(?:reproducible-path/)?` +
	`(?:[a-z0-9][a-z0-9+.-]*-[A-Za-z0-9]{6}/)?([a-z0-9][a-z0-9+.-]+?)-[^/]+/(.+)$`)

// PlaceOf returns the source line of a frame; of is the report's source package and version. It
// returns an empty place for frames of other packages, and for files that are generated during the
// build, as far as it can recognise them.
func PlaceOf(f Frame, of SourcePlace, executable string) SourcePlace {
	file := f.File
	place := SourcePlace{Line: f.Line}
	if m := randomFolder.FindStringSubmatch(file); m != nil && m[1] == of.Package {
		place.Package, place.Version, file = of.Package, of.Version, m[2]
	} else if m := builtFrom.FindStringSubmatch(file); m != nil {
		place.Package, place.Version, file = m[1], strings.NewReplacer("%3a", ":", "%3A", ":").Replace(m[2]), m[3]
	} else if _, rest, ok := strings.Cut(file, "/dist-packages/"); ok && strings.HasPrefix(file, "/usr/lib/python3") {
		// A module of the package usually has the same path in the source as when installed.
		if first, _, _ := strings.Cut(rest, "/"); strings.ReplaceAll(first, "_", "-") != strings.ReplaceAll(of.Package, "_",
			"-") {
			return SourcePlace{}
		}
		place.Package, place.Version, file = of.Package, of.Version, rest
	} else {
		if strings.HasPrefix(file, "/") || !ownModule(f, of, executable) || isThreadStart(f) {
			return SourcePlace{}
		}
		place.Package, place.Version = of.Package, of.Version
	}
	// A build directory is inside or beside the source, so "../" leads into the source.
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

// ownModule reports whether a frame belongs to the package of the program: to the program, to a
// library in its own directory, or to a library with its name. It returns true if the module is
// unknown.
func ownModule(f Frame, of SourcePlace, executable string) bool {
	if f.Module == "" || f.Module == executable {
		return true
	}
	name := strings.TrimPrefix(path.Base(f.Module), "lib")
	return of.Package != "" && (strings.Contains(f.Module, "/"+of.Package+"/") || strings.HasPrefix(name, of.Package))
}

// isThreadStart reports whether a frame is C library code that starts or ends a program or thread.
func isThreadStart(f Frame) bool {
	name := f.Function
	if name == "start_thread" || name == "clone" || name == "raise" || name == "abort" ||
		hasAnyPrefix(name, "__libc_", "__GI_", "__pthread_", "_start", "__clone", "__assert_fail") {
		return true
	}
	return slices.ContainsFunc([]string{"sysdeps/", "nptl/", "csu/", "stdlib/", "posix/"}, func(folder string) bool {
		return strings.Contains(f.File, "../"+folder) || strings.HasPrefix(f.File, "./"+folder)
	})
}

// WithModules fills in the module of each frame, from its address and the memory map of the
// process.
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
