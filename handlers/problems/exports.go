package problems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/export"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// problemColumns are the columns of lists of problems.
var problemColumns = []string{
	"count", "title", "signature", "package", "source_package", "problem_type", "first_seen",
	"first_version", "first_release", "last_seen", "last_version", "last_release", "highest_version", "bug",
	"state", "status", "url", "assignee", "tags", "manual_state", "manual_status",
	"rising", "tracker", "project",
}

// ExportProblems sends the front list as a file or feed, with the query of the page.
func (s *Lists) ExportProblems(w http.ResponseWriter, r *http.Request, format string) error {
	choice, err := s.choices.readChoice(r, r.URL.Query())
	if err != nil {
		return err
	}
	_, filter, _, err := s.choices.listFilter(r.Context(), choice)
	if err != nil {
		return err
	}
	return s.exportList(w, r, format, exportedList{title: "Most common problems", path: choice.URL(), filter: filter})
}

type exportedList struct {
	title  string
	path   string // path of the page, with its query
	filter index.Filter
	match  func(*index.Problem) bool                                // nil selects all
	rows   func(context.Context, *index.Index) ([]index.Row, error) // instead of filter and match; nil: these count
	// private names what the list depends on besides public data; see export.Exporter.Export.
	private string
}

func (s *Lists) exportList(w http.ResponseWriter, r *http.Request, format string, list exportedList) error {
	list.filter.Public = web.IsPublic(r)
	return s.exporter.Export(w, r, format, list.private, func(ctx context.Context) (export.Table, error) {
		b, err := s.Store.IndexWithStates(ctx)
		if err != nil {
			return export.Table{}, err
		}
		rows, _ := b.All(list.filter, list.match)
		if list.rows != nil {
			if rows, err = list.rows(ctx, b); err != nil {
				return export.Table{}, err
			}
		}
		if format == "atom" {
			rows = rows[:min(len(rows), export.MaxFeed)]
		}
		signedIn := web.CurrentUser(r).Role.Allows(crash.RoleViewer)
		rising := b.Rising(index.DayOf(s.web.Now()))
		places, err := s.Bugs.BugPlaces(ctx)
		if err != nil {
			return export.Table{}, err
		}
		return export.Table{
			Title: list.title, Path: list.path, Columns: problemColumns,
			Rows: func(yield func(export.Row, error) bool) {
				for chunk := range slices.Chunk(rows, export.ExportPage) {
					signatures, err := s.Problems.WholeSignatures(ctx, chunk)
					if err != nil {
						yield(export.Row{}, err)
						return
					}
					for _, p := range chunk {
						signature := signatures[p.ID]
						if !signedIn {
							signature = privacy.RedactSignature(signature)
						}
						_, rises := rising[p.ID]
						if !yield(s.problemRow(web.SeenRow(r, p), signature, places, rises, signedIn), nil) {
							return
						}
					}
				}
			},
		}, nil
	})
}

func (s *Lists) problemRow(
	p index.Row, signature string, places map[int]crash.BugPlace, rises, signedIn bool,
) export.Row {
	title := view.DocumentTitle(p.Named())
	if signature == "" {
		signature = p.Signature
	}
	bug := crash.Bug{Number: p.Bug}
	number := ""
	if p.Bug != 0 {
		bug.Place, number = places[crash.PlaceOf(p.Bug)], crash.BugText(p.Bug)
	}
	var summary strings.Builder
	fmt.Fprintf(&summary, "%s in the chosen days, %s in all.", crash.Counted(p.Count, "report", "reports"),
		crash.Counted(p.Reports, "report", "reports"))
	if p.Package != "" {
		fmt.Fprintf(&summary, " Package %s.", p.Package)
	}
	first, last := p.First(), p.Last()
	if !first.At.IsZero() {
		fmt.Fprintf(&summary, " First seen %s, last seen %s.", occurrenceText(first), occurrenceText(last))
	}
	if number != "" {
		fmt.Fprintf(&summary, " Bug %s.", bug.Text())
	}
	status := s.Store.StatusOf(p.Problem)
	if !signedIn {
		status = privacy.RedactStatus(status)
	}
	summary.WriteString(" " + status.Text())
	manual := s.Store.ListedManual(p.ID)
	if !signedIn {
		manual = privacy.RedactManual(manual)
	}
	if text := manual.Text(false); text != "" {
		summary.WriteString(" " + text)
	}
	return export.Row{
		Cells: []any{
			p.Count, title, signature, p.Package, p.Source, p.Type, first.At, first.Version, string(first.Release),
			last.At, last.Version, string(last.Release), p.HighestVersion(), number, string(status.Word), status.Text(),
			s.web.Base.String() + p.ID.Path(), p.Assignee().Name, strings.Join(p.Tags(), " "),
			manual.Words(), manual.Text(false), rises, bug.Place.Tracker, bug.Place.Project,
		},
		Path: p.ID.Path(), Title: title, Summary: summary.String(), First: first.At, Last: last.At,
	}
}

