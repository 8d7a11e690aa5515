// Package viewstest renders components in tests.
package viewstest

import (
	"bytes"
	"testing"
	"time"

	"github.com/a-h/templ"
)

// Now is the time at which tests render.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Render returns a component as text.
func Render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
