package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
)

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
	if c.Addresses {
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
		return a.Source == debuginfo.AddedFiles && a.Outcome != string(debuginfo.OutcomeMissing)
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
		next, again, err := w.Jobs.QueueAddresses(ctx, w.addresses)
		if err != nil {
			return err
		}
		w.addresses, more = next, again
		if _, err := w.Symboliser.Architectures(ctx); err != nil {
			continue // Round records why
		}
		for ctx.Err() == nil {
			c, ok, err := w.Jobs.ClaimAddresses(ctx)
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
