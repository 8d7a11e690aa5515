package api

import (
	"net/http"
	"slices"
)

// resource is one line of the table.
type resource struct {
	name    string
	summary string // one line
	doc     string // what is worth knowing besides, in a few sentences
	access  access
	method  string  // GET, or POST for questions with a body
	params  []param // without limit and offset where the list only pages by them
	key     string  // what tells one object from others, for addresses with it
	example string  // such a key

	object any // an object of the list, or the answer to a question; its type describes it
	body   any // what a question holds

	list   listFunc
	window windowFunc // in place of list
	detail detailFunc
	post   postFunc
	apart  bool // served by package handlers; here it is only described
}

// allow is the header Allow.
func (res *resource) allow() string {
	if res.method == http.MethodGet {
		return "GET, HEAD"
	}
	return res.method
}

// listed reports whether the resource has a list.
func (res *resource) listed() bool { return res.list != nil || res.window != nil }

// ownLimit reports whether the resource reads limit itself, before its list is paged.
func (res *resource) ownLimit() bool {
	return slices.ContainsFunc(res.params, func(p param) bool { return p.name == limitParam.name })
}

// table is the whole API, in the order of its documentation.
func (a *answers) table() []resource {
	return slices.Concat(a.problemResources(), a.countResources(), a.phasingResources(), a.reportResources(), a.archiveResources(), a.bugResources())
}

// Parameters that several resources share.
var (
	releaseParam = param{name: "release", kind: kindText, doc: "A release as reports name it.", example: "Ubuntu 24.04"}
	packageParam = param{name: "package", kind: kindText, doc: "Name of a binary package.", example: "tidewatch"}
	problemParam = param{
		name: "id", kind: kindSignature, required: true, example: "/usr/bin/tidewatch:11:parse:load:main",
		doc: "Signature of a problem, or its sha1 (40 hex digits). A signature that is percent-encoded once more is understood too.",
	}
)

// maxDays bounds how many days a list of days has: ten years.
const maxDays = 3660

// daysParam is a limit that counts days.
func daysParam() param {
	return param{
		name: "limit", kind: kindNumber, max: maxDays, most: maxDays, fallback: usualDays, example: "30",
		doc: "How many days, today (UTC) first; at most 360 objects are in one answer.",
	}
}
