package grouping

import "mishap/crash"

// Explanation is the grouping of a report, as [SignatureOf] returns it, with the reasons.
type Explanation struct {
	crash.Grouping
	Description string // of the rule, one sentence; empty if no rule applied
	Field       string // the field that decided; empty: several, or none
	Frames      []FrameUse
	Changes     []Change

	// Passages are the fields that the rule ReadBy read. ReadBy equals Rule, unless the report has its
	// own signature: then it is the rule that would group the report without that.
	Passages []Passage
	ReadBy   crash.Rule
}

// FrameUse is one frame, or line, that the rule considered. The texts come from the report and may
// be private.
type FrameUse struct {
	Text string
	Used bool
	As   string // if used: its part of the signature
	Why  string // if not used: the reason, "it only reports the fault"
}

// Change is a text that varies between machines or versions, and its replacement.
type Change struct{ From, To string }

// Bucket returns the bucket that the present rules choose. It returns false if they choose none.
func (e Explanation) Bucket() (crash.BucketID, bool) {
	if e.Signature == "" {
		return crash.BucketID{}, false
	}
	return crash.BucketIDOf(e.Signature), true
}

// Explain explains how [SignatureOf] groups a report. Both run the same code; Explain also records
// each step.
func Explain(f crash.Fields) Explanation {
	var rec recorder
	e := Explanation{Grouping: group(f, &rec)}
	e.Description = e.Rule.Description()
	e.Field, e.Frames, e.Changes, e.Passages, e.ReadBy = rec.field, rec.frames, rec.changes, rec.passages, e.Rule
	if e.Rule == crash.RuleDuplicateSignature {
		var other recorder
		e.ReadBy = group(withoutOwnSignature(f), &other).Rule
		e.Passages = other.passages
	}
	return e
}
