package crash

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mishap/crash/version"
)

// distribution is a known distribution of Linux.
type distribution struct {
	id      string // in os-release(5); empty: only a name of its releases
	name    string // with which the names of its releases begin
	order   version.Order
	rolling bool // it has no versions
}

// distributions lists the distributions whose packages are not dpkg's. The first word of a name determines
// the order of versions.
var distributions = []distribution{
	{id: "fedora", name: "Fedora", order: version.RPM},
	{id: "rhel", name: "RHEL", order: version.RPM},
	{name: "Red Hat Enterprise Linux", order: version.RPM},
	{id: "centos", name: "CentOS", order: version.RPM},
	{name: centosStream, order: version.RPM},
	{id: "almalinux", name: "AlmaLinux", order: version.RPM},
	{id: "rocky", name: "Rocky Linux", order: version.RPM},
	{id: "ol", name: "Oracle Linux", order: version.RPM},
	{id: "amzn", name: "Amazon Linux", order: version.RPM},
	{id: "azurelinux", name: "Azure Linux", order: version.RPM},
	{id: "scientific", name: "Scientific Linux", order: version.RPM},
	{id: "eurolinux", name: "EuroLinux", order: version.RPM},
	{id: "nobara", name: "Nobara", order: version.RPM},
	{id: "ultramarine", name: "Ultramarine", order: version.RPM},
	{id: "bazzite", name: "Bazzite", order: version.RPM},
	{id: "opensuse", name: "openSUSE", order: version.RPM},
	{id: "opensuse-leap", name: "openSUSE Leap", order: version.RPM},
	{id: "opensuse-leap-micro", name: "openSUSE Leap Micro", order: version.RPM},
	{id: "opensuse-tumbleweed", name: "openSUSE Tumbleweed", order: version.RPM, rolling: true},
	{id: "opensuse-slowroll", name: "openSUSE Slowroll", order: version.RPM, rolling: true},
	{id: "opensuse-microos", name: "openSUSE MicroOS", order: version.RPM, rolling: true},
	{id: "sles", name: "SLES", order: version.RPM},
	{id: "sled", name: "SLED", order: version.RPM},
	{name: "SUSE Linux Enterprise", order: version.RPM},
	{id: "mageia", name: "Mageia", order: version.RPM},
	{id: "openmandriva", name: "OpenMandriva", order: version.RPM},
	{id: "rosa", name: "ROSA", order: version.RPM},
	{id: "altlinux", name: "ALT", order: version.RPM},
	{id: "pclinuxos", name: "PCLinuxOS", order: version.RPM},
	{id: "openeuler", name: "openEuler", order: version.RPM},

	{id: "arch", name: "Arch", order: version.Pacman, rolling: true},
	{id: "archarm", name: "Arch Linux ARM", order: version.Pacman, rolling: true},
	{id: "manjaro", name: "Manjaro", order: version.Pacman, rolling: true},
	{id: "manjaro-arm", name: "Manjaro ARM", order: version.Pacman, rolling: true},
	{id: "endeavouros", name: "EndeavourOS", order: version.Pacman, rolling: true},
	{id: "garuda", name: "Garuda", order: version.Pacman, rolling: true},
	{id: "cachyos", name: "CachyOS", order: version.Pacman, rolling: true},
	{id: "artix", name: "Artix", order: version.Pacman, rolling: true},
	{id: "arcolinux", name: "ArcoLinux", order: version.Pacman, rolling: true},
	{id: "parabola", name: "Parabola", order: version.Pacman, rolling: true},
	{id: "steamos", name: "SteamOS", order: version.Pacman},
}

const centosStream = "CentOS Stream"

// orders contains the order of versions by the first word of a release.
var orders = func() map[string]version.Order {
	of := map[string]version.Order{}
	for _, d := range distributions {
		word, _, _ := strings.Cut(d.name, " ")
		of[word] = d.order
	}
	return of
}()

// VersionOrder returns the order of package versions in the release. It depends only on the name of the
// distribution, so all reports of a release have one order. That of an unknown distribution is dpkg's.
func (r Release) VersionOrder() version.Order {
	word, _, _ := strings.Cut(string(r), " ")
	return orders[word]
}

