// Package problems shows lists of problems, single problems, reports and machines, and handles
// decisions about problems.
package problems

import (
	"mishap/handlers/export"
	"mishap/handlers/web"
)

// Lists shows lists of problems: the front page, searches, packages, releases and followed
// packages.
type Lists struct {
	*web.Panel
	*export.Exporter
	*choices
	*web.Kit
}

// Pages shows one problem, one report or one machine.
type Pages struct {
	*web.Panel
	*export.Exporter
	*choices
	*web.Kit
}

// Decisions changes the manual status of problems (muted, won't fix, fixed in a version, embargoed, held),
// merges, splits and renames them, and undoes such decisions.
type Decisions struct {
	*web.Panel
	*web.Kit
}

// New returns the handlers of this package.
func New(panel *web.Panel, exporter *export.Exporter) (*Lists, *Pages, *Decisions) {
	kit := panel.Kit
	c := &choices{kit}
	return &Lists{panel, exporter, c, kit}, &Pages{panel, exporter, c, kit}, &Decisions{panel, kit}
}
