package crash

import (
	"context"
	"io"
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
