package tracker

import (
	"context"
	"slices"
	"strings"

	"mishap/crash"
)

// maxPages bounds a list of bugs.
const maxPages = 200

// Pages reads all pages of a list in JSON, by their numbers, up to the first empty one. A page may be shorter than
// was asked for without being the last, since installations limit the size of pages. The address has a query. A
// list without an end gives an error with an unknown outcome.
func Pages[T any](ctx context.Context, c *Caller, operation, address string) ([]T, error) {
	var all []T
	for n := range int64(maxPages) {
		var page []T
		if err := c.Get(ctx, operation, address+"&page="+itoa(n+1), &page); err != nil {
			return nil, err
		}
		if page == nil {
			return nil, c.Unusable(ctx, operation, "the answer is not a list")
		}
		if len(page) == 0 {
			return all, nil
		}
		all = append(all, page...)
	}
	return nil, c.Unusable(ctx, operation, "the list has no end")
}

// ListedBug is a bug in a list that includes descriptions.
type ListedBug struct {
	Number      int64
	Author      string // the name of an account, as Me returns it
	Description string
}

// FindListed implements [Tracker.FindBug] for trackers whose lists include descriptions. The function list returns
// the bugs that an account has filed, and may return others, or bugs of other accounts. It is called for the account
// of the access token first.
func FindListed(
	ctx context.Context, t Tracker, in crash.Intent, others []int64, senders []string,
	list func(account string, present bool) ([]ListedBug, error),
) (int64, error) {
	me, err := t.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := t.Credentials().Accounts(ctx, me, senders...)
	if err != nil {
		return 0, err
	}
	var found int64
	for _, account := range accounts {
		bugs, err := list(account, account == me)
		if err != nil {
			return 0, err
		}
		for _, b := range bugs {
			if !strings.EqualFold(b.Author, account) || !strings.Contains(b.Description, in.Marker) ||
				slices.Contains(others, b.Number) {
				continue
			}
			if b.Number < 1 {
				return 0, &CallError{Operation: "search", Outcome: OutcomeUnknown, Text: "the list has a bug without a number"}
			}
			if found == 0 || b.Number < found {
				found = b.Number
			}
		}
	}
	return found, nil
}

// ChangedListed implements [Tracker.Changed]. The function list returns the bugs that an account has filed and that
// have changed.
func ChangedListed(
	ctx context.Context, t Tracker, list func(account string) ([]ListedBug, error),
) (numbers []int64, err error) {
	me, err := t.Me(ctx)
	if err != nil {
		return nil, err
	}
	bugs, err := list(me)
	for _, b := range bugs {
		if b.Number > 0 && !slices.Contains(numbers, b.Number) {
			numbers = append(numbers, b.Number)
		}
	}
	return numbers, err
}
