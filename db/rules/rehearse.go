package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/notify/rules"
)

const (
	// rehearsalTime limits a rehearsal, so that its page is answered in time.
	rehearsalTime = 15 * time.Second
	// maxRehearsed limits the problems whose reports a rehearsal reads: the newest ones count.
	maxRehearsed = 5000
	// maxRehearsedLines limits the list. Totals cover everything.
	maxRehearsedLines = 300
	// maxRehearsedPackages limits the packages whose followers a rehearsal looks up.
	maxRehearsedPackages = 500
)

// rehearsal collects edges of one rule.
type rehearsal struct {
	*round
	rule  *rules.Rule
	since time.Time
	lines []rules.RehearsalLine
	notes []string
}

// Rehearse returns what a rule, which need not be stored, would have done in the last 30 days. It
// reads stored counts and reports; Notes say what that cannot show. It changes nothing.
func (s *Store) Rehearse(ctx context.Context, rule rules.Rule) (rules.Rehearsal, error) {
	rule.Since, _ = crash.LastDays(s.Now(), rules.RehearsalDays)
	r := &rehearsal{rule: &rule, since: rule.Since, round: &round{
		Evaluator: NewEvaluator(s, EvaluatorOptions{}), now: s.Now(), rules: []rules.Rule{rule},
	}}
	limited, cancel := context.WithTimeout(ctx, rehearsalTime)
	defer cancel()
	err := r.find(limited)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		r.notes = append(r.notes, "The rehearsal took too long and was stopped, so edges are missing. "+
			"Rehearse the rule for fewer packages.")
		err = nil
	}
	if err != nil {
		return rules.Rehearsal{}, fmt.Errorf("rehearse rule: %w", err)
	}
	slices.SortStableFunc(r.lines, func(a, b rules.RehearsalLine) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event.Title, b.Event.Title))
	})
	out, err := r.act(ctx)
	if err != nil {
		return rules.Rehearsal{}, fmt.Errorf("rehearse rule: %w", err)
	}
	slices.Reverse(out.Lines)
	out.Lines = out.Lines[:min(len(out.Lines), maxRehearsedLines)]
	return out, nil
}

// find finds the edges.
func (r *rehearsal) find(ctx context.Context) error {
	kinds, keys := r.store.wants(r.rule.Scope)
	packages, err := r.store.packagesOf(ctx, kinds, keys)
	if err != nil {
		return err
	}
	r.members = members{r.rule.ID: r.store.membersOf(r.rule.Scope, packages)}
	if len(keys) > 0 && len(r.members[r.rule.ID]) == 0 {
		r.notes = append(r.notes, "The packages of this set or team are not known yet: the tracker is asked for them "+
			"once the rule is saved.")
	}
	if r.ix, err = r.store.IndexWithStates(ctx); err != nil {
		return err
	}
	switch r.rule.When { //nolint:exhaustive // rules wait for some kinds only, see rules.Kinds
	case crash.EventNew:
		return r.rehearseNew(ctx)
	case crash.EventRegressed:
		return r.rehearseRegressed(ctx)
	case crash.EventRising:
		return r.rehearseRising(ctx)
	case crash.EventProposed:
		return r.rehearseProposed(ctx)
	case crash.EventSymbolised:
		return r.rehearseSymbolised(ctx)
	case crash.EventQuiet:
		return r.rehearseQuiet()
	case crash.EventUnmuted:
		return r.rehearseUnmuted(ctx)
	case crash.EventRefused:
		return r.rehearseRefused(ctx)
	case crash.EventTracker:
		return r.rehearseTracker(ctx)
	}
	return nil
}

