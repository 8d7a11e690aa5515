package problems

import (
	"slices"

	"mishap/crash/privacy"
	view "mishap/views/problems"
)

// hideProblem redacts the page of a problem for visitors.
func hideProblem(page *view.ProblemPage) {
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
func hideProblems(list []view.PackageProblem) []view.PackageProblem {
	list = slices.Clone(list)
	for i := range list {
		list[i].Bucket, list[i].Package = privacy.RedactBucket(list[i].Bucket), privacy.RedactLabel(list[i].Package)
	}
	return list
}

// hidePackage redacts the page of a package for visitors.
func hidePackage(page *view.PackagePage) {
	page.Problems, page.Binaries = hideProblems(page.Problems), privacy.RedactLabels(page.Binaries)
	page.Versions = slices.Clone(page.Versions)
	for i, v := range page.Versions {
		page.Versions[i].Version, page.Versions[i].Release = privacy.RedactLabel(v.Version), privacy.RedactLabel(v.Release)
		page.Versions[i].New, page.Versions[i].Gone = hideProblems(v.New), hideProblems(v.Gone)
	}
}

// hideRelease redacts the page of a release for visitors.
func hideRelease(page *view.ReleasePage) {
	page.Worst, page.New = hideProblems(page.Worst), hideProblems(page.New)
	page.Regressions = hideProblems(page.Regressions)
	page.Packages = slices.DeleteFunc(slices.Clone(page.Packages), func(p view.ReleasePackage) bool {
		return privacy.RedactLabel(p.Name) != p.Name
	})
}
