// Package problems shows lists of problems, problems, reports and machines, and takes people's decisions about problems.
package problems

import (
	"mishap/handlers/export"
	"mishap/handlers/web"
)

// Lists shows lists of problems: the front page, searches, packages, releases and what a person follows.
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

// Decisions merges, splits and renames problems, and undoes that.
type Decisions struct {
	*web.Panel
	*web.Kit
}

// New returns the handlers of this package.
func New(panel *web.Panel, exporter *export.Exporter) (*Lists, *Pages, *Decisions) {
	kit := panel.Kit
	choose := &choices{kit}
	return &Lists{panel, exporter, choose, kit}, &Pages{panel, exporter, choose, kit}, &Decisions{panel, kit}
}