// occurrenceText formats an occurrence, such as "2026-05-18 09:30 UTC in 1.4-1 (Ubuntu 24.04)".
func occurrenceText(o crash.Occurrence) string {
	text := o.At.UTC().Format("2006-01-02 15:04 UTC")
	if o.Version != "" {
		text += " in " + o.Version
	}
	if o.Release != "" {
		text += " (" + string(o.Release) + ")"
	}
	return text
}

// reportColumns are the columns of lists of reports.
var reportColumns = []string{
	"report", "arrived", "occurred", "problem_type", "title", "package", "version", "source_package", "release",
	"architecture", "machine", "problem", "url", "stored_in_full",
}

// machineColumn is the place of the machine in reportColumns.
const machineColumn = 10

// ExportReports sends a problem's reports as a file or feed.
func (s *Pages) ExportReports(w http.ResponseWriter, r *http.Request, format string) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	if !web.CurrentUser(r).Role.Allows(crash.RoleViewer) {
		return web.ErrNotSignedIn
	}
	b, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.web.AuditDownload(r, "read.reports", b.ID.String()); err != nil {
		return err
	}
	return s.exporter.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		read := func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.Problems.BucketReports(ctx, b.ID, after, export.ExportPage)
		}
		return s.reportTable(ctx, r, "Reports of "+view.DocumentTitle(b), b.ID.Path(), read), nil
	})
}

// exportSystemReports sends a machine's reports as a file or feed.
// It leaves out reports of packages whose private data the person may not read.
func (s *Pages) exportSystemReports(w http.ResponseWriter, r *http.Request, system crash.SystemID,
	format string,
) error {
	if err := s.web.AuditDownload(r, "read.machine", string(system)); err != nil {
		return err
	}
	return s.exporter.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		read := func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.Problems.SystemReports(ctx, system, after, export.ExportPage)
		}
		table := s.reportTable(ctx, r, "Reports of a machine", view.SystemPath(system), read)
		all := table.Rows
		table.Rows = func(yield func(export.Row, error) bool) {
			for row, err := range all {
				if (err != nil || row.Cells[machineColumn] != string(crash.HiddenSystem)) && !yield(row, err) {
					return
				}
			}
		}
		return table, nil
	})
}

func (s *Pages) reportTable(ctx context.Context, r *http.Request, title, path string,
	read func(after crash.OopsID) ([]crash.ReportRow, error),
) export.Table {
	return export.Table{
		Title: title, Path: path, Columns: reportColumns,
		Rows: export.Pages(func(after *crash.ReportRow) ([]crash.ReportRow, error) {
			if after != nil {
				return read(after.ID)
			}
			if err := s.Store.NoteAway(ctx); err != nil {
				return nil, err
			}
			return read(crash.OopsID{})
		}, func(row crash.ReportRow) export.Row { return s.reportRow(r, row) }),
	}
}

func (s *Pages) reportRow(request *http.Request, r crash.ReportRow) export.Row {
	problem := ""
	if r.Bucket != nil {
		problem = s.web.Base.String() + r.Bucket.Path()
	}
	path := "/oops/" + r.ID.String()
	title := r.Title
	if title == "" {
		title = r.ProblemType + " of " + r.Executable
	}
	return export.Row{
		Cells: []any{
			r.ID.String(), r.ID.Received(), r.Occurred, r.ProblemType, r.Title, r.Package, r.Version, r.SourcePackage,
			string(r.Release), r.Architecture,
			string(web.CurrentUser(request).VisibleSystem(r.System, r.SourcePackage)), problem, s.web.Base.String() + path,
			!r.TypedOnly,
		},
		Path: path, Title: title, First: r.ID.Received(), Last: r.ID.Received(),
		Summary: fmt.Sprintf("%s %s on %s, %s.", r.Package, r.Version, r.Release, r.Architecture),
	}
}

