package db

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// statement is one of a round.
type statement struct {
	sql  string
	args pgx.NamedArgs
}

// inPieces writes rows in their order. Nothing is worked out before its turn comes.
func inPieces[T any](sql string, rows []T, args func([]T) pgx.NamedArgs) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		for piece := range pieces(rows) {
			if !yield(statement{sql, args(piece)}) {
				return
			}
		}
	}
}

// sortedInPieces is inPieces for the keys of m in their order.
func sortedInPieces[K comparable, V any](sql string, m map[K]V, compare func(a, b K) int, args func([]K) pgx.NamedArgs) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		inPieces(sql, slices.SortedFunc(maps.Keys(m), compare), args)(yield)
	}
}

func (c *roundSum) countBuckets(round int64, machines map[crash.BucketID]int64) iter.Seq[statement] {
	return sortedInPieces(sqlCountBuckets, c.buckets, compareIDs, func(ids []crash.BucketID) pgx.NamedArgs {
		return c.bucketArgs(ids, round, machines)
	})
}

func (c *roundSum) bucketArgs(ids []crash.BucketID, round int64, machines map[crash.BucketID]int64) pgx.NamedArgs {
	text := func(value func(*bucketSum) string) []string {
		return column(ids, func(id crash.BucketID) string { return value(c.buckets[id]) })
	}
	args := pgx.NamedArgs{
		"round":          round,
		"id":             column(ids, func(id crash.BucketID) []byte { return id[:] }),
		"problem_type":   text(func(s *bucketSum) string { return s.newest.ProblemType }),
		"title":          text(func(s *bucketSum) string { return s.newest.Title }),
		"executable":     text(func(s *bucketSum) string { return s.newest.Executable }),
		"package":        text(func(s *bucketSum) string { return s.newest.Package }),
		"source_package": text(func(s *bucketSum) string { return s.newest.SourcePackage }),
		"reports":        column(ids, func(id crash.BucketID) int64 { return c.buckets[id].reports }),
		"systems":        column(ids, func(id crash.BucketID) int64 { return machines[id] }),
	}
	versionArgs(args, "low", column(ids, func(id crash.BucketID) *versionSeen { return c.buckets[id].lowVersion }))
	versionArgs(args, "top", column(ids, func(id crash.BucketID) *versionSeen { return c.buckets[id].topVersion }))
	releaseArgs(args, "low", column(ids, func(id crash.BucketID) *releaseSeen { return c.buckets[id].lowRelease }))
	releaseArgs(args, "top", column(ids, func(id crash.BucketID) *releaseSeen { return c.buckets[id].topRelease }))
	return args
}

func versionArgs(args pgx.NamedArgs, end string, seen []*versionSeen) {
	for i, s := range seen {
		if s == nil {
			seen[i] = &versionSeen{}
		}
	}
	args[end+"_key"] = column(seen, func(s *versionSeen) []byte { return s.key })
	args[end+"_release_key"] = column(seen, func(s *versionSeen) string { return s.releaseKey })
	args[end+"_version"] = column(seen, func(s *versionSeen) string { return s.version })
	args[end+"_version_release"] = column(seen, func(s *versionSeen) string { return s.release })
}

func releaseArgs(args pgx.NamedArgs, end string, seen []*releaseSeen) {
	for i, s := range seen {
		if s == nil {
			seen[i] = &releaseSeen{}
		}
	}
	args[end+"_seen_key"] = column(seen, func(s *releaseSeen) string { return s.key })
	args[end+"_release"] = column(seen, func(s *releaseSeen) string { return s.release })
}

func compareVersionCells(a, b versionCell) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release), strings.Compare(a.version, b.version))
}

func (c *roundSum) countVersions(machines map[versionCell]int64) iter.Seq[statement] {
	return sortedInPieces(sqlCountVersions, c.versions, compareVersionCells, func(keys []versionCell) pgx.NamedArgs {
		return pgx.NamedArgs{
			"bucket":  column(keys, func(k versionCell) []byte { return k.bucket[:] }),
			"release": column(keys, func(k versionCell) string { return k.release }),
			"version": column(keys, func(k versionCell) string { return k.version }),
			"key":     column(keys, func(k versionCell) []byte { return c.keys.ofVersion(k.version) }),
			"n":       column(keys, func(k versionCell) int64 { return c.versions[k] }),
			"systems": column(keys, func(k versionCell) int64 { return machines[k] }),
		}
	})
}

func compareDayCells(a, b dayCellKey) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), a.day.Compare(b.day),
		compareVersionCells(a.versionCell, b.versionCell), strings.Compare(a.architecture, b.architecture), strings.Compare(a.of, b.of))
}

