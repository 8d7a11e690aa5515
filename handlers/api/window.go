package api

import (
	"context"
	"net/url"

	"mishap/crash"
)

// window is a part of a list of reports that is too long to load whole: the newest reports, or
// those older than the parameter start.
type window struct {
	objects []any
	last    crash.OopsID   // start of the next window; zero if there is none
	above   []crash.OopsID // reports from start upwards, at most size+1
	size    int            // maximum number of reports
}

// windowFunc returns the window that a request selects.
type windowFunc func(context.Context, input) (window, error)

// newWindow returns a window of size reports. below returns reports older than start, newest
// first; above returns the ids from start upwards.
func newWindow[T any](
	start crash.OopsID, size int, id func(T) crash.OopsID, object func(T) any,
	below func(start crash.OopsID, limit int) ([]T, error),
	above func(start crash.OopsID, limit int) ([]crash.OopsID, error),
) (w window, err error) {
	w.size = size
	rows, err := below(start, size+1)
	if err != nil {
		return w, err
	}
	if len(rows) > size {
		rows = rows[:size]
		w.last = id(rows[size-1])
	}
	for _, row := range rows {
		w.objects = append(w.objects, object(row))
	}
	if !start.IsZero() {
		w.above, err = above(start, size+1)
	}
	return w, err
}

// envelope returns the envelope of the window's objects. At either end, its links lead to the
// neighbouring window.
func (w window) envelope(p paging, u *url.URL, q query) envelope {
	e := p.envelope(u, q, w.objects)
	if e.Meta.Next == nil && !w.last.IsZero() && p.offset < len(w.objects) {
		e.Meta.Next = p.link(u, q, p.limit, 0, pair{name: "start", value: w.last.String()})
	}
	if n := min(len(w.above), w.size); e.Meta.Previous == nil && n > 0 {
		start := ""
		if len(w.above) > w.size {
			start = w.above[w.size].String()
		}
		e.Meta.Previous = p.link(u, q, p.limit, (n-1)/p.limit*p.limit, pair{name: "start", value: start})
	}
	return e
}
