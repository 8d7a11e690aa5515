package handlers

import (
	"net/http"
	"strings"

	"mishap/handlers/api"
)

// Every list is to be had as a file or feed too: at its address with one of these endings, or at the page's address with
// the media type in Accept.
var exportTypes = map[string]string{
	"csv":  "text/csv; charset=utf-8",
	"json": "application/json",
	"atom": "application/atom+xml; charset=utf-8",
}

// The media types of pages.
const (
	mediaHTML  = "text/html"
	mediaXHTML = "application/xhtml+xml"
)

// acceptedExport returns the format that Accept wants more than a page; empty: the page.
func acceptedExport(r *http.Request) string {
	if wantsPart(r) {
		return ""
	}
	switch api.Preferred(r.Header.Values("Accept"), mediaHTML, mediaXHTML, "text/csv", "application/json", "application/atom+xml") {
	case "text/csv":
		return "csv"
	case "application/json":
		return "json"
	case "application/atom+xml":
		return "atom"
	}
	return ""
}

// forFile reports whether a request is for a file or feed, by its address or by Accept.
func forFile(r *http.Request) bool {
	_, ending := cutFormat(r.URL.Path)
	report := strings.HasPrefix(r.URL.Path, "/oops/") && strings.HasSuffix(r.URL.Path, ".crash")
	return safeMethods[r.Method] && (ending != "" || report || acceptedExport(r) != "")
}

// cutFormat takes the ending of an export off a name that may hold dots itself.
func cutFormat(name string) (base, format string) {
	if at := strings.LastIndexByte(name, '.'); at > 0 && exportTypes[name[at+1:]] != "" {
		return name[:at], name[at+1:]
	}
	return name, ""
}
