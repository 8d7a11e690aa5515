package api

import (
	"net/http"
	"slices"
)

// resource is one entry of the table.
type resource struct {
	name    string
	summary string // one line
	doc     string // further details, in a few sentences
	access  access
	method  string  // GET, or POST for questions with a body
	params  []param // without limit and offset, unless the resource handles limit itself
	key     string  // description of the key in the address of a single object
	example string  // example of a key

	object any // zero value of the type of an object or answer
	body   any // zero value of the type of a question

	list     listFunc
	window   windowFunc // instead of list
	detail   detailFunc
	post     postFunc
	external bool              // served by package handlers; the table only describes it
	outcomes map[string]string // of an external resource: statuses of answers, with their meanings
	refused  []string          // further statuses of refusals of an external resource
}

// allow returns the value of the Allow header.
func (res *resource) allow() string {
	if res.method == http.MethodGet {
		return "GET, HEAD"
	}
	return res.method
}

// listed reports whether the resource has a list.
func (res *resource) listed() bool { return res.list != nil || res.window != nil }

// ownLimit reports whether the resource handles limit itself, before paging.
func (res *resource) ownLimit() bool {
	return slices.ContainsFunc(res.params, func(p param) bool { return p.name == limitParam.name })
}

// table returns all resources, in the order of the documentation.
func (a *answers) table() []resource {
	return slices.Concat(a.problemResources(), a.countResources(), a.phasingResources(), a.gateResources(),
		a.reportResources(), a.archiveResources(), a.bugResources(), a.statusResources(), a.symbolResources(),
		eraseResources())
}

// Parameters that several resources share.
var (
	releaseParam = param{name: "release", kind: kindText, doc: "A release, by the name in reports.",
		example: "Ubuntu 24.04"}
	packageParam = param{name: "package", kind: kindText, doc: "Name of a binary package.", example: "tidewatch"}
	problemParam = param{
		name: "id", kind: kindSignature, required: true, example: "/usr/bin/tidewatch:11:parse:load:main",
		doc: "Signature of a problem, or its SHA-1 (40 hex digits). A signature may be percent-encoded " +
			"twice.",
	}
)

// maxDays is the maximum number of days in a daily list: ten years.
const maxDays = 3660

// daysParam returns a limit that counts days.
func daysParam() param {
	return param{
		name: "limit", kind: kindNumber, max: maxDays, ceiling: maxDays, fallback: defaultDays, example: "30",
		doc: "Number of days, today (UTC) first; one answer has at most 360 objects.",
	}
}
