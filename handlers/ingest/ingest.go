// Package ingest implements the listener for machines. It speaks whoopsie's protocol, which has two
// kinds of POST, with a third one for mishap-send (see [isPing]), and those of ABRT (see [abrtDoor]), of
// Sentry's libraries (see [sentryDoor]), and of Breakpad and crashpad (see [minidumpDoor]). It serves no pages
// and uses neither cookies nor sessions.
//
// Each status is chosen by its effect on the machine. whoopsie takes 200 as "done" and 400 as
// "never send again". After any other status it sends the whole report again every two hours. So a
// report that can never be accepted gets 400, and a repeated one 200. Temporary failures get 503
// with Retry-After: an unavailable database, or too many reports, in total or from one sender.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/httprate"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/intake"
	"mishap/crash/span"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/handlers/proxies"
)

// Store is the part of the database that the listener uses itself. Reports reach it through the
// intake.
type Store interface {
	// CoreRequested reports whether the requested core of a report has been received. It returns
	// NotFound if nobody asked the machine for it.
	CoreRequested(ctx context.Context, report crash.OopsID, system crash.SystemID) (received bool, err error)
	// RequestCore decides whether to ask a machine for the core of its report, and records that. store
	// is the identity of the store of cores.
	RequestCore(ctx context.Context, r crash.CoreRequest, store string) (wanted bool, err error)
	// CoreReceived records that a core is on disk. needed is false if it is no longer needed.
	CoreReceived(ctx context.Context, c crash.ReceivedCore) (needed bool, err error)
	// Collectors returns the metrics of the database.
	Collectors() []prometheus.Collector
}

// Bugs knows the bugs of problems.
type Bugs interface {
	// PublicBugs returns the addresses of the bugs of a problem that everybody may see; of an embargoed problem, none.
	PublicBugs(ctx context.Context, id crash.BucketID) ([]string, error)
}

// Doors knows the projects with their keys and which doors are closed, and counts what comes through the doors. Only
// Project may wait for the database.
type Doors interface {
	// Project returns the project with a number, if the key is one of it and valid, else Forbidden.
	Project(ctx context.Context, number int64, key string) (crash.Project, error)
	// Listed returns the projects whose keys are public.
	Listed(ctx context.Context) ([]crash.Project, error)
	Closed(door crash.Door) bool
	// Count counts requests. The key was accepted; it may be empty.
	Count(c crash.DoorCount, key string)
	// CountPing counts a machine that says that it is there.
	CountPing(p crash.Ping)
}

// Deps holds the dependencies and settings of the listener.
type Deps struct {
	Intake         *intake.Intake
	Store          Store
	Bugs           Bugs                  // told to ABRT's clients; nil: none
	Doors          Doors                 // nil: there are no projects, and all doors are open
	BaseURL        string                // of the pages
	Cores          *cores.Store          // where cores are stored
	WantCores      bool                  // whether machines are asked for cores
	CorePackages   debuginfo.Patterns    // of which programs cores are asked for
	MaxBytes       int64                 // size limit of reports
	MaxCoreBytes   int64                 // size limit of cores, as sent; 0: 256 MiB
	MaxCoresBytes  int64                 // size limit of all cores together; 0: 20 GiB
	Disk           *db.DiskWatch         // disks of the reports; nil: not watched
	RatePerSystem  int                   // requests per minute from one machine; 0: no limit
	RatePerAddress int                   // the same from one network address
	Instances      func() int            // how many instances share these limits; nil: 1
	TrustedProxies proxies.Networks      // networks whose proxies set the client's address; none: no proxy is trusted
	AnswerWithin   time.Duration         // limit of the time from the end of a body to its answer; 0: 8 s
	Log            *slog.Logger          // nil: none
	Now            func() time.Time      // nil: time.Now
	Registerer     prometheus.Registerer // nil: no metrics
	Tracer         *span.Tracer          // nil: requests are not traced
}

const (
	defaultMaxCore  = 256 << 20
	defaultMaxCores = 20 << 30
)

