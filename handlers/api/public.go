package api

import (
	"mishap/crash"
	"mishap/crash/index"
	search "mishap/crash/query"
	"mishap/crash/redact"
)

// Callers who may not read reports get texts redacted as bugs are. The id of a problem, which answers have beside its
// signature, finds it all the same.

// mayRead reports whether a caller may read reports.
func (in input) mayRead() bool { return signedIn.check(in.caller) == nil }

// seenBy returns b as the caller may see it.
func (a *answers) seenBy(in input, b crash.Bucket) crash.Bucket {
	if in.mayRead() {
		return b
	}
	return a.redacted.Bucket(b)
}

// seenSignature returns a signature as the caller may see it.
func (a *answers) seenSignature(in input, signature string) string {
	if in.mayRead() {
		return signature
	}
	return a.redacted.Signature(signature)
}

// seenLabel returns the name of a release, version or kind of problem as the caller may see it.
func seenLabel[T ~string](in input, name T) T {
	if in.mayRead() {
		return name
	}
	return redact.Label(name)
}

// seenRow returns a row of the index as the caller may see it.
func seenRow(in input, row index.Row) index.Row {
	if !in.mayRead() {
		return row.ForVisitors()
	}
	return row
}

// searched makes a list count what a query speaks of, and says which problems it wants. What a caller who may not read reports
// searches for is looked for in what such callers see.
func searched(in input, q search.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	filter = q.Narrow(filter)
	switch {
	case q.Empty():
		return filter, nil
	case in.mayRead():
		return filter, q.Match
	}
	filter.Query = "public " + filter.Query // lists are cached by it
	return filter, func(p *index.Problem) bool { return q.Match(p.Public()) }
}
