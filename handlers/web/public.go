package web

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/crash/redact"
	"mishap/views"
)

// What visitors see is redacted as bugs are: pages, feeds, files and the API must hold nothing that tells who somebody is.
// Values that everybody's pages are made of are cached as they are, and redacted when they are put on a visitor's page.

// IsPublic reports whether the answer to a request is for somebody who may not read reports.
func IsPublic(r *http.Request) bool { return !CurrentUser(r).Role.Allows(crash.RoleViewer) }

// SeenBy returns b as whoever asks may see it.
func (s *Kit) SeenBy(r *http.Request, b crash.Bucket) crash.Bucket {
	if IsPublic(r) {
		return s.Redacted.Bucket(b)
	}
	return b
}

// SeenRow returns a row of the index as whoever asks may see it.
func SeenRow(r *http.Request, row index.Row) index.Row {
	if IsPublic(r) {
		return row.ForVisitors()
	}
	return row
}

// SeenLabels returns the names that whoever asks may see, for choices.
func SeenLabels[T ~string](r *http.Request, names []T) []T {
	if IsPublic(r) {
		return redact.Labels(names)
	}
	return names
}

// SeenLabel returns a name that whoever asks may see.
func SeenLabel[T ~string](r *http.Request, name T) T {
	if IsPublic(r) {
		return redact.Label(name)
	}
	return name
}

// Searched makes a list count what a query speaks of, and says which problems it wants; nil: all. What a visitor searches for is
// looked for in what visitors see, else answers would tell by trial what is hidden.
func Searched(r *http.Request, q query.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	filter = q.Narrow(filter)
	switch {
	case q.Empty():
		return filter, nil
	case IsPublic(r):
		filter.Query = "public " + filter.Query // lists are cached by it
		return filter, func(p *index.Problem) bool { return q.Match(p.Public()) }
	}
	return filter, q.Match
}

// HideProblem redacts what visitors see of a problem.
func (s *Kit) HideProblem(page *views.ProblemPage) {
	page.Why.Signature = page.Bucket.Signature
	page.Alike = slices.Clone(page.Alike)
	for i := range page.Alike {
		page.Alike[i].Bucket = s.Redacted.Bucket(page.Alike[i].Bucket)
	}
	page.Versions.Releases = slices.Clone(page.Versions.Releases)
	for i, release := range page.Versions.Releases {
		page.Versions.Releases[i] = redact.Label(release)
	}
	page.Versions.Rows = slices.Clone(page.Versions.Rows)
	for i, row := range page.Versions.Rows {
		if label := redact.Label(row.Version); label != row.Version {
			page.Versions.Rows[i].Version, page.Versions.Rows[i].Link = label, ""
		}
	}
	page.Breakdowns = slices.Clone(page.Breakdowns)
	for i, part := range page.Breakdowns {
		page.Breakdowns[i].Shares = slices.Clone(part.Shares)
		for j, share := range part.Shares {
			page.Breakdowns[i].Shares[j].Name = redact.Label(share.Name)
		}
	}
	page.Filter.Releases, page.Filter.Versions = redact.Labels(page.Filter.Releases), redact.Labels(page.Filter.Versions)
	page.Filter.Architectures = redact.Labels(page.Filter.Architectures)
}

// hideProblems redacts a short list of problems, and leaves the given one alone: it is cached.
func (s *Kit) hideProblems(list []views.PackageProblem) []views.PackageProblem {
	list = slices.Clone(list)
	for i := range list {
		list[i].Bucket, list[i].Package = s.Redacted.Bucket(list[i].Bucket), redact.Label(list[i].Package)
	}
	return list
}

// HidePackage redacts what visitors see of a package.
func (s *Kit) HidePackage(page *views.PackagePage) {
	page.Problems, page.Binaries = s.hideProblems(page.Problems), redact.Labels(page.Binaries)
	page.Versions = slices.Clone(page.Versions)
	for i, v := range page.Versions {
		page.Versions[i].Version, page.Versions[i].Release = redact.Label(v.Version), redact.Label(v.Release)
		page.Versions[i].New, page.Versions[i].Gone = s.hideProblems(v.New), s.hideProblems(v.Gone)
	}
}

// HideRelease redacts what visitors see of a release.
func (s *Kit) HideRelease(page *views.ReleasePage) {
	page.Worst, page.New, page.Regressions = s.hideProblems(page.Worst), s.hideProblems(page.New), s.hideProblems(page.Regressions)
	page.Packages = slices.DeleteFunc(slices.Clone(page.Packages), func(p views.ReleasePackage) bool { return redact.Label(p.Name) != p.Name })
}
