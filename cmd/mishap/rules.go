package main

import (
	"context"

	dbrules "mishap/db/rules"
	"mishap/tracker"
)

// ruleOptions returns what rules can do in this instance. It needs the filer.
func (i *instance) ruleOptions() dbrules.EvaluatorOptions {
	o := dbrules.EvaluatorOptions{HourlyLimit: i.config.RuleFilingsPerHour, Log: i.log}
	if i.config.AllowBugFiling {
		o.File = func(ctx context.Context, signature, rule string) error {
			_, err := i.filer.CreateBug(ctx, signature, tracker.Options{Person: rule})
			return err
		}
	}
	return o
}
