// Package api is version 1.0 of the JSON API: parameters in, values out.
//
// A table (answers.table) describes every resource: its name, access, parameters and the type of its
// objects. Parsing, the OpenAPI document and the page about the API all use this description.
// Addresses, names, shapes and the envelope of lists are those of errors.ubuntu.com. Where its
// answers were accidental, the table corrects them; docs/api.md lists each difference.
//
// The package returns errors to package handlers, which writes all refusals. It does not create
// bugs either, because forms and pages share that address; the table only describes it.
package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/problems"
	"mishap/db/symbols"
)

// Prefix is the path that all resources begin with.
const Prefix = "/api/1.0/"

// Deps are the dependencies of an API. All fields but Releases are required.
type Deps struct {
	Store    *db.Store
	Bugs     *bugs.Store
	Problems *problems.Store
	Symbols  *symbols.Store
	BaseURL  string         // of the site, for links in answers
	Version  string         // of the program, for the OpenAPI document
	Privacy  *privacy.Table // nil: the built-in table
	Now      func() time.Time
}

// API serves the requests below Prefix. It is safe for concurrent use.
type API struct {
	base      string
	version   string
	from      *answers
	resources []resource
	byName    map[string]*resource
}

type answers struct {
	Deps
	base string // BaseURL without a slash at its end
}

// New returns an API with the given dependencies.
func New(d Deps) *API {
	base := strings.TrimRight(d.BaseURL, "/")
	from := &answers{d, base}
	a := &API{base: base, version: d.Version, from: from, resources: from.table(), byName: map[string]*resource{}}
	for i := range a.resources {
		a.byName[a.resources[i].name] = &a.resources[i]
	}
	return a
}

// Caller describes who sent a request.
type Caller struct {
	Role  crash.Role      // RoleNone if not signed in
	Token *crash.APIToken // nil: a session, or nobody
	Names []string        // by which problems are assigned to the caller

	Triage, Private crash.Packages // as in crash.User

	// AuditRead records that the caller reads private data; nil: does nothing. If it fails, the data is
	// not sent.
	AuditRead func() error
}

// user returns the caller as a person, to check the rights for a package.
func (c Caller) user() crash.User {
	return crash.User{Role: c.Role, Triage: c.Triage, Private: c.Private}
}

// Errors for unknown addresses and insufficient rights.
var (
	errNoResource  = crash.Errorf(crash.NotFound, "no_resource", "The API has no such resource; %s lists them.", Prefix)
	errNoDetail    = crash.Errorf(crash.NotFound, "no_resource", "This resource has no single objects; ask for its list.")
	errNotSignedIn = crash.Errorf(crash.Unauthenticated, "not_signed_in",
		"Unauthorized: sign in, or send an API token with the scope read in the header Authorization.")
)

// MethodError reports that a resource does not support a method. Allow lists the methods that it
// supports.
type MethodError struct{ Allow string }

func (*MethodError) Error() string { return "method not allowed" }

// maxBody is the maximum size of a request body in bytes.
const maxBody = 1 << 20

// Serve answers one request below Prefix. For a refusal it returns a *crash.Error or a
// *MethodError; other errors are internal. It writes nothing if it returns an error.
func (a *API) Serve(w http.ResponseWriter, r *http.Request, caller Caller) error {
	path := strings.TrimPrefix(r.URL.EscapedPath(), Prefix)
	switch path {
	case "", strings.TrimSuffix(Prefix, "/"):
		return a.write(w, r, http.StatusOK, a.index())
	case "openapi.json", "openapi.json/":
		return a.writeAs(w, r, formatJSON, http.StatusOK, a.OpenAPI())
	}
	res, rest := a.find(path)
	if res == nil {
		return errNoResource
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", res.allow())
		w.WriteHeader(http.StatusOK)
		return nil
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if safe && rest == "schema/" {
		return a.writeAs(w, r, formatJSON, http.StatusOK, a.schemaOf(res))
	}
	if safe != (res.method == http.MethodGet) || !safe && r.Method != res.method {
		return &MethodError{Allow: res.allow()}
	}
	if !strings.HasSuffix(path, "/") && res.method == http.MethodGet {
		return a.addSlash(w, r)
	}
	if err := res.access.check(caller); err != nil {
		return err
	}
	if res.access == signedIn && caller.AuditRead != nil {
		if err := caller.AuditRead(); err != nil {
			return err
		}
	}
	q := parseQuery(r.URL.RawQuery)
	in, err := res.read(q, caller)
	if err != nil {
		return err
	}
	switch {
	case rest == "" && res.post != nil:
		return a.servePost(w, r, res, in)
	case rest == "" && (res.listed()):
		return a.serveList(w, r, res, in, q)
	case rest != "" && res.detail != nil:
		return a.serveDetail(w, r, res, in, rest)
	case rest != "":
		return errNoDetail
	}
	return errNoList(res)
}

// find returns the resource of a path below Prefix and the rest of the path. The name of a resource
// may have two parts. It returns nil if there is no such resource.
func (a *API) find(path string) (res *resource, rest string) {
	first, rest, _ := strings.Cut(path, "/")
	if res := a.byName[first]; res != nil {
		return res, rest
	}
	second, rest, _ := strings.Cut(rest, "/")
	return a.byName[first+"/"+second], rest
}

func errNoList(res *resource) error {
	return crash.Errorf(crash.Invalid, "no_list",
		"%s has no list; ask for one, as in %s%s/%s/.", res.name, Prefix, res.name, res.example)
}

// addSlash redirects to the address with a trailing slash and the same query.
func (a *API) addSlash(w http.ResponseWriter, r *http.Request) error {
	to := url.URL{Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery}
	if r.URL.RawPath != "" {
		to.RawPath = r.URL.RawPath + "/"
	}
	http.Redirect(w, r, to.RequestURI(), http.StatusMovedPermanently)
	return nil
}

func (a *API) serveList(w http.ResponseWriter, r *http.Request, res *resource, in input, q query) error {
	p, err := res.paging(q)
	if err != nil {
		return err
	}
	if res.window != nil {
		part, err := res.window(r.Context(), in)
		if err != nil {
			return err
		}
		return a.write(w, r, http.StatusOK, part.envelope(p, r.URL, q))
	}
	objects, err := res.list(r.Context(), in)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusOK, p.envelope(r.URL, q, objects))
}

