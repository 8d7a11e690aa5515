package rules

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	sqlSymbolised = `
		select h.head, min(d.at) from decisions as d join buckets as h on h.id = d.other_id
		where d.cause = 'symbolised' and d.id > @after and d.id <= @upto and d.kind = 'merged' and d.undone_at is null
		group by h.head order by h.head`
	sqlRefused = `
		select h.head, f.id, f.attempts, f.reason from filings as f join buckets as h on h.id = f.bucket_id
		where f.state = 'refused' order by f.id`
	// sqlDeadCredentials identifies a token without revealing it.
	sqlDeadCredentials = `
		select left(encode(sha256(convert_to(tracker_url || ' ' || consumer_key || ' ' || token, 'UTF8')), 'hex'), 16)
			|| ' ' || coalesce(extract(epoch from last_success)::bigint, 0)
		from oauth_health where dead order by 1`
	sqlTriageEnded = `
		select h.head, t.id, t.ended_why from triage as t join buckets as h on h.id = t.bucket_id
		where t.ended_at > @since and t.kind = 'muted' and t.ended_why <> '' and t.undone_at is null order by t.id`
	sqlTriageMuted = `
		select distinct h.head from triage as t join buckets as h on h.id = t.bucket_id
		where t.kind = 'muted' and t.undone_at is null and t.ended_at is null and h.head = any(@heads)`
)

// findSymbolised finds problems whose functions got names since the last round. More of their
// reports may follow; a rule acts once.
func (r *round) findSymbolised(ctx context.Context) error {
	if !r.any(crash.EventSymbolised) {
		return nil
	}
	rows, err := r.store.Pool.Query(ctx, sqlSymbolised, pgx.NamedArgs{"after": r.from.decision, "upto": r.upTo.decision})
	if err != nil {
		return fmt.Errorf("symbolised problems: %w", db.Classify(err))
	}
	var id crash.BucketID
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &at}, func() error {
		p, ok := r.ix.Problem(id)
		if !ok || p.Provisional {
			return nil
		}
		for _, rule := range r.of(crash.EventSymbolised, p.Package, p.Source) {
			if at.After(rule.Since) && p.Systems >= rule.Machines {
				e := r.event(crash.EventSymbolised, p, p.Public().Last(), p.Systems)
				e.Text = rules.SymbolisedText
				r.add(rule, rules.Key(crash.EventSymbolised), e)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("symbolised problems: %w", db.Classify(err))
	}
	return nil
}

// mutesLookBack is how long before the last round a mute may have ended without that round having seen
// it: because its transaction was still running, or the clock of another instance is slow.
const mutesLookBack = time.Hour

// findUnmuted finds mutes that have ended since the last round because their condition was met.
func (r *round) findUnmuted(ctx context.Context) error {
	if !r.any(crash.EventUnmuted) {
		return nil
	}
	since := r.now
	for _, rule := range r.rules {
		if rule.When == crash.EventUnmuted && rule.Since.Before(since) {
			since = rule.Since
		}
	}
	if last := r.from.at.Add(-mutesLookBack); !r.from.at.IsZero() && last.After(since) {
		since = last
	}
	rows, err := r.store.Pool.Query(ctx, sqlTriageEnded, pgx.NamedArgs{"since": since})
	if err != nil {
		return fmt.Errorf("ended mutes: %w", db.Classify(err))
	}
	var id crash.BucketID
	var mute int64
	var why string
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &mute, &why}, func() error {
		p, ok := r.ix.Problem(id)
		if !ok {
			return nil
		}
		for _, rule := range r.of(crash.EventUnmuted, p.Package, p.Source) {
			if p.Systems >= rule.Machines {
				e := r.event(crash.EventUnmuted, p, p.Public().Last(), p.Systems)
				e.Text = unmutedText(why)
				r.add(rule, rules.Key(crash.EventUnmuted, fmt.Sprint(mute)), e)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("ended mutes: %w", db.Classify(err))
	}
	return nil
}

// muted returns those of the problems that are muted.
func (r *round) muted(ctx context.Context, heads [][]byte) (map[crash.BucketID]bool, error) {
	if len(heads) == 0 {
		return nil, nil
	}
	rows, err := r.store.Pool.Query(ctx, sqlTriageMuted, pgx.NamedArgs{"heads": heads})
	if err != nil {
		return nil, fmt.Errorf("muted problems: %w", db.Classify(err))
	}
	muted := map[crash.BucketID]bool{}
	var id crash.BucketID
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:])}, func() error {
		muted[id] = true
		return nil
	}); err != nil {
		return nil, fmt.Errorf("muted problems: %w", db.Classify(err))
	}
	return muted, nil
}

// findRefused finds filings that the tracker has refused, each time anew.
func (r *round) findRefused(ctx context.Context) error {
	if !r.any(crash.EventRefused) {
		return nil
	}
	rows, err := r.store.Pool.Query(ctx, sqlRefused)
	if err != nil {
		return fmt.Errorf("refused bugs: %w", db.Classify(err))
	}
	var id crash.BucketID
	var filing, attempts int64
	var reason string
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &filing, &attempts, &reason}, func() error {
		p, ok := r.ix.Problem(id)
		if !ok {
			return nil
		}
		for _, rule := range r.of(crash.EventRefused, p.Package, p.Source) {
			if p.Systems >= rule.Machines {
				e := r.event(crash.EventRefused, p, p.Public().Last(), p.Systems)
				e.Text = refusedText(reason)
				r.add(rule, rules.Key(crash.EventRefused, fmt.Sprint(filing), fmt.Sprint(attempts)), e)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("refused bugs: %w", db.Classify(err))
	}
	return nil
}

func unmutedText(why string) string { return strings.TrimSpace(rules.UnmutedText + " " + why) }

// refusedText adds the tracker's message, shortened.
func refusedText(why string) string {
	return strings.TrimSpace(rules.RefusedText + " " + crash.Truncate(why, 300))
}

// deadCredentials returns texts that identify access tokens that the tracker has rejected, and
// since when.
func (r *round) deadCredentials(ctx context.Context) ([]string, error) {
	rows, err := r.store.Pool.Query(ctx, sqlDeadCredentials)
	if err != nil {
		return nil, fmt.Errorf("credentials of the tracker: %w", db.Classify(err))
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("credentials of the tracker: %w", db.Classify(err))
	}
	return tokens, nil
}

// findDeadCredentials finds access tokens that the tracker does not accept.
func (r *round) findDeadCredentials(ctx context.Context) error {
	if !r.any(crash.EventTracker) {
		return nil
	}
	tokens, err := r.deadCredentials(ctx)
	if err != nil {
		return err
	}
	for i := range r.rules {
		for _, token := range tokens {
			if rule := &r.rules[i]; rule.When == crash.EventTracker {
				r.add(rule, rules.Key(crash.EventTracker, token), crash.Event{Kind: crash.EventTracker, At: r.now,
					Title: rules.TrackerTitle, Text: rules.TrackerText})
			}
		}
	}
	return nil
}