func (c *roundSum) countDays(round int64) iter.Seq[statement] {
	return sortedInPieces(sqlCountDays, c.days, compareDayCells, func(keys []dayCellKey) pgx.NamedArgs {
		return pgx.NamedArgs{
			"round":        round,
			"bucket":       column(keys, func(k dayCellKey) []byte { return k.bucket[:] }),
			"day":          column(keys, func(k dayCellKey) time.Time { return k.day }),
			"release":      column(keys, func(k dayCellKey) string { return k.release }),
			"version":      column(keys, func(k dayCellKey) string { return k.version }),
			"architecture": column(keys, func(k dayCellKey) string { return k.architecture }),
			"of":           column(keys, func(k dayCellKey) string { return k.of }),
			"n":            column(keys, func(k dayCellKey) int64 { return c.days[k].reports }),
			"proposed":     column(keys, func(k dayCellKey) int64 { return c.days[k].proposed }),
		}
	})
}

func compareReleaseDays(a, b releaseDay) int {
	proposed := func(d releaseDay) int {
		if d.proposed {
			return 1
		}
		return 0
	}
	return cmp.Or(a.day.Compare(b.day), strings.Compare(a.release, b.release), strings.Compare(a.architecture, b.architecture),
		strings.Compare(a.problemType, b.problemType), proposed(a)-proposed(b))
}

func compareReportDays(a, b reportDay) int {
	return cmp.Or(strings.Compare(a.pkg, b.pkg), compareReleaseDays(a.releaseDay, b.releaseDay), strings.Compare(a.version, b.version))
}

// countReports counts by day what is counted whether it has a bucket or not.
func (c *roundSum) countReports() iter.Seq[statement] {
	return sortedInPieces(sqlCountReports, c.reports, compareReportDays, func(keys []reportDay) pgx.NamedArgs {
		return pgx.NamedArgs{
			"package":      column(keys, func(k reportDay) string { return k.pkg }),
			"day":          column(keys, func(k reportDay) time.Time { return k.day }),
			"release":      column(keys, func(k reportDay) string { return k.release }),
			"version":      column(keys, func(k reportDay) string { return k.version }),
			"architecture": column(keys, func(k reportDay) string { return k.architecture }),
			"problem_type": column(keys, func(k reportDay) string { return k.problemType }),
			"proposed":     column(keys, func(k reportDay) bool { return k.proposed }),
			"n":            column(keys, func(k reportDay) int64 { return c.reports[k] }),
		}
	})
}

func (c *roundSum) countReleases() iter.Seq[statement] {
	return sortedInPieces(sqlCountReleases, c.releases, compareReleaseDays, func(days []releaseDay) pgx.NamedArgs {
		return pgx.NamedArgs{
			"day":          column(days, func(k releaseDay) time.Time { return k.day }),
			"release":      column(days, func(k releaseDay) string { return k.release }),
			"architecture": column(days, func(k releaseDay) string { return k.architecture }),
			"problem_type": column(days, func(k releaseDay) string { return k.problemType }),
			"proposed":     column(days, func(k releaseDay) bool { return k.proposed }),
			"n":            column(days, func(k releaseDay) int64 { return c.releases[k] }),
		}
	})
}

func (c *roundSum) seeReleases() iter.Seq[statement] {
	seen := map[string]bool{}
	for d := range c.releases {
		if d.release != "" {
			seen[d.release] = true
		}
	}
	return sortedInPieces(sqlSeeReleases, seen, strings.Compare, func(names []string) pgx.NamedArgs { return pgx.NamedArgs{"release": names} })
}

func (c *roundSum) countPackages() iter.Seq[statement] {
	compare := func(a, b packageVersion) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.release, b.release), strings.Compare(a.version, b.version))
	}
	return sortedInPieces(sqlCountPackages, c.packages, compare, func(keys []packageVersion) pgx.NamedArgs {
		return pgx.NamedArgs{
			"package":   column(keys, func(k packageVersion) string { return k.pkg }),
			"release":   column(keys, func(k packageVersion) string { return k.release }),
			"version":   column(keys, func(k packageVersion) string { return k.version }),
			"key":       column(keys, func(k packageVersion) []byte { return c.keys.ofVersion(k.version) }),
			"arrived":   column(keys, func(k packageVersion) time.Time { return c.packages[k].arrived }),
			"first_day": column(keys, func(k packageVersion) time.Time { return c.packages[k].firstDay }),
		}
	})
}
