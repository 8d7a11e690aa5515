package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db/upkeep"
)

func (a *answers) reportResources() []resource {
	return []resource{
		{
			name: "reports-for-system", method: http.MethodGet, access: privateData,
			summary: "The newest reports of a machine.",
			params: []param{
				{
					name: "system", kind: kindText, required: true,
					doc:     "The name that the machine sends with its reports.",
					example: "3f2a…",
				},
				{
					name: "limit", kind: kindNumber, max: 1 << 30, ceiling: maxPage, fallback: 50,
					doc:     "Number of reports.",
					example: "50",
				},
				{
					name: "start", kind: kindReport,
					doc:     "Only reports that arrived before the report with this id.",
					example: "0196a1b2-0000-7000-8000-000000000000",
				},
			},
			object: systemReport{}, window: a.reportsForSystem,
		},
		{
			name: "dayoops", method: http.MethodGet, access: public,
			summary: "The reports of the crashes on a day.",
			params: []param{
				{
					name: "limit", kind: kindNumber, max: 1 << 30, ceiling: 1000, fallback: 100,
					doc:     "Number of reports, at most 1000.",
					example: "100",
				},
				releaseParam,
				{name: "details", kind: kindPresence, doc: "Include the type of each problem.", example: "1"},
			},
			key: "The day, YYYYMMDD.", example: "20260518",
			object: dayReports{}, detail: a.dayOops,
		},
		{
			name: "oops", method: http.MethodGet, access: signedIn,
			summary: "One report with all its fields.",
			key:     "Id of the report.", example: "0196a1b2-0000-7000-8000-000000000000",
			object: oopsObject{}, detail: a.oops,
		},
		{
			name: "instance", method: http.MethodGet, access: signedIn,
			summary: "One report with all its fields, as a list of one object or none.",
			params: []param{{
				name: "id", kind: kindText, required: true, doc: "Id of the report.",
				example: "0196a1b2-0000-7000-8000-000000000000",
			}},
			object: instanceObject{}, list: a.instance,
		},
	}
}

// timestamp formats a time as errors.ubuntu.com did: without a zone, and without a fraction if
// it is zero.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if t.Nanosecond()/1000 == 0 {
		return t.Format("2006-01-02T15:04:05")
	}
	return t.Format("2006-01-02T15:04:05.000000")
}

type systemReport struct {
	Instance  string `json:"instance" doc:"Id of the report."`
	Occurred  string `json:"occurred" doc:"Date in the report, as Mon May  5 14:46:10 2025; or empty."`
	Type      string `json:"problemtype"`
	Program   string `json:"program" doc:"Package, or else the path of the program."`
	Timestamp string `json:"timestamp" doc:"When it arrived, UTC."`
}

func (a *answers) reportsForSystem(ctx context.Context, in input) (window, error) {
	limit := in.number("limit")
	if limit == 0 {
		limit = maxPage
	}
	if err := in.caller.user().CheckPrivate(""); err != nil { // a machine has many packages
		return window{}, err
	}
	system := crash.NewSystemID(in.text("system"))
	return newWindow(in.report("start"), limit, reportID, newSystemReport,
		func(start crash.OopsID, limit int) ([]crash.ReportRow, error) {
			return a.Problems.SystemReports(ctx, system, start, limit)
		},
		func(start crash.OopsID, limit int) ([]crash.OopsID, error) {
			return a.Problems.SystemReportsFrom(ctx, system, start, limit)
		})
}

func newSystemReport(r crash.ReportRow) any {
	row := systemReport{
		Instance: r.ID.String(), Type: r.ProblemType, Program: r.Package, Timestamp: timestamp(r.ID.Received()),
	}
	if !r.Occurred.IsZero() {
		row.Occurred = r.Occurred.UTC().Format(time.ANSIC)
	}
	if row.Program == "" {
		row.Program = r.Executable
	}
	return row
}

