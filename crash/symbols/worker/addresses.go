package worker

import (
	"context"
	"errors"

	"mishap/crash"
	"mishap/crash/symbols"
)

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

// name does the work of a job without a core.
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

// unknown returns the outcome of a job that lacks builds.
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

// unknownBuilds returns the builds that would help to symbolise a report.
func (w *Worker) unknownBuilds(ctx context.Context, report crash.Fields, modules []crash.SymbolModule) (
	[]crash.UnknownBuild, error,
) {
	paths := withoutBuild(modules)
	if len(paths) == 0 {
		return nil, nil
	}
	return w.Builds.UnknownBuilds(ctx, report, paths)
}
