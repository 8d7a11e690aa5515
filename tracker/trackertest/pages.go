package trackertest

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

func htmlPage(t *template.Template, data any) response {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return text(500, "error in a page of the practice tracker")
	}
	return text(200, b.String()).with("Content-Type", "text/html;charset=utf-8").with("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
}

// page serves the pages of bugs, at /bugs/N and TARGET/+bug/N, and the list of bugs.
func (s *Server) page(c *call) response {
	switch c.r.URL.Path {
	case "/":
		return htmlPage(indexTemplate, s.state.Bugs)
	case "/+style.css":
		return text(200, style).with("Content-Type", "text/css;charset=utf-8")
	}
	var bug *Bug
	if n := len(c.parts); n > 1 && (c.parts[n-2] == "+bug" || n == 2 && c.parts[0] == "bugs") {
		number, _ := strconv.ParseInt(c.parts[n-1], 10, 64) // 0 is not a bug
		bug = s.state.bug(number)
	}
	switch {
	case bug == nil:
		return text(404, "Lost something? There is no such page on this tracker.")
	case c.r.Method == http.MethodPost:
		if wrong := s.edit(bug, c.form); wrong != "" {
			return text(400, wrong)
		}
		return text(303, "").with("Location", c.r.URL.EscapedPath())
	}
	return htmlPage(bugTemplate, bugPage{bug, statuses})
}

// edit applies the form of a bug's page, or returns a message about an invalid value.
func (s *Server) edit(b *Bug, form url.Values) (wrong string) {
	status := form.Get("status")
	if status != "" && !slices.Contains(statuses, status) {
		return fmt.Sprintf("status: Invalid value %q.", status)
	}
	s.change(b, func(b *Bug) {
		if status != "" {
			b.Status = status
		}
		if version := form.Get("fixed_in"); version != "" {
			b.Janitor(version, "noble")
		}
		if comment := form.Get("comment"); comment != "" {
			b.Messages = append(b.Messages, Message{Owner: s.opts.Person, Content: comment})
		}
	})
	return ""
}

// bugPage is the data of a bug's page, including the options in its form.
type bugPage struct {
	*Bug
	Statuses []string
}

// authorizePage is the data of the page on which a person decides: either a message or the levels.
type authorizePage struct {
	Token, Person, Consumer, Message string
	Levels                           []level
}

const (
	pageTop = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Practice tracker</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/+style.css"></head><body>
<header><a href="/">Practice tracker</a> – nothing here is real, and nobody gets mail</header><main>`
	pageBottom = `</main></body></html>
`
	style = `body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #222; background: #fff }
header { border-bottom: 1px solid #ccc; padding-bottom: .5rem; color: #555 }
pre { background: #f4f4f4; padding: 1rem; overflow: auto; white-space: pre-wrap }
dt { font-weight: bold } button { font: inherit; padding: .4rem .8rem }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }
`
)

var (
	authorizeTemplate = template.Must(template.New("authorize").Parse(pageTop + `
<h1>Authorize application to access Launchpad on your behalf</h1>
{{if .Message}}<p>{{.Message}}</p>{{else}}
<p>The application identified as <b>{{.Consumer}}</b> wants to act for you.
To file bugs it needs "Change Non-Private Data".</p>
<form method="post" action="/+authorize-token">
<p><label>You are <input name="person" value="{{.Person}}" maxlength="100" autocomplete="off"></label></p>
<input type="hidden" name="oauth_token" value="{{.Token}}">
{{range .Levels}}<p><button type="submit" name="field.actions.{{.Value}}" value="{{.Title}}">{{.Title}}</button></p>
{{end}}</form>{{end}}
` + pageBottom))
	indexTemplate = template.Must(template.New("index").Parse(pageTop + `
<h1>Bugs</h1>
{{if .}}<table><tr><th>Number</th><th>Title</th><th>Package</th><th>Reporter</th></tr>
{{range .}}<tr><td><a href="/bugs/{{.Number}}">{{.Number}}</a></td><td>{{.Title}}</td><td>{{.Package}}</td><td>{{.Reporter}}</td></tr>
{{end}}</table>{{else}}<p>No bugs have been filed yet.</p>{{end}}
` + pageBottom))
	bugTemplate = template.Must(template.New("bug").Parse(pageTop + `
<h1>Bug #{{.Number}}: {{.Title}}</h1>
<dl>
<dt>Reported by</dt><dd>{{.Reporter}}, <time>{{.Created.Format "2006-01-02 15:04:05 UTC"}}</time></dd>
<dt>Affects</dt><dd>{{if .Package}}{{.Package}} ({{.Distribution}}){{else}}{{.Distribution}}{{end}}: {{.Status}}</dd>
{{range .Series}}<dt>In {{.Series}}</dt><dd>{{.Status}}</dd>{{end}}
<dt>Importance</dt><dd>{{or .Importance "Undecided"}}</dd>
<dt>Information type</dt><dd>{{.InformationType}}</dd>
<dt>Tags</dt><dd>{{range .Tags}}{{.}} {{else}}none{{end}}</dd>
<dt>Subscribers</dt><dd>{{range .Subscribers}}{{.}} {{end}}</dd>
{{with .DuplicateOf}}<dt>Duplicate of</dt><dd><a href="/bugs/{{.}}">{{.}}</a></dd>{{end}}
</dl>
<h2>Bug description</h2>
<pre>{{.Description}}</pre>
{{range .Messages}}<h2>{{.Owner}}, <time>{{.Created.Format "2006-01-02 15:04:05 UTC"}}</time></h2>
<pre>{{.Content}}</pre>
{{end}}<h2>Change</h2>
<form method="post">
{{$b := .}}<p><label>Status <select name="status">{{range .Statuses}}<option{{if eq . $b.Status}} selected{{end}}>{{.}}</option>{{end}}</select></label></p>
{{if .Package}}<p><label>Fixed by an upload of version <input name="fixed_in"></label> (closes the bug with the message that names the version)</p>
{{end}}<p><label>Comment<br><textarea name="comment" rows="3" cols="60"></textarea></label></p>
<p><button>Save</button></p>
</form>
` + pageBottom))
)
