package tracker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"mishap/crash"
)

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}$`)

// Account looks up an account of the tracker by its name, "ada" or "~ada", and returns the plain
// name. It returns Unprocessable if there is no such account, and the errors of Check if the call
// fails.
func (c *Client) Account(ctx context.Context, name string) (string, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "~")
	if !accountName.MatchString(name) {
		return "", crash.Errorf(crash.Unprocessable, "bad_account",
			"This is not a valid account name: names have lower-case letters, digits, plus signs, dots and hyphens.")
	}
	var person struct {
		Name string `json:"name"`
	}
	err := c.get(ctx, "person", c.cfg.link("/~"+url.PathEscape(name)), &person)
	e, failed := errors.AsType[*CallError](err)
	switch {
	case failed && e.Status == http.StatusNotFound:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker has no account with the name %s.", name)
	case failed:
		return "", sentence(e)
	case err != nil:
		return "", err
	case person.Name != name:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker has no account with the name %s.", name)
	}
	return name, nil
}
