package launchpad

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// RequestToken is a token that a person authorises on the tracker's page. It is exchanged for an
// access token afterwards.
type RequestToken struct {
	Key    string
	Secret crash.Secret
	Made   time.Time // it is valid for requestTokenLife from then
}

// requestTokenLife is how long Launchpad accepts a request token. If nobody has decided, it answers
// "not yet" even later.
const requestTokenLife = 2 * time.Hour

// RequestToken obtains a request token, the first step of connecting. It returns Unavailable
// (tracker_unreachable, tracker_failed) or Refused (oauth_bad_consumer, oauth_bad_method,
// tracker_forbidden, tracker_wrong_address, tracker_malformed).
func (c *Client) RequestToken(ctx context.Context) (RequestToken, error) {
	const operation = "request-token"
	form := url.Values{
		"oauth_consumer_key":     {c.cfg.ConsumerKey},
		"oauth_signature_method": {"PLAINTEXT"}, "oauth_signature": {"&"},
	}
	a, err := c.tokenCall(ctx, operation, "/+request-token", form)
	if err != nil {
		return RequestToken{}, err
	}
	switch a.Status {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return RequestToken{}, errBadConsumer(c.cfg.ConsumerKey)
	case http.StatusBadRequest:
		return RequestToken{}, errBadMethod
	default:
		return RequestToken{}, c.tokenFailure(operation, a)
	}
	values, err := tokenValues(a)
	if err != nil {
		return RequestToken{}, err
	}
	c.call.As(nil).Done(ctx, operation, "")
	return RequestToken{
		Key: values.Get("oauth_token"), Secret: crash.Secret(values.Get("oauth_token_secret")), Made: c.cfg.Now(),
	}, nil
}

// AuthorizeURL returns the address of the page on which a person authorises a request token.
func (c *Client) AuthorizeURL(key string) string {
	return c.cfg.URL + "/+authorize-token?oauth_token=" + url.QueryEscape(key)
}

// AccessToken exchanges a request token, the last step of connecting. Its errors are those of
// RequestToken, Conflict (oauth_not_authorised, oauth_expired, oauth_unknown_token) and Refused
// (oauth_refused, oauth_bad_signature). After oauth_not_authorised the exchange may be tried again.
// StartOver reports which errors need a new request token.
func (c *Client) AccessToken(ctx context.Context, rt RequestToken) (crash.AccessToken, error) {
	const operation = "access-token"
	form := url.Values{
		"oauth_consumer_key": {c.cfg.ConsumerKey}, "oauth_token": {rt.Key},
		"oauth_signature_method": {"PLAINTEXT"}, "oauth_signature": {"&" + string(rt.Secret)},
	}
	a, err := c.tokenCall(ctx, operation, "/+access-token", form, rt.Secret)
	if err != nil {
		return crash.AccessToken{}, err
	}
	if a.Status != http.StatusOK {
		return crash.AccessToken{}, c.exchangeFailure(operation, a, rt)
	}
	values, err := tokenValues(a)
	if err != nil {
		return crash.AccessToken{}, err
	}
	token := crash.AccessToken{
		Token: values.Get("oauth_token"), Secret: crash.Secret(values.Get("oauth_token_secret")),
	}
	for name := range values {
		if strings.HasSuffix(name, ".context") {
			token.Context = tracker.Clean(values.Get(name), 200)
		}
	}
	c.call.As(nil).Done(ctx, operation, "")
	return token, nil
}