// watched returns the problems that the rule watches and for which ok returns true, the newest
// first.
func (r *rehearsal) watched(ok func(*index.Problem) bool) []*index.Problem {
	some := r.ix.Select(func(p *index.Problem) bool {
		return p.Reports > 0 && p.Systems >= r.rule.Machines && ok(p) &&
			r.rule.Scope.Watches(p.Package, p.Source, r.members[r.rule.ID])
	})
	slices.SortFunc(some, func(a, b *index.Problem) int {
		return cmp.Or(b.First().At.Compare(a.First().At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return some
}

func (r *rehearsal) line(at time.Time, exact bool, e crash.Event) {
	e.At = at
	r.lines = append(r.lines, rules.RehearsalLine{At: at, Exact: exact, Event: e})
}

// act works out what the rule would have done about each edge, with the present followers.
func (r *rehearsal) act(ctx context.Context) (rules.Rehearsal, error) {
	out := rules.Rehearsal{Since: r.since, Lines: r.lines, Edges: len(r.lines), People: map[string]int64{}, Notes: r.notes}
	a := r.rule.Actions
	cache := map[[2]string]crash.Recipients{}
	names, err := r.store.AccountNames(ctx)
	if err != nil {
		return out, err
	}
	var filed []time.Time
	for i := range out.Lines {
		l := &out.Lines[i]
		if a.Notifies() {
			to, err := r.recipientsOf(ctx, cache, l.Event)
			if err != nil {
				return out, err
			}
			for _, p := range to.People {
				out.People[names[p.User]]++
			}
			out.Programs += int64(len(to.Endpoints))
			if n := int64(len(to.People) + len(to.Endpoints)); n > 0 {
				l.Does = append(l.Does, fmt.Sprintf("notify %d", n))
			}
		}
		if l.Event.Bucket == nil {
			continue
		}
		filed = r.fileLine(l, &out, filed)
		for _, done := range []struct {
			wanted bool
			phrase string
		}{{a.Mute != nil, "mute"}, {a.Assign != "", "assign"}, {a.Tag != "", "tag"},
			{a.Embargo == rules.EmbargoAlways, "embargo"}, {a.Embargo == rules.EmbargoSuspected, "embargo if suspected"}} {
			if done.wanted {
				l.Does = append(l.Does, done.phrase)
				out.Changed++
			}
		}
	}
	if len(cache) > maxRehearsedPackages {
		out.Notes = append(out.Notes, fmt.Sprintf("Followers were looked up for %d packages only.", maxRehearsedPackages))
	}
	if a.Queue || a.File {
		out.Notes = append(out.Notes, "Problems that have a bug today are not proposed, even if they had none at that time.")
	}
	if a.Followers {
		out.Notes = append(out.Notes, "Notices go to those who follow the package today. "+
			"People who follow a saved search are not counted.")
	}
	return out, nil
}

// fileLine proposes or files the problem of an edge. filed has the times of bugs that were filed.
func (r *rehearsal) fileLine(l *rules.RehearsalLine, out *rules.Rehearsal, filed []time.Time) []time.Time {
	a := r.rule.Actions
	if !a.Queue && !a.File {
		return filed
	}
	p, ok := r.ix.Problem(*l.Event.Bucket)
	switch {
	case !ok || p.Bug != 0:
		out.Skipped++
		l.Does = append(l.Does, "none: it has a bug")
		return filed
	case a.File && !p.Provisional && p.Source != "":
		if n := len(filed); n < a.HourlyLimit || l.At.Sub(filed[n-a.HourlyLimit]) >= filingPeriod {
			out.Filed++
			l.Does = append(l.Does, "file a bug")
			return append(filed, l.At)
		}
	}
	out.Proposed++
	l.Does = append(l.Does, "queue for filing")
	return filed
}

// recipientsOf returns the recipients of an event, by package.
func (r *rehearsal) recipientsOf(ctx context.Context, cache map[[2]string]crash.Recipients, e crash.Event,
) (crash.Recipients, error) {
	key := [2]string{e.Package, e.Source}
	to, ok := cache[key]
	if ok || len(cache) > maxRehearsedPackages {
		return to, nil
	}
	e.Bucket = nil
	to, err := r.store.recipients(ctx, r.store.Pool, rules.Edge{Rule: r.rule, Key: "rehearsal", Event: e}, nil)
	cache[key] = to
	return to, err
}
