package web

import (
	"net/http"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
)

// Visitors see the same redacted text as in bugs: pages, feeds, files and the API must not contain
// private data. The caches hold unredacted values, and each page for a visitor redacts what it
// shows.

// IsPublic reports whether the current user may not read reports, so that the answer must be
// redacted.
func IsPublic(r *http.Request) bool { return !CurrentUser(r).Role.Allows(crash.RoleViewer) }

// SeenBucket returns b, redacted if the current user may not read reports.
func (s *Kit) SeenBucket(r *http.Request, b crash.Bucket) crash.Bucket {
	if IsPublic(r) {
		return privacy.RedactBucket(b)
	}
	return b
}

// SeenRow returns a row of the index, redacted if the current user may not read reports.
func SeenRow(r *http.Request, row index.Row) index.Row {
	if IsPublic(r) {
		return row.ForVisitors()
	}
	return row
}

// SeenLabels returns names, without those that the current user may not see.
func SeenLabels[T ~string](r *http.Request, names []T) []T {
	if IsPublic(r) {
		return privacy.RedactLabels(names)
	}
	return names
}

// SeenLabel returns a name, redacted if the current user may not read reports.
func SeenLabel[T ~string](r *http.Request, name T) T {
	if IsPublic(r) {
		return privacy.RedactLabel(name)
	}
	return name
}

// SearchFilter narrows filter by a query and returns a function that matches problems, or nil to
// match all. For visitors, filter and function see problems as visitors do; otherwise they could
// find out hidden text by trial.
func SearchFilter(r *http.Request, q index.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	q = q.For(CurrentUser(r).Names())
	filter = q.Narrow(filter)
	filter.Public = IsPublic(r)
	return filter, q.Matcher()
}
