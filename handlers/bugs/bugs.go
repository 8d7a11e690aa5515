// Package bugs creates, reviews, links and lists bugs, and shows the ledger of filings.
package bugs

import (
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store   *db.Store
	Bugs    *bugs.Store
	Filer   *tracker.Filer
	Tracker *tracker.Client
}

// Pages serves everything about bugs.
type Pages struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, panel *panel.Panel, exporter *export.Exporter, d Deps) *Pages {
	return &Pages{kit, panel, exporter, d}
}