func (c *Client) tokenCall(
	ctx context.Context, operation, path string, form url.Values, secrets ...crash.Secret,
) (tracker.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return tracker.Answer{}, errWrongAddress.Because(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.call.Exchange(operation, req, secrets...)
}

func (c *Client) exchangeFailure(operation string, a tracker.Answer, rt RequestToken) error {
	text := strings.TrimSpace(string(a.Body))
	var err *crash.Error
	switch a.Status {
	case http.StatusUnauthorized:
		switch text {
		case "":
			err = errBadConsumer(c.cfg.ConsumerKey)
		case "No request token specified.":
			err = errUnknownToken
		case "Invalid OAuth signature.":
			err = errBadSignature
		case "Request token has not yet been reviewed. Try again later.":
			err = errNotAuthorised
			if !rt.Made.IsZero() && c.cfg.Now().Sub(rt.Made) > requestTokenLife {
				err = errExpired
			}
		}
	case http.StatusBadRequest:
		err = errBadMethod
	case http.StatusForbidden:
		switch {
		case strings.HasPrefix(text, "End-user refused"):
			err = errDeclined
		case strings.HasPrefix(text, "This request token has expired"):
			err = errExpired
		}
	}
	if err == nil {
		return c.tokenFailure(operation, a, rt.Secret)
	}
	return err.Because(c.call.Refused(operation, a, rt.Secret))
}

// tokenFailure returns the error for an answer that no token endpoint of a tracker gives.
func (c *Client) tokenFailure(operation string, a tracker.Answer, secrets ...crash.Secret) error {
	e := c.call.Refused(operation, a, secrets...)
	switch {
	case a.Status == http.StatusForbidden:
		return crash.Errorf(crash.Refused, "tracker_forbidden",
			"The tracker's front end rejected the request (%s); "+
				"check tracker_url, or ask its administrators.", e.Text).Because(e)
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed, a.Status >= 300 && a.Status < 400:
		return errWrongAddress.Because(e)
	}
	return tracker.Explain(e)
}

// tokenValues parses the form-encoded answer of a token endpoint, whatever its media type.
func tokenValues(a tracker.Answer) (url.Values, error) {
	values, err := url.ParseQuery(strings.TrimSpace(string(a.Body)))
	if err != nil {
		// The parser's message may hold the secret.
		return nil, errMalformed.Because(errors.New("the answer is not form-encoded"))
	}
	for _, name := range []string{"oauth_token", "oauth_token_secret"} {
		if v := values.Get(name); v == "" || len(v) > 500 || tracker.Clean(v, 500) != v {
			return nil, errMalformed.Because(errors.New("no usable " + name))
		}
	}
	return values, nil
}

// StartOver reports whether an error of AccessToken requires a new request token.
func StartOver(err error) bool {
	e, ok := errors.AsType[*crash.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case "oauth_refused", "oauth_expired", "oauth_unknown_token", "oauth_bad_signature", "tracker_malformed":
		return true
	}
	return false
}

var (
	errNotAuthorised = crash.Errorf(crash.Conflict, "oauth_not_authorised",
		"mishap has not been authorised on the tracker's page yet. Do that first, then press again.")
	errDeclined = crash.Errorf(crash.Refused, "oauth_refused",
		"Access was declined on the tracker's page (No Access). "+
			"To connect, start over and choose a level that may change data.")
	errExpired = crash.Errorf(crash.Conflict, "oauth_expired",
		"The request was not finished within two hours and has expired; start over.")
	errUnknownToken = crash.Errorf(crash.Conflict, "oauth_unknown_token",
		"The tracker no longer knows this request: it has already been used, "+
			"or the answer was lost. Start over.")
	errBadSignature = crash.Errorf(crash.Refused, "oauth_bad_signature",
		"The tracker rejected the secret of the request. Start over.")
	errBadMethod = crash.Errorf(crash.Refused, "oauth_bad_method",
		"The tracker does not accept the signature method PLAINTEXT at this address. Check tracker_url.")
	errWrongAddress = crash.Errorf(crash.Refused, "tracker_wrong_address",
		"There is no tracker to connect to at tracker_url; "+
			"check the address, and that it begins with https:// if the tracker redirects there.")
	errMalformed = crash.Errorf(crash.Refused, "tracker_malformed",
		"The tracker's answer contains no token. Check tracker_url, then start over.")
)

func errBadConsumer(key string) *crash.Error {
	return crash.Errorf(crash.Refused, "oauth_bad_consumer",
		"The tracker rejects the consumer key %q. Check tracker_consumer_key.", key)
}