type handler struct {
	Deps
	coreSpace *coreSpace
	declined  *expirable.LRU[declinedCore, struct{}]   // cores that were not wanted a moment ago
	known     *expirable.LRU[crash.BucketID, []string] // public bugs of problems, a moment ago
	memory    *memory
	metrics   *metrics
	bySystem  *limit
	byAddress *limit
}

// New returns the handler of the ingest listener. It fails if the metrics cannot be registered.
func New(d Deps) (http.Handler, error) {
	d.MaxCoreBytes = cmp.Or(d.MaxCoreBytes, defaultMaxCore)
	d.MaxCoresBytes = cmp.Or(d.MaxCoresBytes, defaultMaxCores)
	d.AnswerWithin = cmp.Or(d.AnswerWithin, answerWithin)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Instances == nil {
		d.Instances = func() int { return 1 }
	}
	h := &handler{
		Deps:      d,
		coreSpace: &coreSpace{cores: d.Cores, most: d.MaxCoresBytes, space: db.SpaceOf},
		declined:  expirable.NewLRU[declinedCore, struct{}](maxDeclined, nil, declinedFor),
		known:     expirable.NewLRU[crash.BucketID, []string](maxKnown, nil, knownFor),
		memory:    newMemory(d.MaxBytes),
		bySystem:  newLimit(d.RatePerSystem, d.Instances),
		byAddress: newLimit(d.RatePerAddress, d.Instances),
	}
	var err error
	if h.metrics, err = newMetrics(d.Registerer, d.Store.Collectors()); err != nil {
		return nil, fmt.Errorf("register metrics of ingest: %w", err)
	}
	return d.TrustedProxies.Middleware(h), nil
}

// NewServer returns a server for the handler. It sets no time-out for reading a whole request, so
// that large reports can arrive over slow lines. Instead, the handler requires a minimum speed.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// ServeHTTP distinguishes reports, cores and other requests.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.recoverPanic(w, r)
	to := parsePath(r.URL.EscapedPath())
	post := r.Method == http.MethodPost
	if post && isPing(r, to.kind) {
		to = path{kind: ping}
	}
	switch {
	case r.Method == http.MethodGet && to.kind == stackHash:
		h.redirectHash(w, r, to)
	case r.Method == http.MethodGet && to.kind == projectList:
		h.listProjects(w, r)
	case r.Method == http.MethodGet && to.kind == erasure:
		h.redirect(w, r, "/user/"+to.system+"/erase")
	case post && to.kind == core:
		h.observe(w, r, whoopsieDoor, h.metrics.cores, to, h.submitCore)
	case post && to.kind == report:
		h.observe(w, r, whoopsieDoor, h.metrics.reports.MustCurryWith(whoopsieDoor.label()), to, h.submitReport)
	case post && to.kind == ping:
		h.observe(w, r, whoopsieDoor, h.metrics.pings, to, h.submitPing)
	case post && to.kind == uReport:
		h.observe(w, r, abrtDoor, h.metrics.reports.MustCurryWith(abrtDoor.label()), to, h.submitUReport)
	case post && to.kind == attachment:
		h.observe(w, r, abrtDoor, h.metrics.attachments, to, h.submitAttachment)
	case post && (to.kind == envelope || to.kind == singleEvent):
		h.observe(w, r, sentryDoor, h.metrics.reports.MustCurryWith(sentryDoor.label()), to, h.submitEnvelope)
	case post && to.kind == dump:
		h.observe(w, r, minidumpDoor, h.metrics.reports.MustCurryWith(minidumpDoor.label()), to, h.submitMinidump)
	default:
		answer(w, http.StatusNotFound, "Not found.")
	}
}

// redirect redirects to a page.
func (h *handler) redirect(w http.ResponseWriter, r *http.Request, page string) {
	if h.BaseURL == "" {
		answer(w, http.StatusNotFound, "Not found.")
		return
	}
	http.Redirect(w, r, strings.TrimRight(h.BaseURL, "/")+page, http.StatusFound)
}

