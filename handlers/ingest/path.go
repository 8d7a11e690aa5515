package ingest

import (
	"net/url"
	"strings"
)

// pathKind is what a request is about.
type pathKind int

const (
	unknown pathKind = iota
	report
	core
)

// path is a request's address, taken apart. Its parts are as the client sent them.
type path struct {
	kind               pathKind
	system             string // empty: a machine without an id
	oops, architecture string // of a core
}

// parsePath reads /<system> and /<oops>/submit-core/<arch>/<system>. Clients join their configured address and the rest
// as text, so slashes may be doubled, the machine may be missing, and a prefix may stand in front. A prefix is ignored
// where nothing else can be meant: before a core's path, and before a machine that goes by its usual name, 128 hex
// digits. Any other path of several parts is unknown.
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

// isUsualSystem reports whether name is a SHA-512 in hex, as whoopsie and snapd call the machine they run on.
func isUsualSystem(name string) bool {
	return len(name) == 128 && strings.Trim(name, "0123456789abcdef") == ""
}