// versionColumns are the columns of the list of a problem's versions.
var versionColumns = []string{"version", "release", "reports", "machines", "first_day", "last_day", "url"}

// ExportVersions sends the versions in which a problem was seen, by release, as a file or feed.
func (s *Pages) ExportVersions(w http.ResponseWriter, r *http.Request, format string) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.exporter.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		spans, err := s.Problems.BucketVersionSpans(ctx, bucket.ID)
		if err != nil {
			return export.Table{}, err
		}
		title := "Versions of " + view.DocumentTitle(s.web.SeenBucket(r, bucket))
		rows := func(yield func(export.Row, error) bool) {
			for _, span := range spans {
				span.Version, span.Release = web.SeenLabel(r, span.Version), web.SeenLabel(r, span.Release)
				if !yield(s.versionRow(bucket, span), nil) {
					return
				}
			}
		}
		return export.Table{Title: title, Path: bucket.ID.Path(), Columns: versionColumns, Rows: rows}, nil
	})
}

func (s *Pages) versionRow(b crash.Bucket, span stats.BucketVersion) export.Row {
	label := strings.TrimSpace(span.Version + " in " + string(span.Release))
	path := b.ID.Path() + "?" + url.Values{"release": {string(span.Release)}, "version": {span.Version}}.Encode()
	return export.Row{
		Cells: []any{
			span.Version, string(span.Release), span.Reports, span.Systems, dayText(span.First), dayText(span.Last),
			s.web.Base.String() + path,
		},
		Path: path, Title: label,
		Summary: fmt.Sprintf("Seen with version %s: %s on %s, from %s to %s.", label,
			crash.Counted(span.Reports, "report", "reports"), crash.Counted(span.Systems, "machine", "machines"),
			dayText(span.First), dayText(span.Last)),
		First: span.First, Last: span.Last,
	}
}

// dayText formats a day for files, and the zero time as "".
func dayText(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.UTC().Format(time.DateOnly)
}

func (s *Lists) exportBug(w http.ResponseWriter, r *http.Request, number int64, format string) error {
	list := exportedList{title: "Problems of bug " + s.Filer.Sites().BugText(r.Context(), number),
		path: "/bug/" + strconv.FormatInt(number, 10)}
	list.rows = func(ctx context.Context, b *index.Index) ([]index.Row, error) {
		buckets, err := s.Bugs.BucketsOfBug(ctx, number)
		rows := make([]index.Row, len(buckets))
		for i, bucket := range buckets {
			p, ok := b.Problem(bucket.ID)
			if !ok { // none of its reports is counted
				p = &index.Problem{Bucket: &index.Bucket{ID: bucket.ID, Signature: bucket.Signature, Title: bucket.Title}}
			}
			rows[i] = index.Row{Problem: p, Facts: p.Facts, Count: p.Reports}
		}
		return rows, err
	}
	return s.exportList(w, r, format, list)
}

var (
	errNoCore        = crash.Errorf(crash.NotFound, "no_core", "This machine has no core dump of this report.")
	errCoreForbidden = crash.Errorf(crash.Forbidden, "core_forbidden",
		"Core dumps need the role triager and the private right for the package. Ask an administrator for them.")
)

// rawReport is a report as JSON: its metadata, and the fields as they arrived.
type rawReport struct {
	ID         string             `json:"id"`
	URL        string             `json:"url"`
	Arrived    time.Time          `json:"arrived"`
	Occurred   *time.Time         `json:"occurred"` // null if the report has no valid date
	Machine    string             `json:"machine"`
	Problem    *string            `json:"problem"` // address, or null if Unbucketed says why the report has no problem
	Unbucketed string             `json:"unbucketed,omitempty"`
	Rule       crash.GroupingRule `json:"rule"`
	Evidence   []passage          `json:"evidence"` // lines that the grouping rule read
	InFull     bool               `json:"stored_in_full"`
	Fields     crash.Fields       `json:"fields"`
	Hidden     []string           `json:"hidden_fields,omitempty"` // that the person may not read
}

// passage is a field that the grouping rule read, with the lines that it used.
type passage struct {
	Field string   `json:"field"`
	Used  []string `json:"used"`
}

