package handlers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/views"
)

// problemColumns are the columns of lists of problems.
var problemColumns = []string{
	"count", "title", "signature", "package", "source_package", "problem_type", "first_version", "last_version", "first_release",
	"last_release", "first_seen", "last_seen", "machines", "bug", "state", "url",
}

// exportFile is the front list as a file or feed, at its own address; the query is that of the page.
func (s *Server) exportFile(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if exportTypes[format] == "" {
		return errNoFormat
	}
	return s.exportProblems(w, r, format)
}

// exportProblems is the front list as a file or feed.
func (s *Server) exportProblems(w http.ResponseWriter, r *http.Request, format string) error {
	releases, err := s.store.Releases(r.Context())
	if err != nil {
		return err
	}
	choice, err := readChoice(r.URL.Query(), releases)
	if err != nil {
		return err
	}
	until := s.now().UTC().Truncate(24 * time.Hour)
	filter := db.CommonFilter{Since: until.AddDate(0, 0, 1-choice.Period.Days()), Until: until, Release: choice.Release}
	if choice.Package != "" {
		filter.Packages = []string{choice.Package}
	}
	return s.exportList(w, r, format, "Most common problems", choice.URL(), filter)
}

// exportList is a list of problems as a file or feed.
func (s *Server) exportList(w http.ResponseWriter, r *http.Request, format, title, path string, filter db.CommonFilter) error {
	return s.export(w, r, format, func(ctx context.Context) (table, error) {
		counts, err := s.store.ProblemCounts(ctx, filter)
		if err != nil {
			return table{}, err
		}
		if format == "atom" {
			counts = counts[:min(len(counts), maxFeed)]
		}
		signedIn := currentUser(r).Role.Allows(crash.RoleViewer)
		return table{
			title: title, path: path, columns: problemColumns,
			rows: func(yield func(row, error) bool) {
				for some := range slices.Chunk(counts, exportPage) {
					problems, err := s.store.ProblemsByID(ctx, some)
					if err != nil {
						yield(row{}, err)
						return
					}
					for _, p := range problems {
						if !yield(s.problemRow(p, signedIn), nil) {
							return
						}
					}
				}
			},
		}, nil
	})
}

// problemRow is one problem of a list.
func (s *Server) problemRow(p crash.Problem, signedIn bool) row {
	title := views.DocumentTitle(p.Bucket, signedIn)
	bug := ""
	if p.Bug.Number != 0 {
		bug = fmt.Sprint(p.Bug.Number)
	}
	var summary strings.Builder
	fmt.Fprintf(&summary, "%s in the chosen days, %s in all, on %s.", views.Counted(p.Count, "report", "reports"),
		views.Counted(p.Reports, "report", "reports"), views.Counted(p.Systems, "machine", "machines"))
	if p.Package != "" {
		fmt.Fprintf(&summary, " Package %s, versions %s to %s.", p.Package, p.FirstVersion, p.LastVersion)
	}
	if bug != "" {
		fmt.Fprintf(&summary, " Bug %s.", bug)
	}
	return row{
		cells: []any{
			p.Count, title, p.Signature, p.Package, p.SourcePackage, p.ProblemType, p.FirstVersion, p.LastVersion, string(p.FirstRelease),
			string(p.LastRelease), p.FirstSeen, p.LastSeen, p.Systems, bug, string(crash.StateOf(p.Bucket).Word), s.base.String() + p.ID.Path(),
		},
		path: p.ID.Path(), title: title, summary: summary.String(), first: p.FirstSeen, last: p.LastSeen,
	}
}
