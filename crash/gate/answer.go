package gate

import (
	"net/url"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// Question asks whether a version of a binary package made things worse.
type Question struct {
	Package string
	Version string
	Against string        // version to compare with; empty: the gate chooses one
	Release crash.Release // empty: every release with the version, and with Against if given
}

// PathPage is the path of the page of the gate.
const PathPage = "/gate"

// Query returns the query of the page with the answer.
func (q Question) Query() string {
	values := url.Values{}
	for name, value := range map[string]string{
		"package": q.Package, "version": q.Version, "against": q.Against, "release": string(q.Release),
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values.Encode()
}

// Path returns the path and query of the page with the answer.
func (q Question) Path() string { return PathPage + "?" + q.Query() }

// Check returns an error of kind Invalid if the question makes no sense.
func (q Question) Check() error {
	for _, v := range []string{q.Version, q.Against} {
		if v != "" && !dpkg.Valid(v) {
			return crash.Errorf(crash.Invalid, "bad_version", "%.80q is not a version that dpkg can compare.", v)
		}
	}
	switch {
	case q.Package == "":
		return crash.Errorf(crash.Invalid, "missing_package", "Name a binary package.")
	case q.Version == "":
		return crash.Errorf(crash.Invalid, "missing_version", "Name a version of the package.")
	case q.Against != "" && dpkg.Compare(q.Against, q.Version) >= 0:
		return crash.Errorf(crash.Invalid, "bad_against",
			"%s is not lower than %s: the gate compares a version with a lower one.", q.Against, q.Version)
	}
	return nil
}

// Answer is the answer to a question.
type Answer struct {
	Question
	Verdict Verdict
	Results []Result                        // of the releases, newest first; empty: none has reports from the version
	Known   []string                        // some versions in use, highest first, if Results is empty
	Buckets map[crash.BucketID]crash.Bucket // of the problems to list
}

// Listed returns the problems of a list that an answer shows.
func Listed(findings []Finding) []Finding { return findings[:min(len(findings), MaxListed)] }

// Uncounted lists the problem types that the gate leaves out: installations that fail do so when
// packages change, and nothing crashed in the others.
func Uncounted() []string { return []string{"Package", "Bug"} }
