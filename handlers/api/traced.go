package api

import (
	"context"
	"time"

	"mishap/crash"
	"mishap/crash/board"
	"mishap/crash/redact"
)

// tracedDay is how many crashes could be named on a day, by release and by release, colon, architecture.
type tracedDay struct {
	Date  string            `json:"date"`
	Value map[string]traced `json:"value" doc:"By release, and by release, colon, architecture: success and failed."`
}

// traced is how many stacks had names, and how many had not.
type traced struct {
	Failed  int64 `json:"failed"`
	Success int64 `json:"success"`
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
	out := tracedDay{Date: day.Format(dateFormat), Value: map[string]traced{}}
	for _, c := range counts {
		release := string(redact.Label(c.Release))
		for _, key := range []string{release, release + ":" + redact.Label(c.Architecture)} {
			sum := out.Value[key]
			out.Value[key] = traced{Failed: sum.Failed + c.Failed, Success: sum.Success + c.Named}
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
