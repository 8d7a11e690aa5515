package problems

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/redact"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

// problemColumns are the columns of lists of problems.
var problemColumns = []string{
	"count", "title", "signature", "package", "source_package", "problem_type", "first_seen",
	"first_version", "first_release", "last_seen", "last_version", "last_release", "highest_version", "bug",
	"state", "status", "url", "assignee", "tags", "manual_state", "manual_status",
	"rising",
}

// ExportFile sends the front list as a file or feed at an address of its own, with the query of
// the page.
func (s *Lists) ExportFile(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	return s.exportProblems(w, r, format)
}

// exportProblems sends the front list as a file or feed.
func (s *Lists) exportProblems(w http.ResponseWriter, r *http.Request, format string) error {
	choice, err := s.readChoice(r, r.URL.Query())
	if err != nil {
		return err
	}
	_, filter, _, err := s.listFilter(r.Context(), choice)
	if err != nil {
		return err
	}
	return s.exportList(w, r, format, exportedList{title: "Most common problems", path: choice.URL(), filter: filter})
}

// exportedList is a list of problems to export.
type exportedList struct {
	title  string
	path   string // path of the page, with its query
	filter index.Filter
	match  func(*index.Problem) bool // nil selects all
	// private names what the list depends on besides public data; see export.Exporter.Export.
	private string
}

// exportList sends a list of problems as a file or feed.
func (s *Lists) exportList(w http.ResponseWriter, r *http.Request, format string, list exportedList) error {
	list.filter.Public = web.IsPublic(r)
	return s.Export(w, r, format, list.private, func(ctx context.Context) (export.Table, error) {
		b, err := s.Store.IndexWithStates(ctx)
		if err != nil {
			return export.Table{}, err
		}
		rows, _ := b.All(list.filter, list.match)
		if format == "atom" {
			rows = rows[:min(len(rows), export.MaxFeed)]
		}
		signedIn := web.CurrentUser(r).Role.Allows(crash.RoleViewer)
		rising := b.Rising(index.DayOf(s.Now()))
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
							signature = s.Redacted.Signature(signature)
						}
						_, rises := rising[p.ID]
						if !yield(s.problemRow(web.SeenRow(r, p), signature, rises, signedIn), nil) {
							return
						}
					}
				}
			},
		}, nil
	})
}

// problemRow returns the row of one problem.
func (s *Lists) problemRow(p index.Row, signature string, rises, signedIn bool) export.Row {
	title := views.DocumentTitle(crash.Bucket{
		ID: p.ID, Signature: p.Signature, Rule: p.Rule, Provisional: p.Provisional, ProblemType: p.Type,
		Title: p.Title, Name: p.Name, Executable: p.Executable,
	})
	if signature == "" {
		signature = p.Signature
	}
	bug := ""
	if p.Bug != 0 {
		bug = strconv.FormatInt(p.Bug, 10)
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
	if bug != "" {
		fmt.Fprintf(&summary, " Bug %s.", bug)
	}
	status := s.Store.StatusOf(p.Problem)
	if !signedIn {
		status = redact.Status(status)
	}
	summary.WriteString(" " + status.Text())
	manual := s.Store.ListedManual(p.ID)
	if !signedIn {
		manual = redact.Manual(manual)
	}
	if text := manual.Text(false); text != "" {
		summary.WriteString(" " + text)
	}
	return export.Row{
		Cells: []any{
			p.Count, title, signature, p.Package, p.Source, p.Type, first.At, first.Version, string(first.Release),
			last.At, last.Version, string(last.Release), p.HighestVersion(), bug, string(status.Word), status.Text(),
			s.Base.String() + p.ID.Path(), p.Assignee().Name, strings.Join(p.Tags(), " "),
			manual.Words(), manual.Text(false), rises,
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
