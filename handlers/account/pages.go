// Package account signs people in and out, and serves the page of their own account.
package account

import "mishap/handlers/web"

// Pages serves sign-in and the page of one's own account.
type Pages struct{ *web.Kit }

// New returns the handlers of this package.
func New(kit *web.Kit) *Pages { return &Pages{kit} }
