// Package gallery shows pages and parts in every state: empty, partial, refused, without
// permission, too long. Developers use it when they change styles, and so does the accessibility
// test. mishap itself does not contain it.
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

// path returns the address of a page: "/bug-cells" for "Bug cells".
func (s specimen) path() string {
	return "/" + strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s.name, ",", "")), " ", "-")
}

// Paths returns the addresses of all pages of the gallery.
func Paths() []string {
	paths := []string{"/"}
	for _, s := range specimens() {
		paths = append(paths, s.path())
	}
	return paths
}

// Handler serves the gallery. With an assetsDir (the folder assets/static of a checkout), it
// rereads style sheets on each request.
func Handler(assetsDir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+assets.Prefix, assets.Handler(assetsDir, nil))
	all := specimens()
	mux.Handle("GET /{$}", templ.Handler(contents(all)))
	for _, s := range all {
		mux.Handle("GET "+s.path(), templ.Handler(s.page))
	}
	return mux
}
