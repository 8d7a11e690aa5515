// Package cores stores the core dumps that machines send. They hold passwords, keys and private data
// of people, so each is encrypted in a file that only this user can read. All code that reads or
// writes cores goes through this package.
package cores

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
)

// Store is a folder of cores. Any number of processes may use one folder. A Store is safe for
// concurrent use.
type Store struct {
	dir string
	id  string
	key string
}

const (
	suffix  = ".core"
	partial = ".upload-"
	idFile  = ".store-id"
)

// Open opens a folder of cores and creates it if it is missing. It removes partial files that a dead
// process left. The key is any text that nobody can guess (see Key).
func Open(dir string, key crash.Secret) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of cores: %w", err)
	}
	id, err := permanentText(filepath.Join(dir, idFile))
	if err != nil {
		return nil, fmt.Errorf("folder of cores: %w", err)
	}
	s := &Store{dir: dir, id: id, key: string(key)}
	s.removePartials()
	return s, nil
}

// Key returns the key for encrypting cores: the configured one or, if that is empty, a random one in
// data_dir/cores.key, which it creates if it is missing.
func Key(dataDir string, configured crash.Secret) (crash.Secret, error) {
	if configured != "" {
		return configured, nil
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", fmt.Errorf("key of cores: %w", err)
	}
	key, err := permanentText(filepath.Join(dataDir, "cores.key"))
	if err != nil {
		return "", fmt.Errorf("key of cores: %w", err)
	}
	return crash.Secret(key), nil
}

// permanentText returns the content of a file. If the file is missing, it creates it with a random
// text, whatever other processes do at the same time.
func permanentText(name string) (string, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createRandom(name); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		b, err = os.ReadFile(name)
	}
	text := strings.TrimSpace(string(b))
	if err == nil && len(text) < 32 {
		err = fmt.Errorf("%s is damaged; remove it, with the cores that were stored with it", name)
	}
	return text, err
}

func createRandom(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), partial+"*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // removed later as a partial file
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	_, err = f.WriteString(hex.EncodeToString(b) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

// ID returns the identity of the folder, which is the same for all processes that use it.
func (s *Store) ID() string { return s.id }

// Dir returns the path of the folder.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(id crash.OopsID) string { return filepath.Join(s.dir, id.String()+suffix) }

// ErrEmpty is returned if a core has no content.
var ErrEmpty = errors.New("empty core")

// Put stores a core, compressed and encrypted, and returns its size in the folder. Afterwards the
// core is either complete and on disk, or absent. fresh is false if the core of this report was
// stored before, which stays.
func (s *Store) Put(id crash.OopsID, core io.Reader) (size int64, fresh bool, err error) {
	f, err := os.CreateTemp(s.dir, partial+"*") // mode 0600
	if err != nil {
		return 0, false, fmt.Errorf("store core: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	if err := s.encrypt(f, core); err != nil {
		return 0, false, err
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return 0, false, fmt.Errorf("store core: %w", err)
	}
	switch err := os.Link(f.Name(), s.path(id)); {
	case errors.Is(err, fs.ErrExist):
		return info.Size(), false, nil
	case err != nil:
		return 0, false, fmt.Errorf("store core: %w", err)
	}
	if err := syncFolder(s.dir); err != nil {
		return 0, false, fmt.Errorf("store core: %w", err)
	}
	return info.Size(), true, nil
}

// lowestWork is the work factor of scrypt. The key is random, not a password, so it needs none.
const lowestWork = 1

func (s *Store) encrypt(to io.Writer, core io.Reader) error {
	recipient, err := age.NewScryptRecipient(s.key)
	if err != nil {
		return fmt.Errorf("key of cores: %w", err)
	}
	recipient.SetWorkFactor(lowestWork)
	encrypted, err := age.Encrypt(to, recipient)
	if err != nil {
		return fmt.Errorf("store core: %w", err)
	}
	compressed, err := zstd.NewWriter(encrypted, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("store core: %w", err)
	}
	n, err := io.Copy(compressed, core)
	if err = errors.Join(err, compressed.Close()); err == nil {
		err = encrypted.Close()
	}
	if err != nil {
		return fmt.Errorf("store core: %w", err)
	}
	if n == 0 {
		return ErrEmpty
	}
	return nil
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing was written through it
	return d.Sync()
}

var errKey = crash.Errorf(crash.Unprocessable, "wrong_key",
	"The core cannot be decrypted: it was stored with another key.")

// maxWindow is the largest window of a zstd stream, in bytes. Put uses smaller ones.
const maxWindow = 32 << 20

// Open returns the content of a core as the machine sent it. The error is fs.ErrNotExist if it is
// not stored, and Unprocessable (wrong_key) if it was encrypted with another key.
func (s *Store) Open(id crash.OopsID) (io.ReadCloser, error) {
	f, err := os.Open(s.path(id))
	if err != nil {
		return nil, err
	}
	plain, err := s.decrypt(f)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &reader{plain, f}, nil
}

func (s *Store) decrypt(f io.Reader) (*zstd.Decoder, error) {
	identity, err := age.NewScryptIdentity(s.key)
	if err != nil {
		return nil, fmt.Errorf("key of cores: %w", err)
	}
	decrypted, err := age.Decrypt(f, identity)
	if err != nil {
		return nil, errKey.Because(err)
	}
	return zstd.NewReader(decrypted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

type reader struct {
	*zstd.Decoder
	file *os.File
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.Decoder.Close()
	return r.file.Close()
}

// Size returns the size of a core in the folder. The error is fs.ErrNotExist if it is not stored.
func (s *Store) Size(id crash.OopsID) (int64, error) {
	info, err := os.Stat(s.path(id))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Remove removes a core. It does nothing if the core is not stored.
func (s *Store) Remove(id crash.OopsID) error {
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove core: %w", err)
	}
	return nil
}

// Core is a stored core.
type Core struct {
	Report crash.OopsID
	Size   int64 // in the folder
	At     time.Time
}

// List returns all cores, oldest first.
func (s *Store) List() ([]Core, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list cores: %w", err)
	}
	var all []Core
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		id, err := crash.ParseOopsID(name)
		if !ok || err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("list cores: %w", err)
		}
		all = append(all, Core{id, info.Size(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b Core) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.Report[:], b.Report[:]))
	})
	return all, nil
}

// RemoveOld removes the cores that were stored before the given time. Then it removes the oldest
// until the total size is at most most bytes. It returns the reports whose cores it removed, and
// continues after a core that it cannot remove.
func (s *Store) RemoveOld(before time.Time, most int64) (removed []crash.OopsID, err error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	var total int64
	for _, c := range all {
		total += c.Size
	}
	for _, c := range all {
		if !c.At.Before(before) && total <= most {
			continue
		}
		if removeErr := s.Remove(c.Report); removeErr != nil {
			err = removeErr
			continue
		}
		total -= c.Size
		removed = append(removed, c.Report)
	}
	return removed, err
}

// removePartials removes partial files that a terminated process left. It skips recent files,
// because another process may be writing them.
func (s *Store) removePartials() {
	rests, _ := filepath.Glob(filepath.Join(s.dir, partial+"*")) // the pattern is valid
	for _, name := range rests {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(name)
		}
	}
}
