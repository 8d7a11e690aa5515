package tracker

import (
	"context"

	"mishap/crash"
)

func (f *Filer) compose(ctx context.Context, b crash.Bucket, opts Options) (crash.Intent, error) {
	return crash.Intent{}, nil
}