type dayReports struct {
	Date  string `json:"date"`
	Value struct {
		Oopses []any `json:"oopses" doc:"Ids of reports; with details, objects with id and details.ProblemType."`
	} `json:"value"`
}

type oopsDetails struct {
	Details struct {
		Type string `json:"ProblemType"`
	} `json:"details"`
	ID string `json:"id"`
}

func (a *answers) dayOops(ctx context.Context, in input, key string) (any, error) {
	day, err := parseDay(key)
	if err != nil {
		return nil, err
	}
	rows, err := a.Problems.DayReports(ctx, day, crash.Release(in.text("release")), in.number("limit"))
	if err != nil {
		return nil, err
	}
	out := dayReports{Date: day.Format(dateFormat)}
	out.Value.Oopses = []any{}
	for _, r := range rows {
		if !in.flag("details") {
			out.Value.Oopses = append(out.Value.Oopses, r.ID.String())
			continue
		}
		d := oopsDetails{ID: r.ID.String()}
		d.Details.Type = visibleLabel(in, r.ProblemType)
		out.Value.Oopses = append(out.Value.Oopses, d)
	}
	return out, nil
}

func parseDay(key string) (time.Time, error) {
	day := param{name: "day", kind: kindDay}
	value, err := day.parse(pair{value: key})
	if err != nil {
		return time.Time{}, err
	}
	t, _ := value.(time.Time)
	return t, nil
}

type oopsObject struct {
	Data map[string]string `json:"data" doc:"Its fields. SAS: signature. MishapHidden: hidden. MishapNotStored: why few."`
	ID   string            `json:"oopsid"`
}

type instanceObject struct {
	Instance map[string]string `json:"instance" doc:"Like data of oops."`
}

// fields returns the fields of a report that the caller may read, the names of the others, and the
// signature of its problem.
func (a *answers) fields(ctx context.Context, in input, id string) (map[string]string, error) {
	oops, err := crash.ParseOopsID(id)
	if err != nil {
		return nil, err
	}
	report, err := a.Store.Report(ctx, oops)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	u := in.caller.user()
	visible, hidden := a.Privacy.Visible(u, report.Fields, report.SourcePackage)
	for name, value := range visible {
		fields[name] = value
	}
	if len(hidden) > 0 {
		fields[crash.HiddenField] = strings.Join(hidden, " ")
	}
	if report.TypedOnly {
		fields[crash.NotStoredField] = crash.NotStored
	}
	fields["SystemIdentifier"] = string(u.VisibleSystem(report.System, report.SourcePackage))
	if report.Bucket != nil {
		b, err := a.Store.Bucket(ctx, *report.Bucket)
		if err != nil {
			return nil, err
		}
		fields["SAS"] = b.Signature
	}
	return fields, nil
}

func (a *answers) oops(ctx context.Context, in input, key string) (any, error) {
	fields, err := a.fields(ctx, in, key)
	if err != nil {
		return nil, err
	}
	return oopsObject{ID: key, Data: fields}, nil
}

func (a *answers) instance(ctx context.Context, in input) ([]any, error) {
	fields, err := a.fields(ctx, in, in.text("id"))
	if crash.KindOf(err) == crash.NotFound {
		return []any{instanceObject{Instance: map[string]string{}}}, nil
	}
	if err != nil {
		return nil, err
	}
	return []any{instanceObject{Instance: fields}}, nil
}

func (a *answers) symbolResources() []resource {
	return []resource{{
		name: "symbols/missing", method: http.MethodGet, access: signedIn,
		summary: "The missing symbols, those first that would name the most reports.",
		doc: "Ordered by the reports of the problems that wait for them. The list has at most 10,000 entries, and " +
			"considers the 10,000 waiting crashes with the most reports.",
		object: missingSymbol{}, list: a.missingSymbols,
	}}
}

// listedMissing is the largest length of the list.
const listedMissing = 10_000

