package tracker

import (
	"context"

	"mishap/crash"
)

// Credentials returns the credentials of the client.
func (c *Client) Credentials() *Credentials { return c.creds }

// CreateBug sends one bug, like the filer.
func (c *Client) CreateBug(ctx context.Context, in crash.Intent) (int64, error) {
	return c.createBug(ctx, in, maxSending)
}
