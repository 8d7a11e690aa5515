package grouping

import "mishap/crash"

// Explanation says why a report is grouped as it is: what [SignatureOf] says of it, and how it came about.
type Explanation struct {
	crash.Grouping
	Description string // of the rule, one sentence; empty when there is none
	Field       string // the field that decided; empty: several, or none
	Frames      []FrameUse
	Changes     []Change

	// Passages are the fields that the rule ReadBy read. ReadBy is Rule, except for a report that brings its own signature: then
	// it is the rule that would group the report without it.
	Passages []Passage
	ReadBy   crash.Rule
}

// FrameUse is one frame, or line, that the rule looked at. The texts come from the report and may be private.
type FrameUse struct {
	Text string
	Used bool
	As   string // when used: what went into the signature
	Why  string // when not: the reason, "it only reports the fault"
}

// Change is a text that differs from machine to machine or from version to version, and what it became.
type Change struct{ From, To string }

// Bucket is the bucket that today's rules give; false when they give none.
func (e Explanation) Bucket() (crash.BucketID, bool) {
	if e.Signature == "" {
		return crash.BucketID{}, false
	}
	return crash.BucketIDOf(e.Signature), true
}

// Explain says why [SignatureOf] groups a report as it does. Both go the same way: Explain only notes what happens.
func Explain(f crash.Fields) Explanation {
	var to recorder
	e := Explanation{Grouping: group(f, &to)}
	e.Description = e.Rule.Description()
	e.Field, e.Frames, e.Changes, e.Passages, e.ReadBy = to.field, to.frames, to.changes, to.passages, e.Rule
	if e.Rule == crash.RuleDuplicateSignature {
		var other recorder
		e.ReadBy = group(withoutOwnSignature(f), &other).Rule
		e.Passages = other.passages
	}
	return e
}
