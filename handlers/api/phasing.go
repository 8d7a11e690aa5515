package api

import (
	"context"
	"math"
	"net/http"

	"mishap/crash"
)

// minNewSystems is the number of machines that a new problem must exceed to be listed.
const minNewSystems = 2

func (a *answers) phasingResources() []resource {
	version := func(name, doc string) param {
		return param{name: name, kind: kindText, required: true, doc: doc, example: "1.4.2-1ubuntu1"}
	}
	return []resource{
		{
			name: "package-rate-of-crashes", method: http.MethodGet, access: public,
			summary: "Whether a new version of a package crashes more often than the previous one.",
			doc: "This answer stops phased updates. The five original fields follow the original formula " +
				"(docs/api.md); evidence adds statistics per active machine.",
			params: []param{
				{name: "release", kind: kindText, required: true, doc: releaseParam.doc, example: releaseParam.example},
				{name: "package", kind: kindText, required: true, doc: packageParam.doc, example: packageParam.example},
				version("old_version", "The previous version."), version("new_version", "The new version."),
				{
					name: "phased_update_percentage", kind: kindNumber, max: 100,
					doc:     "Share of machines that receive the new version.",
					example: "10",
				},
				{
					name: "date", kind: kindDay, required: true,
					doc:     "Day on which the new version was published. Crashes of the old version before this day count.",
					example: "20260518",
				},
				{name: "exclude_proposed", kind: kindFlag, doc: "Omit crashes from the proposed pocket.", example: "True"},
			},
			object: crashRate{}, list: a.rateOfCrashes,
		},
		{
			name: "package-version-new-buckets", method: http.MethodGet, access: public,
			summary: "Problems that were seen on more than two machines with a new version of a package, but not " +
				"with the previous version.",
			doc: "This answer stops phased updates. If the archive does not have one of the versions, the answer " +
				"is 404. The field archive is unknown until the archive has been read.",
			params: []param{
				{name: "package", kind: kindText, required: true, doc: "Name of a source package.", example: "tidewatch"},
				version("previous_version", "The previous version."), version("new_version", "The new version."),
			},
			object: newBucket{}, list: a.newBuckets,
		},
	}
}

// crashRate is the answer of package-rate-of-crashes.
type crashRate struct {
	Difference *int64   `json:"difference" doc:"Crashes today above the number expected by now."`
	Evidence   evidence `json:"evidence"`
	Increase   bool     `json:"increase" doc:"Whether the new version crashes more often."`
	Average    *int64   `json:"previous_average" doc:"Expected crashes of the old version per day."`
	Days       *int64   `json:"previous_period_in_days" doc:"Number of days in this mean."`
	Link       *string  `json:"web_link" doc:"List of the new version's problems; null without an increase."`
}

func (a *answers) rateOfCrashes(ctx context.Context, in input) ([]any, error) {
	release, pkg, newer := in.text("release"), in.text("package"), in.text("new_version")
	if in.day("date").After(a.today().AddDate(1, 0, 0)) {
		return nil, crash.Errorf(crash.Invalid, "bad_date", "The parameter date is more than a year ahead.")
	}
	days, err := a.problems.VersionDays(ctx, crash.Release(release), pkg, in.text("old_version"), newer)
	if err != nil {
		return nil, err
	}
	q := rateQuestion{
		date: in.day("date"), percentage: float64(in.number("phased_update_percentage")),
		phased:          in.given["phased_update_percentage"],
		excludeProposed: in.flag("exclude_proposed"),
	}
	v := evaluate(days, q, a.now())
	out := crashRate{
		Increase: v.increase, Difference: truncated(v.difference), Average: truncated(v.average),
		Evidence: newEvidence(days, q, a.now()),
	}
	if v.days != nil {
		n := int64(*v.days)
		out.Days = &n
	}
	if v.increase {
		link := a.listAddress("release", release, "package", pkg, "version", newer)
		out.Link = &link
	}
	return []any{out}, nil
}

// truncated returns the integer part of x, or nil for nil.
func truncated(x *float64) *int64 {
	if x == nil {
		return nil
	}
	n := int64(math.Trunc(*x))
	return &n
}

// newBucket is a problem that appeared with a version.
type newBucket struct {
	Archive  string   `json:"archive" doc:"published: the archive has both versions; unknown: it has not been read yet."`
	Evidence evidence `json:"evidence" doc:"Reports per active machine of the releases with the new version."`
	Function string   `json:"function" doc:"Signature of the problem; redacted for callers who may not read reports."`
	Reports  int64    `json:"reports" doc:"Number of reports with the new version."`
	Systems  int64    `json:"systems" doc:"Distinct machines with the new version."`
	Link     string   `json:"web_link" doc:"The page of the problem."`
}

func (a *answers) newBuckets(ctx context.Context, in input) ([]any, error) {
	pkg, previous, newer := in.text("package"), in.text("previous_version"), in.text("new_version")
	facts, err := a.bugs.ArchiveFacts(ctx, []crash.ArchiveWant{
		{Kind: crash.ArchiveVersion, Key: pkg + " " + previous}, {Kind: crash.ArchiveVersion, Key: pkg + " " + newer},
	})
	if err != nil {
		return nil, err
	}
	archive := "published"
	for i, version := range []string{previous, newer} {
		switch {
		case facts[i].Known() && !facts[i].Exists || !facts[i].Valid():
			return nil, crash.Errorf(crash.NotFound, "unknown_version", "The archive has no version %.100s of the source "+
				"package %.100s.", version, pkg)
		case !facts[i].Known():
			archive = "unknown"
		}
	}
	buckets, err := a.problems.NewBuckets(ctx, pkg, previous, newer, minNewSystems)
	if err != nil {
		return nil, err
	}
	if len(buckets) == 0 {
		return nil, nil
	}
	machines, err := a.exposureOf(ctx, pkg, previous, newer)
	if err != nil {
		return nil, err
	}
	objects := make([]any, len(buckets))
	for i, b := range buckets {
		objects[i] = newBucket{
			Archive: archive, Evidence: machines.evidence(b.Reports), Function: visibleSignature(in, b.Signature),
			Reports: b.Reports, Systems: b.Systems, Link: a.problemLink(b.ID),
		}
	}
	return objects, nil
}
