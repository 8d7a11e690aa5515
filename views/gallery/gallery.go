// Package gallery shows pages and parts in every state that they have: empty, partial, refused, without permission, too
// much. It is for those who change how they look, and for the test of accessibility; mishap itself does not hold it.
package gallery

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"mishap/assets"
)

// specimen is one page of the gallery.
type specimen struct {
	name string
	page templ.Component
}

// path is "/bug-cells" for "Bug cells".
func (s specimen) path() string {
	return "/" + strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s.name, ",", "")), " ", "-")
}

// Paths are the addresses of all pages of the gallery.
func Paths() []string {
	paths := []string{"/"}
	for _, s := range specimens() {
		paths = append(paths, s.path())
	}
	return paths
}

// Handler serves the gallery. With an assetsDir (the folder assets/static of a checkout) style sheets are read anew each time.
func Handler(assetsDir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+assets.Prefix, assets.Handler(assetsDir))
	all := specimens()
	mux.Handle("GET /{$}", templ.Handler(contents(all)))
	for _, s := range all {
		mux.Handle("GET "+s.path(), templ.Handler(s.page))
	}
	return mux
}
