package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/cores"
)

// CleanerStore is the part of the database that Clean needs.
type CleanerStore interface {
	// UnrecordedCores returns those of the stored cores whose arrival was not recorded.
	UnrecordedCores(ctx context.Context, stored []crash.OopsID) ([]crash.ReceivedCore, error)
	// CoreReceived records that a core is stored. needed is false if it is no longer needed.
	CoreReceived(ctx context.Context, c crash.ReceivedCore) (needed bool, err error)
	// DoneCores returns those of the cores that are no longer needed.
	DoneCores(ctx context.Context, cores []crash.OopsID) ([]crash.OopsID, error)
	// HeldReports returns those of the reports that belong to held problems.
	HeldReports(ctx context.Context, reports []crash.OopsID) ([]crash.OopsID, error)
	// CoresRemoved records that cores are no longer stored.
	CoresRemoved(ctx context.Context, cores []crash.OopsID) error
}

// unrecordedAge is the age at which a core whose arrival was not recorded belongs to a request that
// failed.
const unrecordedAge = 5 * time.Minute

// Clean removes cores that were stored before the given time, the oldest ones above a total size, and
// those that are no longer needed because their instance died just before it removed them, or because
// a hold of their problem has ended. Cores of held problems stay. It records the arrival of cores for
// which that failed, because their machines do not send them again. First, it ships the cores that wait
// on this machine.
func Clean(ctx context.Context, s CleanerStore, from *cores.Store, before time.Time, most int64,
	log *slog.Logger) error {
	if err := from.Ship(ctx); err != nil {
		return err
	}
	removed, err := from.RemoveOld(ctx, before, most, s.HeldReports)
	if len(removed) > 0 {
		log.InfoContext(ctx, "removed old core dumps", "cores", len(removed))
	}
	err = errors.Join(err, s.CoresRemoved(ctx, removed))
	stored, listErr := from.List(ctx)
	if err = errors.Join(err, listErr); err != nil {
		return err
	}
	var ids []crash.OopsID
	sizes := map[crash.OopsID]int64{}
	for _, c := range stored {
		if time.Since(c.At) > unrecordedAge {
			ids, sizes[c.Report] = append(ids, c.Report), c.Size
		}
	}
	unrecorded, err := s.UnrecordedCores(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range unrecorded {
		c.Store, c.Bytes = from.ID(), sizes[c.Report]
		needed, err := s.CoreReceived(ctx, c)
		if err == nil && !needed {
			err = from.Remove(ctx, c.Report)
		}
		if err != nil {
			return err
		}
	}
	done, err := s.DoneCores(ctx, ids)
	if err != nil {
		return err
	}
	held, err := s.HeldReports(ctx, done)
	if err != nil {
		return err
	}
	done = slices.DeleteFunc(done, func(id crash.OopsID) bool { return slices.Contains(held, id) })
	for _, id := range done {
		if err := from.Remove(ctx, id); err != nil {
			return err
		}
	}
	return s.CoresRemoved(ctx, done)
}
