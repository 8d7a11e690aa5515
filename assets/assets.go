// Package assets holds the files that pages load: style sheets, scripts, the icon. They are embedded and served under
// names that carry a hash of their content, so that browsers may keep them for ever and units of two versions can run
// side by side. It knows nothing of pages.
package assets

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Prefix is the folder in URLs below which assets are served.
const Prefix = "/assets/"

// AppCSS is the name of the one style sheet: the files of static/css joined in the order of their names.
const AppCSS = "app.css"

//go:embed static
var embedded embed.FS

// catalogue is what one set of files offers.
type catalogue struct {
	byName map[string]file // "app.css"
	byURL  map[string]file // "app.3f9c1a2b.css"
}

type file struct {
	name, hashed string
	content      []byte
}

var builtIn = sync.OnceValue(func() catalogue {
	static, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // "static" is a valid path, as the embed line proves
	}
	c, err := read(static)
	if err != nil {
		panic(err) // an embedded file that cannot be read is a broken program
	}
	return c
})

// URL is the address of the asset with the given name, "app.css" → "/assets/app.3f9c1a2b.css". An unknown name gives an
// address that answers 404; a test looks that no page uses one.
func URL(name string) string {
	if f, ok := builtIn().byName[name]; ok {
		return Prefix + f.hashed
	}
	return Prefix + name
}

// Scripts are the addresses of all scripts in the order in which pages load them: htmx, then ours by name.
func Scripts() []string {
	var names []string
	for name := range builtIn().byName {
		if strings.HasSuffix(name, ".js") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if isHTMX(a) != isHTMX(b) {
			if isHTMX(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = URL(name)
	}
	return names
}

func isHTMX(name string) bool { return strings.HasPrefix(name, "htmx-") }

// read builds the catalogue of the files directly in dir, and of dir/css as one style sheet.
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
	sheets, err := fs.Glob(dir, "css/*.css") // sorted by name
	if err != nil {
		return c, err
	}
	var css bytes.Buffer
	for _, sheet := range sheets {
		content, err := fs.ReadFile(dir, sheet)
		if err != nil {
			return c, err
		}
		css.Write(content)
		css.WriteByte('\n')
	}
	c.add(AppCSS, css.Bytes())
	return c, nil
}

func (c catalogue) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	f := file{name: name, content: content}
	f.hashed = strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
	c.byName[name] = f
	c.byURL[f.hashed] = f
}
