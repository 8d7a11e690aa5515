// Package openidtest is a practice provider of OpenID 2.0 with teams, in place of Ubuntu SSO or Launchpad.
// It asks nobody for a password: its page offers the people that it knows. Like the real provider it
// reads the last of two fields with the same name.
package openidtest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Person is a person who can sign in.
type Person struct {
	ID       string // end of the identifier
	Nickname string
	Teams    []string
}

// Provider is the practice provider. It is safe for concurrent use.
type Provider struct {
	URL string // where it can be reached, without a slash at the end
	Now func() time.Time

	mu     sync.Mutex
	key    []byte
	people []Person
	checks int      // requests that asked for a check
	asked  []string // teams of each request, as sent
	down   bool     // answers every check with an error
}

// New returns a provider that can be reached at url.
func New(url string, people ...Person) *Provider {
	p := &Provider{URL: url, Now: time.Now, key: make([]byte, 32), people: people}
	_, _ = rand.Read(p.key) // never fails
	return p
}

// Start returns a provider that listens until the test ends.
func Start(t testing.TB, people ...Person) *Provider {
	t.Helper()
	p := New("", people...)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// SetTeams changes the teams of a person.
func (p *Provider) SetTeams(id string, teams ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.people {
		if p.people[i].ID == id {
			p.people[i].Teams = teams
		}
	}
}

// SetDown makes the provider answer every check with an error, or stop doing so.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Checks returns how many times the provider was asked to check an answer.
func (p *Provider) Checks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checks
}

// Asked returns the teams of each request, separated by commas.
func (p *Provider) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Handles reports whether a path belongs to the provider, so that it can share a port.
func Handles(path string) bool {
	return strings.HasPrefix(path, "/+openid") || strings.HasPrefix(path, "/+id/")
}

// ServeHTTP implements [http.Handler].
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	switch mode := r.Form.Get("openid.mode"); {
	case r.URL.Path == "/+openid" && r.Method == http.MethodPost && mode == "check_authentication":
		p.check(w, r)
	case r.URL.Path == "/+openid" && mode == "checkid_setup":
		p.choose(w, r)
	case r.URL.Path == "/+openid/answer" && r.Method == http.MethodPost:
		p.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

var page = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Practice SSO</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{font:16px/1.5 sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}button{font:inherit;padding:.4rem 1rem}
form{margin:.8rem 0}</style></head>
<body><h1>Practice SSO</h1><p>{{.Realm}} asks who you are{{if .Asked}}, and whether you are in {{.Asked}}{{end}}.</p>
{{range .People}}<form method="post" action="/+openid/answer"><input type="hidden" name="request" value="{{$.Request}}">
<button name="person" value="{{.ID}}">{{.Nickname}}</button>{{range $i, $t := .Teams}}{{if $i}},{{end}} {{$t}}{{end}}</form>
{{end}}<form method="post" action="/+openid/answer"><input type="hidden" name="request" value="{{.Request}}">
<button name="person" value="">Cancel</button></form></body></html>
`))

// choose shows the people.
func (p *Provider) choose(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked, people := r.Form.Get("openid.lp.query_membership"), slices.Clone(p.people)
	p.asked = append(p.asked, asked)
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, map[string]any{"Realm": r.Form.Get("openid.realm"), "Asked": asked, "People": people,
		"Request": r.Form.Encode()})
}

var postForm = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Practice SSO</title></head>
<body><form method="post" action="{{.Action}}">
{{range $name, $values := .Fields}}<input type="hidden" name="{{$name}}" value="{{index $values 0}}">
{{end}}<button>Continue</button></form></body></html>
`))

// maxRedirect is the length of an address above which the answer is a form, as python-openid does.
const maxRedirect = 2047

// answer sends the person back with a signed answer.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request) {
	request, err := url.ParseQuery(r.Form.Get("request"))
	if err != nil {
		http.Error(w, "The request cannot be read.", http.StatusBadRequest)
		return
	}
	fields := url.Values{"openid.ns": {"http://specs.openid.net/auth/2.0"}, "openid.mode": {"cancel"}}
	if id := r.Form.Get("person"); id != "" {
		p.mu.Lock()
		i := slices.IndexFunc(p.people, func(one Person) bool { return one.ID == id })
		if i >= 0 {
			fields = p.fields(request, p.people[i])
		}
		p.mu.Unlock()
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		p.Sign(fields)
	}
	back := request.Get("openid.return_to")
	if to := back + "&" + fields.Encode(); len(to) <= maxRedirect {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = postForm.Execute(w, map[string]any{"Action": back, "Fields": fields})
}

// fields returns an answer without a signature.
func (p *Provider) fields(request url.Values, one Person) url.Values {
	f := url.Values{}
	set := func(name, value string) { f.Set("openid."+name, value) }
	set("ns", "http://specs.openid.net/auth/2.0")
	set("mode", "id_res")
	set("op_endpoint", p.URL+"/+openid")
	set("claimed_id", p.URL+"/+id/"+one.ID)
	set("identity", p.URL+"/+id/"+one.ID)
	set("return_to", request.Get("openid.return_to"))
	set("response_nonce", p.Now().UTC().Format("2006-01-02T15:04:05Z")+rand.Text()[:6])
	set("assoc_handle", "{HMAC-SHA256}{practice}")
	set("ns.sreg", "http://openid.net/extensions/sreg/1.1")
	set("sreg.nickname", one.Nickname)
	if asked := request.Get("openid.lp.query_membership"); asked != "" {
		var member []string
		for team := range strings.SplitSeq(asked, ",") {
			if slices.Contains(one.Teams, team) {
				member = append(member, team)
			}
		}
		set("ns.lp", "http://ns.launchpad.net/2007/openid-teams")
		set("lp.is_member", strings.Join(member, ","))
	}
	return f
}

// Sign signs all fields of an answer except those named in leaveOut, without "openid.".
func (p *Provider) Sign(fields url.Values, leaveOut ...string) {
	var names []string
	for name := range fields {
		if field := strings.TrimPrefix(name, "openid."); field != "sig" && field != "signed" && !slices.Contains(leaveOut,
			field) {
			names = append(names, field)
		}
	}
	slices.Sort(names)
	fields.Set("openid.signed", strings.Join(append(names, "signed"), ","))
	fields.Set("openid.sig", p.signature(fields))
}

// signature returns the signature of the signed fields, each with its last value.
func (p *Provider) signature(fields url.Values) string {
	mac := hmac.New(sha256.New, p.key)
	for name := range strings.SplitSeq(last(fields, "openid.signed"), ",") {
		_, _ = fmt.Fprintf(mac, "%s:%s\n", name, last(fields, "openid."+name))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// last returns the last value of a field, as Django does.
func last(fields url.Values, name string) string {
	if values := fields[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// check answers whether this provider has signed an answer.
func (p *Provider) check(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.checks++
	down := p.down
	p.mu.Unlock()
	if down {
		http.Error(w, "The practice provider is down.", http.StatusServiceUnavailable)
		return
	}
	// The signature covers the mode of the answer, which the check replaces.
	fields := r.PostForm
	fields.Set("openid.mode", "id_res")
	valid := hmac.Equal([]byte(last(fields, "openid.sig")), []byte(p.signature(fields)))
	_, _ = fmt.Fprintf(w, "ns:http://specs.openid.net/auth/2.0\nis_valid:%v\n", valid)
}
