// Package problems shows lists of problems, single problems, reports and machines, and handles
// decisions about problems.
package problems

import (
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
)

// Deps are the stores that the handlers of this package use.
type Deps struct {
	Store     *db.Store
	Problems  *problems.Store
	Decisions *db.Decisions
	People    *people.Store
	Bugs      *bugs.Store
	Symbols   *symbols.Store
	Tracker   *tracker.Client
}

// Lists shows lists of problems: the front page, searches, packages, releases and followed
// packages.
type Lists struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	choices  *choices
	Deps
}

// Pages shows one problem, one report or one machine.
type Pages struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	choices  *choices
	Deps
}

// Decisions changes the manual status of problems (muted, won't fix, fixed in a version, embargoed, held),
// merges, splits and renames them, and undoes such decisions.
type Decisions struct {
	web   *web.Kit
	panel *panel.Panel
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, panel *panel.Panel, exporter *export.Exporter, d Deps) (*Lists, *Pages, *Decisions) {
	c := &choices{kit, d}
	return &Lists{kit, panel, exporter, c, d}, &Pages{kit, panel, exporter, c, d}, &Decisions{kit, panel, d}
}
