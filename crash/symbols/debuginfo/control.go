package debuginfo

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Package is what a Debian package says about itself.
type Package struct {
	Name         string
	Version      string
	Architecture string // "all" for packages without programs
}

// maxControl limits the unpacked size of the part of a package that describes it, in bytes.
const maxControl = 64 << 20

// readControl reads the member control.tar of a package.
func readControl(in io.Reader, form string) (Package, error) {
	files, err := decompress(in, form)
	if err != nil {
		return Package{}, err
	}
	defer files.Close() //nolint:errcheck // only read
	archive := tar.NewReader(&atMost{r: files, left: maxControl})
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return Package{}, errors.New("it has no file control")
		}
		if err != nil {
			return Package{}, err
		}
		if entry.Typeflag == tar.TypeReg && path.Clean("/"+entry.Name) == "/control" {
			return parseControl(archive)
		}
	}
}

// parseControl reads fields such as "Version: 1.0". Continued lines begin with a blank.
func parseControl(in io.Reader) (Package, error) {
	var p Package
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "package":
			p.Name = value
		case "version":
			p.Version = value
		case "architecture":
			p.Architecture = value
		}
	}
	if err := lines.Err(); err != nil {
		return p, fmt.Errorf("its file control: %w", err)
	}
	return p, nil
}
