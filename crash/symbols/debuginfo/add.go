package debuginfo

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mishap/crash"
)

// Added says what became of one file that Add was given or found.
type Added struct {
	Name    string // path, or path of the package and of the file in it
	ID      BuildID
	Kind    Kind
	Known   bool  // it was stored before
	Refused error // why it was not stored; nil: it is stored

	// In packages:
	Package Package
	Path    string // that the package installs the file at
}

// Add stores a program, library or debug file, all of those in a folder and the folders below it, or
// all of those in a Debian package (.deb, .ddeb). It calls report for each of them. In folders and
// packages it ignores files of other formats. It returns an error if it cannot go on.
func (f *Folder) Add(ctx context.Context, name string, report func(Added)) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return f.addFile(ctx, name, true, report)
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			report(Added{Name: path, Refused: err})
			return nil //nolint:nilerr // reported; the others are added
		}
		if !d.Type().IsRegular() {
			return ctx.Err()
		}
		return f.addFile(ctx, path, false, report)
	})
}

// addFile stores one file or the files of one package. If it must be one of these, others are
// reported as refused.
func (f *Folder) addFile(ctx context.Context, name string, must bool, report func(Added)) error {
	file, err := openRegular(name)
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	start := make([]byte, len(arMagic))
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		report(Added{Name: name, Refused: err})
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch start := start[:n]; {
	case bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		return f.addELF(ctx, file, name, filepath.Base(name), report)
	case string(start) == arMagic && (must || isPackageName(name)):
		return f.addPackage(ctx, file, name, report)
	case must:
		report(Added{Name: name, Refused: errors.New("neither an ELF file nor a Debian package")})
	}
	return ctx.Err()
}

// addELF copies one ELF file into the folder.
func (f *Folder) addELF(ctx context.Context, in io.Reader, name, origin string, report func(Added)) error {
	temp, err := f.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(temp.Name()) // it is gone if it was moved into its place
		_ = temp.Close()
	}()
	size, err := io.Copy(writes{temp}, crash.UntilDone(ctx, in))
	if errors.Is(err, errDisk) || ctx.Err() != nil {
		return err
	}
	var info Info
	if err == nil {
		info, err = Inspect(temp, size)
	}
	switch {
	case err != nil:
	case info.ID == "":
		err = errors.New("it has no build-id; link it with -Wl,--build-id")
	case len(info.kinds()) == 0:
		err = errors.New("it holds neither code nor debug information")
	}
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	for i, k := range info.kinds() {
		if file, err := f.open(info.ID, k); err == nil {
			_ = file.Close() // only opened to see that it is there
			report(Added{Name: name, ID: info.ID, Kind: k, Known: true})
			continue
		}
		from := temp.Name()
		if i+1 < len(info.kinds()) { // the file serves as both
			from += ".first"
			if err := os.Link(temp.Name(), from); err != nil {
				return fmt.Errorf("folder of symbols: %w", err)
			}
		}
		if err := f.put(from, info.ID, k, origin); err != nil {
			return err
		}
		report(Added{Name: name, ID: info.ID, Kind: k})
	}
	return nil
}
