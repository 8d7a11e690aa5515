package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

const (
	manifestFormat = 2 // with base backups
	dumpFormat     = 1 // of backups with a dump, which older programs can restore
	manifestName   = "manifest.json"
	checksumName   = "manifest.sha256" // checksum of the manifest, in the format of sha256sum
)

// Manifest describes a backup.
type Manifest struct {
	Format     int       `json:"format"`
	Mishap     string    `json:"mishap"`     // version of the program that made the backup
	Schema     int       `json:"schema"`     // version of the database schema
	PostgreSQL int       `json:"postgresql"` // major version of the server
	Taken      time.Time `json:"taken"`      // the state is that of this moment; of a base backup: not older
	Method     Method    `json:"method"`
	Secrets    bool      `json:"secrets"` // whether the configuration has its secrets
	Blobs      bool      `json:"blobs"`
	Totals
	Files []File `json:"files"`

	// Only base backups have the following.

	Before   *Totals `json:"before,omitempty"`   // before the backup; Totals are those after it
	Database string  `json:"database,omitempty"` // name of the database in the server
	Private  bool    `json:"private,omitempty"`  // the server was a private PostgreSQL
}

// Totals are numbers of rows that identify the state of a database.
type Totals struct {
	Reports  int64 `json:"reports"`
	Problems int64 `json:"problems"`
	Bugs     int64 `json:"bugs"`
}

// File is a file of a backup.
type File struct {
	Path   string `json:"path"` // relative to the backup, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size returns the number of bytes of all files.
func (m Manifest) Size() (size int64) {
	for _, f := range m.Files {
		size += f.Size
	}
	return size
}

// describe lists the files in dir with their checksums.
func describe(ctx context.Context, dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		sum, size, err := checksum(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, File{Path: filepath.ToSlash(name), Size: size, SHA256: sum})
		return err
	})
	return files, err
}

func checksum(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// sumOf returns the checksum of a text.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// write writes the manifest and its checksum into the backup.
func (m Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	line := sumOf(text) + "  " + manifestName + "\n"
	return errors.Join(writeFile(filepath.Join(dir, manifestName), text),
		writeFile(filepath.Join(dir, checksumName), []byte(line)))
}

// Read reads the manifest of the backup in dir and checks that this program can restore the backup. It
// returns Invalid if dir contains no undamaged backup, and Conflict if it needs another mishap.
func Read(dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, crash.Errorf(crash.Invalid, "no_backup", "%s is no backup: it has no %s.", dir, manifestName)
	}
	if err != nil {
		return m, unread(dir, manifestName, err)
	}
	line, err := os.ReadFile(filepath.Join(dir, checksumName))
	if err != nil {
		return m, unread(dir, checksumName, err)
	}
	return parse(filepath.Base(dir), text, line)
}

// parse returns the manifest of the backup with a name from a text whose checksum is in line. The errors
// are those of Read.
func parse(name string, text, line []byte) (m Manifest, err error) {
	if want, _, _ := strings.Cut(string(line), " "); want != sumOf(text) {
		return m, damaged(name, manifestName, "its checksum differs from that in "+checksumName)
	}
	var old struct {
		BasedOn string `json:"based_on"`
	}
	if err := errors.Join(json.Unmarshal(text, &m), json.Unmarshal(text, &old)); err != nil {
		return m, damaged(name, manifestName, "it cannot be read").Because(err)
	}
	if old.BasedOn != "" {
		return m, crash.Errorf(crash.Conflict, "backup_incremental", "The backup %s is incremental: it has only what had "+
			"changed since %s, and this mishap restores only whole backups. Nothing was restored; use a whole backup, or "+
			"restore this one with the version that made it (%s).", name, old.BasedOn, m.Mishap)
	}
	known, err := knownSchema()
	if err != nil {
		return m, err
	}
	if m.Format > manifestFormat || m.Schema > known {
		return m, crash.Errorf(crash.Conflict, "backup_newer", "The backup was made by a newer mishap (%s, format "+
			"%d, schema "+
			"%d; this program knows up to format %d and schema %d); restore it with that version or a later one.",
			m.Mishap, m.Format, m.Schema, manifestFormat, known)
	}
	return m, nil
}

// Verify checks that every file of the backup in dir is there and undamaged. It returns Invalid, with
// the names of the backup and of the first file that is not.
func (m Manifest) Verify(ctx context.Context, dir string) error {
	name := filepath.Base(dir)
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return damaged(name, manifestName, fmt.Sprintf("it names the file %q outside the backup", f.Path))
		}
		sum, size, err := checksum(filepath.Join(dir, filepath.FromSlash(f.Path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return damaged(name, f.Path, "it is missing")
		case err != nil:
			return unread(dir, f.Path, err)
		case size != f.Size:
			return damaged(name, f.Path, fmt.Sprintf("it has %d bytes instead of %d", size, f.Size))
		case sum != f.SHA256:
			return damaged(name, f.Path, "its checksum is wrong")
		}
	}
	content := "toc.dat"
	if m.Method == Base {
		content = baseArchive
	}
	if !slices.ContainsFunc(m.Files, func(f File) bool { return f.Path == databaseName+"/"+content }) {
		return damaged(name, manifestName, "it lists no database")
	}
	return nil
}

// unread returns the error of a backup of which a file could not be read. If this account may not read the
// file, nobody knows whether it is damaged.
func unread(dir, file string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return crash.Errorf(crash.Forbidden, "backup_unreadable", "This account may not read %s, so it is unknown whether "+
			"the backup is good. Nothing was restored; run this as root, or as the owner of the backup.",
			filepath.Join(dir, filepath.FromSlash(file))).Because(err)
	}
	return damaged(filepath.Base(dir), file, "it cannot be read").Because(err)
}

func damaged(name, file, why string) *crash.Error {
	return crash.Errorf(crash.Invalid, "backup_damaged", "The backup %s is damaged: %s: %s. Nothing was restored; use "+
		"another backup.", name, file, why)
}