// evidenceOf returns the passages that the grouping rule read in a report, as far as readers up to a
// class may see them.
func (s *Pages) evidenceOf(f crash.Fields, readable privacy.Class) []passage {
	all := []passage{}
	for _, p := range grouping.Explain(f).Passages {
		if s.web.Config.Privacy.Excerpt(p.Field) > readable {
			continue
		}
		all = append(all, passage{Field: p.Field, Used: p.UsedLines(f[p.Field])})
	}
	return all
}

func (s *Pages) sendReport(w http.ResponseWriter, r *http.Request, report crash.StoredReport) error {
	u := web.CurrentUser(r)
	raw := rawReport{
		ID: report.ID.String(), URL: s.web.Base.String() + "/oops/" + report.ID.String(),
		Arrived: report.ID.Received(), Machine: string(u.VisibleSystem(report.System, report.SourcePackage)),
		Unbucketed: report.Unbucketed, InFull: !report.TypedOnly,
		Rule: report.Rule, Evidence: s.evidenceOf(report.Fields, web.Readable(r, report.SourcePackage)),
	}
	raw.Fields, raw.Hidden = s.web.Config.Privacy.Visible(u, report.Fields, report.SourcePackage)
	if !report.Occurred.IsZero() {
		raw.Occurred = &report.Occurred
	}
	if report.Bucket != nil {
		address := s.web.Base.String() + report.Bucket.Path()
		raw.Problem = &address
	}
	body, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return err
	}
	setFileHeaders(w, "application/json", report.ID.String()+".json")
	_, _ = w.Write(append(body, '\n')) // an error means that the client disconnected
	return nil
}

// setFileHeaders sets the headers of a private file.
func setFileHeaders(w http.ResponseWriter, media, name string) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Cache-Control", "no-store")
}

// sendCrash sends a report as a file that apport and its tools read. With core=yes it adds the
// core dump, compressed as the machine sent it, for users who may read it. The audit log records
// each such download.
func (s *Pages) sendCrash(w http.ResponseWriter, r *http.Request, report crash.StoredReport) error {
	var core io.ReadCloser
	if r.URL.Query().Get("core") != "" {
		if !web.CurrentUser(r).MayReadCore(report.SourcePackage) {
			return errCoreForbidden
		}
		var err error
		if core, err = s.openCore(r.Context(), report.ID); errors.Is(err, fs.ErrNotExist) {
			return errNoCore
		} else if err != nil {
			return err
		}
		defer core.Close() //nolint:errcheck // only read
		if err := s.Symbols.CoreDownloaded(r.Context(), report.ID, web.CurrentUser(r).Name); err != nil {
			return err
		}
		// Not every writer supports a deadline.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(export.ExportTime))
	}
	visible, hidden := s.web.Config.Privacy.Visible(web.CurrentUser(r), report.Fields, report.SourcePackage)
	if len(hidden) > 0 {
		visible[crash.HiddenField] = strings.Join(hidden, " ")
	}
	if report.TypedOnly {
		visible[crash.NotStoredField] = crash.NotStored
	}
	fields, _ := apport.Writable(visible) // a field of the file lists those left out
	setFileHeaders(w, "text/plain; charset=utf-8", report.ID.String()+".crash")
	if err := apport.Write(w, fields); err != nil {
		return nil // the client disconnected: Writable has checked the names
	}
	if core != nil {
		_ = apport.WriteDump(w, "CoreDump", core) // an error means that the client disconnected
	}
	return nil
}

// openCore returns the core dump of a report in the format that whoopsie sends: base64 by lines.
func (s *Pages) openCore(ctx context.Context, id crash.OopsID) (io.ReadCloser, error) {
	if s.web.Config.Cores == nil {
		return nil, fs.ErrNotExist
	}
	return s.web.Config.Cores.Open(ctx, id)
}

// coreSize returns the stored size in bytes of the core dump, or 0 if there is none or the user may
// not download it.
func (s *Pages) coreSize(r *http.Request, report crash.StoredReport) int64 {
	if s.web.Config.Cores == nil || !web.CurrentUser(r).MayReadCore(report.SourcePackage) {
		return 0
	}
	size, err := s.web.Config.Cores.Size(r.Context(), report.ID)
	if err != nil {
		return 0
	}
	return size
}
