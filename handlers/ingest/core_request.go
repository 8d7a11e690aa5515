package ingest

import (
	"context"
	"time"

	"mishap/crash"
)

// declinedCore identifies cores of which none was wanted.
type declinedCore struct {
	problem      crash.BucketID
	version      string
	architecture string
}

// The database is not asked again about a core that was not wanted a moment ago. So a problem that
// many machines have at once costs one query in this time, not one for each report.
const (
	declinedFor = 10 * time.Second
	maxDeclined = 4096
)

// wantsCore decides whether to ask a machine for the core of its report, which is stored already. If
// that fails, it asks for none: other machines will have the same crash.
func (h *handler) wantsCore(ctx context.Context, r crash.CoreRequest) bool {
	if !h.WantCores || !h.CorePackages.Match(r.Executable, r.Packages...) {
		return false
	}
	key := declinedCore{r.Problem, r.Version, r.Architecture}
	if h.declined.Contains(key) {
		return false
	}
	wanted := h.coreSpace.hasRoom(ctx)
	if wanted {
		var err error
		if wanted, err = h.Store.RequestCore(ctx, r, h.Cores.ID()); err != nil {
			h.Log.WarnContext(ctx, "cannot decide whether to ask for a core", "report", r.Report.String(), "error", err)
			return false
		}
	}
	if !wanted {
		h.declined.Add(key, struct{}{})
	}
	return wanted
}
