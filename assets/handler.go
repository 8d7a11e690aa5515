package assets

import (
	"bytes"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

// Handler serves what URL names, below Prefix, to be kept by browsers for a year; an unknown name
// or hash is 404.
//
// With a dir (the folder "static" of a checkout; for development) the files are read from disk for
// each request, whatever the hash, and nothing is kept: a change shows after a reload.
func Handler(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hashed, ok := strings.CutPrefix(r.URL.Path, Prefix)
		if !ok {
			http.NotFound(w, r)
			return
		}
		f, ok := builtIn().byURL[hashed]
		cacheControl := "public, max-age=31536000, immutable"
		if dir != "" {
			cacheControl = "no-store"
			f, ok = readFresh(dir, hashed)
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", cacheControl)
		if ct := contentTypes[path.Ext(f.name)]; ct != "" {
			w.Header().Set("Content-Type", ct)
		}
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.content))
	})
}

// contentTypes maps extensions to media types, independently of the machine's MIME tables.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// readFresh reads the file of a hashed name from disk, whatever the hash.
func readFresh(dir, hashed string) (file, bool) {
	c, err := read(os.DirFS(dir))
	if err != nil {
		return file{}, false
	}
	ext := path.Ext(hashed)
	base := strings.TrimSuffix(hashed, ext)
	f, ok := c.byName[strings.TrimSuffix(base, path.Ext(base))+ext]
	return f, ok
}
