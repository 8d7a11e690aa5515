// Package worker symbolises the cores that machines have sent, and names the addresses of reports
// without cores. It claims jobs from the database, one at a time, and stores their outcomes. Which cores
// are asked for is decided elsewhere.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/symbols"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
)

// Store stores the jobs, what instances can do, and which files (BUILD-ID/KIND) jobs wait for. Packages db
// and db/symbols describe its methods.
type Store interface {
	ClaimJob(ctx context.Context, store string, architectures []string) (crash.SymbolClaim, bool, error)
	QueueAddresses(ctx context.Context, since crash.SymbolCursor) (crash.SymbolCursor, bool, error)
	ClaimAddresses(ctx context.Context) (crash.SymbolClaim, bool, error)
	RenewClaim(ctx context.Context, c crash.SymbolClaim) error
	ReleaseClaim(ctx context.Context, c crash.SymbolClaim) error
	FinishJob(ctx context.Context, c crash.SymbolClaim, o crash.SymbolOutcome) error
	Report(ctx context.Context, id crash.OopsID) (crash.StoredReport, error)
	WorkerSeen(ctx context.Context, w crash.SymbolWorker) error
	WorkerGone(ctx context.Context) error
	MissingFiles(ctx context.Context, store string) ([]string, error)
	FilesAdded(ctx context.Context, store string, ids []string) error
	CoresRemoved(ctx context.Context, cores []crash.OopsID) error
	HeldReports(ctx context.Context, reports []crash.OopsID) ([]crash.OopsID, error)
}

// Builds stores which builds the versions of packages hold.
type Builds interface {
	// LearnFromCore stores what the core of a report says about the packages of its machine.
	LearnFromCore(ctx context.Context, report crash.Fields, loaded []debuginfo.Loaded) error
	// UnknownBuilds returns which builds mishap would have to know to name files of the machine that sent
	// a report.
	UnknownBuilds(ctx context.Context, report crash.Fields, paths []string) ([]crash.UnknownBuild, error)
}

// Deps holds the dependencies and settings of a Worker.
type Deps struct {
	Store      Store
	Builds     Builds
	Cores      *cores.Store
	Symboliser *symbols.Symboliser
	Version    string        // of mishap
	Renew      time.Duration // interval of prolonging a claim
	Wanted     bool          // machines are asked for cores, so that it is a problem if none can be symbolised
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Worker symbolises cores and names addresses.
type Worker struct {
	Deps
	ended   *prometheus.CounterVec
	seconds prometheus.Histogram

	checked       time.Time // when the debugger was checked last
	architectures []string  // that it can symbolise; none: it cannot work
	problem       string    // why it cannot work; empty: it can, or need not
	searched      time.Time // when added files were looked for

	addresses crash.SymbolCursor // of QueueAddresses
}

// New returns a Worker.
func New(d Deps) (*Worker, error) {
	w := &Worker{
		Deps: d,
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_symbol_jobs_total", Help: "Reports that this instance has tried to symbolise, by outcome.",
		}, []string{"state"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mishap_symbol_job_seconds", Help: "Time from claiming a report to storing its outcome.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 12),
		}),
	}
	for _, state := range []crash.SymbolState{crash.SymbolsDone, crash.SymbolsPartial, crash.SymbolsWaiting,
		crash.SymbolsFailed} {
		w.ended.WithLabelValues(string(state)) // starts at 0, so that rates see the first one
	}
	for _, c := range []prometheus.Collector{w.ended, w.seconds} {
		if err := d.Registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return w, nil
}

const (
	checkInterval  = time.Minute      // of what this instance can do; the database forgets it after three
	searchInterval = 10 * time.Second // of looking for files that jobs wait for
)

