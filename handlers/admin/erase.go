package admin

import (
	"context"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/db/upkeep"
	"mishap/handlers/export"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

// shownErasures is the number of erasures that the page lists.
const shownErasures = 200

var errEraseConfirm = crash.Errorf(crash.Unprocessable, "not_confirmed", "These are not the first 8 characters of "+
	"the id of the machine; nothing was erased.")

// systemInPath returns the machine that the address names.
func systemInPath(r *http.Request) (crash.SystemID, error) {
	name, err := web.PathText(r, "system")
	return crash.NewSystemID(name), err
}

// ShowErase asks whether to erase a machine, and says what that removes.
func (s *Pages) ShowErase(w http.ResponseWriter, r *http.Request) error {
	return s.askErase(w, r, http.StatusOK, view.ErasePage{})
}

func (s *Pages) askErase(w http.ResponseWriter, r *http.Request, status int, p view.ErasePage) (err error) {
	if p.System, err = systemInPath(r); err != nil {
		return err
	}
	if err := s.web.AuditView(r, "read.machine", string(p.System)); err != nil {
		return err
	}
	machines := upkeep.NewErasing(s.Store)
	if p.Facts, err = machines.Facts(r.Context(), p.System); err != nil {
		return err
	}
	if p.Before, err = machines.Of(r.Context(), p.System); err != nil {
		return err
	}
	p.Shell = s.web.Shell(r, "Erase a machine")
	return s.web.Page(w, r, status, view.Erase(p))
}

// Erase begins to erase a machine. A background task of any instance does the work.
func (s *Pages) Erase(w http.ResponseWriter, r *http.Request) error {
	system, err := systemInPath(r)
	if err != nil {
		return err
	}
	block := r.PostFormValue("block") != ""
	if r.PostFormValue("confirm") != crash.Truncate(string(system), view.EraseConfirmLength) {
		return s.askErase(w, r, http.StatusUnprocessableEntity,
			view.ErasePage{Block: block, Problem: errEraseConfirm.Message})
	}
	if _, err := upkeep.NewErasing(s.Store).Request(r.Context(), system, block, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathErasures, "The machine is being erased.")
}

// ListErasures shows the receipts of erased machines.
func (s *Pages) ListErasures(w http.ResponseWriter, r *http.Request) (err error) {
	var p view.ErasuresPage
	if p.Erasures, err = upkeep.NewErasing(s.Store).Erasures(r.Context(), shownErasures); err != nil {
		return err
	}
	p.Shell = s.web.Shell(r, "Erased machines")
	return s.web.Page(w, r, http.StatusOK, view.Erasures(p))
}

// DumpSystem sends everything that is known about a machine as lines of JSON, to administrators with the
// right to all private data.
func (s *Pages) DumpSystem(w http.ResponseWriter, r *http.Request) error {
	system, err := systemInPath(r)
	if err != nil {
		return err
	}
	u := web.CurrentUser(r)
	if !u.Private.All {
		return u.CheckPrivate("")
	}
	ctx, cancel := context.WithTimeout(r.Context(), export.ExportTime)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(export.ExportTime)) // not every writer supports it
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="machine.jsonl"`)
	w.Header().Set("Cache-Control", "no-store")
	if err := upkeep.NewErasing(s.Store).Dump(ctx, system, u.Name, w); err != nil {
		s.web.Log.WarnContext(ctx, "the dump of a machine was cut short", "request_id", web.RequestID(r), "error", err)
		panic(http.ErrAbortHandler) // the client must not take a part for everything
	}
	return nil
}
