package web

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	problemsview "mishap/views/problems"
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

// HideProblem redacts the page of a problem for visitors.
func (s *Kit) HideProblem(page *problemsview.ProblemPage) {
	page.Grouping.Signature = page.Bucket.Signature
	page.Alike = slices.Clone(page.Alike)
	for i := range page.Alike {
		page.Alike[i].Bucket = privacy.RedactBucket(page.Alike[i].Bucket)
	}
	page.Versions.Releases = slices.Clone(page.Versions.Releases)
	for i, release := range page.Versions.Releases {
		page.Versions.Releases[i] = privacy.RedactLabel(release)
	}
	page.Versions.Rows = slices.Clone(page.Versions.Rows)
	for i, row := range page.Versions.Rows {
		if label := privacy.RedactLabel(row.Version); label != row.Version {
			page.Versions.Rows[i].Version, page.Versions.Rows[i].Link = label, ""
		}
	}
	page.Breakdowns = slices.Clone(page.Breakdowns)
	for i, part := range page.Breakdowns {
		page.Breakdowns[i].Shares = slices.Clone(part.Shares)
		for j, share := range part.Shares {
			page.Breakdowns[i].Shares[j].Name = privacy.RedactLabel(share.Name)
		}
	}
	page.Filter.Releases = privacy.RedactLabels(page.Filter.Releases)
	page.Filter.Versions = privacy.RedactLabels(page.Filter.Versions)
	page.Filter.Architectures = privacy.RedactLabels(page.Filter.Architectures)
}

// hideProblems returns a redacted copy of a list of problems, which may be cached.
func (s *Kit) hideProblems(list []problemsview.PackageProblem) []problemsview.PackageProblem {
	list = slices.Clone(list)
	for i := range list {
		list[i].Bucket, list[i].Package = privacy.RedactBucket(list[i].Bucket), privacy.RedactLabel(list[i].Package)
	}
	return list
}

// HidePackage redacts the page of a package for visitors.
func (s *Kit) HidePackage(page *problemsview.PackagePage) {
	page.Problems, page.Binaries = s.hideProblems(page.Problems), privacy.RedactLabels(page.Binaries)
	page.Versions = slices.Clone(page.Versions)
	for i, v := range page.Versions {
		page.Versions[i].Version, page.Versions[i].Release = privacy.RedactLabel(v.Version), privacy.RedactLabel(v.Release)
		page.Versions[i].New, page.Versions[i].Gone = s.hideProblems(v.New), s.hideProblems(v.Gone)
	}
}

// HideRelease redacts the page of a release for visitors.
func (s *Kit) HideRelease(page *problemsview.ReleasePage) {
	page.Worst, page.New = s.hideProblems(page.Worst), s.hideProblems(page.New)
	page.Regressions = s.hideProblems(page.Regressions)
	page.Packages = slices.DeleteFunc(slices.Clone(page.Packages), func(p problemsview.ReleasePackage) bool {
		return privacy.RedactLabel(p.Name) != p.Name
	})
}
