// Package assets contains the files that pages load: style sheets, scripts, the icon. It embeds
// them and serves them under names that contain a hash of their content. So browsers may cache them
// forever, and instances of two versions can run side by side. The package knows nothing about
// pages.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Prefix is the folder of assets in URLs.
const Prefix = "/assets/"

// AppCSS is the name of the single style sheet: the files of static/css, joined in the order of
// their names.
const AppCSS = "app.css"

// AppJS is the name of our single script: the files of static/js, joined in the order of their
// names. Each file is one function, so they share no names.
const AppJS = "app.js"

//go:embed static
var embedded embed.FS

// catalogue holds a set of files by name and by URL.
type catalogue struct {
	byName map[string]file // "app.css"
	byURL  map[string]file // "app.3f9c1a2b.css"
}

type file struct {
	name, hashed string
	content      []byte
	compressed   []byte // content by gzip; nil: not smaller
}

// Files returns the embedded files.
func Files() fs.FS {
	static, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // "static" is a valid path, as the embed line proves
	}
	return static
}

var builtIn = sync.OnceValue(func() catalogue {
	c, err := read(Files())
	if err != nil {
		panic(err) // embedded files are always readable
	}
	for url, f := range c.byURL {
		f.compressed = compress(f.content)
		c.byURL[url] = f
	}
	return c
})

// compress returns content by gzip, or nil if that is not smaller.
func compress(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, _ = w.Write(content)                               // a buffer accepts everything
	_ = w.Close()
	if b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

// URL returns the address of the asset with the given name: "app.css" → "/assets/app.3f9c1a2b.css".
// For an unknown name, the address answers 404; a test checks that no page uses one.
func URL(name string) string {
	if f, ok := builtIn().byName[name]; ok {
		return Prefix + f.hashed
	}
	return Prefix + name
}

// Scripts returns the addresses of all scripts in loading order: htmx, then ours.
func Scripts() []string {
	var names []string
	for name := range builtIn().byName {
		if strings.HasPrefix(name, "htmx-") && strings.HasSuffix(name, ".js") {
			names = append(names, URL(name))
		}
	}
	slices.Sort(names)
	return append(names, URL(AppJS))
}

// read returns the catalogue of the files directly in dir, of dir/css as one style sheet, and of
// dir/js as one script.
func read(dir fs.FS) (catalogue, error) {
	c := catalogue{byName: map[string]file{}, byURL: map[string]file{}}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		content, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return c, err
		}
		c.add(e.Name(), content)
	}
	for name, pattern := range map[string]string{AppCSS: "css/*.css", AppJS: "js/*.js"} {
		content, err := joined(dir, pattern)
		if err != nil {
			return c, err
		}
		if name == AppCSS {
			content = dispensable.ReplaceAll(content, nil)
		}
		c.add(name, content)
	}
	return c, nil
}

// dispensable matches what browsers do not need of a style sheet: comments, indentation and empty
// lines, more than a quarter of its size when compressed.
var dispensable = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:^\s+)`)

// joined returns the content of all matching files, in the order of their names.
func joined(dir fs.FS, pattern string) ([]byte, error) {
	names, err := fs.Glob(dir, pattern) // sorted by name
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, name := range names {
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		all.Write(content)
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}

func (c catalogue) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	f := file{name: name, content: content}
	f.hashed = strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
	c.byName[name] = f
	c.byURL[f.hashed] = f
}

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
