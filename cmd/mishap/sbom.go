package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"mishap/assets"
)

// bom is a software bill of materials in the JSON format of CycloneDX 1.6. It has no date and no serial
// number, so that the same program always prints the same.
type bom struct {
	Schema       string         `json:"$schema"`
	Format       string         `json:"bomFormat"`
	SpecVersion  string         `json:"specVersion"`
	Version      int            `json:"version"`
	Metadata     bomMetadata    `json:"metadata"`
	Components   []bomComponent `json:"components"`
	Dependencies []bomDepends   `json:"dependencies"`
}

type bomMetadata struct {
	Component bomComponent `json:"component"`
}

type bomComponent struct {
	Type       string        `json:"type"`
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Hashes     []bomHash     `json:"hashes,omitempty"`
	Licences   []bomLicence  `json:"licenses,omitempty"`
	PURL       string        `json:"purl,omitempty"`
	Properties []bomProperty `json:"properties,omitempty"`
}

type bomHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type bomLicence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type bomDepends struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// printSBOM writes what this program consists of, from the build information of Go and the embedded
// files of others.
func printSBOM(to io.Writer) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program was built without build information, which lists its modules")
	}
	self := bomComponent{Type: "application", Ref: "mishap", Name: "mishap", Version: versionText(),
		Licences: licence("Apache-2.0")}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			self.Properties = append(self.Properties, bomProperty{"go:" + s.Key, s.Value})
		}
	}
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6",
		Version: 1, Metadata: bomMetadata{self}}
	goVersion := strings.TrimPrefix(runtime.Version(), "go")
	b.add(bomComponent{Type: "library", Name: "std", Version: goVersion, Licences: licence("BSD-3-Clause"),
		PURL: "pkg:golang/std@" + goVersion})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := bomComponent{Type: "library", Name: m.Path, Version: m.Version,
			PURL: "pkg:golang/" + m.Path + "@" + url.PathEscape(m.Version)}
		if m.Sum != "" {
			c.Properties = []bomProperty{{"go:sum", m.Sum}}
		}
		b.add(c)
	}
	embedded, err := embeddedComponents()
	if err != nil {
		return err
	}
	for _, c := range embedded {
		b.add(c)
	}
	b.add(bomComponent{Type: "data", Name: "distro-info-data", Version: releaseDataVersion, Licences: licence("ISC"),
		PURL: "pkg:deb/debian/distro-info-data@" + releaseDataVersion})
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// add adds a component on which the program depends.
func (b *bom) add(c bomComponent) {
	c.Ref = c.PURL
	b.Components = append(b.Components, c)
	if len(b.Dependencies) == 0 {
		b.Dependencies = []bomDepends{{Ref: b.Metadata.Component.Ref}}
	}
	b.Dependencies[0].On = append(b.Dependencies[0].On, c.Ref)
	b.Dependencies = append(b.Dependencies, bomDepends{Ref: c.Ref})
}

func licence(id string) []bomLicence {
	var l bomLicence
	l.Licence.ID = id
	return []bomLicence{l}
}

// releaseDataVersion is the version of the data in crash/distroinfo; TestSBOM compares it with the notice
// there.
const releaseDataVersion = "2026.10.12-1"

// htmxFile matches the browser library among the assets. Its version is part of the name.
var htmxFile = regexp.MustCompile(`^htmx-(\d+\.\d+\.\d+[^/]*)\.min\.js$`)

// embeddedComponents returns the embedded files of others. TestSBOM fails if a licence file in assets
// belongs to none of them.
func embeddedComponents() ([]bomComponent, error) {
	var all []bomComponent
	err := fs.WalkDir(assets.Files(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		found := htmxFile.FindStringSubmatch(path.Base(name))
		if found == nil {
			return nil
		}
		content, err := fs.ReadFile(assets.Files(), name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		all = append(all, bomComponent{Type: "library", Name: "htmx.org", Version: found[1],
			Hashes: []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licences: licence("0BSD"),
			PURL: "pkg:npm/htmx.org@" + found[1]})
		return nil
	})
	return all, err
}
