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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
	"mishap/crash/blobs"
)

// partial begins the names of incomplete backups and of those that are being deleted.
const partial = ".mishap-"

// complete matches the names of complete backups, which sort by age.
var complete = regexp.MustCompile(`^mishap-\d{8}T\d{6}Z(-\d+)?$`)

// openFolder creates the folder for backups if its parent exists, and locks it until unlock is
// called or the process ends. It returns NotFound if the parent is missing, as after a typing error
// or while a disk is not mounted, Invalid if dir is a file, and Conflict if another process makes a
// backup there.
func openFolder(dir string) (unlock func(), err error) {
	err = os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, crash.Errorf(crash.NotFound, "no_backup_folder", "The folder %s does not exist, so no backup was "+
			"written. Correct the name, mount the disk, or create the folder.", filepath.Dir(filepath.Clean(dir)))
	case errors.Is(err, fs.ErrExist):
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, crash.Errorf(crash.Invalid, "backup_folder_is_file", "%s is a file; name a folder.", dir)
		}
	case err != nil:
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return lock(f, crash.Errorf(crash.Conflict, "backup_running", "Another backup to %s is running; wait for its end.",
		dir))
}

// LockFile creates and locks a file until unlock is called, which deletes it, or the process ends.
// It returns busy if another process has locked the file.
func LockFile(name string, busy error) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		release, err := lock(f, busy)
		if err != nil {
			return nil, err
		}
		ours, err := f.Stat()
		now, nowErr := os.Stat(name)
		if err == nil && nowErr == nil && os.SameFile(ours, now) {
			return func() {
				_ = os.Remove(name) // an empty file is harmless
				release()
			}, nil
		}
		release() // another process has deleted the file
	}
}

// lock locks an open file or folder until unlock is called or the process ends.
func lock(f *os.File, busy error) (unlock func(), err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = busy
	}
	if err != nil {
		_ = f.Close() // it was only opened for the lock
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// removePartials removes what interrupted backups left in dir, which must be locked.
func removePartials(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partial) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// IsName reports whether a backup can have this name.
func IsName(name string) bool { return complete.MatchString(name) }

// nameOf returns the name of a complete backup.
func nameOf(taken time.Time) string { return "mishap-" + taken.UTC().Format("20060102T150405Z") }

// publish renames a complete backup to its final name, which it returns. All files must be synced.
func publish(dir, tmp string, taken time.Time) (string, error) {
	err := filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncFolder(path)
	})
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, nameOf(taken))
	name := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(tmp, name); err != nil {
		return "", err
	}
	return name, syncFolder(dir)
}

// folder is a folder with backups.
type folder string

func (dir folder) held(context.Context) (all []held, err error) {
	entries, err := os.ReadDir(string(dir)) // sorted
	for _, e := range entries {
		if !e.IsDir() || !complete.MatchString(e.Name()) {
			continue
		}
		h := held{name: e.Name()}
		path := filepath.Join(string(dir), e.Name())
		m, err := Read(path)
		if err == nil {
			err = m.hasAllFiles(path)
		}
		h.good, h.unread = err == nil, crash.KindOf(err) == crash.Forbidden
		all = append(all, h)
	}
	return all, err
}

func (dir folder) remove(_ context.Context, name string) error {
	tmp := filepath.Join(string(dir), partial+"delete-"+name)
	return errors.Join(os.Rename(filepath.Join(string(dir), name), tmp), os.RemoveAll(tmp))
}

// hasAllFiles checks that all files of the backup in dir have their sizes. It does not read them. The
// errors are those of Verify.
func (m Manifest) hasAllFiles(dir string) error {
	for _, f := range m.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return unread(dir, f.Path, err)
		}
		if info.Size() != f.Size {
			return damaged(filepath.Base(dir), f.Path, "it has another size")
		}
	}
	return nil
}

// writeFile writes and syncs a file that only its owner can read.
func writeFile(name string, content []byte) error {
	return writeFrom(name, strings.NewReader(string(content)))
}

