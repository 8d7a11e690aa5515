package debuginfo

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mishap/crash"
	"mishap/crash/symbols/elffile"
)

// MaxUpload is the size limit of an uploaded file, in bytes. The debug files of browsers are half as large.
const MaxUpload = 8 << 30

// Upload describes a file that is uploaded in parts.
type Upload struct {
	ID     elffile.BuildID
	Kind   Kind
	Size   int64
	SHA256 [sha256.Size]byte
	Origin string // what it was called where it comes from
}

// The errors of uploads.
var (
	errUploading = crash.Errorf(crash.Conflict, "uploading", "Another upload of this file is under way.")
	errOffset    = crash.Errorf(crash.Conflict, "offset", "This is not the next part of the file.")
)

// Received returns how many bytes of a file have arrived, and whether the file is stored. Sources are
// never stored in this sense: newer ones replace them.
func (f *Folder) Received(u Upload) (received int64, stored bool, err error) {
	if u.Kind != Sources {
		if file, err := f.open(u.ID, u.Kind); err == nil {
			return 0, true, file.Close()
		}
	}
	info, err := os.Stat(f.partial(u))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("folder of symbols: %w", err)
	}
	return info.Size(), false, nil
}

// partial returns the name of the file that holds the first part of an upload. Like other temporary
// files, it is removed when nothing arrives for a day.
func (f *Folder) partial(u Upload) string {
	return filepath.Join(f.dir, temporary+"upload-"+hex.EncodeToString(u.SHA256[:]))
}

// Receive adds a part that begins at offset to an upload, and stores the file when it is complete and
// verified. What arrives before the body fails is kept. It returns Conflict if offset is not the
// number of bytes received, or if another part is being received; TooLarge if the body has more bytes
// than the file; and Unprocessable if the file is not what the upload says. The upload then begins
// anew.
func (f *Folder) Receive(ctx context.Context, u Upload, offset int64, body io.Reader) (received int64, stored bool,
	err error,
) {
	name := f.partial(u)
	part, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return 0, false, fmt.Errorf("folder of symbols: %w", err)
	}
	defer part.Close() //nolint:errcheck // Sync reports errors of writing
	if err := syscall.Flock(int(part.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return 0, false, errUploading.Because(err)
	}
	if received, err = part.Seek(0, io.SeekEnd); err != nil {
		return 0, false, err
	}
	if received != offset {
		return received, false, errOffset
	}
	n, err := io.Copy(writes{part}, io.LimitReader(crash.UntilDone(ctx, body), u.Size-offset+1))
	received += n
	if received > u.Size {
		return 0, false, errors.Join(crash.Errorf(crash.TooLarge, "too_large", "The file is larger than announced."),
			os.Remove(name))
	}
	if err != nil || received < u.Size {
		return received, false, err
	}
	if err := part.Sync(); err != nil {
		return received, false, fmt.Errorf("folder of symbols: %w", err)
	}
	if err := verifyUpload(part, u); err != nil {
		return 0, false, errors.Join(crash.Errorf(crash.Unprocessable, "refused", "The file is refused: %s.",
			crash.Shorten(err.Error(), 200)), os.Remove(name))
	}
	return received, true, f.put(name, u.ID, u.Kind, u.Origin)
}

// verifyUpload returns an error if a file is not what the upload says.
func verifyUpload(file *os.File, u Upload) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, u.Size)); err != nil {
		return err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != u.SHA256 {
		return errors.New("it differs from its checksum")
	}
	if u.Kind == Sources {
		_, err := zip.NewReader(file, u.Size)
		return err
	}
	info, err := Inspect(file, u.Size)
	if err != nil {
		return err
	}
	if wrong := info.refusal(Wanted{ID: u.ID, Kind: u.Kind, Machine: info.Machine, Class: info.Class}); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}
