package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
)

func (a *answers) problemResources() []resource {
	return []resource{
		a.mostCommonProblems(),
		{
			name: "bucket", method: http.MethodGet, access: public,
			summary: "One problem with its data.",
			doc: "The traces come from a representative report. They are null for callers who may not read " +
				"reports.",
			key: "Signature of the problem, or its SHA-1.", example: "%2Fusr%2Fbin%2Ftidewatch:11:parse:load:main",
			object: bucketObject{}, detail: a.bucket,
		},
		{
			name: "versions", method: http.MethodGet, access: public,
			summary: "The number of reports of a problem, by package version and release.",
			doc: "Versions are in dpkg's order, followed by a row for all of them. Each row also has a field for " +
				"each Ubuntu series, named after its codename; -1 means no reports.",
			params: []param{problemParam},
			object: versionRow{}, list: a.versions,
		},
		{
			name: "instances", method: http.MethodGet, access: public,
			summary: "The newest reports of a problem.",
			doc: "At most 100 reports in one answer. start continues after the last one, and next links to that " +
				"page.",
			params: []param{problemParam, {
				name: "start", kind: kindReport, doc: "Only reports that arrived before the report with this id.",
				example: "0196a1b2-0000-7000-8000-000000000000",
			}},
			object: instanceRow{}, window: a.instances,
		},
		{
			name: "average-instances", method: http.MethodGet, access: public,
			summary: "The number of reports of a problem per active machine, by day and release.",
			doc: "One object for each release, with the newest day first. A machine is active on a day if it " +
				"reported anything for that release in the 90 days before.",
			params: []param{problemParam},
			object: series{}, list: a.averageInstances,
		},
	}
}

// find returns the problem that a client identifies by SHA-1 or signature. It also accepts a
// signature that is percent-encoded once too often, or whose plus signs are not escaped. It
// returns NotFound if there is none.
func (a *answers) find(ctx context.Context, sent pair) (crash.BucketID, error) {
	var ids []crash.BucketID
	if id, err := crash.ParseBucketID(sent.value); err == nil {
		ids = append(ids, id)
	}
	for _, text := range []string{decodePercent(sent.value), sent.value, decodePlus(sent.value), decodePercent(sent.raw),
		"/" + sent.value} {
		ids = append(ids, crash.BucketIDOf(strings.ToValidUTF8(text, "\uFFFD")))
	}
	return a.problems.FirstBucket(ctx, ids)
}

// metadata is the data of a bucket under the names that errors.ubuntu.com used.
type metadata struct {
	CreatedBug       string `json:"CreatedBug,omitempty" doc:"Number of the bug that mishap filed."`
	FirstSeen        string `json:"FirstSeen,omitempty" doc:"Lowest package version."`
	FirstSeenRelease string `json:"FirstSeenRelease,omitempty"`
	LastSeen         string `json:"LastSeen,omitempty" doc:"Highest package version."`
	LastSeenRelease  string `json:"LastSeenRelease,omitempty"`
	LaunchpadBug     string `json:"LaunchpadBug,omitempty" doc:"Number of a bug that was linked by hand."`
	Source           string `json:"Source,omitempty" doc:"Binary package of the newest report, despite the name."`
}

type bucketObject struct {
	ID        string   `json:"bucket_id" doc:"The same as signature, for clients of errors.ubuntu.com."`
	Metadata  metadata `json:"metadata"`
	Signature string   `json:"signature" doc:"The signature; redacted for callers who may not read reports."`
	Source    string   `json:"source_package" doc:"Source package, or \"unknown package\"."`
	Stack     *string  `json:"stacktrace"`
	Threads   *string  `json:"thread_stacktrace"`
	Trace     *string  `json:"traceback" doc:"Python traceback; if there is one, there are no stack traces."`

	Assignee *string  `json:"assignee,omitempty" doc:"Who takes care of it, for readers of reports; or empty."`
	Tags     []string `json:"tags,omitempty" doc:"Its tags, sorted, for readers of reports."`

	Evidence []passage `json:"evidence,omitempty" doc:"Text that the grouping rule read, unless a stack or traceback."`
}

// passage is the part of a field that a grouping rule read.
type passage struct {
	Field string   `json:"field" doc:"Name of the field."`
	Text  string   `json:"text" doc:"The used lines with context; a line of dots marks omitted lines."`
	Used  []string `json:"used" doc:"The lines that the rule used."`
}

// passageLines is the maximum number of lines of a field in an answer.
const passageLines = 120

// passagesOf returns the passages that the grouping rule read in a report.
func passagesOf(f crash.Fields) []passage {
	var all []passage
	for _, p := range grouping.Explain(f).Passages {
		if p.IsStack() {
			continue // the trace fields contain stacks
		}
		var text strings.Builder
		for _, line := range p.Excerpt(f[p.Field], passageLines) {
			if line.Skipped > 0 {
				line.Text = "…"
			}
			text.WriteString(line.Text + "\n")
		}
		all = append(all, passage{Field: p.Field, Text: text.String(), Used: p.UsedLines(f[p.Field])})
	}
	return all
}

