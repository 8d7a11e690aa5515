package web

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	bugsview "mishap/views/bugs"
)

// FilingPart returns the view of a filing for the current user.
func (s *Panel) FilingPart(r *http.Request, e crash.LedgerEntry) bugsview.FilingPart {
	p := bugsview.FilingPart{
		LedgerEntry: e, CSRFToken: nosurf.Token(r), Now: s.Now(),
		MayManage: s.Config.AllowBugFiling && CurrentUser(r).Role.Allows(crash.RoleAdmin),
	}
	if e.Bug != 0 {
		p.BugURL = s.filer.BugURL(e.Bug)
	}
	return p
}

// BucketFiling returns the latest filing of a bucket, or nil if there is none.
func (s *Panel) BucketFiling(r *http.Request, id crash.BucketID) (*bugsview.FilingPart, error) {
	entries, err := s.bugs.Ledger(r.Context(), crash.LedgerFilter{Bucket: id, Limit: 1})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	p := s.FilingPart(r, entries[0])
	p.Alone = true
	return &p, nil
}