// door is the protocol of one kind of client.
type door struct {
	name     crash.Door
	accepted int                // status of what is accepted
	statuses map[crash.Kind]int // statuses of refusals that are not those of whoopsie
	answer   func(w http.ResponseWriter, status int, text string)
	refuse   func(w http.ResponseWriter, status int, sentence string)
}

func (d *door) label() prometheus.Labels { return prometheus.Labels{"door": string(d.name)} }

// whoopsie keeps a report for later after 503. So nothing is lost while its door is closed.
var whoopsieDoor = &door{name: crash.DoorWhoopsie, accepted: http.StatusOK, answer: answer, refuse: answer}

var errClosed = &crash.Error{Kind: crash.Forbidden, Code: "closed", RetryAfter: time.Hour,
	Message: "This server does not accept reports of this kind. Its administrators have closed this door."}

// observe runs submit, sends its answer, and counts it.
func (h *handler) observe(w http.ResponseWriter, r *http.Request, d *door, counter *prometheus.CounterVec, to path,
	submit func(http.ResponseWriter, *http.Request, path) (result, error),
) {
	began := time.Now()
	ctx, step := h.Tracer.Request(r.Context())
	defer step.End(nil)
	if h.Tracer != nil {
		r = r.WithContext(ctx)
	}
	var res result
	err := h.admit(w, r, d, to)
	if err == nil {
		res, err = submit(w, r, to)
	}
	if err != nil {
		res = h.refuse(w, r, d, res.project, err)
	} else {
		res.status = d.accepted
		d.answer(w, res.status, res.text)
	}
	step.Answered(http.MethodPost, routes[to.kind], res.status)
	counter.WithLabelValues(res.outcome, res.reason).Inc()
	h.metrics.seconds.WithLabelValues(kinds[to.kind]).Observe(time.Since(began).Seconds())
	if to.kind != core && to.kind != ping { // the page counts reports
		h.count(d, res)
	}
}

// count counts a result for the page of the doors.
func (h *handler) count(d *door, res result) {
	if h.Doors == nil {
		return
	}
	c := crash.DoorCount{Door: d.name, Project: res.project.Number, Outcome: res.outcome, Requests: 1}
	if res.status != d.accepted {
		c.Reason = res.reason
	}
	h.Doors.Count(c, res.key)
	if res.lost > 0 {
		c.Outcome, c.Requests = "lost", res.lost
		h.Doors.Count(c, "")
	}
}

// recoverPanic turns a panic into 500. The panic may quote the report, so only its type and place
// are logged.
func (h *handler) recoverPanic(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		panic(p)
	}
	h.Log.ErrorContext(r.Context(), "panic while accepting a report",
		"type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	answer(w, http.StatusInternalServerError, "Internal error.")
}

// metrics holds the metrics of the listener. Reasons are the codes of our errors, a small fixed
// set.
type metrics struct {
	// By outcome (stored, repeated, refused, failed) and reason; reports also by door.
	reports, cores, attachments, pings *prometheus.CounterVec
	seconds                            *prometheus.HistogramVec // by kind
}