const unknownPackage = "unknown package"

func (a *answers) bucket(ctx context.Context, in input, key string) (any, error) {
	id, err := a.find(ctx, pair{value: key, raw: key})
	if err != nil {
		return nil, err
	}
	b, err := a.store.Bucket(ctx, id)
	if err != nil {
		return nil, err
	}
	b = visibleBucket(in, b)
	out := bucketObject{ID: b.Signature, Signature: b.Signature, Source: b.SourcePackage, Metadata: metadata{
		FirstSeen: b.LowestVersion, LastSeen: b.HighestVersion, FirstSeenRelease: string(b.LowestRelease),
		LastSeenRelease: string(b.HighestRelease), Source: b.Package,
	}}
	if out.Source == "" {
		out.Source = unknownPackage
	}
	switch number := strconv.FormatInt(b.Bug.Number, 10); {
	case b.Bug.Number == 0:
	case b.Bug.How == crash.Linked:
		out.Metadata.LaunchpadBug = number
	default:
		out.Metadata.CreatedBug = number
	}
	if signedIn.check(in.caller) == nil {
		if err := a.addPeople(ctx, b.ID, &out); err != nil {
			return nil, err
		}
		err = a.addTraces(ctx, in, b.ID, &out)
	}
	return out, err
}

// addPeople adds the assignee and the tags of a problem.
func (a *answers) addPeople(ctx context.Context, id crash.BucketID, out *bucketObject) error {
	b, err := a.store.IndexWithStates(ctx)
	if err != nil {
		return err
	}
	name := ""
	if p, ok := b.Problem(id); ok {
		name, out.Tags = p.Assignee().Name, p.Tags()
	}
	out.Assignee = &name
	return nil
}

// addTraces adds the traces of the representative report.
func (a *answers) addTraces(ctx context.Context, in input, id crash.BucketID, out *bucketObject) error {
	report, err := a.store.RepresentativeReport(ctx, id)
	if crash.KindOf(err) == crash.NotFound {
		return nil // retention has deleted the reports
	}
	if err != nil {
		return err
	}
	readable := privacy.Readable(in.caller.user(), report.SourcePackage)
	visible := a.privacy.Excerpts(report.Fields, readable)
	field := func(name string) *string {
		if text := visible[name]; text != "" {
			return &text
		}
		return nil
	}
	if out.Trace = field("Traceback"); out.Trace == nil {
		out.Stack, out.Threads = field("Stacktrace"), field("ThreadStacktrace")
	}
	out.Evidence = slices.DeleteFunc(passagesOf(report.Fields), func(p passage) bool {
		return a.privacy.Excerpt(p.Field) > readable
	})
	return nil
}

// problemLink returns the absolute address of a problem's page.
func (a *answers) problemLink(id crash.BucketID) string { return a.base + id.Path() }

type instanceRow struct {
	Architecture string `json:"architecture"`
	Incident     string `json:"incident" doc:"Id of the report."`
	Version      string `json:"package_version"`
	Timestamp    string `json:"timestamp" doc:"When it arrived, UTC."`
	Release      string `json:"ubuntu_version"`
}

// maxInstances is the maximum number of reports of a problem in one answer.
const maxInstances = 100

func (a *answers) instances(ctx context.Context, in input) (window, error) {
	id, err := a.find(ctx, in.sent("id"))
	if crash.KindOf(err) == crash.NotFound {
		return window{}, nil
	}
	if err != nil {
		return window{}, err
	}
	return newWindow(in.report("start"), maxInstances, reportID,
		func(r crash.ReportRow) any { return newInstanceRow(in, r) },
		func(start crash.OopsID, limit int) ([]crash.ReportRow, error) {
			return a.problems.BucketReports(ctx, id, start, limit)
		},
		func(start crash.OopsID, limit int) ([]crash.OopsID, error) {
			return a.problems.BucketReportsFrom(ctx, id, start, limit)
		})
}

func reportID(r crash.ReportRow) crash.OopsID { return r.ID }

func newInstanceRow(in input, r crash.ReportRow) any {
	return instanceRow{
		Architecture: visibleLabel(in, r.Architecture), Incident: r.ID.String(), Version: visibleLabel(in, r.Version),
		Release:   string(visibleLabel(in, r.Release)),
		Timestamp: timestamp(r.ID.Received()),
	}
}

// listAddress returns the address of the front list with filters. It encodes spaces as %20, as
// clients expect.
func (a *answers) listAddress(pairs ...string) string {
	var b strings.Builder
	b.WriteString(a.base + "/")
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString(map[bool]string{true: "?", false: "&"}[i == 0])
		b.WriteString(pairs[i] + "=" + strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "+", "%20"))
	}
	return b.String()
}
