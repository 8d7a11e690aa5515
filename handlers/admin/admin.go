// Package admin serves the pages of administrators: the health of the instance, the connection to
// the tracker, templates of bugs, symbols, and regrouping.
package admin

import (
	"mishap/handlers/export"
	"mishap/handlers/web"
)

// Pages serves the pages of administrators.
type Pages struct {
	*export.Exporter
	*web.Kit
}

// New returns the handlers of this package.
func New(exporter *export.Exporter) *Pages { return &Pages{exporter, exporter.Kit} }
