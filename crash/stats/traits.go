package stats

import (
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Trait is one value of a field of a report: a property of the machine or of what is installed on it.
type Trait struct {
	Field FacetField
	Value string
}

// TraitFields lists the fields in whose values a problem can be concentrated, besides the versions of packages. If two
// fields tell the same machines apart, a sentence names the one that comes first.
var TraitFields = []FacetField{FacetRelease, FacetVersion, FacetArchitecture, FacetOrigin, FacetThirdParty,
	FacetGraphics, FacetModel, FacetVirtual, FacetKernel, FacetSeries, FacetFlavour, FacetDesktop, FacetSession,
	FacetLocale, FacetCPU}

// Traits are the traits of one report, and which ones it says nothing about.
type Traits struct {
	All []Trait

	fields   map[FacetField]bool // fields that it tells
	packages bool                // it lists the packages that the crashed one depends on
	drivers  bool                // it tells all graphics drivers
	nvidia   bool                // it tells whether the driver is nvidia
	version  bool                // it tells the version of nvidia, if that is the driver
}

// maxTraits is the largest number of traits of one report, and maxTraitText the largest length of a
// value in code points.
const (
	maxTraits    = 2000
	maxTraitText = 150
)

// NewTraits returns the traits of a report.
func NewTraits(s crash.Summary, f crash.Fields) Traits {
	t := Traits{fields: map[FacetField]bool{}, packages: strings.TrimSpace(f["Dependencies"]) != ""}
	for _, field := range TraitFields {
		for _, value := range field.ValuesIn(s, f) {
			t.add(field, value)
		}
	}
	t.fields[FacetFlavour] = t.fields[FacetKernel]
	t.fields[FacetOrigin] = t.packages || t.fields[FacetOrigin]
	t.fields[FacetThirdParty] = t.packages || t.fields[FacetThirdParty]
	g := newGraphics(f)
	t.drivers, t.nvidia, t.version = g.all, g.all || g.modules, g.version != "" || !slices.Contains(g.names, nvidia)
	for _, d := range dependencies(f) {
		if d.version != "" {
			t.add(PackageFacet(d.name), d.version)
		}
	}
	return t
}

func (t *Traits) add(field FacetField, value string) {
	if value != "" && len(t.All) < maxTraits {
		t.All = append(t.All, Trait{field, value})
		t.fields[field] = true
	}
}

// tells reports whether the report tells if its machine has a trait.
func (t *Traits) tells(trait Trait) bool {
	switch {
	case trait.Field.Package() != "":
		return t.packages
	case trait.Field != FacetGraphics:
		return t.fields[trait.Field]
	case trait.Value == nvidia:
		return t.nvidia
	case strings.HasPrefix(trait.Value, nvidia+"-"):
		return t.nvidia && t.version
	}
	return t.drivers
}

// originMark precedes where a package is from, unless it is from the distribution.
const originMark = "[origin: "

// dependency is a package in the field Dependencies of a report, or the crashed one.
type dependency struct {
	name, version string
	origin        string // where it is from, unless it is from the distribution
}

// Dependencies returns the names of the packages that the crashed one depends on.
func Dependencies(f crash.Fields) (names []string) {
	for _, d := range dependencies(f) {
		names = append(names, d.name)
	}
	return names
}

// dependencies returns the packages that the crashed one depends on.
func dependencies(f crash.Fields) (all []dependency) {
	for line := range pytext.Lines(f["Dependencies"]) {
		if d := newDependency(line); d.name != "" && len(all) < maxTraits {
			all = append(all, d)
		}
	}
	return all
}

// newDependency reads a line such as "libtide1 1.2-1 [origin: LP-PPA-tide]".
func newDependency(line string) (d dependency) {
	words := strings.Fields(line)
	if len(words) < 2 || strings.HasPrefix(words[1], "(") {
		return d // "tidewatch (not installed)"
	}
	d.name, d.version = words[0], words[1]
	if _, rest, ok := strings.Cut(line, originMark); ok {
		d.origin, _, _ = strings.Cut(rest, "]")
	}
	return d
}

// thirdParty returns the packages of a report that are not from the distribution.
func thirdParty(f crash.Fields) []dependency {
	all := []dependency{newDependency(f["Package"])}
	if strings.Contains(f["Dependencies"], originMark) { // few reports have any, and most have hundreds of packages
		all = append(dependencies(f), all...)
	}
	return slices.DeleteFunc(all, func(d dependency) bool { return d.origin == "" })
}

var (
	kernelSeries  = regexp.MustCompile(`^\d+\.\d+`)
	kernelFlavour = regexp.MustCompile(`-([a-z][a-z0-9_]*(?:-[a-z0-9_]*[a-z])*)$`)
)

// kernelOf returns the version of the kernel, such as 6.8.0-41-generic.
func kernelOf(f crash.Fields) string {
	if words := strings.Fields(f["Uname"]); len(words) > 1 {
		return words[1]
	}
	return ""
}

// flavourOf returns the last words of a kernel's version that are not numbers: generic, lowlatency-hwe.
func flavourOf(kernel string) string {
	if found := kernelFlavour.FindStringSubmatch(kernel); found != nil {
		return found[1]
	}
	return ""
}

const nvidia = "nvidia"

// graphicsModules are kernel modules that drive graphics hardware.
var graphicsModules = []string{nvidia, "nouveau", "i915", "xe", "amdgpu", "radeon", "fglrx", "vmwgfx", "vboxvideo",
	"qxl", "virtio_gpu", "bochs", "ast", "mgag200", "gma500_gfx", "hyperv_drm", "msm", "panfrost", "v3d", "vc4"}

var (
	nvidiaNumber  = regexp.MustCompile(`\b(\d{3})\.\d`)
	nvidiaPackage = regexp.MustCompile(`^(?:nvidia-(?:driver|dkms|kernel-common|kernel-source)|` +
		`xserver-xorg-video-nvidia|libnvidia-gl|nvidia)-(\d{3})(?:-server|-open|-server-open)?(?::\w+)?$`)
)

// graphics is what a report says about graphics drivers.
type graphics struct {
	names   []string
	version string // first number of nvidia's version, if known
	all     bool   // all drivers are known
	modules bool   // whether nvidia is one of them is known
}

// newGraphics reads the graphics drivers of a report. Lspci and ProcModules name all of them.
// NonfreeKernelModules names nvidia; apport adds it together with Uname, but only if there are such modules.
func newGraphics(f crash.Fields) (g graphics) {
	add := func(name string) {
		if slices.Contains(graphicsModules, name) && !slices.Contains(g.names, name) {
			g.names = append(g.names, name)
		}
	}
	display := false
	for line := range pytext.Lines(f["Lspci"]) {
		text := strings.TrimLeft(line, "\t ?") // whoopsie sends ? instead of a tabulator
		switch name, value, _ := strings.Cut(text, ": "); {
		case text != "" && text == line && strings.Contains(line, ": "):
			display = strings.Contains(line, "VGA compatible controller") || strings.Contains(line, "3D controller") ||
				strings.Contains(line, "Display controller")
			g.all = g.all || display
		case display && name == "Kernel driver in use":
			add(strings.TrimSpace(value))
		}
	}
	for line := range pytext.Lines(f["ProcModules"]) {
		if words := strings.Fields(line); len(words) > 3 {
			g.all = true
			add(words[0])
		}
	}
	for _, name := range strings.Fields(f["NonfreeKernelModules"]) {
		add(name)
	}
	for line := range pytext.Lines(f[nvidiaField]) {
		if found := nvidiaNumber.FindStringSubmatch(line); found != nil && strings.HasPrefix(line, "NVRM version:") {
			add(nvidia)
			g.version = found[1]
		}
	}
	if g.version == "" && strings.Contains(f["Dependencies"], nvidia) {
		g.addPackages(dependencies(f), add)
	}
	g.modules = f["Uname"] != "" || f["NonfreeKernelModules"] != "" || slices.Contains(g.names, nvidia)
	return g
}

// addPackages looks for a package of nvidia's driver.
func (g *graphics) addPackages(all []dependency, add func(string)) {
	for _, d := range all {
		if found := nvidiaPackage.FindStringSubmatch(d.name); found != nil && g.version == "" {
			add(nvidia)
			g.version = found[1]
		}
	}
}

// nvidiaField is the field in which apport attaches /proc/driver/nvidia/version.
const nvidiaField = ".proc.driver.nvidia.version"

// values returns the names of the drivers, and nvidia's with its version, such as nvidia-550.
func (g graphics) values() []string {
	values := slices.Clone(g.names)
	if g.version != "" {
		values = append(values, nvidia+"-"+g.version)
	}
	return values
}
