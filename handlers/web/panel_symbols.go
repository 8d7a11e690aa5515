package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/stats"
	problemsview "mishap/views/problems"
)

// SymbolsOf returns how far a problem is symbolised. It returns zero if it is no native crash.
func (s *Panel) SymbolsOf(ctx context.Context, b crash.Bucket) (crash.ProblemSymbols, error) {
	if b.ProblemType != "Crash" {
		return crash.ProblemSymbols{}, nil
	}
	return s.symbols.ProblemSymbols(ctx, b.ID)
}

// SymbolsView returns the part of the page of a problem that says how far it is symbolised. It
// returns nil if there is nothing to say.
func (s *Panel) SymbolsView(r *http.Request, b crash.Bucket, symbols crash.ProblemSymbols) (*problemsview.SymbolsView,
	error) {
	triager := CurrentUser(r).MayTriage(b.SourcePackage)
	v := &problemsview.SymbolsView{Job: symbols.Job, MayPress: triager, CSRFToken: nosurf.Token(r),
		Path: problemsview.SymbolsPath(b.ID)}
	busy := symbols.Job.State == crash.SymbolsQueued || symbols.Job.State == crash.SymbolsRunning
	if b.LacksNames() && (triager && !busy || symbols.Wanted.Person != "") {
		why, err := s.WhyNoCore(r.Context(), b)
		if err != nil {
			return nil, err
		}
		v.Core = &problemsview.CoreView{Path: problemsview.CorePath(b.ID), Wanted: symbols.Wanted, MayAsk: triager,
			WhyNot: why}
	}
	if v.Core == nil && v.Job.State == "" {
		return nil, nil //nolint:nilnil // documented
	}
	return v, nil
}

// WhyNoCore says why no machine that reports a problem would be asked for its core. It returns ""
// if one would.
func (s *Panel) WhyNoCore(ctx context.Context, b crash.Bucket) (string, error) {
	switch {
	case !b.LacksNames():
		return "This problem needs no core dump: it is not a native crash without function names.", nil
	case !s.Config.AskForCores:
		return "No machine is asked for a core dump: the configuration says cores = \"never\".", nil
	case !s.Config.CorePackages.Match(b.Executable, b.Package, b.SourcePackage):
		return "No machine is asked for a core dump of this program: cores_packages excludes it.", nil
	}
	workers, err := s.symbols.Workers(ctx)
	if err != nil {
		return "", err
	}
	var can []string
	for _, w := range workers {
		can = append(can, w.Architectures...)
	}
	switch {
	case len(workers) == 0:
		return "No running instance symbolises core dumps, so machines are not asked for any.", nil
	case len(can) == 0:
		return "No instance can symbolise core dumps, so machines are not asked for any.", nil
	}
	reported, _, err := s.store.BucketArchitectures(ctx, b.ID)
	if err != nil {
		return "", err
	}
	var names []string
	for _, a := range reported {
		if slices.Contains(can, a.Name) {
			return "", nil
		}
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return "No instance can symbolise core dumps of " + strings.Join(names, ", ") + ", so machines are not asked for " +
		"any.", nil
}

// Advise returns advice about filing a bug. facts may be shared with other requests, and lack what
// is known about symbols; nil means that no advice is due.
func (s *Panel) Advise(facts *stats.AdviceFacts, symbols crash.ProblemSymbols) stats.Advice {
	if facts == nil {
		return stats.Advice{}
	}
	f := *facts
	f.Symbols = symbols
	return stats.Advise(f)
}
