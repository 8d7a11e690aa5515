package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// table prints rows in aligned columns, when Flush is called, which returns the error.
type table struct{ *tabwriter.Writer }

// newTable returns a table with a row of headings, if there are any.
func newTable(w io.Writer, headings ...any) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(headings) > 0 {
		t.row(headings...)
	}
	return t
}

func (t table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t, "\t")
		}
		_, _ = fmt.Fprint(t, c)
	}
	_, _ = fmt.Fprintln(t)
}

// labelled prints outside text with a label, unless it is empty.
func (t table) labelled(label, value string) {
	if value != "" {
		t.row("  "+label, onOneLine(value))
	}
}

// dateTime returns a time for people, in UTC.
func dateTime(t time.Time) string { return t.UTC().Format(time.DateTime) }

func timeOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return dateTime(t)
}
