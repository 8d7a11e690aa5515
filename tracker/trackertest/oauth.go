package trackertest

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// requestTokenLife is how long a request token can be exchanged, counted from its creation.
const requestTokenLife = 2 * time.Hour

const challenge = `OAuth realm="https://api.launchpad.net"`

// level is a permission that a person can grant.
type level struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

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

// guessed returns a text answer of the token endpoints, which declare no media type.
func guessed(status int, body string) response {
	r := text(status, body).with("Vary", "Cookie, Authorization")
	if body != "" {
		r = r.with("X-Content-Type-Warning", "guessed from content")
	}
	return r
}

func unauthorized(body string) response {
	return guessed(401, body).with("WWW-Authenticate", challenge)
}

func (s *Server) requestToken(c *call) response {
	params := oauthParams(c, true)
	consumer := params.Get("oauth_consumer_key")
	switch {
	case params.Get("oauth_signature_method") != "PLAINTEXT" && consumer != "":
		return guessed(400, "")
	case consumer == "", params.Get("oauth_signature") != "&":
		return unauthorized("")
	}
	t := &requestToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Created: s.now()}
	if c.r.Method == http.MethodPost { // other methods change nothing
		if !s.state.knows(consumer) {
			s.state.Consumers = append(s.state.Consumers, consumer)
		}
		s.state.RequestTokens = append(s.state.RequestTokens, t)
		s.save()
	}
	if c.r.Header.Get("Accept") == "application/json" {
		b, _ := json.Marshal(map[string]any{
			"oauth_token": t.Key, "oauth_token_consumer": consumer, "oauth_token_secret": t.Secret, "access_levels": levels,
		}) // cannot fail: it contains only texts
		return text(200, string(b)).with("Content-Type", "application/json").with("Vary", "Cookie, Authorization")
	}
	return guessed(200, "oauth_token="+t.Key+"&oauth_token_secret="+t.Secret)
}

// accessToken reads consumer key and token only from the form, and checks them in Launchpad's
// order.
func (s *Server) accessToken(c *call) response {
	params := oauthParams(c, false)
	consumer := params.Get("oauth_consumer_key")
	t := s.state.request(params.Get("oauth_token"))
	switch {
	case !s.state.knows(consumer):
		return unauthorized("")
	case t == nil, t.Consumer != consumer:
		return unauthorized("No request token specified.")
	case params.Get("oauth_signature_method") != "PLAINTEXT":
		return guessed(400, "Invalid OAuth signature.")
	case params.Get("oauth_signature") != "&"+t.Secret:
		return unauthorized("Invalid OAuth signature.")
	case t.Level == "":
		return unauthorized("Request token has not yet been reviewed. Try again later.")
	case t.Level == "UNAUTHORIZED":
		return guessed(403, "End-user refused to authorize request token.")
	case s.now().Sub(t.Created) > requestTokenLife:
		return guessed(403, "This request token has expired and can no longer be exchanged for an access token.")
	}
	a := &accessToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Level: t.Level, Context: t.Context,
		Person: cmp.Or(t.Person, s.opts.Person)}
	if c.r.Method == http.MethodPost {
		s.state.AccessTokens = append(s.state.AccessTokens, a)
		s.state.RequestTokens = slices.DeleteFunc(s.state.RequestTokens, func(o *requestToken) bool { return o == t })
		s.save()
	}
	context := a.Context
	if context == "" {
		context = "None"
	}
	return guessed(200, "oauth_token="+a.Key+"&oauth_token_secret="+a.Secret+"&lp.context="+context)
}

// oauthParams returns the oauth_ parameters. It reads them from the header if there is one and
// header is true, else from query and body.
func oauthParams(c *call, header bool) url.Values {
	if h, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "OAuth "); ok && header {
		if params, ok := parseHeader(h); ok {
			return params
		}
		return url.Values{}
	}
	out := url.Values{}
	for _, from := range []url.Values{c.form, c.query} {
		for name := range from {
			if !out.Has(name) {
				out.Set(name, from.Get(name))
			}
		}
	}
	return out
}

var headerParam = regexp.MustCompile(`^\s*([A-Za-z_]+)="([^"]*)"\s*$`)

