package problems

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// symbolsOf returns how far a report is symbolised. It returns nil if nothing was tried, and nobody
// asked for its core.
func (s *Pages) symbolsOf(r *http.Request, report crash.StoredReport) (*views.SymbolsView, error) {
	j, ok, err := s.Symbols.ReportJob(r.Context(), report.ID)
	if err != nil || !ok {
		return nil, err
	}
	return &views.SymbolsView{Job: j, MayPress: web.CurrentUser(r).MayTriage(report.SourcePackage),
		CSRFToken: nosurf.Token(r)}, nil
}

// ShowSymbols shows how far a problem is symbolised, as a part of its page: nothing if that has not changed.
// When the reports have got names, it leads to their problem.
func (s *Pages) ShowSymbols(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	if b.ID != id || !web.WantsPart(r) {
		return web.Redirect(w, r, headPath(b.ID, id))
	}
	symbols, err := s.SymbolsOf(r.Context(), b)
	if err != nil {
		return err
	}
	view, err := s.SymbolsView(r, b, symbols)
	if err != nil {
		return err
	}
	if view == nil || view.Mark() == r.URL.Query().Get("seen") {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.Part(w, r, views.SymbolsPart(view))
}

// Symbolise symbolises a report again, as soon as an instance is free.
func (s *Pages) Symbolise(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseOopsID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	report, err := s.Store.Report(r.Context(), id)
	if err != nil {
		return err
	}
	if err := web.CheckTriage(r, report.SourcePackage); err != nil {
		return err
	}
	if err := s.Symbols.PressJob(r.Context(), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "It will be symbolised again soon."); err != nil {
		return err
	}
	return web.Redirect(w, r, views.ReportPath(id)+"#symbols")
}