func (a *API) serveDetail(w http.ResponseWriter, r *http.Request, res *resource, in input, rest string) error {
	key := decodePercent(strings.TrimSuffix(rest, "/"))
	if set, ok := strings.CutPrefix(key, "set/"); ok {
		return a.serveSet(w, r, res, in, strings.Split(set, ";"))
	}
	object, err := res.detail(r.Context(), in, key)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusOK, object)
}

// maxSet is the maximum number of keys in one request.
const maxSet = 100

// objectsByKey is the answer to a request for several keys.
type objectsByKey struct {
	NotFound []string `json:"not_found,omitempty"`
	Objects  []any    `json:"objects"`
}

// serveSet answers with the objects of several keys, and lists the keys without an object.
func (a *API) serveSet(w http.ResponseWriter, r *http.Request, res *resource, in input, keys []string) error {
	if len(keys) > maxSet {
		return crash.Errorf(crash.Invalid, "too_many", "One address may name at most %d objects.", maxSet)
	}
	found := objectsByKey{Objects: []any{}}
	for _, key := range keys {
		object, err := res.detail(r.Context(), in, key)
		switch {
		case crash.KindOf(err) == crash.NotFound:
			found.NotFound = append(found.NotFound, key)
			continue
		case err != nil:
			return err
		}
		found.Objects = append(found.Objects, object)
	}
	return a.write(w, r, http.StatusOK, found)
}

// servePost answers a resource that takes a JSON body. It answers 201, as errors.ubuntu.com did,
// although it creates nothing.
func (a *API) servePost(w http.ResponseWriter, r *http.Request, res *resource, in input) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	answer, err := res.post(r.Context(), in, body)
	if err != nil {
		return err
	}
	merged, err := mergeAnswer(body, answer)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusCreated, merged)
}

// mergeAnswer returns the question with the fields of the answer added to it, or replaced by
// them.
func mergeAnswer(question []byte, answer any) (map[string]json.RawMessage, error) {
	var merged map[string]json.RawMessage
	if err := json.Unmarshal(question, &merged); err != nil {
		return nil, errNotJSON // unreachable: readQuestion has parsed it
	}
	fields, err := marshal(answer)
	if err == nil {
		err = json.Unmarshal(fields, &merged)
	}
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return merged, nil
}

var errNotJSON = crash.Errorf(crash.Invalid, "not_json", "Request is not valid JSON.")

type indexEntry struct {
	List   string `json:"list_endpoint"`
	Schema string `json:"schema"`
}

func (a *API) index() map[string]indexEntry {
	index := map[string]indexEntry{}
	for _, res := range a.resources {
		index[res.name] = indexEntry{List: Prefix + res.name + "/", Schema: Prefix + res.name + "/schema/"}
	}
	return index
}

// access says which callers may use a resource.
type access string

const (
	public      access = "everybody"
	signedIn    access = "signed in"
	privateData access = "signed in, private data"
	triager     access = "triager"

	administrator access = "administrator"
)

// check returns nil if a caller may use the resource. Package handlers checks resources for triagers
// and administrators.
func (x access) check(c Caller) error {
	if x == public {
		return nil
	}
	if !c.Role.Allows(crash.RoleViewer) {
		return errNotSignedIn
	}
	if x == privateData {
		return c.Token.Need(crash.ScopeReadPrivate)
	}
	return c.Token.Need(crash.ScopeRead)
}

