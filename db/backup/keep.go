package backup

import (
	"context"
	"slices"
)

// held is a backup at a destination.
type held struct {
	name   string
	good   bool // the manifest is undamaged, and all files have their sizes
	unread bool // this account may not read it, so nobody knows whether it is good
}

// shelf is a destination of backups.
type shelf interface {
	// held returns the complete backups, oldest first.
	held(ctx context.Context) ([]held, error)
	// remove deletes a backup, in such an order that the rest of it is not complete.
	remove(ctx context.Context, name string) error
}

// deleteOld deletes the backups that are older than the newest keep good ones. It sets the names of the
// deleted backups in r, and those of the ones that are not good or may not be read, which it leaves alone.
func (r *Result) deleteOld(ctx context.Context, on shelf, keep int) error {
	all, err := on.held(ctx)
	if err != nil {
		return err
	}
	good := 0
	for _, h := range slices.Backward(all) {
		if h.unread {
			r.Unread = append(r.Unread, h.name)
			continue
		}
		if !h.good {
			r.Damaged = append(r.Damaged, h.name)
			continue
		}
		if good++; good <= keep {
			continue
		}
		if err := on.remove(ctx, h.name); err != nil {
			return err
		}
		r.Deleted = append(r.Deleted, h.name)
	}
	slices.Sort(r.Deleted)
	slices.Sort(r.Damaged)
	slices.Sort(r.Unread)
	return nil
}