// Round symbolises all cores that are due. It must be called again every few seconds, by one
// goroutine.
func (w *Worker) Round(ctx context.Context) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	if err := w.search(ctx); err != nil || len(w.architectures) == 0 {
		return err
	}
	for ctx.Err() == nil {
		c, ok, err := w.Store.ClaimJob(ctx, w.Cores.ID(), w.architectures)
		if err != nil || !ok {
			return err
		}
		if err := w.work(ctx, c); err != nil {
			return err
		}
		if err := w.check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the debugger, and records that this instance no longer symbolises.
func (w *Worker) Stop(ctx context.Context) error {
	return errors.Join(w.Symboliser.Close(), w.Store.WorkerGone(ctx))
}

func (w *Worker) check(ctx context.Context) error {
	if !w.checked.IsZero() && time.Since(w.checked) < checkInterval {
		return nil
	}
	architectures, err := w.Symboliser.Architectures(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	problem := ""
	if err != nil {
		problem = err.Error()
		if e, ok := errors.AsType[*crash.Error](err); ok {
			problem = e.Message
		}
		architectures = nil
	}
	if !w.Wanted {
		problem = ""
	}
	if problem != "" && problem != w.problem {
		w.Log.WarnContext(ctx, "cannot symbolise cores, so machines are not asked for any", "reason", problem)
	}
	w.architectures, w.problem, w.checked = architectures, problem, time.Now()
	return w.Store.WorkerSeen(ctx, crash.SymbolWorker{Store: w.Cores.ID(), Architectures: architectures,
		Problem: problem})
}

func (w *Worker) search(ctx context.Context) error {
	if time.Since(w.searched) < searchInterval {
		return nil
	}
	w.searched = time.Now()
	missing, err := w.Store.MissingFiles(ctx, w.Cores.ID())
	if err != nil {
		return err
	}
	if added := w.Symboliser.Finder.Added(missing); len(added) > 0 {
		return w.Store.FilesAdded(ctx, w.Cores.ID(), added)
	}
	return nil
}

func (w *Worker) work(ctx context.Context, c crash.SymbolClaim) error {
	began := time.Now()
	job, cancel := context.WithCancel(ctx)
	defer cancel()
	var renewing sync.WaitGroup
	renewing.Go(func() { w.renew(job, cancel, c) })
	defer renewing.Wait()
	defer cancel()
	o, err := w.symbolise(job, c)
	if job.Err() != nil {
		return w.release(ctx, c)
	}
	if errors.Is(err, errCoresAway) { // the next round tries again
		return errors.Join(err, w.release(ctx, c))
	}
	if err != nil {
		w.Log.WarnContext(ctx, "a report could not be symbolised", "report", c.Report.String(), "error", err)
	}
	switch err := w.finish(ctx, c, o); {
	case errors.Is(err, crash.Conflict): // another instance has taken over the job, so its outcome counts
		return nil
	case err != nil:
		return err
	}
	w.ended.WithLabelValues(string(o.State)).Inc()
	w.seconds.Observe(time.Since(began).Seconds())
	level := slog.LevelInfo
	if c.Addresses && o.State == crash.SymbolsWaiting { // all those without symbols
		level = slog.LevelDebug
	}
	w.Log.Log(ctx, level, "worked on a report", "report", c.Report.String(), "core", !c.Addresses,
		"state", string(o.State), "reason", o.Reason, "seconds", time.Since(began).Seconds())
	if o.State != crash.SymbolsDone || c.Addresses {
		return nil
	}
	if held, err := w.Store.HeldReports(ctx, []crash.OopsID{c.Report}); err != nil || len(held) > 0 {
		return err // the cleaner removes the core when the hold has ended
	}
	if err := w.Cores.Remove(ctx, c.Report); err != nil {
		return err // the cleaner tries again
	}
	return w.Store.CoresRemoved(ctx, []crash.OopsID{c.Report})
}

// renew prolongs a claim until ctx ends. If another instance has taken over the job, it calls cancel.
func (w *Worker) renew(ctx context.Context, cancel func(), c crash.SymbolClaim) {
	for crash.Sleep(ctx, w.Renew) == nil {
		err := w.Store.RenewClaim(ctx, c)
		if errors.Is(err, crash.Conflict) {
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "cannot prolong the claim of a report", "report", c.Report.String(), "error", err)
		}
	}
}

const (
	releaseTimeout = 5 * time.Second
	finishAttempts = 5
	finishPause    = time.Second // before the second attempt; doubled for each further one
)

func (w *Worker) release(ctx context.Context, c crash.SymbolClaim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := w.Store.ReleaseClaim(ctx, c); err != nil && !errors.Is(err, crash.Conflict) {
		return err
	}
	return nil
}

// finish stores an outcome. It tries again while the database is unavailable. It returns Conflict if
// another instance has taken over the job.
func (w *Worker) finish(ctx context.Context, c crash.SymbolClaim, o crash.SymbolOutcome) error {
	pause := finishPause
	for n := 1; ; n++ {
		err := w.Store.FinishJob(ctx, c, o)
		switch {
		case err == nil, errors.Is(err, crash.Conflict):
			return err
		case errors.Is(err, crash.NotFound): // the report was dropped
			o = crash.SymbolOutcome{State: crash.SymbolsExpired, Reason: "The report is no longer stored."}
		case !errors.Is(err, crash.Unavailable) || n == finishAttempts || crash.Sleep(ctx, pause) != nil:
			return errors.Join(err, w.release(ctx, c))
		}
		pause *= 2
	}
}

var errCoresAway = errors.New("the core dumps cannot be reached")

func (w *Worker) symbolise(ctx context.Context, c crash.SymbolClaim) (crash.SymbolOutcome, error) {
	report, err := w.Store.Report(ctx, c.Report)
	if errors.Is(err, crash.NotFound) {
		return crash.SymbolOutcome{State: crash.SymbolsExpired, Reason: "The report is no longer stored."}, nil
	}
	if err != nil {
		return failure(c, err), err
	}
	if c.Addresses {
		return w.name(ctx, c, report.Fields)
	}
	job, err := w.Symboliser.NewJob()
	if err != nil {
		return failure(c, err), err
	}
	defer func() {
		if err := job.Close(); err != nil {
			w.Log.WarnContext(ctx, "cannot remove the files of a job", "error", err)
		}
	}()
	if err := Unpack(ctx, job, w.Cores, c.Report, w.Symboliser.MaxUnpacked()); errors.Is(err, fs.ErrNotExist) {
		return crash.SymbolOutcome{State: crash.SymbolsExpired, Reason: "The core was removed before it was symbolised."}, nil
	} else if errors.Is(err, crash.Unavailable) {
		return crash.SymbolOutcome{}, errors.Join(errCoresAway, err)
	} else if err != nil {
		return failure(c, err), err
	}
	result, err := job.Run(ctx, report.Fields)
	if err != nil {
		o := failure(c, err)
		o.Modules, o.Engine, o.Seconds = result.Describe(), result.Engine, result.Seconds
		o.CPU, o.Memory = result.Usage.CPU, result.Usage.Memory
		return o, err
	}
	if err := w.Builds.LearnFromCore(ctx, report.Fields, result.Loaded()); err != nil {
		w.Log.WarnContext(ctx, "did not learn the builds in a core", "report", c.Report.String(), "error", err)
	}
	o := outcome(c, result, w.Version)
	if o.State != crash.SymbolsDone {
		o.Unknown, err = w.unknownBuilds(ctx, report.Fields, o.Modules)
	}
	return o, err
}

// Unpack writes the stored core of a report, of at most most bytes, into the folder of a job. It returns
// fs.ErrNotExist if none is stored, and Invalid if it is damaged.
func Unpack(ctx context.Context, job *symbols.Job, from *cores.Store, report crash.OopsID, most int64) error {
	in, err := from.Open(ctx, report)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	damage := &reader{from: in}
	to := &writer{to: job.Core()}
	_, err = apport.Decompress(to, damage, most+1)
	switch {
	case to.err != nil:
		return to.err
	case damage.err != nil:
		return damage.err
	case errors.Is(err, apport.ErrLimit):
		return crash.Errorf(crash.TooLarge, "core_too_large",
			"The core is larger than core_max_bytes permits, or mishap has too little memory to decompress it.")
	case err != nil:
		return crash.Errorf(crash.Invalid, "bad_core", "The core that the machine sent is damaged: %s.",
			strings.TrimSuffix(err.Error(), "."))
	}
	return nil
}

// reader and writer remember errors of files, to tell them from errors of the core.
type reader struct {
	from io.Reader
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

type writer struct {
	to  io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.err = err
	return n, err
}

// CleanerStore is the part of the database that Clean needs.
type CleanerStore interface {
	UnrecordedCores(ctx context.Context, stored []crash.OopsID) ([]crash.ReceivedCore, error)
	CoreReceived(ctx context.Context, c crash.ReceivedCore) (needed bool, err error)
	DoneCores(ctx context.Context, cores []crash.OopsID) ([]crash.OopsID, error)
	HeldReports(ctx context.Context, reports []crash.OopsID) ([]crash.OopsID, error)
	CoresRemoved(ctx context.Context, cores []crash.OopsID) error
	ForgetNames(ctx context.Context) error
}

// unrecordedAge is the age at which a core whose arrival was not recorded belongs to a request that
// failed.
const unrecordedAge = 5 * time.Minute

// Clean removes cores that were stored before the given time, the oldest ones above a total size, and
// those that are no longer needed because their instance died just before it removed them, or because
// a hold of their problem has ended. Cores of held problems stay. It records the arrival of cores for
// which that failed, because their machines do not send them again. First, it ships the cores that wait
// on this machine, and removes stored names that reports no longer have.
func Clean(ctx context.Context, s CleanerStore, from *cores.Store, before time.Time, most int64,
	log *slog.Logger) error {
	if err := errors.Join(from.Ship(ctx), s.ForgetNames(ctx)); err != nil {
		return err
	}
	removed, err := from.RemoveOld(ctx, before, most, s.HeldReports)
	if len(removed) > 0 {
		log.InfoContext(ctx, "removed old core dumps", "cores", len(removed))
	}
	err = errors.Join(err, s.CoresRemoved(ctx, removed))
	stored, listErr := from.List(ctx)
	if err = errors.Join(err, listErr); err != nil {
		return err
	}
	var ids []crash.OopsID
	sizes := map[crash.OopsID]int64{}
	for _, c := range stored {
		if time.Since(c.At) > unrecordedAge {
			ids, sizes[c.Report] = append(ids, c.Report), c.Size
		}
	}
	unrecorded, err := s.UnrecordedCores(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range unrecorded {
		c.Store, c.Bytes = from.ID(), sizes[c.Report]
		needed, err := s.CoreReceived(ctx, c)
		if err == nil && !needed {
			err = from.Remove(ctx, c.Report)
		}
		if err != nil {
			return err
		}
	}
	done, err := s.DoneCores(ctx, ids)
	if err != nil {
		return err
	}
	held, err := s.HeldReports(ctx, done)
	if err != nil {
		return err
	}
	done = slices.DeleteFunc(done, func(id crash.OopsID) bool { return slices.Contains(held, id) })
	for _, id := range done {
		if err := from.Remove(ctx, id); err != nil {
			return err
		}
	}
	return s.CoresRemoved(ctx, done)
}

// delays are the times after which a job with missing files is tried again: people publish debug
// files later than programs.
var delays = [...]time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}

// nextTry returns when a job is tried again, or 0 after the last try.
func nextTry(c crash.SymbolClaim) time.Duration {
	if c.Tries >= len(delays) {
		return 0
	}
	return delays[c.Tries]
}

// failure returns the outcome of a job that ended with an error. Errors of the core are final. Others
// are those of this machine, and the job is tried again.
func failure(c crash.SymbolClaim, err error) crash.SymbolOutcome {
	o := crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: nextTry(c),
		Reason: "The server could not symbolise the core; its log says why."}
	if e, ok := errors.AsType[*crash.Error](err); ok {
		o.Reason = e.Message
		if e.Kind != crash.Unavailable {
			o.State, o.Again = crash.SymbolsFailed, 0
		}
	}
	if o.State == crash.SymbolsWaiting && o.Again == 0 {
		o.State = crash.SymbolsFailed
	}
	return o
}

// maxField limits the size of one field of a symbolised stack, in bytes.
const maxField = 1 << 20

func outcome(c crash.SymbolClaim, r symbols.Result, version string) crash.SymbolOutcome {
	o := crash.SymbolOutcome{State: crash.SymbolsDone, Fields: maps.Clone(r.Fields), Modules: r.Describe(),
		Reason: sentence(r.Incomplete), Engine: r.Engine, Seconds: r.Seconds, CPU: r.Usage.CPU, Memory: r.Usage.Memory}
	for name, text := range o.Fields {
		if len(text) > maxField {
			o.Fields[name] = strings.ToValidUTF8(text[:maxField], "") + "\n[shortened]"
		}
	}
	by := r.Engine
	switch {
	case r.ByBuildIDs:
		by = "from build-ids"
		if r.State == symbols.Done {
			o.Reason = "Named from build-ids, without a core dump."
		}
	case c.Addresses:
		by = "from addresses"
	}
	o.Fields[crash.SymbolisedBy] = strings.TrimSpace("mishap " + version + ", " + by)
	if r.State == symbols.Done {
		return o
	}
	o.State, o.Again = crash.SymbolsPartial, nextTry(c)
	var paths []string
	away := false
	if !r.NoFileHelps {
		o.Missing, paths, away = missing(o.Modules)
	}
	top := r.Fields["StacktraceTop"]
	anyNamed := top == "" || named(top) != "" // without a top, all functions are those of a runtime
	if (away || !anyNamed) && o.Again > 0 {
		o.State = crash.SymbolsWaiting
	}
	switch {
	case len(paths) > 0:
		o.Reason = "Files with function names are missing: " + list(paths) + "."
	case !r.NoFileHelps && len(withoutBuild(o.Modules)) > 0:
		o.Reason = "The core does not hold the build-ids of " + fileNames(withoutBuild(o.Modules)) + "."
	case o.Reason == "":
		o.Reason = "Some functions have no name in the files that were found."
	}
	if len(o.Missing) == 0 {
		o.State, o.Again = crash.SymbolsPartial, 0
	}
	if !anyNamed { // the sender's stack says more
		delete(o.Fields, "Stacktrace")
		delete(o.Fields, "StacktraceTop")
		if c.Addresses {
			o.Fields = nil
		}
	}
	return o
}

// sentence makes a sentence of a remark, which may begin with the name of a file.
func sentence(remark string) string {
	first, size := utf8.DecodeRuneInString(remark)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + remark[size:] + "."
}

func named(top string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(top, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "??")
	}), "")
}