func newMetrics(to prometheus.Registerer, more []prometheus.Collector) (*metrics, error) {
	m := &metrics{
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_reports_total", Help: "Reports received, by kind of client, result and reason.",
		}, []string{"door", "outcome", "reason"}),
		cores: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_cores_total", Help: "Cores received, by result and reason.",
		}, []string{"outcome", "reason"}),
		attachments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_attachments_total", Help: "Attachments of ABRT's clients, by result and reason.",
		}, []string{"outcome", "reason"}),
		pings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_pings_total", Help: "Pings of machines that are there, by result and reason.",
		}, []string{"outcome", "reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_ingest_seconds", Help: "Time from the head of a request to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"kind"}),
	}
	m.cores.WithLabelValues("stored", "") // starts at 0, so that rates see the first one
	for _, door := range crash.Doors {
		m.reports.WithLabelValues(string(door), "stored", "bucketed")
	}
	if to == nil {
		return m, nil
	}
	for _, c := range append([]prometheus.Collector{m.reports, m.cores, m.attachments, m.pings, m.seconds}, more...) {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

type pathKind int

const (
	unknown pathKind = iota
	report
	core
	uReport
	attachment
	stackHash
	envelope
	singleEvent
	projectList
	dump
	erasure
	ping
)

// routes are the patterns of the paths, for traces.
var routes = map[pathKind]string{report: "/{system}", core: "/{report}/submit-core/{architecture}/{system}",
	uReport: "/reports/new/", attachment: "/reports/attach/", envelope: "/api/{project}/envelope/",
	singleEvent: "/api/{project}/store/", dump: "/api/{project}/minidump/", ping: "/ping"}

// kinds are the names of the kinds, for metrics.
var kinds = map[pathKind]string{report: "report", core: "core", uReport: "ureport", attachment: "attachment",
	envelope: "envelope", singleEvent: "event", dump: "minidump",
	ping: "ping"}

// path is the parsed path of a request. Its parts are as the client sent them.
type path struct {
	kind               pathKind
	system             string // empty: a machine without a hash
	oops, architecture string // of a core
	hash               string // of a stack
	project            int64
}

// parsePath parses /<system> and /<oops>/submit-core/<arch>/<system>. Clients append text to their
// configured address. So slashes may be doubled, the machine may be missing, and there may be a
// prefix. parsePath ignores a prefix only if the path is unambiguous: before a core's path, and
// before a machine name of 128 hex digits. Any other path of several parts is unknown, except those of ABRT and of
// Sentry's libraries, with or without a prefix and the last slash: /reports/new/, /reports/attach/,
// /reports/bthash/<hash>, /api/<project>/envelope/, /api/<project>/store/ and /api/<project>/minidump/;
// and the address that mishap-send prints, /user/<system>/erase.
func parsePath(escaped string) path {
	parts := strings.Split(strings.TrimLeft(escaped, "/"), "/")
	for i, part := range parts {
		if unescaped, err := url.PathUnescape(part); err == nil {
			parts[i] = unescaped
		}
	}
	n := len(parts)
	switch {
	case abrtPath(parts).kind != unknown:
		return abrtPath(parts)
	case sentryPath(parts).kind != unknown:
		return sentryPath(parts)
	case n >= 4 && parts[n-3] == "submit-core":
		return path{kind: core, oops: parts[n-4], architecture: parts[n-2], system: parts[n-1]}
	case n >= 3 && parts[n-3] == "user" && parts[n-1] == "erase" && isUsualSystem(parts[n-2]):
		return path{kind: erasure, system: parts[n-2]}
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

const (
	// A body may take 30 seconds, plus one second for each 16 KiB that have arrived. whoopsie's
	// reports can arrive over any line, but a sender that only keeps the connection busy is cut off.
	// whoopsie itself has no time-out.
	grace      = 30 * time.Second
	perSecond  = 16 << 10
	drainBytes = 64 << 20
	drainTime  = 20 * time.Second
)

var (
	errInterrupted = crash.Errorf(crash.Unavailable, "interrupted",
		"The report did not arrive in full; please send it again.")
	errSlow      = crash.Errorf(crash.Unavailable, "slow", "The report arrived too slowly; please send it again later.")
	errMalformed = crash.Errorf(crash.Invalid, "malformed_body", "The body is not a well-formed HTTP body.")
)

func errTooLarge(limit int64) *crash.Error {
	return crash.Errorf(crash.TooLarge, "too_large", "The body is larger than the limit of %d bytes.", limit)
}

// pacedBody reads a request's body, up to a size limit, and enforces a minimum speed.
type pacedBody struct {
	r       *http.Request
	control *http.ResponseController
	began   time.Time
	limit   int64
	read    int64
}

// newPacedBody returns TooLarge at once if the declared length is over the limit. A client that
// waits for "100 Continue" then never sends the body.
func newPacedBody(w http.ResponseWriter, r *http.Request, limit int64) (*pacedBody, error) {
	b := &pacedBody{r: r, control: http.NewResponseController(w), began: time.Now(), limit: limit}
	if r.ContentLength > limit {
		if r.Header.Get("Expect") == "" {
			b.drain()
		}
		return nil, errTooLarge(limit)
	}
	return b, nil
}

// Read implements io.Reader. Its errors besides io.EOF are answers: TooLarge, Invalid and
// Unavailable.
func (b *pacedBody) Read(p []byte) (int, error) {
	b.deadline(b.began.Add(grace + time.Duration(b.read/perSecond)*time.Second))
	n, err := b.r.Body.Read(p)
	b.read += int64(n)
	switch {
	case b.read > b.limit:
		b.drain()
		return 0, errTooLarge(b.limit)
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		b.deadline(time.Time{}) // or it would expire while the report is stored
		return n, io.EOF
	}
	return n, bodyError(err)
}

// bodyError distinguishes an incomplete body, which may be sent again, from a malformed one, such
// as unreadable chunks, which would be malformed again.
func bodyError(err error) error {
	network, ok := errors.AsType[net.Error](err)
	switch {
	case ok && network.Timeout():
		return errSlow.Because(err)
	case ok, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		return errInterrupted.Because(err)
	default:
		return errMalformed.Because(err)
	}
}

func (b *pacedBody) deadline(at time.Time) {
	_ = b.control.SetReadDeadline(at) // only the writers of tests do not support this
}

// drain reads and discards the rest of a body that is too large, up to a limit. Many clients send
// everything before they read the answer. They would report a closed connection as a network
// failure.
func (b *pacedBody) drain() {
	b.deadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, b.r.Body, drainBytes)
}

// answerWithin limits the time from the arrival of a report to its answer. whoopsie has no time-out
// and sends no other report while it waits. It tolerates eight seconds. A report may still be
// stored after that; when it is sent again, it is recognised.
const answerWithin = 8 * time.Second

// submitReport accepts one BSON document. Package intake decides which reports are refused, and
// why.
func (h *handler) submitReport(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	if err := h.Disk.Room(); err != nil {
		return result{}, err
	}
	body, err := newPacedBody(w, r, h.MaxBytes)
	if err != nil {
		return result{}, err
	}
	room := h.newRoom()
	defer room.release()
	data, err := room.read(r.Context(), body)
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
	defer cancel()
	document, err := apport.OpenBSON(data)
	if err != nil {
		return result{}, err
	}
	fields, err := room.fields(ctx, document)
	if err != nil {
		return result{}, err
	}
	receipt, err := h.Intake.Accept(ctx, crash.Report{
		ID: crash.NewOopsID(h.Now()), System: crash.NewSystemID(to.system), Fields: fields,
	})
	if err != nil {
		return result{}, err
	}
	res := resultOf(receipt)
	res.text = receipt.ID.String() + " OOPSID"
	if receipt.Core != nil && h.wantsCore(ctx, *receipt.Core) {
		res.text = receipt.ID.String() + " CORE"
	}
	return res, nil
}

func resultOf(receipt intake.Receipt) result {
	switch {
	case receipt.Duplicate:
		return result{outcome: "repeated"}
	case receipt.Unbucketed:
		return result{outcome: "stored", reason: "unbucketed"}
	}
	return result{outcome: "stored", reason: "bucketed"}
}

// result is the result of a request: the text of the answer, two words for the metrics, and the status.
type result struct {
	text, outcome, reason string
	status                int

	project crash.Project // zero: none, or it is not known
	key     string        // of the project; empty: the request was not accepted
	lost    int64         // reports that the client says it has not sent
}

// answer sends one line of plain text without a line break: clients compare every byte.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a client that has left needs no answer
}

// statusOf returns the status for an error of each kind; see the package comment. Other kinds do
// not occur; like internal errors, they give 500.
func (d *door) statusOf(kind crash.Kind) int {
	if status := d.statuses[kind]; status != 0 {
		return status
	}
	switch kind { //nolint:exhaustive // see above
	case crash.Invalid, crash.NotFound, crash.TooLarge, crash.UnsupportedMedia:
		return http.StatusBadRequest
	case crash.Unavailable, crash.TooMany, crash.Forbidden:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

const usualRetryAfter = time.Minute

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, d *door, p crash.Project, err error) result {
	status, text, reason, retry := http.StatusInternalServerError, "Internal error.", "internal", time.Duration(0)
	if e, ok := errors.AsType[*crash.Error](err); ok {
		status, text, reason, retry = d.statusOf(e.Kind), e.Message, e.Code, e.RetryAfter
	}
	outcome := "failed"
	switch status {
	case http.StatusInternalServerError:
		h.Log.ErrorContext(r.Context(), "request failed", "reason", reason, "error", err)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(cmp.Or(retry, usualRetryAfter).Seconds())))
	default:
		outcome = "refused"
	}
	d.refuse(w, status, text)
	return result{outcome: outcome, reason: reason, status: status, project: p}
}

