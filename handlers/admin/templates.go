package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/tracker"
	view "mishap/views/admin"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// ShowTemplates shows the form for bug templates, with the template for the package and type in the
// query.
func (s *Pages) ShowTemplates(w http.ResponseWriter, r *http.Request) error {
	form, saved := s.web.TakeSavedForm(r)
	if !saved {
		form = r.URL.Query()
	}
	page, err := s.templatesPage(r, form)
	if err != nil {
		return err
	}
	if saved {
		page.Editing.Body, page.Bucket = formTemplateBody(form), form.Get("bucket")
		page.Notice = "Your text has been restored. It has not been saved yet."
	}
	return s.sendTemplates(w, r, http.StatusOK, page)
}

// ChangeTemplate previews a template, saves it, or restores the default.
func (s *Pages) ChangeTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.").Because(err)
	}
	page, err := s.templatesPage(r, r.PostForm)
	if err != nil {
		return err
	}
	page.Editing.By = web.CurrentUser(r).Name
	if r.PostForm.Get("do") == "default" {
		if err := s.Bugs.DropBugTemplate(r.Context(), page.Editing); err != nil {
			return err
		}
		return s.redirectToTemplate(w, r, page, "Template for "+page.For()+" deleted.")
	}
	page.Editing.Body, page.Bucket = formTemplateBody(r.PostForm), r.PostForm.Get("bucket")
	if page.Problems = tracker.CheckTemplate(page.Editing.Body); len(page.Problems) > 0 {
		return s.sendTemplates(w, r, http.StatusUnprocessableEntity, page)
	}
	if r.PostForm.Get("do") == "save" {
		if err := s.Bugs.SaveBugTemplate(r.Context(), page.Editing); err != nil {
			return err
		}
		return s.redirectToTemplate(w, r, page, "Template for "+page.For()+" saved. New bugs will use it.")
	}
	status := http.StatusOK
	if err := s.previewTemplate(r, &page); err != nil {
		if kind := crash.KindOf(err); kind != crash.NotFound {
			return err
		}
		page.NoBucket, status = web.AnswerTo(r, err).Message, http.StatusUnprocessableEntity
	}
	return s.sendTemplates(w, r, status, page)
}

// redirectToTemplate redirects to the form of the template, with a message.
func (s *Pages) redirectToTemplate(
	w http.ResponseWriter, r *http.Request, page view.TemplatesPage, message string,
) error {
	query := url.Values{"package": {page.Editing.Package}, "type": {page.Editing.ProblemType}}
	path := layout.PathTemplates + "?" + query.Encode()
	return s.web.Done(w, r, path, message)
}

// templatesPage returns the page with the saved templates and the one for the package and type of a
// form.
func (s *Pages) templatesPage(r *http.Request, form url.Values) (view.TemplatesPage, error) {
	page := view.TemplatesPage{Editing: crash.BugTemplate{
		Package: strings.TrimSpace(form.Get("package")), ProblemType: strings.TrimSpace(form.Get("type")),
	}}
	for _, name := range []string{page.Editing.Package, page.Editing.ProblemType} {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) || utf8.RuneCountInString(name) > web.MaxQueryText {
			return page, crash.Errorf(crash.Invalid, "bad_template", "%s", "The name of the package or of the problem type "+
				"contains invalid characters or is too long.")
		}
	}
	for _, n := range tracker.TemplateNames() {
		page.Names = append(page.Names, view.TemplateName(n))
	}
	var err error
	if page.Saved, err = s.Bugs.BugTemplates(r.Context()); err != nil {
		return page, err
	}
	found, err := s.Store.BugTemplate(r.Context(), page.Editing.Package, page.Editing.ProblemType)
	if err != nil {
		return page, err
	}
	switch {
	case found.Body == "":
		page.Editing.Body, page.From = tracker.DefaultTemplate, "the built-in template"
	case found.Package == page.Editing.Package && found.ProblemType == page.Editing.ProblemType:
		page.Editing, page.Own = found, true
	default:
		page.Editing.Body = found.Body
		page.From = "the template for " + view.TemplatesPage{Editing: found}.For()
	}
	return page, nil
}

// formTemplateBody returns the template in a form, with line feeds as line ends.
func formTemplateBody(form url.Values) string {
	return strings.ReplaceAll(strings.ReplaceAll(form.Get("body"), "\r\n", "\n"), "\r", "\n")
}

var bucketInText = regexp.MustCompile(`[0-9a-f]{40}`)

// previewTemplate adds the bug of the named problem, or of the most common one. It returns NotFound
// if there is none.
func (s *Pages) previewTemplate(r *http.Request, page *view.TemplatesPage) error {
	b, err := s.sampleBucket(r, page)
	if err != nil {
		return err
	}
	draft, err := s.Filer.ByTemplate(r.Context(), b, page.Editing.Body)
	if err != nil {
		return err
	}
	page.Preview = &bugsview.ReviewPreview{Draft: draft, Target: s.Filer.Distribution()}
	if b.SourcePackage != "" {
		page.Preview.Target = b.SourcePackage + " in " + page.Preview.Target
	}
	return nil
}

// sampleBucket returns the problem whose address or id a person typed, else the most common problem
// of the package in the past year.
func (s *Pages) sampleBucket(r *http.Request, page *view.TemplatesPage) (crash.Bucket, error) {
	if page.Bucket != "" {
		id, err := crash.ParseBucketID(bucketInText.FindString(page.Bucket))
		if err != nil {
			return crash.Bucket{}, err
		}
		return s.Store.Bucket(r.Context(), id)
	}
	day := s.web.Now().UTC()
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return crash.Bucket{}, err
	}
	year := index.Filter{Since: index.DayOf(day.AddDate(-1, 0, 0)), Until: index.DayOf(day), Package: page.Editing.Package}
	list := b.List(year, nil, nil, 1)
	if len(list.Rows) == 0 {
		return crash.Bucket{}, crash.Errorf(crash.NotFound, "no_problem", "%s", "This package has no problem to preview "+
			"the template with. Enter the address of a problem.")
	}
	return s.Store.Bucket(r.Context(), list.Rows[0].ID)
}

func (s *Pages) sendTemplates(w http.ResponseWriter, r *http.Request, status int, page view.TemplatesPage) error {
	page.Shell = s.web.BareShell(r, "Bug templates")
	if web.WantsPart(r) {
		return s.web.Page(w, r, status, view.TemplatePart(page))
	}
	page.Shell = s.web.Shell(r, "Bug templates")
	return s.web.Page(w, r, status, view.Templates(page))
}
