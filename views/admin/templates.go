package admin

import (
	"cmp"
	"net/url"

	"mishap/crash"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// TrackerPage holds the page of the bug tracker: the connection, filings, templates and updates.
type TrackerPage struct {
	bugs.TrackerPage
	Checks    []crash.HealthCheck
	Filings   crash.FilingTotals
	Templates []crash.BugTemplate
	Updates   bugs.UpdatesPage
}

// TemplatesPage holds the page on which an admin edits the texts of bugs.
type TemplatesPage struct {
	Shell    layout.Shell
	Editing  crash.BugTemplate // selected package and type, and the text as saved or as typed
	Own      bool              // a text is saved for exactly this package and type
	From     string            // source of the text if there is none: "the built-in template"
	Names    []TemplateName
	Problems []string
	Bucket   string // problem for the preview, as typed
	NoBucket string // why there is no preview
	Preview  *bugs.ReviewPreview
	Notice   string
}

// TemplateName is a value that templates can use.
type TemplateName struct{ Name, Means string }

func templateURL(pkg, problemType string) string {
	return layout.PathTemplates + "?" + url.Values{"package": {pkg}, "type": {problemType}}.Encode()
}

func templateFor(t crash.BugTemplate) string {
	if t.Package == "" && t.ProblemType == "" {
		return "all packages and problem types"
	}
	return cmp.Or(t.Package, "all packages") + ", " + cmp.Or(t.ProblemType, "all types")
}

// For describes the scope of the text.
func (p TemplatesPage) For() string { return templateFor(p.Editing) }

func (p TemplatesPage) form() layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: "template-form", Action: layout.PathTemplates, CSRFToken: p.Shell.CSRFToken, Class: "template-form",
		Part: true, Target: "#template", Errors: "#template-trouble",
	}
}
