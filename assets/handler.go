package assets

import (
	"bytes"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

// Handler serves the addresses that URL returns, below Prefix, and lets browsers cache them for a
// year. An unknown name or hash is 404. Files were compressed once; acceptsGzip says whether a header
// Accept-Encoding allows to send them so; nil: never.
//
// If dir is set (to the folder "static" of a checkout, for development), Handler reads files from
// disk on each request, whatever the hash, and forbids caching. So changes show after a reload.
func Handler(dir string, acceptsGzip func(header string) bool) http.Handler {
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
		content := f.content
		if f.compressed != nil && acceptsGzip != nil {
			w.Header().Set("Vary", "Accept-Encoding") // the compressing middleware has set it, too
			if acceptsGzip(r.Header.Get("Accept-Encoding")) {
				w.Header().Set("Content-Encoding", "gzip")
				content = f.compressed
			}
		}
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(content))
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
