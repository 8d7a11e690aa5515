package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mishap/crash/blobs"
	"mishap/db/disk"
	"mishap/db/embedded"
)

// disks checks the free space of the folders that mishap writes to, and the shared storage.
func (d *doctor) disks(ctx context.Context) []Finding {
	out := []Finding{space("data_dir", d.Config.DataDir), temporary(os.TempDir())}
	if d.Config.DatabaseURL == "" {
		found, _ := embedded.Find(ctx, d.Config.DataDir) // the check of the database reports the error
		if found.Dir != "" && !strings.HasPrefix(found.Dir, absolute(d.Config.DataDir)+"/") {
			out = append(out, space("database", found.Dir))
		}
	}
	location, err := blobs.ParseLocation(d.Config.Blobs)
	switch {
	case d.Config.Blobs == "":
		out = append(out, d.coreSpace())
	case err != nil: // a folder
		out = append(out, space("blobs", d.Config.Blobs))
	default:
		bucket, err := blobs.OpenBucket(location, d.Config.BlobsAccessKey, d.Config.BlobsSecret)
		if err == nil {
			err = bucket.Check(ctx)
		}
		if err != nil {
			out = append(out, failed("disk", "blobs: "+explain(err), "correct blobs, blobs_access_key or blobs_secret"))
		} else {
			out = append(out, good("disk", "blobs: the object storage accepts the credentials"))
		}
	}
	return out
}

// space checks the free space of the file system that holds a folder or will hold it.
func space(label, folder string) Finding {
	there := existing(folder)
	s, err := disk.Of(there)
	if err != nil {
		return failed("disk", label+": "+explain(err), "mount the disk, or correct "+label)
	}
	message := fmt.Sprintf("%s: %s of %s are free in %s", label, size(s.Free), size(s.Total), there)
	switch {
	case s.Full():
		return failed("disk", message, "make space, or move "+label+" to a larger disk")
	case s.Low():
		return warned("disk", message, "make space, or move "+label+" to a larger disk")
	}
	return good("disk", message)
}

// temporary checks the folder for temporary files, which restore --verify and backups to object storage
// fill, and which doctor and the debugger need, too.
func temporary(folder string) Finding {
	const label = "TMPDIR"
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, folder, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return failed("disk", label+": the disk of "+folder+" is read-only", readOnlyRemedy)
	case err != nil:
		return failed("disk", label+": this user may not write to "+folder+" ("+explain(err)+")",
			"set TMPDIR to a folder that exists and that this user may write to, such as /var/tmp")
	}
	return space(label, folder)
}

// readOnlyRemedy says what to do about a read-only disk, on which nobody may write.
const readOnlyRemedy = "find out why (dmesg) and mount it writable; a service of systemd may need ReadWritePaths= " +
	"for it"