func writeFrom(name string, content io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyTree copies the files below from, as far as they exist, and calls each before every file. It
// skips files that are deleted meanwhile.
func copyTree(from, to string, each func() error) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := each(); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		return writeFrom(filepath.Join(to, name), f)
	})
}

// A backup in object storage has the same files as a folder. checksumName is stored last and
// deleted first, so that a backup without it is incomplete.

// abandonedAfter is the age of the last file of an incomplete backup, and of an incomplete file,
// from which it counts as interrupted and is deleted. Another backup may be writing younger ones.
const abandonedAfter = 24 * time.Hour

// CreateRemote writes a backup to object storage. It first writes it to a temporary folder in
// o.Dir, which needs space for the compressed database. The memory that it needs does not depend on
// the size. The errors are those of Create.
func CreateRemote(ctx context.Context, o Options, to *blobs.Bucket) (r Result, err error) {
	if err := removeAbandoned(ctx, to); err != nil {
		return r, err
	}
	tmp, err := os.MkdirTemp(o.Dir, "mishap-backup-") // mode 0700
	if err != nil {
		return r, explainDisk(o.Dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if r.Manifest, r.Notice, err = o.fill(ctx, tmp); err != nil {
		return r, explainDisk(o.Dir, err)
	}
	if r.Path, err = freeName(ctx, to, nameOf(r.Taken)); err != nil {
		return r, err
	}
	if err := upload(ctx, to, tmp, r.Path, r.Files); err != nil {
		_, cleanup := blobs.DeletePrefix(context.WithoutCancel(ctx), to, r.Path+"/")
		return r, errors.Join(err, cleanup)
	}
	if o.Keep > 0 {
		if err := r.deleteOld(ctx, objects{to}, o.Keep); err != nil {
			return r, fmt.Errorf("the backup %s is complete, but an older one cannot be deleted: %w", r.Path, err)
		}
	}
	return r, nil
}

// freeName returns the first name that no backup has.
func freeName(ctx context.Context, in *blobs.Bucket, base string) (string, error) {
	name := base
	for i := 2; ; i++ {
		taken := false
		for _, err := range in.List(ctx, name+"/") {
			if err != nil {
				return "", err
			}
			taken = true
			break
		}
		if !taken {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// upload stores the files of the backup in dir under a name, and then its manifest.
func upload(ctx context.Context, to *blobs.Bucket, dir, name string, files []File) error {
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	for _, p := range append(paths, manifestName, checksumName) {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil {
			return err
		}
		err = to.PutLarge(ctx, name+"/"+p, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("store %s: %w", p, err)
		}
	}
	return nil
}

// Download copies the backup with a name to the folder dir. It returns Invalid if there is no complete
// backup with this name. Verify checks the files.
func Download(ctx context.Context, from *blobs.Bucket, name, dir string) error {
	for _, p := range []string{checksumName, manifestName} {
		err := fetch(ctx, from, name+"/"+p, filepath.Join(dir, p))
		if errors.Is(err, fs.ErrNotExist) {
			return crash.Errorf(crash.Invalid, "no_backup", "There is no complete backup %s: it has no %s.", name, p)
		}
		if err != nil {
			return err
		}
	}
	m, err := Read(dir)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		local := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(local) {
			return damaged(name, manifestName, fmt.Sprintf("it names the file %q outside the backup", f.Path))
		}
		err := fetch(ctx, from, name+"/"+f.Path, filepath.Join(dir, local))
		if errors.Is(err, fs.ErrNotExist) {
			return damaged(name, f.Path, "it is missing")
		}
		if err != nil {
			return explainDisk(dir, err)
		}
	}
	return nil
}

// NewestRemote returns the name of the newest complete backup in object storage, or Invalid if there is
// none. The backup may be damaged.
func NewestRemote(ctx context.Context, in *blobs.Bucket) (string, error) {
	return newest(ctx, objects{in}, "This address")
}

// DownloadErasures copies the records of erasures of all backups to the empty folder dir, also those of
// incomplete ones, and returns the names of the files.
func DownloadErasures(ctx context.Context, from *blobs.Bucket, dir string) (files []string, err error) {
	all, err := listRemote(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		key := keysName + "/" + ErasuresName
		if _, ok := r.sizes[key]; !ok {
			continue
		}
		file := filepath.Join(dir, r.name+".jsonl")
		if err := fetch(ctx, from, r.name+"/"+key, file); err != nil {
			return nil, fmt.Errorf("read erasures of %s: %w", r.name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func fetch(ctx context.Context, from *blobs.Bucket, key, file string) error {
	content, err := from.Open(ctx, key, 0, -1)
	if err != nil {
		return err
	}
	return errors.Join(writeFrom(file, content), content.Close())
}

// remote is what a bucket has of one backup.
type remote struct {
	name   string
	sizes  map[string]int64 // by path in the backup
	newest time.Time
}

// listRemote returns the backups in a bucket, also incomplete ones, oldest first.
func listRemote(ctx context.Context, in *blobs.Bucket) ([]remote, error) {
	var all []remote
	for info, err := range in.List(ctx, "mishap-") {
		if err != nil {
			return nil, err
		}
		name, file, _ := strings.Cut(info.Key, "/")
		if !complete.MatchString(name) || file == "" {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, remote{name: name, sizes: map[string]int64{}})
		}
		last := &all[len(all)-1]
		last.sizes[file] = info.Size
		if info.At.After(last.newest) {
			last.newest = info.At
		}
	}
	// The keys of a second backup within a second ("-2/") come before those of the first ("/").
	slices.SortFunc(all, func(a, b remote) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// removeAbandoned deletes what interrupted backups left a day ago or earlier.
func removeAbandoned(ctx context.Context, in *blobs.Bucket) error {
	before := time.Now().Add(-abandonedAfter)
	if err := in.AbortUploads(ctx, "mishap-", before); err != nil {
		return err
	}
	all, err := listRemote(ctx, in)
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, ok := r.sizes[checksumName]; !ok && r.newest.Before(before) {
			if _, err := blobs.DeletePrefix(ctx, in, r.name+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

// objects is object storage with backups.
type objects struct{ *blobs.Bucket }

func (in objects) held(ctx context.Context) (all []held, err error) {
	found, err := listRemote(ctx, in.Bucket)
	for _, r := range found {
		if _, ok := r.sizes[checksumName]; !ok {
			continue // it is incomplete
		}
		h := held{name: r.name}
		text, line, err := readManifest(ctx, in.Bucket, r.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if m, parseErr := parse(r.name, text, line); err == nil && parseErr == nil { // else damaged, or of a newer mishap
			h.good = r.hasAllFiles(m)
		}
		all = append(all, h)
	}
	return all, err
}

func (in objects) remove(ctx context.Context, name string) error {
	if err := in.Delete(ctx, name+"/"+checksumName); err != nil {
		return err
	}
	_, err := blobs.DeletePrefix(ctx, in, name+"/")
	return err
}

// readManifest returns the manifest of a backup and the line with its checksum.
func readManifest(ctx context.Context, in *blobs.Bucket, name string) (text, line []byte, err error) {
	for file, to := range map[string]*[]byte{manifestName: &text, checksumName: &line} {
		content, err := in.Open(ctx, path.Join(name, file), 0, -1)
		if err != nil {
			return nil, nil, err
		}
		*to, err = io.ReadAll(content)
		if err = errors.Join(err, content.Close()); err != nil {
			return nil, nil, err
		}
	}
	return text, line, nil
}

// hasAllFiles reports whether all files of the backup with the manifest m have their sizes.
func (r remote) hasAllFiles(m Manifest) bool {
	for _, f := range m.Files {
		if size, ok := r.sizes[f.Path]; !ok || size != f.Size {
			return false
		}
	}
	return true
}

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
		return m, crash.Errorf(crash.Invalid, "no_backup", "%s is not a backup: it has no %s.", dir, manifestName)
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
