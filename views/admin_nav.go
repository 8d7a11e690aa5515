package views

import "strings"

// onPath reports whether a page is the one at path, or lies below it.
func onPath(s Shell, path string) bool {
	here, _, _ := strings.Cut(s.Path, "?")
	return here == path || strings.HasPrefix(here, path+"/")
}
