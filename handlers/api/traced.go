package api

import (
	"context"
	"time"

	"mishap/crash"
	"mishap/crash/board"
)

// tracedDay is how many crashes could be named on a day, by release and by release, colon, architecture.
type tracedDay struct {
	Date  string                      `json:"date"`
	Value map[string]map[string]int64 `json:"value" doc:"By release, and by release, colon, architecture: success and failed."`
}

// nativeRules are the grouping rules of native crashes: by names, and by addresses only.
var nativeRules = []crash.Rule{crash.RuleStacktrace, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleAddress, crash.RuleAssertion}

func (a *API) tracedDays(ctx context.Context, in input) ([]any, error) {
	b, err := a.store.Board(ctx)
	if err != nil {
		return nil, err
	}
	since, until := a.span(in.number("limit"))
	counts := b.TracedDays(board.DayOf(since), board.DayOf(until), nativeRules)
	var objects []any
	for len(counts) > 0 {
		n := 1
		for n < len(counts) && counts[n].Day == counts[0].Day {
			n++
		}
		objects = append(objects, newTracedDay(counts[0].Day.Time(), counts[:n]))
		counts = counts[n:]
	}
	return objects, nil
}

func newTracedDay(day time.Time, counts []board.Traced) tracedDay {
	out := tracedDay{Date: day.Format(dateFormat), Value: map[string]map[string]int64{}}
	add := func(key, status string, n int64) {
		if n == 0 {
			return
		}
		if out.Value[key] == nil {
			out.Value[key] = map[string]int64{}
		}
		out.Value[key][status] += n
	}
	for _, c := range counts {
		for _, key := range []string{string(c.Release), string(c.Release) + ":" + c.Architecture} {
			add(key, "success", c.Named)
			add(key, "failed", c.Failed)
		}
	}
	return out
}

func (a *API) tracedDay(ctx context.Context, _ input, key string) (any, error) {
	day, err := parseDay(key)
	if err != nil {
		return nil, err
	}
	b, err := a.store.Board(ctx)
	if err != nil {
		return nil, err
	}
	return newTracedDay(day, b.TracedDays(board.DayOf(day), board.DayOf(day), nativeRules)), nil
}