// missing returns the files that were not found (BUILD-ID/KIND), and the paths of modules in the stack
// that lack one. away is true if a server did not answer. If the program of a module in the stack is
// missing, the frames below it are unknown, so any module may be in the stack.
func missing(modules []crash.SymbolModule) (files, paths []string, away bool) {
	lacks := func(s *crash.SymbolSearch) bool { return s != nil && !s.Found }
	anywhere := slices.ContainsFunc(modules, func(m crash.SymbolModule) bool {
		return m.Frames > 0 &&
			lacks(m.Executable)
	})
	for _, m := range modules {
		if m.BuildID == "" || m.Frames == 0 && !anywhere {
			continue
		}
		absent := false
		for _, f := range []struct {
			search   *crash.SymbolSearch
			id, kind string
		}{
			{m.Executable, m.BuildID, "executable"}, {m.Debuginfo, m.BuildID, "debuginfo"}, {m.Shared, m.SharedID, "debuginfo"},
		} {
			if !lacks(f.search) {
				continue
			}
			absent, away = true, away || f.search.Retry
			name := f.id + "/" + f.kind
			if !rejected(f.search) && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if absent && m.Frames > 0 && !slices.Contains(paths, m.Path) {
			paths = append(paths, m.Path)
		}
	}
	return files, paths, away
}

// rejected reports whether a file was added, but is not usable. Only a better one would help.
func rejected(s *crash.SymbolSearch) bool {
	return slices.ContainsFunc(s.Searched, func(a crash.SymbolAttempt) bool {
		return a.Source == debuginfo.AddedFiles && a.Outcome != debuginfo.OutcomeMissing
	})
}

// withoutBuild returns the paths of modules in the stack whose build-id is unknown.
func withoutBuild(modules []crash.SymbolModule) []string {
	var paths []string
	for _, m := range modules {
		if m.BuildID == "" && m.Frames > 0 {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

func fileNames(paths []string) string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	slices.Sort(names)
	return list(slices.Compact(names))
}

func list(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// NameAddresses names all address signatures that are due. It must be called again every few seconds,
// by one goroutine, and may run during Round. It queues jobs for other instances if this one has no
// debugger that it can confine.
func (w *Worker) NameAddresses(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		next, again, err := w.Store.QueueAddresses(ctx, w.addresses)
		if err != nil {
			return err
		}
		w.addresses, more = next, again
		if _, err := w.Symboliser.Architectures(ctx); err != nil {
			continue // Round records why
		}
		for ctx.Err() == nil {
			c, ok, err := w.Store.ClaimAddresses(ctx)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := w.work(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Worker) name(ctx context.Context, c crash.SymbolClaim, report crash.Fields) (crash.SymbolOutcome, error) {
	result, err := w.Symboliser.Name(ctx, report)
	if errors.Is(err, symbols.ErrUnknownBuilds) {
		return w.unknown(ctx, c, report, result)
	}
	if err != nil {
		o := failure(c, err)
		o.Modules = result.Describe()
		return o, err
	}
	return outcome(c, result, w.Version), nil
}

func (w *Worker) unknown(ctx context.Context, c crash.SymbolClaim, report crash.Fields, r symbols.Result) (
	crash.SymbolOutcome, error,
) {
	o := crash.SymbolOutcome{State: crash.SymbolsWaiting, Modules: r.Describe()}
	o.Reason = "It is not known which builds the machine had of " + fileNames(withoutBuild(o.Modules)) + "."
	var err error
	if o.Unknown, err = w.unknownBuilds(ctx, report, o.Modules); err != nil {
		return failure(c, err), err
	}
	return o, nil
}

func (w *Worker) unknownBuilds(ctx context.Context, report crash.Fields, modules []crash.SymbolModule) (
	[]crash.UnknownBuild, error,
) {
	paths := withoutBuild(modules)
	if len(paths) == 0 {
		return nil, nil
	}
	return w.Builds.UnknownBuilds(ctx, report, paths)
}
