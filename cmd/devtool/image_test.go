package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage writes an image twice, and checks that both have one digest, and what they contain.
// packaging/test-image runs real images.
func TestImage(t *testing.T) { //nolint:paralleltest // sets an environment variable
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	inputs := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(inputs, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o := imageOptions{version: "1.2.3+abc", program: write("mishap", "#!/bin/sh\necho \"{}\"\n"),
		authorities: write("ca", "certificates"), licence: write("licence", "terms")}
	var digests []v1.Hash
	layouts := []string{t.TempDir() + "/one", t.TempDir() + "/two"}
	for _, dir := range append(layouts, layouts[0]) {
		tag, digest, err := writeImage(t.Context(), dir, o)
		if err != nil || tag != "1.2.3-abc" {
			t.Fatalf("got %q, %v; want the tag 1.2.3-abc", tag, err)
		}
		digests = append(digests, digest)
		if err := os.Chtimes(o.program, time.Now(), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("got digests %v, want the same", digests)
	}
	index, err := layout.ImageIndexFromPath(layouts[0])
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 1 {
		t.Errorf("index: got %v, %v; want the second image in place of the first", manifest, err)
	}
	image, err := index.Image(digests[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "65532:65532" || config.Config.Healthcheck == nil {
		t.Errorf("configuration: got %+v, %v", config, err)
	}

	var out bytes.Buffer
	unpack := unpackImageCommand()
	unpack.SetOut(&out)
	unpack.SetArgs([]string{layouts[0], "1.2.3-abc"})
	if err := unpack.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	owners := map[string]int{}
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		owners[strings.Trim(h.Name, "/")] = h.Uid
		if !h.ModTime.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s: got the time %v, want that of SOURCE_DATE_EPOCH", h.Name, h.ModTime)
		}
	}
	want := strings.Fields("etc etc/group etc/passwd etc/ssl etc/ssl/certs etc/ssl/certs/ca-certificates.crt tmp usr " +
		"usr/bin usr/bin/mishap usr/share usr/share/doc usr/share/doc/mishap usr/share/doc/mishap/copyright " +
		"usr/share/doc/mishap/mishap.cdx.json var var/lib var/lib/mishap")
	if got := slices.Sorted(maps.Keys(owners)); !slices.Equal(got, want) {
		t.Errorf("got files %v, want %v", got, want)
	}
	if owners["var/lib/mishap"] != imageUser || owners["usr/bin/mishap"] != 0 {
		t.Errorf("got owners %v, want %d for data_dir and root for the rest", owners, imageUser)
	}
}
