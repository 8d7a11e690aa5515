package problems

import (
	"context"
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/export"
	"mishap/handlers/web"
)

// exportBug sends the problems that have a bug as a file or feed.
func (s *Lists) exportBug(w http.ResponseWriter, r *http.Request, number int64, format string) error {
	return s.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		buckets, err := s.Bugs.BucketsOfBug(ctx, number)
		if err != nil {
			return export.Table{}, err
		}
		b, err := s.Store.IndexWithStates(ctx)
		if err != nil {
			return export.Table{}, err
		}
		rising := b.Rising(index.DayOf(s.Now()))
		signedIn := web.CurrentUser(r).Role.Allows(crash.RoleViewer)
		path := "/bug/" + strconv.FormatInt(number, 10)
		title := "Problems of bug " + strconv.FormatInt(number, 10)
		rows := func(yield func(export.Row, error) bool) {
			for _, bucket := range buckets {
				bucket := s.SeenBucket(r, bucket)
				p, ok := b.Problem(bucket.ID)
				if !ok { // none of its reports is counted
					p = &index.Problem{Bucket: &index.Bucket{
						ID: bucket.ID, Signature: bucket.Signature, Title: bucket.Title,
					}}
				}
				row := web.SeenRow(r, index.Row{Problem: p, Facts: p.Facts, Count: p.Reports})
				_, rises := rising[p.ID]
				if !yield(s.problemRow(row, bucket.Signature, rises, signedIn), nil) {
					return
				}
			}
		}
		return export.Table{Title: title, Path: path, Columns: problemColumns, Rows: rows}, nil
	})
}