// scope returns the scope with which a token may use the resource; empty: any.
func (res *resource) scope() crash.Scope {
	switch {
	case res.access == public:
		return ""
	case res.access == privateData:
		return crash.ScopeReadPrivate
	case res.name == createBugReport:
		return crash.ScopeFile
	case res.access == triager:
		return crash.ScopeTriage
	case res.access == administrator:
		return crash.ScopeAdmin
	}
	return crash.ScopeRead
}

// listFunc returns all objects of a list, before paging.
type listFunc func(context.Context, input) ([]any, error)

type detailFunc func(ctx context.Context, in input, key string) (any, error)

type postFunc func(ctx context.Context, in input, body []byte) (any, error)

// Callers who may not read reports receive redacted texts, as in bugs. Answers also contain the id
// of a problem, which identifies it even if its signature is redacted.

func (in input) mayRead() bool { return signedIn.check(in.caller) == nil }

func visibleBucket(in input, b crash.Bucket) crash.Bucket {
	if in.mayRead() {
		return b
	}
	return privacy.RedactBucket(b)
}

func visibleSignature(in input, signature string) string {
	if in.mayRead() {
		return signature
	}
	return privacy.RedactSignature(signature)
}

// visibleLabel returns the name of a release, version or type as the caller may see it.
func visibleLabel[T ~string](in input, name T) T {
	if in.mayRead() {
		return name
	}
	return privacy.RedactLabel(name)
}

func visibleRow(in input, row index.Row) index.Row {
	if !in.mayRead() {
		return row.ForVisitors()
	}
	return row
}

// narrowed returns filter limited to what a query counts, and the function that selects its
// problems, or nil to select all.
func narrowed(in input, q index.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	q = q.For(in.caller.Names)
	return q.Narrow(filter), q.Matcher()
}

// tracedDay is the number of named crashes of a day, by release and by "release:architecture".
type tracedDay struct {
	Date  string            `json:"date"`
	Value map[string]traced `json:"value" doc:"success and failed, by release and by release:architecture."`
}

// traced counts stacks with names and stacks without.
type traced struct {
	Failed  int64 `json:"failed"`
	Success int64 `json:"success"`
}

// nativeRules are the grouping rules of native crashes: by names, and by addresses only.
var nativeRules = []crash.GroupingRule{
	crash.RuleStacktrace, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleAddress, crash.RuleAssertion,
}

func (a *answers) tracedDays(ctx context.Context, in input) ([]any, error) {
	since, until := a.lastDays(in.number("limit"))
	counts, err := a.traced(ctx, since, until)
	if err != nil {
		return nil, err
	}
	var objects []any
	for len(counts) > 0 {
		n := 1
		for n < len(counts) && counts[n].Day == counts[0].Day {
			n++
		}
		objects = append(objects, a.newTracedDay(counts[0].Day.Time(), counts[:n]))
		counts = counts[n:]
	}
	return objects, nil
}

// traced returns the counts of a range of days, latest first. The index has those of a year; older
// ones come from the database.
func (a *answers) traced(ctx context.Context, since, until time.Time) ([]index.Traced, error) {
	known := a.Store.IndexSince()
	var counts []index.Traced
	if !until.Before(known) {
		b, err := a.Store.Index(ctx)
		if err != nil {
			return nil, err
		}
		from := since
		if from.Before(known) {
			from = known
		}
		counts = b.TracedDays(index.DayOf(from), index.DayOf(until), nativeRules)
	}
	if !since.Before(known) {
		return counts, nil
	}
	if !until.Before(known) {
		until = known.AddDate(0, 0, -1)
	}
	older, err := a.Problems.TracedDays(ctx, since, until, nativeRules)
	return slices.Concat(counts, older), err
}

// newTracedDay adds up the counts of a day. Releases that lists do not name count as other
// releases. An architecture that is not a Debian port counts only in its release.
func (a *answers) newTracedDay(day time.Time, counts []index.Traced) tracedDay {
	reports := map[crash.Release]int64{}
	for _, c := range counts {
		reports[c.Release] += c.Named + c.Failed
	}
	list := crash.Releases().List(reports)
	out := tracedDay{Date: day.Format(dateFormat), Value: map[string]traced{}}
	for _, c := range counts {
		release := string(privacy.RedactLabel(list.Of(c.Release)))
		keys := []string{release}
		if c.Architecture == "" || index.KnownArchitecture(c.Architecture) {
			keys = append(keys, release+":"+c.Architecture)
		}
		for _, key := range keys {
			sum := out.Value[key]
			out.Value[key] = traced{Failed: sum.Failed + c.Failed, Success: sum.Success + c.Named}
		}
	}
	return out
}

func (a *answers) tracedDay(ctx context.Context, _ input, key string) (any, error) {
	day, err := parseDay(key)
	if err != nil {
		return nil, err
	}
	if from, err := a.Problems.From(ctx); err != nil {
		return nil, err
	} else if day.Before(from) {
		return nil, errExpired(from)
	}
	counts, err := a.traced(ctx, day, day)
	if err != nil {
		return nil, err
	}
	return a.newTracedDay(day, counts), nil
}
