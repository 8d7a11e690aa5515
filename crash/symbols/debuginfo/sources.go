package debuginfo

import (
	"archive/zip"
	"context"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"mishap/crash/symbols/elffile"
)

// The limits of the sources of one build.
const (
	maxSourceBytes = 8 << 20 // of one file; debuggers show lines of it
	maxSourceTotal = 1 << 30
	maxSourceFiles = 100_000
)

// SourceTree is a folder with source files. The debug information calls it From.
type SourceTree struct {
	From, Dir string
}

// ParseSourceTree parses FROM=DIR, or DIR if the debug information has the paths of this machine.
func ParseSourceTree(s string) (SourceTree, error) {
	from, dir, ok := strings.Cut(s, "=")
	if !ok {
		dir = from
	}
	if !path.IsAbs(from) || dir == "" {
		return SourceTree{}, fmt.Errorf("%.200q is neither an absolute path nor FROM=DIR with an absolute FROM", s)
	}
	return SourceTree{path.Clean(from), dir}, nil
}

// AddSources stores the source files of added debug information: those that it names and that are in
// one of the trees. Sources that were stored earlier for the same build are replaced. It returns the
// number of files. The error is fs.ErrNotExist if the folder has no debug information of this build.
func (f *Folder) AddSources(ctx context.Context, id elffile.BuildID, trees []SourceTree) (n int, err error) {
	file, err := f.open(id, Debuginfo)
	if err != nil {
		return 0, err
	}
	defer file.Close() //nolint:errcheck // only read
	names, err := sourceNames(file)
	if err != nil {
		return 0, fmt.Errorf("read the names of source files: %w", err)
	}
	temp, err := f.create()
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = os.Remove(temp.Name()) // it is gone if it was moved into its place
		_ = temp.Close()
	}()
	archive := zip.NewWriter(temp)
	left := int64(maxSourceTotal)
	for _, tree := range trees {
		root, err := os.OpenRoot(tree.Dir)
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			if inside, ok := strings.CutPrefix(name, strings.TrimSuffix(tree.From, "/")+"/"); ok && ctx.Err() == nil {
				added, err := addSource(archive, root, inside, name, &left)
				if err != nil {
					return 0, errors.Join(err, root.Close())
				}
				if added {
					n++
				}
			}
		}
		if err := root.Close(); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(archive.Close(), ctx.Err()); err != nil || n == 0 {
		return 0, err
	}
	return n, f.put(temp.Name(), id, Sources, "sources")
}

// addSource adds the file at the path inside a tree to an archive, under the name that the debug
// information has for it. It reports false if the tree has no such file, or if it is too large.
func addSource(archive *zip.Writer, root *os.Root, inside, name string, left *int64) (bool, error) {
	info, err := root.Stat(inside)
	if err != nil || !info.Mode().IsRegular() || info.Size() > min(maxSourceBytes, *left) {
		return false, nil // the tree need not have every file
	}
	file, err := root.Open(inside)
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // only read
	w, err := archive.Create(strings.TrimPrefix(name, "/"))
	if err != nil {
		return false, err
	}
	size, err := io.Copy(w, io.LimitReader(file, info.Size()))
	*left -= size
	return err == nil, err
}

// sourceNames returns the absolute paths of the source files that debug information names, in order.
func sourceNames(file *os.File) (names []string, err error) {
	defer func() {
		if r := recover(); r != nil { // package dwarf panics on some damaged files
			err = fmt.Errorf("the debug information is damaged: %v", r)
		}
	}()
	program, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	info, err := program.DWARF()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for units := info.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil {
			return nil, err
		}
		if unit == nil || len(found) > maxSourceFiles {
			return slices.Sorted(maps.Keys(found)), nil
		}
		if unit.Tag != dwarf.TagCompileUnit {
			continue
		}
		lines, err := info.LineReader(unit)
		if err != nil {
			return nil, err
		}
		if lines == nil {
			continue
		}
		for _, f := range lines.Files() {
			if f != nil && path.IsAbs(f.Name) {
				found[path.Clean(f.Name)] = true
			}
		}
	}
}

// OpenSource opens a source file of a build by its path in the debug information. The error is
// fs.ErrNotExist if the folder does not have it. The caller closes the file.
func (f *Folder) OpenSource(id elffile.BuildID, name string) (io.ReadCloser, fs.FileInfo, error) {
	file, err := f.open(id, Sources)
	if err != nil {
		return nil, nil, err
	}
	content, info, err := openZipped(file, strings.TrimPrefix(path.Clean("/"+name), "/"))
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &zipped{content, file}, info, nil
}

func openZipped(file *os.File, name string) (io.ReadCloser, fs.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, nil, err
	}
	content, err := archive.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err = content.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, errors.Join(err, content.Close())
	}
	return content, info, nil
}

// zipped is a file in an archive. Closing it closes the archive.
type zipped struct {
	io.ReadCloser
	archive *os.File
}

func (z *zipped) Close() error { return errors.Join(z.ReadCloser.Close(), z.archive.Close()) }
