package symbols

import (
	"strings"

	"mishap/crash/symbols/debuginfo"
)

// Loaded returns the programs and libraries of the process, for learning which builds packages hold.
func (r Result) Loaded() []debuginfo.Loaded {
	var loaded []debuginfo.Loaded
	for _, m := range r.Modules {
		l := debuginfo.Loaded{Path: m.Path, Build: m.BuildID, Deleted: m.deleted}
		if m.Executable != nil && m.Executable.Found {
			l.Archive = archiveOf(m.Executable.Origin)
		}
		loaded = append(loaded, l)
	}
	return loaded
}

// archiveOf returns the package that a file came from: "http://symbols.example.com (libtide1_1.0_amd64.deb)".
// The result is empty if the origin names none.
func archiveOf(origin string) string {
	i := strings.LastIndex(origin, " (")
	if i < 0 || !strings.HasSuffix(origin, ".deb)") {
		return ""
	}
	return strings.TrimSuffix(origin[i+2:], ")")
}
