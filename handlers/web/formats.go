package web

import (
	"net/http"
	"strings"

	"mishap/handlers/negotiate"
)

// Every list is to be had as a file or feed too: at its address with one of these endings, or at the page's address with
// the media type in Accept.
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

// AcceptedExport returns the format that Accept wants more than a page; empty: the page.
func AcceptedExport(r *http.Request) string {
	if WantsPart(r) {
		return ""
	}
	switch negotiate.Preferred(r.Header.Values("Accept"), mediaHTML, mediaXHTML, "text/csv", "application/json", "application/atom+xml") {
	case "text/csv":
		return "csv"
	case "application/json":
		return "json"
	case "application/atom+xml":
		return "atom"
	}
	return ""
}

// ForFile reports whether a request is for a file or feed, by its address or by Accept.
func ForFile(r *http.Request) bool {
	_, ending := CutFormat(r.URL.Path)
	report := strings.HasPrefix(r.URL.Path, "/oops/") && strings.HasSuffix(r.URL.Path, ".crash")
	return SafeMethods[r.Method] && (ending != "" || report || AcceptedExport(r) != "")
}

// CutFormat takes the ending of an export off a name that may hold dots itself.
func CutFormat(name string) (base, format string) {
	if at := strings.LastIndexByte(name, '.'); at > 0 && ExportTypes[name[at+1:]] != "" {
		return name[:at], name[at+1:]
	}
	return name, ""
}
