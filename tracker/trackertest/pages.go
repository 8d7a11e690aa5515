package trackertest

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"
)

// The pages have no scripts and one style sheet. The policy has no form-action, because browsers
// would also apply it to the redirect to a callback.
const (
	policy  = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
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

func htmlPage(status int, t *template.Template, data any) response {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return text(500, "error in a page of the practice tracker")
	}
	return text(status, b.String()).with("Content-Type", "text/html;charset=utf-8").with("Content-Security-Policy", policy)
}

// page serves the web pages for people.
func (s *Server) page(c *call) response {
	parts := splitPath(c.path)
	switch {
	case c.path == "/":
		return htmlPage(200, indexTemplate, s.state.Bugs)
	case c.path == "/+style.css":
		return text(200, style).with("Content-Type", "text/css;charset=utf-8")
	case len(parts) == 2 && parts[0] == "bugs",
		len(parts) >= 3 && parts[len(parts)-2] == "+bug" && s.exists(parts[:len(parts)-2]):
		n, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
		bug := s.state.bug(n)
		switch {
		case err != nil || bug == nil:
		case c.r.Method == http.MethodPost:
			if wrong := s.edit(bug, c.form); wrong != "" {
				return text(400, wrong)
			}
			return text(303, "").with("Location", c.path)
		default:
			return htmlPage(200, bugTemplate, bugPage{bug, statuses, importances, forDistributions})
		}
	}
	return htmlPage(404, lostTemplate, nil)
}

// bugPage is the data of a bug's page, including the options in its form.
type bugPage struct {
	*Bug
	Statuses, Importances, Types []string
}

var (
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
<p><label>Importance <select name="importance">{{range .Importances}}<option{{if eq . $b.Importance}} selected{{end}}>{{.}}</option>{{end}}</select></label></p>
<p><label>Information type <select name="information_type">{{range .Types}}<option{{if eq . $b.InformationType}} selected{{end}}>{{.}}</option>{{end}}</select></label></p>
<p><label>Duplicate of bug <input name="duplicate_of" inputmode="numeric"{{with .DuplicateOf}} value="{{.}}"{{end}}></label></p>
{{if .Package}}<p><label>Fixed by an upload of version <input name="fixed_in"></label> (closes the bug with the message that names the version)</p>
<p><label>In the series <input name="series" placeholder="noble"></label> <label>it is <select name="series_status">{{range .Statuses}}<option>{{.}}</option>{{end}}</select></label></p>
{{end}}<p><label>Description<br><textarea name="description" rows="12" cols="80">
{{.Description}}</textarea></label></p>
<p><label>Comment<br><textarea name="comment" rows="3" cols="60"></textarea></label></p>
<p><button>Save</button></p>
</form>
` + pageBottom))
	lostTemplate = template.Must(template.New("lost").Parse(pageTop + `
<h1>Lost something?</h1><p>There is no such page on this tracker.</p>
` + pageBottom))
)
