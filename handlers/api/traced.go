package api

import (
	"context"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
)

// tracedDay is the number of named crashes of a day, by release and by "release:architecture".
type tracedDay struct {
	Date  string            `json:"date"`
	Value map[string]traced `json:"value" doc:"success and failed, by release and by release:architecture."`
}

// traced counts stacks with names and stacks without.
type traced struct {
	Failed  int64 `json:"failed"`
	Success int64 `json:"success"`
}

// nativeRules are the grouping rules of native crashes: by names, and by addresses only.
var nativeRules = []crash.Rule{
	crash.RuleStacktrace, crash.RuleStackNames, crash.RuleStackPartial, crash.RuleAddress, crash.RuleAssertion,
}

func (a *answers) tracedDays(ctx context.Context, in input) ([]any, error) {
	since, until := a.lastDays(in.number("limit"))
	counts, err := a.traced(ctx, since, until)
	if err != nil {
		return nil, err
	}
	var objects []any
	for len(counts) > 0 {
		n := 1
		for n < len(counts) && counts[n].Day == counts[0].Day {
			n++
		}
		objects = append(objects, a.newTracedDay(counts[0].Day.Time(), counts[:n]))
		counts = counts[n:]
	}
	return objects, nil
}

// traced returns the counts of a range of days, latest first. The index has those of a year; older
// ones come from the database.
func (a *answers) traced(ctx context.Context, since, until time.Time) ([]index.Traced, error) {
	known := a.store.IndexSince()
	var counts []index.Traced
	if !until.Before(known) {
		b, err := a.store.Index(ctx)
		if err != nil {
			return nil, err
		}
		from := since
		if from.Before(known) {
			from = known
		}
		counts = b.TracedDays(index.DayOf(from), index.DayOf(until), nativeRules)
	}
	if !since.Before(known) {
		return counts, nil
	}
	if !until.Before(known) {
		until = known.AddDate(0, 0, -1)
	}
	older, err := a.problems.TracedDays(ctx, since, until, nativeRules)
	return slices.Concat(counts, older), err
}

// newTracedDay adds up the counts of a day. Releases that lists do not name count as other
// releases. An architecture that is not a Debian port counts only in its release.
func (a *answers) newTracedDay(day time.Time, counts []index.Traced) tracedDay {
	reports := map[crash.Release]int64{}
	for _, c := range counts {
		reports[c.Release] += c.Named + c.Failed
	}
	list := a.releases.List(reports)
	out := tracedDay{Date: day.Format(dateFormat), Value: map[string]traced{}}
	for _, c := range counts {
		release := string(privacy.RedactLabel(list.Of(c.Release)))
		keys := []string{release}
		if c.Architecture == "" || index.KnownArchitecture(c.Architecture) {
			keys = append(keys, release+":"+c.Architecture)
		}
		for _, key := range keys {
			sum := out.Value[key]
			out.Value[key] = traced{Failed: sum.Failed + c.Failed, Success: sum.Success + c.Named}
		}
	}
	return out
}

func (a *answers) tracedDay(ctx context.Context, _ input, key string) (any, error) {
	day, err := parseDay(key)
	if err != nil {
		return nil, err
	}
	if from, err := a.problems.From(ctx); err != nil {
		return nil, err
	} else if day.Before(from) {
		return nil, errExpired(from)
	}
	counts, err := a.traced(ctx, day, day)
	if err != nil {
		return nil, err
	}
	return a.newTracedDay(day, counts), nil
}
