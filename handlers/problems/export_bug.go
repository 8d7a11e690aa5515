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

// exportBug is the list of the problems that have a bug, as a file or feed.
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
		signedIn := web.CurrentUser(r).Role.Allows(crash.RoleViewer)
		path := "/bug/" + strconv.FormatInt(number, 10)
		return export.Table{Title: "Problems of bug " + strconv.FormatInt(number, 10), Path: path, Columns: problemColumns, Rows: func(yield func(export.Row, error) bool) {
			for _, bucket := range buckets {
				bucket := s.SeenBucket(r, bucket)
				p, ok := b.Problem(bucket.ID)
				if !ok { // none of its reports counts
					p = &index.Problem{Bucket: &index.Bucket{Facts: &index.Facts{}, ID: bucket.ID, Signature: bucket.Signature, Title: bucket.Title}}
				}
				row := web.SeenRow(r, index.Row{Problem: p, Facts: p.Facts, Count: p.Reports})
				if !yield(s.problemRow(row, bucket.Signature, signedIn), nil) {
					return
				}
			}
		}}, nil
	})
}
