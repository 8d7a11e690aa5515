package ingest

import (
	"net/url"
	"strings"
)

// pathKind is the kind of a request.
type pathKind int

const (
	unknown pathKind = iota
	report
	core
)

// routes are the patterns of the paths, for traces.
var routes = map[pathKind]string{report: "/{system}", core: "/{report}/submit-core/{architecture}/{system}"}

// path is the parsed path of a request. Its parts are as the client sent them.
type path struct {
	kind               pathKind
	system             string // empty: a machine without a hash
	oops, architecture string // of a core
}

// parsePath parses /<system> and /<oops>/submit-core/<arch>/<system>. Clients append text to their
// configured address. So slashes may be doubled, the machine may be missing, and there may be a
// prefix. parsePath ignores a prefix only if the path is unambiguous: before a core's path, and
// before a machine name of 128 hex digits. Any other path of several parts is unknown.
func parsePath(escaped string) path {
	parts := strings.Split(strings.TrimLeft(escaped, "/"), "/")
	for i, part := range parts {
		if unescaped, err := url.PathUnescape(part); err == nil {
			parts[i] = unescaped
		}
	}
	n := len(parts)
	switch {
	case n >= 4 && parts[n-3] == "submit-core":
		return path{kind: core, oops: parts[n-4], architecture: parts[n-2], system: parts[n-1]}
	case n >= 3 && parts[n-2] == "submit-core":
		return path{kind: core, oops: parts[n-3], architecture: parts[n-1]}
	case n == 1 || isUsualSystem(parts[n-1]):
		return path{kind: report, system: parts[n-1]}
	}
	return path{}
}

// isUsualSystem reports whether name is a SHA-512 in hex, the form that whoopsie and snapd use.
func isUsualSystem(name string) bool {
	return len(name) == 128 && strings.Trim(name, "0123456789abcdef") == ""
}
