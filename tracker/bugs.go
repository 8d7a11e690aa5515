package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// TrackerBug is a bug as the API returns it.
type TrackerBug struct {
	Number      int64    `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Private     bool     `json:"private"`
	DuplicateOf string   `json:"duplicate_of_link"` // link of the original bug; empty: not a duplicate

	InformationType string `json:"information_type"`
	MessageCount    int    `json:"message_count"`
	ETag            string `json:"http_etag"` // for ChangeDescription
}

// ReadBug reads one bug. A bug that is missing, or that our account may not see, is a *CallError
// with status 404. The texts are raw: Clean or escape them before showing them.
func (c *Client) ReadBug(ctx context.Context, number int64) (TrackerBug, error) {
	var bug TrackerBug
	err := c.get(ctx, "bug", c.cfg.link("/bugs/"+itoa(number)), &bug)
	return bug, err
}

// ChangeDescription replaces the description of a bug, unless anyone has changed the bug since it was
// read with this entity tag. The error is a *CallError, or as for Comment. With status 412, the bug
// has changed. With OutcomeUnknown, the description may have been replaced; reading tells.
func (c *Client) ChangeDescription(ctx context.Context, number int64, etag, description string) error {
	const operation = "change"
	body, err := json.Marshal(map[string]string{"description": description})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, c.cfg.link("/bugs/"+itoa(number)), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req.GetBody = nil // never repeated
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", etag)
	a, err := c.signed(newWriter(maxSending), operation, req, maxSending)
	if err != nil {
		return err
	}
	var changed TrackerBug
	if a.status >= 200 && a.status < 300 {
		// A page of a proxy is no answer: only the changed bug is.
		if a.broken != nil || json.Unmarshal(a.body, &changed) != nil || changed.Number != number {
			return c.record(ctx, malformed(operation, a, "the answer does not say whether the description was changed"))
		}
		c.done(ctx, operation)
		return nil
	}
	return c.record(ctx, failure(operation, a, c.creds.secrets()...))
}

// Subscribe subscribes an account of the tracker to a bug. It may be repeated.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	form := url.Values{"ws.op": {"subscribe"}, "person": {encodeJSON(c.cfg.link("/~" + url.PathEscape(account)))}}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs/"+itoa(number)), form, maxSending)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return c.record(ctx, failure(operation, a, c.creds.secrets()...))
	}
	c.done(ctx, operation)
	return nil
}
