package crash

import (
	"context"
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
