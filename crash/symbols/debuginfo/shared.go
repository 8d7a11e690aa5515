package debuginfo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mishap/crash"
)

// Shared is where every instance finds the files that were added on another one.
type Shared interface {
	// Put stores a file of this size, unless there is one already.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error)
	// Open returns n bytes of a file from an offset, or all if n is negative. The error is
	// fs.ErrNotExist if there is none.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
}

// sharedFiles is the name of the source in attempts.
const sharedFiles = "shared files"

func sharedKey(id BuildID, k Kind) string { return "symbols/" + string(id) + "/" + string(k) }

// Share stores a file of the folder in to.
func (f *Folder) Share(ctx context.Context, to Shared, id BuildID, k Kind) error {
	file, err := openRegular(f.path(id, k))
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err == nil {
		_, err = to.Put(ctx, sharedKey(id, k), file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	return nil
}

// askShared searches a file among those that were added on other instances, and caches it.
func (f *Finder) askShared(ctx context.Context, w Wanted, to string, r *Result) (Attempt, error) {
	a := Attempt{Source: sharedFiles, Outcome: OutcomeMissing}
	content, err := f.shared.Open(ctx, sharedKey(w.ID, w.Kind), 0, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = f.fetchShared(ctx, content, w, to, r)
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case errors.As(err, new(unusableError)):
		a.Outcome, a.Detail = OutcomeUnusable, err.Error()
	case errors.Is(err, crash.Unavailable):
		a.Outcome, a.Detail = OutcomeFailed, err.Error()
	case err != nil:
		return a, err
	}
	return a, nil
}

func (f *Finder) fetchShared(ctx context.Context, content io.ReadCloser, w Wanted, to string, r *Result) error {
	defer content.Close() //nolint:errcheck // only read
	file, err := f.cache.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(file.Name()) // it is gone if it was moved into its place
		_ = file.Close()
	}()
	if _, err := io.Copy(file, crash.UntilDone(ctx, content)); err != nil {
		return fmt.Errorf("fetch a shared file: %w", err)
	}
	info, size, err := verify(file, w)
	if err != nil {
		return unusableError{err}
	}
	return f.keep(file, w, to, sharedFiles, "", size, info, r)
}
