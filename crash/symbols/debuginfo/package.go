package debuginfo

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"mishap/crash"
)

// A Debian package is an ar archive: debian-binary, control.tar, then data.tar with the files.
const (
	arMagic      = "!<arch>\n"
	arHeaderSize = 60
)

// The limits of a package.
const (
	maxUnpacked = 64 << 30  // bytes of all files together
	maxWindow   = 128 << 20 // bytes of the decoder's memory; a package chooses what it needs
)

func isPackageName(name string) bool {
	return strings.HasSuffix(name, ".deb") || strings.HasSuffix(name, ".ddeb")
}

// addPackage stores the ELF files of a Debian package.
func (f *Folder) addPackage(ctx context.Context, in io.Reader, name string, report func(Added)) error {
	err := f.addData(ctx, bufio.NewReaderSize(in, 64<<10), name, report)
	if err != nil && !errors.Is(err, errDisk) && ctx.Err() == nil {
		report(Added{Name: name, Refused: fmt.Errorf("the package is damaged: %w", err)})
		return nil
	}
	return err
}

func (f *Folder) addData(ctx context.Context, in *bufio.Reader, name string, report func(Added)) error {
	data, form, described, err := findData(in)
	if err != nil {
		return err
	}
	files, err := decompress(data, form)
	if err != nil {
		return err
	}
	defer files.Close() //nolint:errcheck // only read
	archive := tar.NewReader(&atMost{r: crash.UntilDone(ctx, files), left: maxUnpacked})
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		content := bufio.NewReaderSize(archive, 4096)
		if start, err := content.Peek(4); err != nil || string(start) != elf.ELFMAG {
			continue
		}
		inside := strings.TrimPrefix(filepath.Clean("/"+entry.Name), "/")
		err = f.addELF(ctx, content, name+": "+inside, filepath.Base(name), func(a Added) {
			a.Package, a.Path = described, "/"+inside
			report(a)
		})
		if err != nil {
			return err
		}
	}
}

// findData returns the member data.tar of an ar archive, and how it is compressed: "", ".gz", ".xz"
// or ".zst". It also returns what the member before it, control.tar, says.
func findData(in *bufio.Reader) (data io.Reader, form string, described Package, err error) {
	if _, err := in.Discard(len(arMagic)); err != nil {
		return nil, "", described, err
	}
	for {
		header := make([]byte, arHeaderSize)
		if _, err := io.ReadFull(in, header); err != nil {
			return nil, "", described, errors.New("it has no member data.tar")
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(header[48:58])), 10, 64)
		if err != nil || size < 0 || string(header[58:]) != "`\n" {
			return nil, "", described, errors.New("it is no ar archive")
		}
		member := strings.TrimRight(string(header[:16]), " /")
		if form, ok := strings.CutPrefix(member, "data.tar"); ok {
			return io.LimitReader(in, size), form, described, nil
		}
		content := &io.LimitedReader{R: in, N: size + size%2}
		if form, ok := strings.CutPrefix(member, "control.tar"); ok {
			if described, err = readControl(io.LimitReader(content, size), form); err != nil {
				return nil, "", described, err
			}
		}
		if _, err := io.CopyN(io.Discard, content, content.N); err != nil {
			return nil, "", described, err
		}
	}
}

func decompress(data io.Reader, form string) (io.ReadCloser, error) {
	switch form {
	case "":
		return io.NopCloser(data), nil
	case ".gz":
		return gzip.NewReader(data)
	case ".xz":
		r, err := xz.NewReader(data, maxWindow)
		return io.NopCloser(r), err
	case ".zst":
		r, err := zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	default:
		return nil, fmt.Errorf("its files are compressed in the unknown form %q", form)
	}
}

// atMost fails when more than the permitted number of bytes is read.
type atMost struct {
	r    io.Reader
	left int64
}

func (a *atMost) Read(b []byte) (int, error) {
	if a.left <= 0 {
		return 0, errors.New("its files are too large")
	}
	n, err := a.r.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	return n, err
}
