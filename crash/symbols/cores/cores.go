// Package cores stores the core dumps that machines send. They hold passwords, keys and private data
// of people, so each is encrypted in a file that only this user can read. All code that reads or
// writes cores goes through this package.
package cores

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/blobs"
)

// Store stores cores in a folder, or in storage that instances on several machines share. Any number of
// processes may use the same storage. A Store is safe for concurrent use. If shared storage cannot be
// reached, errors have the kind Unavailable.
type Store struct {
	blobs   blobs.Store
	prefix  string        // of the keys
	waiting *blobs.Folder // cores to be shipped to shared storage; nil: the storage is a folder
	dir     string        // of the folder, and of cores that are being received
	id      string
	key     string
}

const (
	suffix  = ".core"
	partial = ".upload-"
	idKey   = "store-id"
)

// OpenFolder opens a folder of cores and creates it if it is missing. The key is any text that nobody
// can guess (see Key).
func OpenFolder(ctx context.Context, dir string, key crash.Secret) (*Store, error) {
	folder, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{blobs: folder, dir: dir, key: string(key)}
	return s, s.identify(ctx)
}

// Open opens the cores below a prefix of storage that other instances share; all need the same key. dir
// is the folder for cores that are being received or have to wait. Open creates it if it is missing.
func Open(ctx context.Context, shared blobs.Store, prefix, dir string, key crash.Secret) (*Store, error) {
	folder, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{blobs: shared, prefix: prefix, waiting: folder, dir: dir, key: string(key)}
	return s, s.identify(ctx)
}

// openFolder opens a folder, and removes partial files that a dead process left there.
func openFolder(dir string) (*blobs.Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of cores: %w", err)
	}
	if err := crash.RemoveLeftovers(dir, partial, time.Now()); err != nil {
		return nil, fmt.Errorf("folder of cores: %w", err)
	}
	return blobs.OpenFolder(dir)
}

func (s *Store) identify(ctx context.Context) (err error) {
	if s.id, err = permanentText(ctx, s.blobs, s.prefix+idKey); err != nil {
		return fmt.Errorf("identity of the cores: %w", err)
	}
	return nil
}

// Key returns the key for encrypting cores: the configured one or, if that is empty, a random one in
// data_dir/cores.key, which it creates if it is missing.
func Key(ctx context.Context, dataDir string, configured crash.Secret) (crash.Secret, error) {
	if configured != "" {
		return configured, nil
	}
	folder, err := openFolder(dataDir)
	if err != nil {
		return "", err
	}
	key, err := permanentText(ctx, folder, "cores.key")
	if err != nil {
		return "", fmt.Errorf("key of cores, in %s: %w", dataDir, err)
	}
	return crash.Secret(key), nil
}

// permanentText returns the content of a blob. If the blob is missing, it stores a random text,
// whatever other processes do at the same time.
func permanentText(ctx context.Context, in blobs.Store, key string) (string, error) {
	fresh := strings.NewReader(rand.Text() + rand.Text() + "\n")
	if _, err := in.Put(ctx, key, fresh, fresh.Size()); err != nil {
		return "", err
	}
	blob, err := in.Open(ctx, key, 0, -1)
	if err != nil {
		return "", err
	}
	defer blob.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(blob)
	text := strings.TrimSpace(string(b))
	if err == nil && len(text) < 32 {
		err = fmt.Errorf("%s is damaged; remove it, with the cores that were stored with it", key)
	}
	return text, err
}

// ID returns the identity of the storage, which is the same for all processes that use it.
func (s *Store) ID() string { return s.id }

// Dir returns the folder for cores that are being received.
func (s *Store) Dir() string { return s.dir }

func (s *Store) keyOf(id crash.OopsID) string { return s.prefix + id.String() + suffix }

// ErrEmpty is returned if a core has no content.
var ErrEmpty = errors.New("empty core")

// ErrPending is returned if a core is complete and safe on this machine, because the shared storage
// cannot be reached. Ship moves it there.
var ErrPending = errors.New("the core waits on this machine")

// Put stores a core, compressed and encrypted, and returns its stored size. Afterwards the core is
// either complete and on disk, or absent. fresh is false if the core of this report was stored before,
// which stays. ErrPending also means that the core is on disk. The end of ctx does not interrupt storing
// a core that was received, because machines send a core only once.
func (s *Store) Put(ctx context.Context, id crash.OopsID, core io.Reader) (size int64, fresh bool, err error) {
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
	ctx = context.WithoutCancel(ctx)
	size, fresh, err = putFile(ctx, s.blobs, s.keyOf(id), f)
	if s.waiting != nil && errors.Is(err, crash.Unavailable) {
		if _, _, err = putFile(ctx, s.waiting, id.String()+suffix, f); err == nil {
			err = ErrPending
		}
	}
	if err != nil {
		return 0, false, fmt.Errorf("store core: %w", err)
	}
	return size, fresh, nil
}

