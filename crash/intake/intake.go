// Package intake accepts or refuses reports, derives everything that is stored about them, and
// passes them to the store. It receives decoded reports and parses no format.
package intake

import (
	"context"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Store stores reports. It is the part of the database that [Intake] needs.
type Store interface {
	// SaveReport stores rec and everything counted from it, and returns when that is on disk. If a
	// report with the same DuplicateKey exists, it stores nothing, and returns the id of that
	// report and true. It returns an error of kind Unavailable if the store is unavailable or
	// overloaded. It does not use texts of rec after it calls rec.Done or returns.
	SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error)
}

// Config contains the settings of an Intake.
type Config struct {
	MaxAgeDays int                 // how many days old a report's own date may be
	Releases   *crash.ReleaseTable // for the end of support; nil: the built-in table
	Privacy    *privacy.Table      // which fields are dropped; nil: the built-in table
	Now        func() time.Time    // nil: time.Now
}

// Intake accepts reports. It is safe for concurrent use.
type Intake struct {
	config Config
	store  Store
}

// New returns an Intake that stores reports in store, which may be nil if only Examine is used.
func New(c Config, store Store) *Intake {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Releases == nil {
		c.Releases = crash.BuiltInReleases()
	}
	return &Intake{config: c, store: store}
}

// Receipt is the result of accepting a report.
type Receipt struct {
	ID         crash.OopsID // of the first submission, if this one is a duplicate
	Duplicate  bool         // the machine sent the same crash before; it was not counted again
	Unbucketed bool         // stored, but no rule can group it

	// Core describes the core dump that would give the report function names. It is nil if the report
	// has them, or could not get them.
	Core *crash.CoreRequest
}

// Accept checks a report and stores it. When Accept returns, the report is on disk. A report
// without an id gets one with the present time. A refusal is an error of kind Invalid, with the
// reason as its code. Errors of the store are returned unchanged.
func (in *Intake) Accept(ctx context.Context, report crash.Report) (Receipt, error) {
	rec, err := in.Examine(report)
	if err != nil {
		return Receipt{}, err
	}
	core, unbucketed := coreRequest(rec), rec.Grouping.Signature == "" // before rec.Done frees the texts
	id, duplicate, err := in.store.SaveReport(ctx, rec)
	if err != nil {
		return Receipt{}, err
	}
	if core != nil {
		core.Report = id
	}
	return Receipt{ID: id, Duplicate: duplicate, Unbucketed: unbucketed, Core: core}, nil
}
