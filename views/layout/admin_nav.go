package layout

import "strings"

// onPath reports whether the current page has this path, or one below it.
func onPath(s Shell, path string) bool {
	here, _, _ := strings.Cut(s.Path, "?")
	return here == path || strings.HasPrefix(here, path+"/")
}
