// Package intake is the way in: it accepts or refuses one report, works out everything that is stored about it, and
// hands it to the store. Reports come here decoded, from whatever wire or file; no format is read here.
package intake

import (
	"context"
	"time"

	"mishap/crash"
)

// Store keeps reports. [Intake] needs nothing else of the database.
type Store interface {
	// SaveReport stores rec and everything counted from it, and returns when that is on disk. When the same crash of the
	// same machine is there already (equal DuplicateKey), nothing is stored and the first report's id comes back with
	// true. It returns Unavailable when the store is away or has more to do than it can take. When rec.Done is called, or
	// SaveReport returns, it uses none of rec's texts any more.
	SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error)
}

// Config is how reports are judged.
type Config struct {
	MaxAgeDays int                 // how far back a report's own date is believed
	Releases   *crash.ReleaseTable // when releases reach their end of life; nil: as built in
	Now        func() time.Time    // the clock; nil: time.Now
}

// Intake accepts reports. It is safe for concurrent use.
type Intake struct {
	config Config
	store  Store
}

// New makes an Intake that stores what it accepts in store; nil will do where reports are only examined.
func New(c Config, store Store) *Intake {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Releases == nil {
		c.Releases = crash.BuiltInReleases()
	}
	return &Intake{config: c, store: store}
}

// Receipt is the answer to an accepted report.
type Receipt struct {
	ID         crash.OopsID // of the first sending, when this one is a repetition
	Duplicate  bool         // the same crash of the same machine was stored before; nothing was counted now
	Unbucketed bool         // stored, but nothing in it says which problem it belongs to
}

// Accept judges a report and stores it; when it returns, the report is on disk. A report without an id arrives now and
// gets one. A refusal is Invalid, with the reason as its code; errors of the store come through.
func (in *Intake) Accept(ctx context.Context, report crash.Report) (Receipt, error) {
	rec, err := in.Examine(report)
	if err != nil {
		return Receipt{}, err
	}
	id, duplicate, err := in.store.SaveReport(ctx, rec)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: id, Duplicate: duplicate, Unbucketed: rec.Grouping.Signature == ""}, nil
}
