package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/db/bugs"
	"mishap/db/events"
	dbproblems "mishap/db/problems"
	"mishap/handlers/problems"
	notifyrules "mishap/notify/rules"
	"mishap/tracker"
)

// ruleOptions returns what rules can do in this instance. It needs the filer.
func (i *instance) ruleOptions() events.EvaluatorOptions {
	o := events.EvaluatorOptions{
		Actions:     &ruleActions{problems: i.problems, now: i.now},
		HourlyLimit: i.config.RuleFilingsPerHour, Log: i.log,
		Searches: problems.NewSearches(bugs.New(i.store), i.now),
	}
	if i.config.AllowBugFiling {
		o.File = func(ctx context.Context, signature, rule string) error {
			_, err := i.filer.CreateBug(ctx, signature, tracker.Options{Person: rule})
			return err
		}
	}
	return o
}

// ruleActions lets rules change problems. It implements [dbrules.Actions].
type ruleActions struct {
	problems *dbproblems.Store
	now      func() time.Time
}

// Mute mutes a problem. It does nothing if the problem is muted already.
func (a *ruleActions) Mute(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, until notifyrules.Mute, name string,
) error {
	m := crash.Mark{Bucket: bucket, Kind: crash.MarkMuted, Person: name,
		Until: crash.MuteUntil{Newer: until.Newer, Regression: until.Regression}}
	if until.Days > 0 {
		m.Until.Date = a.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, until.Days)
	}
	_, err := a.problems.SetIn(ctx, tx, m)
	return unlessConflict(err)
}

// Assign assigns a problem. It does nothing if the bug of the problem has an assignee.
func (a *ruleActions) Assign(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, to, rule string) error {
	return unlessConflict(a.problems.AssignIn(ctx, tx, crash.Assignment{Bucket: bucket, Assignee: to, By: rule}))
}

// Tag adds a tag to a problem.
func (a *ruleActions) Tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, rule string) error {
	return a.problems.TagIn(ctx, tx, bucket, tag, rule)
}

// Embargo embargoes a problem: always, or only if its representative report suggests corrupted
// memory. It does nothing if the problem is embargoed already.
func (a *ruleActions) Embargo(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, when notifyrules.Embargo,
	rule notifyrules.Rule,
) error {
	e := crash.Mark{Bucket: bucket, Kind: crash.MarkEmbargo, Person: "rule: " + rule.Name, Rule: rule.ID}
	if when == notifyrules.EmbargoSuspected {
		report, err := a.problems.RepresentativeReport(ctx, bucket)
		if crash.KindOf(err) == crash.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Reason = grouping.SuspectedCorruption(report.Fields); e.Reason == "" {
			return nil
		}
	}
	_, err := a.problems.SetIn(ctx, tx, e)
	return err
}

// unlessConflict returns nil for an error of kind Conflict, else err.
func unlessConflict(err error) error {
	if crash.KindOf(err) == crash.Conflict {
		return nil
	}
	return err
}