// limit limits requests per minute by a key; nil is no limit.
type limit struct {
	*httprate.RateLimiter

	perMinute int
	instances func() int
}

func newLimit(perMinute int, instances func() int) *limit {
	if perMinute <= 0 {
		return nil
	}
	none := httprate.WithResponseHeaders(httprate.ResponseHeaders{})
	return &limit{httprate.NewRateLimiter(perMinute, time.Minute, none), perMinute, instances}
}

func (l *limit) exceeded(w http.ResponseWriter, r *http.Request, key string) bool {
	return l != nil && l.OnLimit(w, proxies.Share(r, l.perMinute, l.instances()), key)
}

var (
	errSystemRate = &crash.Error{Kind: crash.TooMany, Code: "rate_per_system", RetryAfter: time.Minute,
		Message: "This machine sends too many reports; please send this one again later."}
	errAddressRate = &crash.Error{Kind: crash.TooMany, Code: "rate_per_address", RetryAfter: time.Minute,
		Message: "Too many reports come from this network address; please send this one again later."}
)

// nearly reports whether a key has used three quarters of its limit.
func (l *limit) nearly(key string) bool {
	if l == nil {
		return false
	}
	_, rate, err := l.Status(key)
	return err == nil && rate >= 0.75*float64(max(1, l.perMinute/max(1, l.instances())))
}

