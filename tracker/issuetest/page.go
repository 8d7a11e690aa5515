package issuetest

import (
	"encoding/gob"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// The pages show issues to people, who are all one account. They can comment on, close and reopen them.

// person is the author of what people do on pages.
const person = "practice-person"

const issueForm = "/practice/issue/{id}" // the address of the forms of an issue, by its ID

func (s *Server) pages() {
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.locked(func() { showPage(w, http.StatusOK, listPage, s.issues) })
	})
	s.mux.HandleFunc("POST "+issueForm, func(w http.ResponseWriter, r *http.Request) {
		back := "/"
		s.locked(func() {
			for _, i := range s.issues {
				if formOf(i) == r.URL.Path && !i.Private {
					s.byHand(i, r)
					back = r.PostFormValue("back")
				}
			}
		})
		if !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") {
			back = "/"
		}
		http.Redirect(w, r, back, http.StatusSeeOther)
	})
}

// byHand does what a person asks for on the page of an issue.
func (s *Server) byHand(i *Issue, r *http.Request) {
	if text := strings.TrimSpace(r.PostFormValue("text")); text != "" {
		s.comment(i, person, text)
	}
	switch r.PostFormValue("do") {
	case "close":
		i.Closed, i.State, i.Resolution = true, s.kind.states[1], "FIXED"
	case "reopen":
		i.Closed, i.State, i.Resolution = false, s.kind.states[0], ""
	}
	s.touch(i)
	s.save()
}

func formOf(i *Issue) string {
	return strings.Replace(issueForm, "{id}", strconv.FormatInt(i.ID, 10), 1)
}

var pageFunctions = template.FuncMap{"form": formOf}

var listPage = template.Must(template.New("list").Funcs(pageFunctions).Parse(`<!doctype html>
<title>Practice tracker</title><h1>Practice tracker</h1>
<ul>{{range .}}<li>{{if .Private}}A private issue{{else}}<b>{{.Title}}</b>{{end}} – {{.Project}} #{{.Number}},
{{if .Closed}}closed{{else}}open{{end}}, by {{.Author}}{{else}}<li>There are no issues yet.{{end}}</ul>`))

var issueTemplate = template.Must(template.New("issue").Funcs(pageFunctions).Parse(`<!doctype html>
<title>{{.Issue.Title}}</title>{{with .Issue}}<h1>{{.Title}}</h1>
<p>{{.Project}} #{{.Number}}, {{if .Closed}}closed{{else}}open{{end}} {{.State}} {{.Resolution}}, by {{.Author}},
{{.Created.Format "2006-01-02 15:04"}} UTC {{range .Labels}}[{{.}}] {{end}}</p>
<pre>{{.Text}}</pre>
{{range .Comments}}<hr><p>{{.Author}}, {{.Created.Format "2006-01-02 15:04"}} UTC</p><pre>{{.Text}}</pre>{{end}}
<hr>{{end}}<form method="post" action="{{form .Issue}}"><input type="hidden" name="back" value="{{.Address}}">
<p><textarea name="text" aria-label="Comment" rows="4" cols="80"></textarea></p>
<p><button>Comment</button> {{if .Issue.Closed}}<button name="do" value="reopen">Reopen</button>{{else}}<button
name="do" value="close">Close as fixed</button>{{end}} <a href="/">All issues</a></p></form>`))

// issuePage is the page of an issue for people.
func issuePage(c *call, i *Issue) reply {
	if i == nil || i.Private {
		return reply{404, "<!doctype html><title>Not found</title><p>There is no such issue, or it is private.", nil}
	}
	var page strings.Builder
	err := issueTemplate.Execute(&page, struct {
		Issue   *Issue
		Address string
	}{i, c.URL.RequestURI()})
	if err != nil {
		panic(err) // a Builder takes everything
	}
	return reply{200, page.String(), nil}
}

func showPage(w http.ResponseWriter, status int, page *template.Template, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, data) // the client may have gone
}

// stored is the state of a practice tracker in a file.
type stored struct {
	Last   int64
	Issues []*Issue
}

// Keep reads the issues from a file, if it exists, and writes them to it after each change.
func (s *Server) Keep(file string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = file
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	var state stored
	if err := gob.NewDecoder(f).Decode(&state); err != nil {
		return err
	}
	s.last, s.issues = state.Last, state.Issues
	return nil
}

// save writes the issues to the file, with the lock held.
func (s *Server) save() {
	if s.file == "" {
		return
	}
	f, err := os.OpenFile(s.file+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(gob.NewEncoder(f).Encode(stored{s.last, s.issues}), f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), s.file)
	}
	if err != nil {
		slog.Error("practice tracker cannot write its state", "error", err)
	}
}
