package crash

// DebianArchitecture returns Debian's name of an architecture of Go, rpm or pacman.
func DebianArchitecture(architecture string) string {
	switch architecture {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "386", "i486", "i586", "i686":
		return "i386"
	case "arm", "armv7hl", "armv7h":
		return "armhf"
	case "ppc64le":
		return "ppc64el"
	case "noarch", "any":
		return "all"
	}
	return architecture
}
