package tracker

import (
	"context"
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
}

// ReadBug reads one bug. A bug that is missing, or that our account may not see, is a *CallError
// with status 404. The texts are raw: Clean or escape them before showing them.
func (c *Client) ReadBug(ctx context.Context, number int64) (TrackerBug, error) {
	var bug TrackerBug
	err := c.get(ctx, "bug", c.cfg.link("/bugs/"+itoa(number)), &bug)
	return bug, err
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
