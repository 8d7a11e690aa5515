// Package admin serves the pages of administrators: the health of the instance, the connection to
// the tracker, templates of bugs, symbols, and regrouping.
package admin

import (
	"context"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/tracker"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store     *db.Store
	Bugs      *bugs.Store
	People    *people.Store
	Problems  *problems.Store
	Decisions *db.Decisions
	Symbols   *symbols.Store
	Filer     *tracker.Filer
	Tracker   *tracker.Client
	Creds     *tracker.Credentials
	Vitals    *upkeep.Vitals
	// Health checks whether this instance works.
	Health func(context.Context) []crash.HealthCheck
	// Write writes a new access token into the configuration file. It may return a *crash.Error.
	Write func(context.Context, crash.AccessToken) error
}

// Pages serves the pages of administrators.
type Pages struct {
	web      *web.Kit
	exporter *export.Exporter
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, exporter *export.Exporter, d Deps) *Pages { return &Pages{kit, exporter, d} }