type missingSymbol struct {
	Architecture string           `json:"architecture" doc:"In Debian's words."`
	BuildID      string           `json:"build_id" doc:"In hexadecimal digits; empty for the kind build."`
	Command      string           `json:"command" doc:"Command that adds it, for a shell; empty if mishap does not know one."`
	Kind         string           `json:"kind" doc:"executable, debuginfo, or build: the build-id is unknown."`
	Package      string           `json:"package" doc:"Binary package that provides it; empty if unknown."`
	Path         string           `json:"path" doc:"Path of the program or library; empty if unknown."`
	Problems     int64            `json:"problems" doc:"Number of problems that wait for it."`
	Reports      int64            `json:"reports" doc:"Number of reports of these problems."`
	Searched     []searchedSource `json:"searched" doc:"Where it was searched."`
	Version      string           `json:"version" doc:"Version of the package; empty if unknown."`
}

type searchedSource struct {
	Detail  string `json:"detail"`
	Outcome string `json:"outcome"`
	Source  string `json:"source"`
}

func (a *answers) missingSymbols(ctx context.Context, _ input) ([]any, error) {
	list, _, err := a.Symbols.MissingSymbols(ctx, listedMissing, 0)
	objects := make([]any, len(list))
	for i, m := range list {
		objects[i] = newMissingSymbol(m)
	}
	return objects, err
}

func newMissingSymbol(m crash.MissingSymbol) missingSymbol {
	o := missingSymbol{
		Architecture: m.Architecture, BuildID: m.BuildID, Command: m.Command(), Kind: string(m.Kind), Package: m.Package,
		Path: m.Path, Problems: m.Problems, Reports: m.Reports, Searched: []searchedSource{}, Version: m.Version,
	}
	for _, s := range m.Searched {
		o.Searched = append(o.Searched, searchedSource{Detail: s.Detail, Outcome: s.Outcome, Source: s.Source})
	}
	return o
}

// EraseMachine is the name of the resource that erases a machine.
const EraseMachine = "erase-machine"

func eraseResources() []resource {
	return []resource{{
		name: EraseMachine, method: http.MethodPost, access: administrator, external: true,
		summary: "Erases everything about a machine.",
		doc: "The answer comes at once; the work goes on in the background. Repeat the request to see its progress. " +
			"The answer has a digest instead of the machine.",
		body: eraseQuestion{}, object: erasureAnswer{},
		outcomes: map[string]string{"202": "The erasure, which is running."},
	}}
}

type eraseQuestion struct {
	System string `json:"system" doc:"The id of the machine, as in the address of its page."`
	Block  bool   `json:"block" doc:"Refuse later reports of the machine."`
}

const eraseShape = `{"system": "…", "block": false}`

type erasureAnswer struct {
	ID        int64              `json:"id" doc:"Number of the erasure."`
	Digest    string             `json:"digest" doc:"Digest of the machine, with a key that never leaves the server."`
	Blocked   bool               `json:"blocked"`
	Requested string             `json:"requested" doc:"When it was asked for, UTC."`
	Finished  string             `json:"finished" doc:"When erasing finished; empty: still running."`
	Waits     bool               `json:"waits" doc:"It waits for an archive server that cannot be reached."`
	Removed   crash.ErasedCounts `json:"removed" doc:"What has been removed so far."`
	Link      string             `json:"web_link" doc:"The list of erasures."`
}

// Erase begins to erase a machine on behalf of an administrator, whose right the caller has checked.
func (a *API) Erase(w http.ResponseWriter, r *http.Request, person string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	var q eraseQuestion
	if err := readQuestion(body, &q, eraseShape); err != nil {
		return err
	}
	e, err := upkeep.NewErasing(a.from.Store).Request(r.Context(), crash.NewSystemID(q.System), q.Block, person)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusAccepted, erasureAnswer{ID: e.ID, Digest: e.Digest, Blocked: e.Blocked,
		Requested: e.Requested.UTC().Format(time.RFC3339), Waits: e.Waits, Removed: e.Counts,
		Link: a.from.base + "/admin/erasures"})
}
