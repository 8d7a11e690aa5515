package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree holds the files of a layer by their paths, without a leading slash.
type tree map[string]treeFile

type treeFile struct {
	header  tar.Header
	content []byte
}

func (t tree) file(name string, mode int64, content []byte) {
	t.parents(name)
	t[name] = treeFile{tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))}, content}
}

func (t tree) folder(name string, mode fs.FileMode, owner int) {
	t.parents(name)
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	t[name] = treeFile{header: tar.Header{Typeflag: tar.TypeDir, Mode: bits, Uid: owner, Gid: owner}}
}

func (t tree) link(name, target string) {
	t.parents(name)
	t[name] = treeFile{header: tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}}
}

// parents adds the missing folders above a file.
func (t tree) parents(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = treeFile{header: tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}}
		}
	}
}

// layer returns the tree as a layer: sorted, all files of the same date, without names of users.
func (t tree) layer(date time.Time) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		h := t[name].header
		h.Name, h.ModTime = name, date
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(t[name].content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// The Debian packages that an image with PostgreSQL is made of. Their dependencies come with them.
const (
	postgresPackage = "postgresql-15"
	shellPackage    = "dash" // initdb needs a shell
)

var (
	// unneededPackages are dependencies of scripts that do not run in an image, and of PostgreSQL's
	// compiler of queries, which mishap turns off.
	unneededPackages = regexp.MustCompile(`^(perl.*|libperl.*|lib.*-perl|libgdbm.*|libdb5.*|usrmerge|` +
		`init-system-helpers|sysvinit-utils|debconf|adduser|passwd|dpkg|tar|lsb-base|netbase|postgresql-(client-)?common|openssl|ssl-cert|` +
		`sensible-utils|debianutils|ucf|readline-common|libc-l10n|locales|libllvm.*|libz3.*|libsemanage.*|libsepol.*)$`)
	unneededFiles = regexp.MustCompile(`^(usr/share/(man|locale|info|lintian|doc-base|bug|postgresql-common)/|` +
		`usr/share/doc/[^/]+/[^c]|usr/share/doc/[^/]+/changelog|etc/(init\.d|cron|default|logrotate)|var/lib/systemd|` +
		`usr/lib/postgresql/[0-9]+/lib/(bitcode|llvmjit)|lib/systemd|usr/lib/tmpfiles\.d)`)
	installLine = regexp.MustCompile(`^Inst (\S+) \((\S+) `)
)

// postgresTree returns the files of PostgreSQL and its dependencies from Debian packages. apt-get
// downloads the packages and verifies them. Their scripts do not run.
func postgresTree(ctx context.Context) (tree, error) {
	dir, err := os.MkdirTemp("", "mishap-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	nothing := filepath.Join(dir, "status")
	if err := os.WriteFile(nothing, nil, 0o600); err != nil {
		return nil, err
	}
	plan, err := output(exec.CommandContext(ctx, "apt-get", "install", "--simulate", "--no-install-recommends",
		"-o", "Dir::State::status="+nothing, "-o", "Debug::NoLocking=1", postgresPackage, shellPackage))
	if err != nil {
		return nil, err
	}
	args := []string{"download", "--quiet=2"}
	for line := range strings.Lines(plan) {
		if m := installLine.FindStringSubmatch(line); m != nil && !unneededPackages.MatchString(m[1]) {
			args = append(args, m[1]+"="+m[2])
		}
	}
	download := exec.CommandContext(ctx, "apt-get", args...)
	download.Dir = dir
	if _, err := output(download); err != nil {
		return nil, err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(packages) == 0 {
		return nil, errors.Join(errors.New("apt-get downloaded no packages"), err)
	}
	t := tree{}
	for _, name := range packages {
		if err := t.addPackage(ctx, name); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	t.link("bin/sh", "dash")
	return t, nil
}

// addPackage adds the files of a Debian package, and its description for scanners.
func (t tree) addPackage(ctx context.Context, name string) error {
	control, err := output(exec.CommandContext(ctx, "dpkg-deb", "--field", name))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(filepath.Base(name), "_")
	t.file("var/lib/dpkg/status.d/"+first, 0o644, []byte(control))
	files, err := output(exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", name))
	if err != nil {
		return err
	}
	for r := tar.NewReader(strings.NewReader(files)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := inTree(h.Name)
		if name == "" || unneededFiles.MatchString(name) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if _, ok := t[name]; !ok {
				t.folder(name, fs.FileMode(h.Mode&0o777), 0)
			}
		case tar.TypeSymlink:
			t.link(name, h.Linkname)
		case tar.TypeReg:
			content, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			t.file(name, h.Mode&0o755, content) // without set-user-id bits
		case tar.TypeLink:
			t.file(name, h.Mode&0o755, t[inTree(h.Linkname)].content)
		default:
			return fmt.Errorf("%s: unexpected kind of file %q", name, h.Typeflag)
		}
	}
}

// inTree returns the path in a tree of a path in an archive, such as ./usr/bin/sh.
func inTree(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, stderr.String())
	}
	return string(out), nil
}