// admit checks the door, and the rates before the body is read. Machines without a hash cannot be told apart, so
// only their address limits them.
func (h *handler) admit(w http.ResponseWriter, r *http.Request, d *door, to path) error {
	if h.Doors != nil && h.Doors.Closed(d.name) {
		return errClosed
	}
	if h.byAddress.exceeded(w, r, proxies.Key(proxies.Client(r))) {
		return errAddressRate
	}
	return h.admitSystem(w, r, crash.NewSystemID(to.system))
}

func (h *handler) admitSystem(w http.ResponseWriter, r *http.Request, system crash.SystemID) error {
	if system != "" && h.bySystem.exceeded(w, r, string(system)) {
		return errSystemRate
	}
	return nil
}

// accept stores a report whose body names its machine.
func (h *handler) accept(ctx context.Context, w http.ResponseWriter, r *http.Request, report crash.Report) (
	intake.Receipt, error,
) {
	if err := h.admitSystem(w, r, report.System); err != nil {
		return intake.Receipt{}, err
	}
	report.ID = crash.NewOopsID(h.Now())
	return h.Intake.Accept(ctx, report)
}

const (
	// Each request may hold this many bytes of its body, and as many uncompressed, without
	// reservation. Most reports need no more, so other requests cannot delay them.
	freeBytes  = 64 << 10
	usualBytes = 32 << 10 // initial size of a body's buffer; large enough for most reports

	largeBodies = 64 << 20 // limit of all bodies together, beyond freeBytes each
	bodyStep    = 1 << 20  // limit of the reservation before any byte has arrived

	// A report with compressed fields reserves the maximum that they can need, then returns the rest.
	// Reserving gradually could deadlock several requests. Besides the texts, memory holds the
	// decoder's window and a text that is copied while it grows.
	decompressFactor   = 3
	storeFactor        = 2 // texts are in memory twice while they are compressed for storing
	decompressedAtOnce = 2 // reports that may reserve the maximum at the same time
	memoryWait         = 4 * time.Second
)