// parseHeader parses the text after "OAuth ". It percent-decodes values once; "+" stays a plus
// sign.
func parseHeader(h string) (url.Values, bool) {
	params := url.Values{}
	for item := range strings.SplitSeq(h, ",") {
		m := headerParam.FindStringSubmatch(item)
		if m == nil {
			return nil, false
		}
		params.Set(m[1], unescape(m[2]))
	}
	return params, true
}

// authorizeToken serves the page on which a person decides.
func (s *Server) authorizeToken(c *call) response {
	params := c.query
	if c.r.Method == http.MethodPost {
		params = c.form
	}
	t := s.state.request(params.Get("oauth_token"))
	page := authorizePage{Person: s.opts.Person, Hidden: map[string]string{}}
	switch {
	case t == nil:
		page.Message = "Unable to identify application. The request is not known here, or it has been used already."
	case s.now().Sub(t.Created) > requestTokenLife:
		page.Message = "This request token has expired and can no longer be reviewed."
	case t.Level != "":
		page.Message = "Unable to identify application. This request has been decided already."
	}
	if page.Message != "" {
		return htmlPage(200, authorizeTemplate, page)
	}
	page.Consumer, page.Levels = t.Consumer, offered(params["allow_permission"])
	page.People = append([]string{s.opts.Person}, s.opts.People...)
	if strings.HasPrefix(t.Consumer, "System-wide: ") {
		if params.Get("oauth_callback") != "" || !slices.Contains(params["allow_permission"], desktop.Value) {
			return text(403, "Desktop integrations may only ask for DESKTOP_INTEGRATION, and have no callback.")
		}
		page.Levels = []level{desktop, levels[0]}
	}
	if c.r.Method == http.MethodPost {
		for _, l := range page.Levels {
			if c.form.Has("field.actions." + l.Value) {
				return s.decide(t, l, c)
			}
		}
	}
	for _, name := range []string{"oauth_token", "oauth_callback", "lp.context"} {
		if v := params.Get(name); v != "" {
			page.Hidden[name] = v
		}
	}
	page.Allowed = params["allow_permission"]
	return htmlPage(200, authorizeTemplate, page)
}

// decide records the person's choice. If there is a callback, it redirects the browser there,
// unchanged.
func (s *Server) decide(t *requestToken, l level, c *call) response {
	person := cmp.Or(c.form.Get("person"), s.opts.Person)
	if !validName.MatchString(person) {
		return text(400, "person: not a valid name")
	}
	t.Level, t.Context, t.Person = l.Value, c.form.Get("lp.context"), person
	s.save()
	if callback := c.form.Get("oauth_callback"); callback != "" {
		return text(303, "").with("Location", callback)
	}
	message := "Almost finished: go back to " + t.Consumer + " and tell it that you have authorised it."
	if l.Value == "UNAUTHORIZED" {
		message = "Access was denied to " + t.Consumer + "."
	}
	return htmlPage(200, authorizeTemplate, authorizePage{Person: person, Message: message})
}

// offered returns the levels that the page offers: the requested ones and No Access, or all if none
// was valid.
func offered(asked []string) []level {
	var out []level
	for _, l := range levels {
		if l.Value == "UNAUTHORIZED" || slices.Contains(asked, l.Value) {
			out = append(out, l)
		}
	}
	if len(out) == 1 {
		return levels
	}
	return out
}

type authorizePage struct {
	Person, Consumer, Message string
	People                    []string // whom the person at the page can be
	Levels                    []level
	Hidden                    map[string]string
	Allowed                   []string
}

var authorizeTemplate = template.Must(template.New("authorize").Parse(pageTop + `
<h1>Authorize application to access Launchpad on your behalf</h1>
{{if .Message}}<p>{{.Message}}</p>{{else}}
<p>The application identified as <b>{{.Consumer}}</b> wants to act for you.
To file bugs it needs "Change Non-Private Data".</p>
<form method="post" action="/+authorize-token">
<p><label>You are <input name="person" list="people" value="{{.Person}}" maxlength="100" autocomplete="off"></label></p>
<datalist id="people">{{range .People}}<option value="{{.}}"></option>{{end}}</datalist>
{{range $name, $value := .Hidden}}<input type="hidden" name="{{$name}}" value="{{$value}}">
{{end}}{{range .Allowed}}<input type="hidden" name="allow_permission" value="{{.}}">
{{end}}{{range .Levels}}<p><button type="submit" name="field.actions.{{.Value}}" value="{{.Title}}">{{.Title}}</button></p>
{{end}}</form>{{end}}
` + pageBottom))
