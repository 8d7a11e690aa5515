package api

import (
	"context"
	"net/http"

	"mishap/crash"
)

func (a *answers) symbolResources() []resource {
	return []resource{{
		name: "symbols/missing", method: http.MethodGet, access: signedIn,
		summary: "The symbols that are missing, those first that would name the most reports.",
		doc: "Counts the reports of the problems that wait for a symbol. Of more than 10,000 waiting crashes, those of " +
			"the problems with the most reports count. The list has at most 10,000 entries.",
		object: missingSymbol{}, list: a.missingSymbols,
	}}
}

// listedMissing is the largest length of the list.
const listedMissing = 10_000

type missingSymbol struct {
	Architecture string           `json:"architecture" doc:"In Debian's words."`
	BuildID      string           `json:"build_id" doc:"In hexadecimal digits; empty for the kind build."`
	Command      string           `json:"command" doc:"Command that adds it, for a shell; empty if mishap does not know one."`
	Kind         string           `json:"kind" doc:"executable, debuginfo, or build: the build-id is unknown."`
	Package      string           `json:"package" doc:"Binary package that provides it; empty if unknown."`
	Path         string           `json:"path" doc:"Path of the program or library; empty if unknown."`
	Problems     int64            `json:"problems" doc:"Number of problems that wait for it."`
	Reports      int64            `json:"reports" doc:"Number of reports of these problems."`
	Searched     []searchedSource `json:"searched" doc:"Where it was searched."`
	Version      string           `json:"version" doc:"Version of the package; empty if unknown."`
}

type searchedSource struct {
	Detail  string `json:"detail"`
	Outcome string `json:"outcome"`
	Source  string `json:"source"`
}

func (a *answers) missingSymbols(ctx context.Context, _ input) ([]any, error) {
	list, _, err := a.symbols.MissingSymbols(ctx, listedMissing, 0)
	objects := make([]any, len(list))
	for i, m := range list {
		objects[i] = newMissingSymbol(m)
	}
	return objects, err
}

func newMissingSymbol(m crash.MissingSymbol) missingSymbol {
	o := missingSymbol{
		Architecture: m.Architecture, BuildID: m.BuildID, Command: m.Command(), Kind: string(m.Kind), Package: m.Package,
		Path: m.Path, Problems: m.Problems, Reports: m.Reports, Searched: []searchedSource{}, Version: m.Version,
	}
	for _, s := range m.Searched {
		o.Searched = append(o.Searched, searchedSource{Detail: s.Detail, Outcome: s.Outcome, Source: s.Source})
	}
	return o
}
