package main

import (
	"fmt"
	"text/tabwriter"

	"mishap/crash/grouping"
)

// reasons is the output of inspect --why, made from a [grouping.Explanation].
type reasons struct {
	Because string       `json:"because"` // what the rule uses, or why there is no signature
	Field   string       `json:"field,omitempty"`
	Used    []usedFrame  `json:"used,omitempty"`
	Skipped []leftFrame  `json:"left_out,omitempty"`
	Changed []sameAsText `json:"made_the_same,omitempty"`
}

type usedFrame struct {
	Text string `json:"text"`
	As   string `json:"as"`
}

type leftFrame struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

type sameAsText struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newReasons(e grouping.Explanation) *reasons {
	r := reasons{Because: e.Description, Field: e.Field}
	if e.Signature == "" {
		r.Because = e.Reason
	}
	for _, f := range e.Frames {
		if f.Used {
			r.Used = append(r.Used, usedFrame{f.Text, f.As})
		} else {
			r.Skipped = append(r.Skipped, leftFrame{f.Text, f.Why})
		}
	}
	for _, c := range e.Changes {
		r.Changed = append(r.Changed, sameAsText{c.From, c.To})
	}
	return &r
}

// describeReasons prints the reasons below the output of describe.
func (p *program) describeReasons(r reasons) error {
	p.printf("  why: %s", onOneLine(r.Because))
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	line := func(label, text, more string) {
		_, _ = fmt.Fprintf(w, "    %s\t%s\t%s\n", label, onOneLine(text), onOneLine(more)) // Flush returns the error
	}
	if r.Field != "" {
		line("read from", r.Field, "")
	}
	for _, f := range r.Used {
		line("used", f.Text, f.As)
	}
	for _, f := range r.Skipped {
		line("left out", f.Text, f.Why)
	}
	for _, c := range r.Changed {
		line("made the same", c.From, c.To)
	}
	return w.Flush()
}
