package api

import (
	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
)

// Callers who may not read reports receive redacted texts, as in bugs. Answers also contain the id
// of a problem, which identifies it even if its signature is redacted.

// mayRead reports whether the caller may read reports.
func (in input) mayRead() bool { return signedIn.check(in.caller) == nil }

// visibleBucket returns b as the caller may see it.
func visibleBucket(in input, b crash.Bucket) crash.Bucket {
	if in.mayRead() {
		return b
	}
	return privacy.RedactBucket(b)
}

// visibleSignature returns a signature as the caller may see it.
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

// visibleRow returns a row of the index as the caller may see it.
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
