package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"

	"mishap/crash"
)

// chainMax is the largest number of backups that one restore needs: a whole one, and incremental ones that
// are based on each other. The backup after them is a whole one again.
const chainMax = 7

// held is a backup at a destination.
type held struct {
	name     string
	manifest Manifest
	sum      string // checksum of the manifest
	good     bool   // the manifest is undamaged, and all files have their sizes
	unread   bool   // this account may not read it, so nobody knows whether it is good
	length   int    // number of backups that restoring it needs, with itself
}

// shelf is a destination of backups.
type shelf interface {
	// held returns the complete backups, oldest first.
	held(ctx context.Context) ([]held, error)
	// open opens a file of a backup.
	open(ctx context.Context, name, file string) (io.ReadCloser, error)
	// remove deletes a backup, in such an order that the rest of it is not complete.
	remove(ctx context.Context, name string) error
}

// link follows the incremental backups to those that they are based on, and sets their lengths. If that
// backup is missing or damaged, the incremental one is not good either.
func link(all []held) {
	for i := range all {
		h := &all[i]
		h.length = 1
		if !h.good || h.manifest.BasedOn == "" {
			continue
		}
		base := slices.IndexFunc(all[:i], func(b held) bool {
			return b.good && b.name == h.manifest.BasedOn && b.sum == h.manifest.BasedOnSum
		})
		if h.good = base >= 0; h.good {
			h.length = all[base].length + 1
		}
	}
}

// last returns the backup on which an incremental one can be based, or nil if it has to be a whole one:
// there is none, it is of another version of PostgreSQL, or the chain is as long as it may be.
func last(ctx context.Context, on shelf, major int) (*held, error) {
	all, err := on.held(ctx)
	if err != nil {
		return nil, err
	}
	link(all)
	for _, h := range slices.Backward(all) {
		if h.good && h.manifest.Method == Base {
			if h.length >= chainMax || h.manifest.PostgreSQL != major {
				return nil, nil //nolint:nilnil // there is no such backup
			}
			return &h, nil
		}
	}
	return nil, nil //nolint:nilnil // as above
}

// deleteOld deletes the backups that are older than the newest keep good ones, except those that the
// newest ones are based on. It sets the names of the deleted backups in r, and those of the ones that are
// not good or may not be read, which it leaves alone.
func (r *Result) deleteOld(ctx context.Context, on shelf, keep int) error {
	all, err := on.held(ctx)
	if err != nil {
		return err
	}
	link(all)
	needed := map[string]bool{}
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
		if good++; good <= keep || needed[h.name] {
			needed[h.manifest.BasedOn] = true
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

// Chain returns the folders of the backups that restoring the backup in dir needs, oldest first. They are
// beside it. It returns Invalid if one is missing or is another one.
func (m Manifest) Chain(dir string) ([]string, error) {
	chain := []string{dir}
	for m.BasedOn != "" {
		if !complete.MatchString(m.BasedOn) || len(chain) >= chainMax {
			return nil, damaged(filepath.Base(dir), manifestName, "it is based on an impossible backup")
		}
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(filepath.Dir(absolute), m.BasedOn)
		base, sum, err := read(dir)
		if crash.KindOf(err) == crash.Invalid {
			return nil, crash.Errorf(crash.Invalid, "incomplete_chain", "The backup is incremental and needs %s, which is "+
				"missing or damaged. Nothing was restored; use another backup.", dir).Because(err)
		}
		if err != nil {
			return nil, err
		}
		if sum != m.BasedOnSum {
			return nil, crash.Errorf(crash.Invalid, "incomplete_chain", "The backup is incremental and needs %s, but that is "+
				"another backup of the same name. Nothing was restored; use another backup.", dir)
		}
		chain, m = append(chain, dir), base
	}
	slices.Reverse(chain)
	return chain, nil
}

// sumOf returns the checksum of a text.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
