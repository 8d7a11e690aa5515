package handlers

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/views"
)

func (s *Panel) filingPart(r *http.Request, e crash.LedgerEntry) views.FilingPart {
	p := views.FilingPart{
		LedgerEntry: e, CSRFToken: nosurf.Token(r), Now: s.now(),
		MayManage: s.config.AllowBugFiling && currentUser(r).Role.Allows(crash.RoleAdmin),
	}
	if e.Bug != 0 {
		p.BugURL = s.filer.BugURL(e.Bug)
	}
	return p
}

// bucketFiling is the ledger of one bucket, nil when nobody has asked for a bug.
func (s *Panel) bucketFiling(r *http.Request, id crash.BucketID) (*views.FilingPart, error) {
	entries, err := s.store.Ledger(r.Context(), crash.LedgerFilter{Bucket: id, Limit: 1})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	p := s.filingPart(r, entries[0])
	p.Alone = true
	return &p, nil
}
