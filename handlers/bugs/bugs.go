// Package bugs creates, reviews, links and lists bugs, and shows the ledger of filings.
package bugs

import (
	"mishap/handlers/export"
	"mishap/handlers/web"
)

// Pages serves everything about bugs.
type Pages struct {
	*web.Panel
	*export.Exporter
	*web.Kit
}

// New returns the handlers of this package.
func New(panel *web.Panel, exporter *export.Exporter) *Pages {
	return &Pages{panel, exporter, panel.Kit}
}
