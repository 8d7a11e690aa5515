package web

import (
	"net/http"
	"strings"

	"mishap/handlers/negotiate"
	"mishap/views/layout"
)

// ExportTypes are the media types of files and feeds by the ending of their address. Every list is
// also served at its own address if Accept prefers one of these types.
var ExportTypes = map[string]string{
	"csv":  "text/csv; charset=utf-8",
	"json": "application/json",
	"atom": "application/atom+xml; charset=utf-8",
}

// The media types of pages.
const (
	mediaHTML  = "text/html"
	mediaXHTML = "application/xhtml+xml"
)

// AcceptedExport returns the export format that Accept prefers to a page, or "" if it prefers a
// page.
func AcceptedExport(r *http.Request) string {
	if WantsPart(r) {
		return ""
	}
	accept := r.Header.Values("Accept")
	switch negotiate.Preferred(accept, mediaHTML, mediaXHTML, "text/csv", "application/json", "application/atom+xml") {
	case "text/csv":
		return "csv"
	case "application/json":
		return "json"
	case "application/atom+xml":
		return "atom"
	}
	return ""
}

// asksForFile reports whether the answer is a file instead of a page, by the ending of the path or the
// header Accept.
func asksForFile(r *http.Request) bool {
	_, ending := CutFormat(r.URL.Path)
	return ending != "" || AcceptedExport(r) != ""
}

// ForFile reports whether a request is for a file or feed, by its address or by Accept.
func ForFile(r *http.Request) bool {
	_, ending := CutFormat(r.URL.Path)
	report := strings.HasPrefix(r.URL.Path, "/oops/") && strings.HasSuffix(r.URL.Path, ".crash")
	lines := r.URL.Path == layout.PathAudit+".jsonl" || strings.HasSuffix(r.URL.Path, "/dump.jsonl")
	return SafeMethods[r.Method] && (ending != "" || report || lines || AcceptedExport(r) != "")
}

// CutFormat splits a name, which may contain dots, from the ending of its export format.
func CutFormat(name string) (base, format string) {
	if at := strings.LastIndexByte(name, '.'); at > 0 && ExportTypes[name[at+1:]] != "" {
		return name[:at], name[at+1:]
	}
	return name, ""
}
