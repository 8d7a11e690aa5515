package tracker

import (
	"context"

	"mishap/crash"
)

// Credentials returns what the client signs with.
func (c *Client) Credentials() *Credentials { return c.creds }

// CreateBug sends one bug, as the filer does.
func (c *Client) CreateBug(ctx context.Context, in crash.Intent) (int64, error) {
	return c.createBug(ctx, in, maxSending)
}