// WantVersion returns an error of kind Invalid unless the version is comparable with others of the release,
// or with those of any release if r is empty.
func (r Release) WantVersion(text string) error {
	if r == "" && version.Valid(text) || r != "" && r.VersionOrder().Valid(text) {
		return nil
	}
	kind, sample := "a package", "1:2.4-1ubuntu3 or 2.4-1.fc43"
	if r != "" {
		sample = map[version.Order]string{version.Dpkg: "1:2.4-1ubuntu3", version.RPM: "1:2.4-1.fc43",
			version.Pacman: "1:2.4-1"}[r.VersionOrder()]
		kind += " of " + string(r)
	}
	return Errorf(Invalid, "bad_version", "%.40q is not a version of %s, such as %s.", text, kind, sample)
}

// CompareVersions is a total order of the versions of any releases, see [version.Total]. Of versions in
// different distributions it only says where they are in a list.
func CompareVersions(in Release, a string, other Release, b string) int {
	if in == other && a == b {
		return 0
	}
	return version.Total(in.VersionOrder(), a, other.VersionOrder(), b)
}

// OS is what a machine says about its operating system, as in os-release(5). All parts may be empty.
type OS struct {
	ID       string // of the distribution, in any case: "fedora"
	Name     string // of the distribution: "Fedora Linux"
	Version  string // "43"
	Codename string // "trixie"
	Build    string // "rolling"
}

// maxReleaseName is the largest number of characters of a release's name that is made from an [OS].
const maxReleaseName = 100

// Release returns the name under which the release is known, whoever reports it: "Fedora 43", "Arch",
// "openSUSE Tumbleweed", "RHEL 10.1", "Debian 13".
func (o OS) Release() Release {
	name, number := strings.TrimSuffix(strings.TrimSpace(o.Name), " GNU/Linux"), strings.TrimSpace(o.Version)
	id := strings.ToLower(strings.TrimSpace(o.ID))
	if name == "" && id != "" {
		first, size := utf8.DecodeRuneInString(id)
		name = string(unicode.ToUpper(first)) + id[size:]
	}
	if d := known(id, name); d != nil {
		switch {
		case d.rolling:
			return Release(d.name)
		case d.id == "centos" && isStream(name, number):
			name = centosStream
		default:
			name = d.name
		}
	}
	if number == "" {
		if r := Releases().Named(strings.ToLower(name), o.Codename); r != "" {
			return r
		}
	}
	for _, v := range []string{number, o.Codename, o.Build} {
		if v != "" {
			name = strings.TrimSpace(name + " " + v)
			break
		}
	}
	return Release(Truncate(name, maxReleaseName))
}

// known returns the distribution with an id or, if there is none, with a name, or nil.
func known(id, name string) *distribution {
	short := func(name string) string { return strings.TrimSuffix(name, " Linux") }
	for i, d := range distributions {
		if d.id != "" && d.id == id {
			return &distributions[i]
		}
	}
	for i, d := range distributions {
		if name != "" && short(d.name) == short(name) {
			return &distributions[i]
		}
	}
	return nil
}

// isStream reports whether a CentOS is CentOS Stream: since version 9, there is no other.
func isStream(name, number string) bool {
	major, _, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(major)
	return strings.HasSuffix(name, " Stream") || err == nil && n >= 9
}

// derivativeForm matches the names of known distributions and derivatives as their machines report them.
// It allows a fixed list of names, with a version such as 9, 22.04 or 2026.3, or without one for rolling
// distributions.
var derivativeForm = func() *regexp.Regexp {
	names := `Ubuntu (Kylin|Core|Touch|RTM)|Linux ?[Mm]int|LMDE|` +
		`[Ee]lementary( OS)?|Pop(!_OS)?|Zorin( OS)?|(KDE )?[Nn]eon|` +
		`TUXEDO( OS)?|Raspbian( GNU/Linux)?|Raspberry Pi OS|Kali( GNU/Linux)?|Devuan( GNU/Linux)?|` +
		`[Dd]eepin|MX|Parrot( OS)?|Tails|Debian( GNU/Linux| testing| unstable)?`
	for _, d := range distributions {
		names += "|" + regexp.QuoteMeta(d.name)
	}
	return regexp.MustCompile(`^(` + names + `)( [0-9]{1,4}(\.[0-9]{1,2})?)?$`)
}()
