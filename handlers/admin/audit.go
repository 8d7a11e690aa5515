package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db/upkeep"
	"mishap/handlers/export"
	"mishap/handlers/web"
	view "mishap/views/admin"
)

// auditSize is the number of records on a page of the audit log.
const auditSize = 50

// ShowAudit shows records of the audit log, newest first.
func (s *Pages) ShowAudit(w http.ResponseWriter, r *http.Request) error {
	filter, after, err := readAuditFilter(r.URL.Query())
	page := view.AuditPage{Shell: s.web.Shell(r, "Audit log"), Filter: filter, After: after}
	if crash.KindOf(err) == crash.Invalid {
		page.Problem = web.AnswerTo(r, err).Message
		return s.web.Page(w, r, http.StatusBadRequest, view.Audit(page))
	}
	if page.Records, err = upkeep.NewAuditLog(s.Store).List(r.Context(), filter, after, auditSize+1); err != nil {
		return err
	}
	if len(page.Records) > auditSize {
		page.Records = page.Records[:auditSize]
		last := page.Records[auditSize-1]
		page.Next = audit.Cursor{At: last.At, ID: last.ID}
	}
	return s.web.Page(w, r, http.StatusOK, view.Audit(page))
}

// ExportAudit sends the records that a filter selects as lines of JSON, newest first.
func (s *Pages) ExportAudit(w http.ResponseWriter, r *http.Request) error {
	filter, after, err := readAuditFilter(r.URL.Query())
	if err == nil && after.ID != 0 {
		err = crash.Errorf(crash.Invalid, "bad_filter", "The export has no pages. Leave out after=.")
	}
	if err == nil {
		err = s.web.AuditDownload(r, "read.log", r.URL.RawQuery)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), export.ExportTime)
	defer cancel()
	defer context.AfterFunc(r.Context(), func() { //nolint:contextcheck // it ends the context
		if context.Cause(r.Context()) == context.Canceled { //nolint:errorlint // exactly this error: the client disconnected
			cancel()
		}
	})()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(export.ExportTime)) // not every writer supports it
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(out)
	for record, err := range upkeep.NewAuditLog(s.Store).All(ctx, filter) {
		if err == nil {
			err = lines.Encode(record)
		}
		if err != nil {
			s.web.Log.WarnContext(ctx, "the export of the audit log was cut short", "request_id", web.RequestID(r), "error", err)
			panic(http.ErrAbortHandler) // the client must not take a part for everything
		}
	}
	if out.Flush() != nil {
		return nil // the client disconnected
	}
	return nil
}

// readAuditFilter reads a filter and a cursor from a query. Days are in UTC.
func readAuditFilter(q url.Values) (f audit.Filter, after audit.Cursor, err error) {
	value := func(name string) string {
		return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(crash.Truncate(q.Get(name), 300), "\x00", ""), ""))
	}
	f = audit.Filter{Person: value("who"), Action: value("action"), Object: value("object"), Address: value("address"),
		Result: value("result")}
	invalid := func(format string, args ...any) error {
		return crash.Errorf(crash.Invalid, "bad_filter", format, args...)
	}
	day := func(name string) (t time.Time) {
		if text := value(name); text != "" && err == nil {
			if t, err = time.Parse(time.DateOnly, text); err != nil {
				t, err = time.Time{}, invalid("%q is not a day such as 2026-11-23.", text)
			}
		}
		return t
	}
	f.Since = day("from")
	if until := day("to"); !until.IsZero() {
		f.Until = until.AddDate(0, 0, 1)
	}
	if _, known := audit.Words(f.Action); f.Action != "" && !known {
		err = invalid("%s", audit.UnknownAction(f.Action))
	}
	if f.Result != "" && f.Result != audit.Done && f.Result != audit.Refused {
		err = invalid("The result is done or refused, not %q.", f.Result)
	}
	if f.Address != "" {
		address, wrong := netip.ParseAddr(f.Address)
		if wrong != nil {
			return f, after, invalid("%q is not an address.", f.Address)
		}
		f.Address = address.String()
	}
	if text := q.Get("after"); text != "" && err == nil {
		micros, id, _ := strings.Cut(text, ".")
		at, wrong := strconv.ParseInt(micros, 10, 64)
		if after.ID, err = strconv.ParseInt(id, 10, 64); err != nil || wrong != nil || at < 0 || at > 1<<57 || after.ID < 1 {
			return f, audit.Cursor{}, web.ErrBadCursor
		}
		after.At = time.UnixMicro(at).UTC()
	}
	return f, after, err
}
