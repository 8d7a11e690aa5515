// Package admin serves the pages of administrators: the health of the instance, the connection to
// the tracker, templates of bugs, and regrouping.
package admin

import "mishap/handlers/web"

// Pages serves the pages of administrators.
type Pages struct{ *web.Kit }

// New returns the handlers of this package.
func New(kit *web.Kit) *Pages { return &Pages{kit} }
