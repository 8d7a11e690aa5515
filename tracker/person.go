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

// Account looks an account of the tracker up by its name, as people write it: "ada", "~ada". It returns the plain name;
// Unprocessable, with a sentence, when there is no such account or it is no name; and what Check returns when the tracker
// cannot be asked.
func (c *Client) Account(ctx context.Context, name string) (string, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "~")
	if !accountName.MatchString(name) {
		return "", crash.Errorf(crash.Unprocessable, "bad_account", "That cannot be a name at the tracker: such names have small letters, digits, plus signs, dots and hyphens.")
	}
	var person struct {
		Name string `json:"name"`
	}
	err := c.get(ctx, "person", c.cfg.link("/~"+url.PathEscape(name)), &person)
	e, failed := errors.AsType[*CallError](err)
	switch {
	case failed && e.Status == http.StatusNotFound:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker knows nobody of the name %s.", name)
	case failed:
		return "", sentence(e)
	case err != nil:
		return "", err
	case person.Name != name:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker knows nobody of the name %s.", name)
	}
	return name, nil
}
