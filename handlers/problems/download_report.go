package problems

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/handlers/export"
	"mishap/handlers/web"
)

var (
	errNoCore        = crash.Errorf(crash.NotFound, "no_core", "No core dump of this report is kept on this machine.")
	errCoreForbidden = crash.Errorf(crash.Forbidden, "core_forbidden",
		"Core dumps hold the memory of programs: they need the role triager and the right to private data of the package. "+
			"Somebody who is an administrator here can give them to you.")
)

// rawReport is a report as JSON: its metadata, and the fields as they arrived.
type rawReport struct {
	ID         string       `json:"id"`
	URL        string       `json:"url"`
	Arrived    time.Time    `json:"arrived"`
	Occurred   *time.Time   `json:"occurred"` // null if the report has no valid date
	Machine    string       `json:"machine"`
	Problem    *string      `json:"problem"` // address, or null if Unbucketed says why the report has no problem
	Unbucketed string       `json:"unbucketed,omitempty"`
	Rule       crash.Rule   `json:"rule"`
	Evidence   []passage    `json:"evidence"` // lines that the grouping rule read
	Fields     crash.Fields `json:"fields"`
	Hidden     []string     `json:"hidden_fields,omitempty"` // that the person may not read
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
		if s.Config.Privacy.Excerpt(p.Field) > readable {
			continue
		}
		all = append(all, passage{Field: p.Field, Used: p.UsedLines(f[p.Field])})
	}
	return all
}

// sendReport sends a report as JSON.
func (s *Pages) sendReport(w http.ResponseWriter, r *http.Request, report crash.StoredReport) error {
	u := web.CurrentUser(r)
	raw := rawReport{
		ID: report.ID.String(), URL: s.Base.String() + "/oops/" + report.ID.String(),
		Arrived: report.ID.Received(), Machine: string(u.VisibleSystem(report.System, report.SourcePackage)),
		Unbucketed: report.Unbucketed,
		Rule:       report.Rule, Evidence: s.evidenceOf(report.Fields, web.Readable(r, report.SourcePackage)),
	}
	raw.Fields, raw.Hidden = s.Config.Privacy.Visible(u, report.Fields, report.SourcePackage)
	if !report.Occurred.IsZero() {
		raw.Occurred = &report.Occurred
	}
	if report.Bucket != nil {
		address := s.Base.String() + report.Bucket.Path()
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
	visible, hidden := s.Config.Privacy.Visible(web.CurrentUser(r), report.Fields, report.SourcePackage)
	if len(hidden) > 0 {
		visible[crash.HiddenField] = strings.Join(hidden, " ")
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
	if s.Config.Cores == nil {
		return nil, fs.ErrNotExist
	}
	return s.Config.Cores.Open(ctx, id)
}

// coreSize returns the stored size in bytes of the core dump, or 0 if there is none or the user may
// not download it.
func (s *Pages) coreSize(r *http.Request, report crash.StoredReport) int64 {
	if s.Config.Cores == nil || !web.CurrentUser(r).MayReadCore(report.SourcePackage) {
		return 0
	}
	size, err := s.Config.Cores.Size(r.Context(), report.ID)
	if err != nil {
		return 0
	}
	return size
}
