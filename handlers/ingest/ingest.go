// Package ingest implements the listener for machines. It speaks whoopsie's protocol, which has two
// kinds of POST. It serves no pages and uses neither cookies nor sessions.
//
// Each status is chosen by its effect on the machine. whoopsie takes 200 as "done" and 400 as
// "never send again". After any other status it sends the whole report again every two hours. So a
// report that can never be accepted gets 400, and a repeated one 200. Temporary failures get 503
// with Retry-After: an unavailable database, or too many reports, in total or from one sender.
package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/crash/span"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/disk"
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

// Deps holds the dependencies and settings of the listener.
type Deps struct {
	Intake         *intake.Intake
	Store          Store
	Cores          *cores.Store          // where cores are stored
	WantCores      bool                  // whether machines are asked for cores
	CorePackages   debuginfo.Patterns    // of which programs cores are asked for
	MaxBytes       int64                 // size limit of reports
	MaxCoreBytes   int64                 // size limit of cores, as sent; 0: 256 MiB
	MaxCoresBytes  int64                 // size limit of all cores together; 0: 20 GiB
	Disk           *disk.Watch           // disks of the reports; nil: not watched
	RatePerSystem  int                   // requests per minute from one machine; 0: no limit
	RatePerAddress int                   // the same from one network address
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
	declined  *expirable.LRU[declinedCore, struct{}] // cores that were not wanted a moment ago
	memory    *memory
	metrics   *metrics
	bySystem  *limit
	byAddress *limit
}

// New returns the handler of the ingest listener. It fails if the metrics cannot be registered.
func New(d Deps) (http.Handler, error) {
	if d.MaxCoreBytes == 0 {
		d.MaxCoreBytes = defaultMaxCore
	}
	if d.MaxCoresBytes == 0 {
		d.MaxCoresBytes = defaultMaxCores
	}
	if d.AnswerWithin == 0 {
		d.AnswerWithin = answerWithin
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	h := &handler{
		Deps:      d,
		coreSpace: &coreSpace{cores: d.Cores, most: d.MaxCoresBytes, space: disk.Of},
		declined:  expirable.NewLRU[declinedCore, struct{}](maxDeclined, nil, declinedFor),
		memory:    newMemory(d.MaxBytes),
		bySystem:  newLimit(d.RatePerSystem),
		byAddress: newLimit(d.RatePerAddress),
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
	switch {
	case r.Method != http.MethodPost || to.kind == unknown:
		answer(w, http.StatusNotFound, "Not found.")
	case to.kind == core:
		h.observe(w, r, h.metrics.cores, "core", to, h.submitCore)
	default:
		h.observe(w, r, h.metrics.reports, "report", to, h.submitReport)
	}
}

// observe runs submit, sends its answer, and counts it.
func (h *handler) observe(w http.ResponseWriter, r *http.Request, counter *prometheus.CounterVec, kind string, to path,
	submit func(http.ResponseWriter, *http.Request, path) (result, error),
) {
	began := time.Now()
	ctx, step := h.Tracer.Request(r.Context())
	defer step.End(nil)
	if h.Tracer != nil {
		r = r.WithContext(ctx)
	}
	var res result
	err := h.admit(w, r, to)
	if err == nil {
		res, err = submit(w, r, to)
	}
	if err != nil {
		res = h.refuse(w, r, err)
	} else {
		res.status = http.StatusOK
		answer(w, res.status, res.text)
	}
	step.Answered(http.MethodPost, routes[to.kind], res.status)
	counter.WithLabelValues(res.outcome, res.reason).Inc()
	h.metrics.seconds.WithLabelValues(kind).Observe(time.Since(began).Seconds())
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
	reports, cores *prometheus.CounterVec   // by outcome (stored, repeated, refused, failed) and reason
	seconds        *prometheus.HistogramVec // by kind
}

func newMetrics(to prometheus.Registerer, more []prometheus.Collector) (*metrics, error) {
	m := &metrics{
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_reports_total", Help: "Reports received, by what came of them and why.",
		}, []string{"outcome", "reason"}),
		cores: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_ingest_cores_total", Help: "Cores received, by what came of them and why.",
		}, []string{"outcome", "reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_ingest_seconds", Help: "Time from the head of a request to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"kind"}),
	}
	m.cores.WithLabelValues("stored", "") // starts at 0, so that rates see the first one
	m.reports.WithLabelValues("stored", "bucketed")
	if to == nil {
		return m, nil
	}
	for _, c := range append([]prometheus.Collector{m.reports, m.cores, m.seconds}, more...) {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

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
