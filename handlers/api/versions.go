package api

import (
	"context"
	"maps"
	"strings"

	"mishap/crash"
)

// versionRow is the row of one version, or of all. It also has a number for each series.
type versionRow struct {
	Version     string            `json:"version" doc:"A package version; All versions in the last row."`
	Pockets     map[string]string `json:"pockets" doc:"Pocket of the version by codename, or ? if unknown."`
	Derivatives int64             `json:"derivatives" doc:"Reports from releases that are not Ubuntu series; -1: none."`
	Total       int64             `json:"total" doc:"Reports from all releases; -1: none."`
	bySeries    map[string]int64
}

// MarshalJSON writes the numbers of the series beside the other fields.
func (v versionRow) MarshalJSON() ([]byte, error) {
	all := map[string]any{"version": v.Version, "pockets": v.Pockets, "derivatives": v.Derivatives, "total": v.Total}
	for series, n := range v.bySeries {
		all[series] = n
	}
	return marshal(all)
}

// noCount is the value of a missing count.
const noCount = -1

func (a *answers) versions(ctx context.Context, in input) ([]any, error) {
	id, err := a.find(ctx, in.sent("id"))
	if crash.KindOf(err) == crash.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	counts, err := a.store.BucketVersions(ctx, id)
	if err != nil || len(counts) == 0 {
		return nil, err
	}
	b, err := a.store.Bucket(ctx, id)
	if err != nil {
		return nil, err
	}
	published, err := a.bugs.ArchiveFacts(ctx, []crash.ArchiveWant{{Kind: crash.ArchiveSource, Key: b.SourcePackage}})
	if err != nil {
		return nil, err
	}
	none := a.noCounts()
	all := newVersionRow("All versions", none)
	var rows []versionRow
	for i := len(counts) - 1; i >= 0; i-- { // the store lists the newest first
		c := counts[i]
		if len(rows) == 0 || rows[len(rows)-1].Version != visibleLabel(in, c.Version) {
			rows = append(rows, newVersionRow(visibleLabel(in, c.Version), none))
		}
		row := &rows[len(rows)-1]
		series := a.series(c.Release)
		row.count(series, c.Reports)
		all.count(series, c.Reports)
		if series != "" {
			row.Pockets[series] = pocketOr(published[0], series, c.Version, "?")
		}
	}
	objects := make([]any, 0, len(rows)+1)
	for _, row := range append(rows, all) {
		objects = append(objects, row)
	}
	return objects, nil
}

// pocketOr returns the pocket of a series that has a version, or unknown.
func pocketOr(f crash.ArchiveFact, series, version, unknown string) string {
	if pocket := crash.PocketOf(f.In(series), version); pocket != "" {
		return pocket
	}
	return unknown
}

// noCounts returns a row without counts: noCount for each series that rows name.
func (a *answers) noCounts() map[string]int64 {
	none := map[string]int64{}
	for _, release := range a.releases.All("Ubuntu") {
		if release.Compare(oldStandardRelease) >= 0 {
			none[a.releases.Codename(release)] = noCount
		}
	}
	return none
}

func newVersionRow(version string, none map[string]int64) versionRow {
	return versionRow{
		Version: version, Pockets: map[string]string{}, Derivatives: noCount, Total: noCount, bySeries: maps.Clone(none),
	}
}

func (v *versionRow) count(series string, n int64) {
	add := func(to int64) int64 { return max(to, 0) + n }
	if series == "" {
		v.Derivatives = add(v.Derivatives)
	} else {
		if _, known := v.bySeries[series]; !known {
			v.bySeries[series] = noCount
		}
		v.bySeries[series] = add(v.bySeries[series])
	}
	v.Total = add(v.Total)
}

// series returns the codename of an Ubuntu release, or "" for other releases.
func (a *answers) series(r crash.Release) string {
	if !strings.HasPrefix(string(r), "Ubuntu ") {
		return ""
	}
	return a.releases.Codename(r)
}
