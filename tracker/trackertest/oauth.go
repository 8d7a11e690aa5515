package trackertest

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// requestTokenLife is how long a request token can be exchanged, counted from its creation.
const requestTokenLife = 2 * time.Hour

// guessed returns a text answer of the token endpoints, which declare no media type.
func guessed(status int, body string) response {
	r := text(status, body).with("Vary", "Cookie, Authorization")
	if body != "" {
		r = r.with("X-Content-Type-Warning", "guessed from content")
	}
	return r
}

func challenged(r response) response {
	return r.with("WWW-Authenticate", `OAuth realm="https://api.launchpad.net"`)
}

func (s *Server) requestToken(c *call) response {
	params := c.form
	consumer := params.Get("oauth_consumer_key")
	switch {
	case params.Get("oauth_signature_method") != "PLAINTEXT" && consumer != "":
		return guessed(400, "")
	case consumer == "", params.Get("oauth_signature") != "&":
		return challenged(guessed(401, ""))
	}
	t := &requestToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Created: s.now()}
	s.state.register(consumer)
	s.state.RequestTokens = append(s.state.RequestTokens, t)
	s.save()
	return guessed(200, "oauth_token="+t.Key+"&oauth_token_secret="+t.Secret)
}

// accessToken reads consumer key and token only from the form, and checks them in Launchpad's
// order.
func (s *Server) accessToken(c *call) response {
	params := c.form
	consumer := params.Get("oauth_consumer_key")
	t := s.state.request(params.Get("oauth_token"))
	switch {
	case !slices.Contains(s.state.Consumers, consumer):
		return challenged(guessed(401, ""))
	case t == nil, t.Consumer != consumer:
		return challenged(guessed(401, "No request token specified."))
	case params.Get("oauth_signature_method") != "PLAINTEXT":
		return guessed(400, "Invalid OAuth signature.")
	case params.Get("oauth_signature") != "&"+t.Secret:
		return challenged(guessed(401, "Invalid OAuth signature."))
	case t.Level == "":
		return challenged(guessed(401, "Request token has not yet been reviewed. Try again later."))
	case t.Level == "UNAUTHORIZED":
		return guessed(403, "End-user refused to authorize request token.")
	case s.now().Sub(t.Created) > requestTokenLife:
		return guessed(403, "This request token has expired and can no longer be exchanged for an access token.")
	}
	a := &accessToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Level: t.Level, Person: t.Person}
	s.state.AccessTokens = append(s.state.AccessTokens, a)
	s.state.RequestTokens = slices.DeleteFunc(s.state.RequestTokens, func(o *requestToken) bool { return o == t })
	s.save()
	return guessed(200, "oauth_token="+a.Key+"&oauth_token_secret="+a.Secret+"&lp.context=None")
}

var headerParam = regexp.MustCompile(`^\s*([A-Za-z_]+)="([^"]*)"\s*$`)

// oauthHeader returns the parameters of the header, or false if there is no "OAuth " header. It
// percent-decodes values once; "+" stays a plus sign. The result is nil if the header is invalid.
func (c *call) oauthHeader() (params url.Values, ok bool) {
	header, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "OAuth ")
	if !ok {
		return nil, false
	}
	params = url.Values{}
	for item := range strings.SplitSeq(header, ",") {
		m := headerParam.FindStringSubmatch(item)
		if m == nil {
			return nil, true
		}
		params.Set(m[1], unescape(m[2]))
	}
	return params, true
}

// authenticate returns the access token of a request to the API. A request without an "OAuth "
// header or with an empty token is anonymous, which is not an error.
func (s *Server) authenticate(c *call) (token *accessToken, refusal *response) {
	refuse := func(words string) (*accessToken, *response) {
		r := challenged(text(401, words))
		return nil, &r
	}
	params, ok := c.oauthHeader()
	if ok && params == nil {
		r := text(500, "ValueError").with("X-Lazr-OopsId", "OOPS-practice-header")
		return nil, &r
	}
	consumer, key := params.Get("oauth_consumer_key"), params.Get("oauth_token")
	if consumer == "" || key == "" {
		return nil, nil
	}
	token = s.state.access(consumer, key)
	switch {
	case !slices.Contains(s.state.Consumers, consumer):
		return refuse("Unknown consumer (" + consumer + ").")
	case token == nil:
		return refuse("Unknown access token (" + key + ").")
	case token.Expired:
		return refuse("Expired token (" + key + ").")
	case token.Suspended:
		return refuse("Inactive account.")
	case params.Get("oauth_signature_method") != "PLAINTEXT", params.Get("oauth_signature") != "&"+token.Secret:
		return refuse("Invalid signature.")
	case token.Level == "UNAUTHORIZED":
		return refuse("Unauthorized token (" + key + ").")
	}
	return token, nil
}

type level struct{ Value, Title string }

var levels = []level{
	{"UNAUTHORIZED", "No Access"},
	{"READ_PUBLIC", "Read Non-Private Data"},
	{"WRITE_PUBLIC", "Change Non-Private Data"},
	{"READ_PRIVATE", "Read Anything"},
	{"WRITE_PRIVATE", "Change Anything"},
}

// desktop grants permission to all programs of a machine at once. Single applications cannot ask
// for it.
var desktop = level{"DESKTOP_INTEGRATION", "Until I Disable It"}

func (s *Server) authorizeToken(c *call) response {
	params := c.query
	if c.r.Method == http.MethodPost {
		params = c.form
	}
	t := s.state.request(params.Get("oauth_token"))
	page := authorizePage{Person: s.opts.Person, Token: params.Get("oauth_token")}
	switch {
	case t == nil:
		page.Message = "Unable to identify application. The request is not known here, or it has been used already."
	case s.now().Sub(t.Created) > requestTokenLife:
		page.Message = "This request token has expired and can no longer be reviewed."
	case t.Level != "":
		page.Message = "Unable to identify application. This request has been decided already."
	}
	if page.Message != "" {
		return htmlPage(authorizeTemplate, page)
	}
	page.Consumer, page.Levels = t.Consumer, levels
	if strings.HasPrefix(t.Consumer, "System-wide: ") {
		page.Levels = []level{desktop, levels[0]}
	}
	for _, l := range page.Levels {
		if c.form.Has("field.actions." + l.Value) {
			return s.decide(t, l, c.form)
		}
	}
	return htmlPage(authorizeTemplate, page)
}

func (s *Server) decide(t *requestToken, l level, form url.Values) response {
	person := cmp.Or(form.Get("person"), s.opts.Person)
	if !validName.MatchString(person) {
		return text(400, "person: not a valid name")
	}
	t.Level, t.Person = l.Value, person
	s.save()
	message := "Almost finished: go back to " + t.Consumer + " and tell it that you have authorised it."
	if l.Value == "UNAUTHORIZED" {
		message = "Access was denied to " + t.Consumer + "."
	}
	return htmlPage(authorizeTemplate, authorizePage{Person: person, Message: message})
}