func putFile(ctx context.Context, to blobs.Store, key string, f *os.File) (size int64, fresh bool, err error) {
	info, err := f.Stat()
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		fresh, err = to.Put(ctx, key, f, info.Size())
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), fresh, nil
}

// Ship moves the cores that wait on this machine to the shared storage.
func (s *Store) Ship(ctx context.Context) error {
	if s.waiting == nil {
		return nil
	}
	for info, err := range s.waiting.List(ctx, "") {
		if _, ok := reportOf(info.Key); ok {
			err = s.ship(ctx, info.Key)
		}
		if err != nil {
			return fmt.Errorf("ship cores: %w", err)
		}
	}
	return nil
}

func (s *Store) ship(ctx context.Context, key string) error {
	f, err := os.Open(filepath.Join(s.dir, key))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if _, _, err := putFile(ctx, s.blobs, s.prefix+key, f); err != nil {
		return err
	}
	return s.waiting.Delete(ctx, key)
}

// reportOf returns the report whose core has a key, without the prefix.
func reportOf(key string) (crash.OopsID, bool) {
	name, ok := strings.CutSuffix(key, suffix)
	id, err := crash.ParseOopsID(name)
	return id, ok && err == nil
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

var errKey = crash.Errorf(crash.Unprocessable, "wrong_key",
	"The core cannot be decrypted: it was stored with another key.")

// maxWindow is the largest window of a zstd stream, in bytes. Put uses smaller ones.
const maxWindow = 32 << 20

// Open returns the content of a core as the machine sent it, until ctx ends. The error is
// fs.ErrNotExist if it is not stored, and Unprocessable (wrong_key) if it was encrypted with another key.
func (s *Store) Open(ctx context.Context, id crash.OopsID) (io.ReadCloser, error) {
	f, err := s.blobs.Open(ctx, s.keyOf(id), 0, -1)
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
	file io.Closer
}

func (r *reader) Close() error {
	r.Decoder.Close()
	return r.file.Close()
}

// Size returns the stored size of a core. The error is fs.ErrNotExist if it is not stored.
func (s *Store) Size(ctx context.Context, id crash.OopsID) (int64, error) {
	info, err := s.blobs.Stat(ctx, s.keyOf(id))
	return info.Size, err
}

// Remove removes a core, also one that waits on this machine. It does nothing if the core is not stored.
func (s *Store) Remove(ctx context.Context, id crash.OopsID) error {
	if s.waiting != nil {
		if err := s.waiting.Delete(ctx, id.String()+suffix); err != nil {
			return err
		}
	}
	return s.blobs.Delete(ctx, s.keyOf(id))
}

// Core is a stored core.
type Core struct {
	Report crash.OopsID
	Size   int64 // as stored
	At     time.Time
}

// List returns all cores, oldest first.
func (s *Store) List(ctx context.Context) ([]Core, error) {
	var all []Core
	for info, err := range s.blobs.List(ctx, s.prefix) {
		if err != nil {
			return nil, fmt.Errorf("list cores: %w", err)
		}
		if id, ok := reportOf(strings.TrimPrefix(info.Key, s.prefix)); ok {
			all = append(all, Core{id, info.Size, info.At})
		}
	}
	slices.SortFunc(all, func(a, b Core) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.Report[:], b.Report[:]))
	})
	return all, nil
}

// RemoveOld removes the cores that were stored before the given time. Then it removes the oldest
// until the total size is at most most bytes. It returns the reports whose cores it removed, and
// continues after a core that it cannot remove.
// The function held returns those of the reports whose cores must stay, whatever their age and size.
func (s *Store) RemoveOld(ctx context.Context, before time.Time, most int64,
	held func(context.Context, []crash.OopsID) ([]crash.OopsID, error)) (removed []crash.OopsID, err error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	var total int64
	var ids []crash.OopsID
	for _, c := range all {
		total += c.Size
		ids = append(ids, c.Report)
	}
	if len(all) == 0 || !all[0].At.Before(before) && total <= most { // the oldest is first
		return nil, nil
	}
	stay, err := held(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if !c.At.Before(before) && total <= most || slices.Contains(stay, c.Report) {
			continue
		}
		if removeErr := s.Remove(ctx, c.Report); removeErr != nil {
			err = removeErr
			continue
		}
		total -= c.Size
		removed = append(removed, c.Report)
	}
	return removed, err
}
