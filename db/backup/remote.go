package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/blobs"
)

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
		_, cleanup := to.DeletePrefix(context.WithoutCancel(ctx), r.Path+"/")
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
			if _, err := in.DeletePrefix(ctx, r.name+"/"); err != nil {
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
	_, err := in.DeletePrefix(ctx, name+"/")
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