var errMemory = &crash.Error{Kind: crash.Unavailable, Code: "large_bodies", RetryAfter: time.Minute,
	Message: "Too many large reports are arriving at the moment; please send this one again later."}

// memory is the budget of all requests of this process, in bytes. It has two parts, because a
// request holds its body while it waits for memory to decompress it. With a single part, bodies
// could take all memory that decompression needs.
type memory struct {
	bodies       *semaphore.Weighted
	decompressed *semaphore.Weighted
	most         int64         // limit of uncompressed bytes
	wait         time.Duration // limit of the wait of a request
}

func newMemory(maxBytes int64) *memory {
	most := decompressedAtOnce * decompressFactor * max(maxBytes, apport.MaxDecompressed)
	return &memory{
		bodies:       semaphore.NewWeighted(max(largeBodies, 2*maxBytes)),
		decompressed: semaphore.NewWeighted(most),
		most:         most,
		wait:         memoryWait,
	}
}

// acquire reserves n bytes, or fails with errMemory after the wait or when ctx ends.
func acquire(ctx context.Context, from *semaphore.Weighted, n int64, wait time.Duration) error {
	if from.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if from.Acquire(ctx, n) != nil {
		return errMemory
	}
	return nil
}

// room is the memory of one request.
type room struct {
	memory       *memory
	body         int64 // bytes reserved
	decompressed int64 // bytes reserved
}

func (h *handler) newRoom() *room { return &room{memory: h.memory} }

func (m *room) release() {
	m.memory.bodies.Release(m.body)
	m.memory.decompressed.Release(m.decompressed)
	m.body, m.decompressed = 0, 0
}

// read reads a body and reserves memory as it arrives. It trusts the declared length only up to
// bodyStep. Most large bodies reserve memory once, and a sender that sends nothing holds little.
func (m *room) read(ctx context.Context, body *pacedBody) ([]byte, error) {
	data := make([]byte, 0, usualBytes)
	wait := m.memory.wait
	for {
		if len(data) == cap(data) {
			size := max(2*cap(data), int(min(body.r.ContentLength+1, bodyStep)))
			began := time.Now()
			if more := int64(size) - freeBytes - m.body; more > 0 {
				if err := acquire(ctx, m.memory.bodies, more, wait); err != nil {
					return nil, err
				}
				m.body += more
			}
			waited := time.Since(began)
			wait -= waited
			body.began = body.began.Add(waited) // the wait was not the sender's fault
			data = append(make([]byte, 0, size), data...)
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// reserve reserves memory for decoding. Little of it needs no reservation.
func (m *room) reserve(ctx context.Context, n int64) error {
	if n <= freeBytes {
		return nil
	}
	n = min(n, m.memory.most)
	if err := acquire(ctx, m.memory.decompressed, n, m.memory.wait); err != nil {
		return err
	}
	m.decompressed = n
	return nil
}

// fields returns the uncompressed fields of a report. Those that need little memory do not wait.
func (m *room) fields(ctx context.Context, d *apport.Document) (crash.Fields, error) {
	if d.Cleaned() <= freeBytes {
		if fields, _, whole := d.Fields(freeBytes); whole {
			return fields, nil
		}
	}
	need := min(max(decompressFactor*apport.MaxDecompressed, d.Cleaned()), m.memory.most)
	if err := m.reserve(ctx, need); err != nil {
		return nil, err
	}
	fields, made, _ := d.Fields(apport.MaxDecompressed)
	m.keep(storeFactor * made)
	return fields, nil
}

// keep returns what is reserved for decoding, except for n bytes.
func (m *room) keep(n int64) {
	if rest := m.decompressed - n; rest > 0 {
		m.memory.decompressed.Release(rest)
		m.decompressed = n
	}
}
