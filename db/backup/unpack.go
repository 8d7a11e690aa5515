package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mishap/db/embedded"
)

// Copy returns the files of the server in the base backup in dir, which Verify has checked.
func (m Manifest) Copy(dir string) *embedded.Copy {
	return &embedded.Copy{Major: m.PostgreSQL, Database: m.Database, Private: m.Private,
		Write: func(ctx context.Context, to string) error { return unpackBase(ctx, dir, to) }}
}

// unpackBase unpacks the base backup in dir into the empty directory to.
func unpackBase(ctx context.Context, dir, to string) error {
	dir = filepath.Join(dir, databaseName)
	manifest, err := os.Open(filepath.Join(dir, baseManifest))
	if err == nil {
		err = errors.Join(writeFrom(filepath.Join(to, baseManifest), manifest), manifest.Close())
	}
	if err = errors.Join(err, untar(ctx, filepath.Join(dir, baseArchive), to),
		untar(ctx, filepath.Join(dir, walArchive), filepath.Join(to, "pg_wal"))); err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	return nil
}

// untar unpacks a compressed archive of files and directories. All are for their owner alone.
func untar(ctx context.Context, name, to string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	root, err := os.OpenRoot(to) // no file of the archive can be elsewhere
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only used to create files
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if err = root.Mkdir(filepath.Clean(h.Name), 0o700); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case tar.TypeReg:
			err = unpackFile(root, h.Name, archive)
		default:
			err = fmt.Errorf("unexpected kind of file %q", h.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close()) // PostgreSQL syncs all files when it recovers
}
