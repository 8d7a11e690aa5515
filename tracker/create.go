package tracker

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"mishap/crash"
)

// createBug sends one bug and returns its number. It never sends anything twice. The errors are a *CallError: of
// OutcomeUnknown when the bug may have been filed all the same, and of the others when it certainly was not; or
// Unavailable with the code tracker_credentials when there is no token, and nothing was sent.
func (c *Client) createBug(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	form := url.Values{
		"ws.op":       {"createBug"},
		"title":       {encodeJSON(in.Title)},
		"description": {encodeJSON(in.Description)},
		"target":      {encodeJSON(c.cfg.link(in.Target))},
	}
	if len(in.Tags) > 0 {
		form.Set("tags", encodeList(in.Tags))
	}
	if in.InformationType != crash.InformationDefault {
		form.Set("information_type", string(in.InformationType)) // a fixed vocabulary: as it stands
	}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs"), form, sendBy)
	if err != nil {
		return 0, err
	}
	if a.status != http.StatusCreated {
		e := failure(operation, a, c.creds.secrets()...)
		if a.status < 300 {
			e.Outcome, e.Words = OutcomeUnknown, "the answer does not say whether a bug was filed"
		}
		return 0, c.record(ctx, e)
	}
	number, ok := c.bugNumber(a.header.Get("Location"))
	if !ok {
		return 0, c.record(ctx, malformed(operation, a, "the answer does not say which bug was filed"))
	}
	c.done(ctx, operation)
	return number, nil
}

var bugPath = regexp.MustCompile(`/bugs/([1-9][0-9]{0,17})$`)

// bugNumber reads the number from the address of a bug, which must be one of the tracker's own.
func (c *Client) bugNumber(address string) (int64, bool) {
	base, err := url.Parse(c.cfg.APIURL)
	if err != nil || address == "" {
		return 0, false
	}
	u, err := base.Parse(address)
	if err != nil || !c.cfg.sameOrigin(u) || u.RawQuery != "" || u.Fragment != "" {
		return 0, false
	}
	m := bugPath.FindStringSubmatch(u.EscapedPath())
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}
