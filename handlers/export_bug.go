package handlers

import (
	"context"
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/crash/index"
)

// exportBug is the list of the problems that have a bug, as a file or feed.
func (s *listPages) exportBug(w http.ResponseWriter, r *http.Request, number int64, format string) error {
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		buckets, err := s.store.BucketsOfBug(ctx, number)
		if err != nil {
			return table{}, err
		}
		b, err := s.store.IndexWithStates(ctx)
		if err != nil {
			return table{}, err
		}
		signedIn := currentUser(r).Role.Allows(crash.RoleViewer)
		path := "/bug/" + strconv.FormatInt(number, 10)
		return table{title: "Problems of bug " + strconv.FormatInt(number, 10), path: path, columns: problemColumns, rows: func(yield func(row, error) bool) {
			for _, bucket := range buckets {
				bucket := s.seenBy(r, bucket)
				p, ok := b.Problem(bucket.ID)
				if !ok { // none of its reports counts
					p = &index.Problem{Leaf: &index.Leaf{Facts: &index.Facts{}, ID: bucket.ID, Signature: bucket.Signature, Title: bucket.Title}}
				}
				row := seenRow(r, index.Row{Problem: p, Facts: p.Facts, Count: p.Reports})
				if !yield(s.problemRow(row, bucket.Signature, signedIn), nil) {
					return
				}
			}
		}}, nil
	})
}
