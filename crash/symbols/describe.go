package symbols

import (
	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// Describe returns the modules of a result with the searches for their files, for people and
// programs.
func (r Result) Describe() []crash.SymbolModule {
	modules := make([]crash.SymbolModule, len(r.Modules))
	for i, m := range r.Modules {
		modules[i] = crash.SymbolModule{Path: m.Path, BuildID: string(m.BuildID), Frames: m.Frames,
			Executable: describe(m.Executable), Debuginfo: describe(m.Debuginfo), Shared: describe(m.Shared)}
		for _, found := range []*debuginfo.Result{m.Executable, m.Debuginfo} {
			if found != nil && found.Alt != "" {
				modules[i].SharedID = string(found.Alt)
			}
		}
	}
	return modules
}

func describe(r *debuginfo.Result) *crash.SymbolSearch {
	if r == nil {
		return nil
	}
	s := &crash.SymbolSearch{Found: r.Found, Origin: r.Origin, Size: r.Size, Retry: r.Retry()}
	for _, a := range r.Attempts {
		s.Searched = append(s.Searched, crash.SymbolAttempt{Source: a.Source, Outcome: string(a.Outcome), Detail: a.Detail})
	}
	return s
}
