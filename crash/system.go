package crash

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Sleep pauses for d. It returns the error of ctx if ctx has ended or ends before that.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}

// UntilDone returns a reader of r that fails with the error of ctx once ctx is done. It ends a long
// copy.
func UntilDone(ctx context.Context, r io.Reader) io.Reader { return &untilDone{ctx, r} }

type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u *untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// InFolder calls add, which puts a file into the folder dir, after creating the folder if it is missing.
// It repeats both if somebody removed the folder in between, because it was still empty. The error is that
// of add, or of creating the folder.
func InFolder(dir string, add func() error) error {
	for tries := 1; ; tries++ {
		err := os.MkdirAll(dir, 0o755)
		vanished := errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) // a parent, or dir right after mkdir
		if err == nil {
			err = add()
			vanished = errors.Is(err, fs.ErrNotExist)
		}
		if !vanished || tries == maxFolderTries {
			return err
		}
	}
}

// maxFolderTries ends a loop over an error that does not come from a removed folder. Each further try
// needs another removal at the wrong moment.
const maxFolderTries = 100