// coreSpace checks that the disk can hold the core dumps that cores_total_max_bytes permits.
func (d *doctor) coreSpace() Finding {
	if d.Config.Cores == "never" {
		return good("disk", "core dumps: none are accepted (cores is never)")
	}
	var used uint64
	err := filepath.WalkDir(filepath.Join(d.Config.DataDir, "cores"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			used += uint64(max(info.Size(), 0))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("disk", "core dumps: "+explain(err), "run mishap doctor as the user that runs mishap")
	}
	s, err := disk.Of(existing(d.Config.DataDir))
	if err != nil {
		return failed("disk", "core dumps: "+explain(err), "mount the disk, or correct data_dir")
	}
	limit := uint64(d.Config.CoresTotalMaxBytes) //nolint:gosec // the configuration checks it
	message := fmt.Sprintf("core dumps: %s of at most %s", size(used), size(limit))
	if used+s.Free < limit {
		return warned("disk", message+", but only "+size(s.Free)+" are free",
			"lower cores_total_max_bytes, or make space")
	}
	return good("disk", message)
}

// permissions checks who may read and write the configuration, data_dir and the key of core dumps.
func (d *doctor) permissions(context.Context) []Finding {
	out := []Finding{good("permissions", d.Config.File+" contains no secrets, or only its owner can read them")}
	if file := d.Config.Exposed(); file != "" {
		out[0] = failed("permissions", file+" contains secrets that other accounts can read",
			"chmod 600 "+file+", or chown root:mishap and chmod 640")
	}
	dir := d.Config.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := existing(dir)
		err := unix.Faccessat(unix.AT_FDCWD, parent, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if errors.Is(err, syscall.EROFS) {
			return append(out, failed("permissions", "data_dir: "+dir+" does not exist, and the disk of "+parent+
				" is read-only", readOnlyRemedy))
		}
		if err != nil {
			return append(out, failed("permissions", "data_dir: "+dir+" does not exist and cannot be created in "+parent,
				"create it: install -d -o mishap -g mishap -m 700 "+dir))
		}
		return append(out, good("permissions", "data_dir: "+dir+" does not exist yet"))
	case err != nil:
		return append(out, failed("permissions", "data_dir: "+explain(err), "correct data_dir"))
	case !info.IsDir():
		return append(out, failed("permissions", "data_dir: "+dir+" is not a folder", "correct data_dir"))
	}
	switch err := unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS); {
	case errors.Is(err, syscall.EROFS):
		return append(out, failed("permissions", "data_dir: the disk of "+dir+" is read-only", readOnlyRemedy))
	case err != nil:
		return append(out, failed("permissions", "data_dir: this user may not write to "+dir,
			"run mishap doctor as the user that runs mishap, or chown "+dir+" to it"))
	case info.Mode().Perm()&0o022 != 0:
		out = append(out, failed("permissions", "data_dir: other accounts may write to "+dir, "chmod go-w "+dir))
	default:
		out = append(out, good("permissions", "data_dir: only its owner can write to "+dir))
	}
	out = append(out, owners(dir, info)...)
	return append(out, d.coreKey()...)
}

// owners reports what root has created in a data_dir of another user, who cannot use it then.
func owners(dir string, info fs.FileInfo) []Finding {
	owner, ok := info.Sys().(*syscall.Stat_t)
	entries, err := os.ReadDir(dir)
	if !ok || owner.Uid == 0 || err != nil {
		return nil
	}
	var roots []string
	for _, e := range entries {
		if i, err := e.Info(); err == nil {
			if st, ok := i.Sys().(*syscall.Stat_t); ok && st.Uid == 0 {
				roots = append(roots, e.Name())
			}
		}
	}
	if len(roots) == 0 {
		return nil
	}
	return []Finding{failed("permissions", "data_dir: root has created "+strings.Join(roots, ", ")+" in "+dir+
		", whose owner cannot use it", fmt.Sprintf("as root: chown -R %d:%d '%s'", owner.Uid, owner.Gid, dir))}
}

// coreKey checks the file with the key of core dumps, if there is one.
func (d *doctor) coreKey() []Finding {
	file := filepath.Join(d.Config.DataDir, "cores.key")
	info, err := os.Stat(file)
	if d.Config.CoresKey != "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Finding{failed("permissions", explain(err), "run mishap doctor as the user that runs mishap")}
	}
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return []Finding{failed("permissions", explain(err), "chown it to the user that runs mishap")}
	case info.Mode().Perm()&0o077 != 0:
		return []Finding{failed("permissions", "other accounts can read the key of core dumps", "chmod 600 "+file)}
	case len(strings.TrimSpace(string(text))) < 32:
		return []Finding{failed("permissions", "the key of core dumps in "+file+" is damaged",
			"restore it from a backup, or remove it together with "+d.Config.DataDir+"/cores")}
	}
	return []Finding{good("permissions", "only its owner can read the key of core dumps")}
}

// existing returns the nearest folder above a path that exists, or the path itself.
func existing(path string) string {
	for path = absolute(path); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == "/" {
			return path
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// size returns a number of bytes for people.
func size(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
