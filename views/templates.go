package views

import (
	"net/url"

	"mishap/crash"
)

// PathTemplates is where the texts of bugs are changed.
const PathTemplates = "/admin/templates"

// TemplatesPage is where an admin changes the texts of bugs.
type TemplatesPage struct {
	Shell    Shell
	Saved    []crash.BugTemplate
	Editing  crash.BugTemplate // package and type chosen, and the text as it stands or was typed
	Own      bool              // there is a saved one for exactly this package and type
	From     string            // where the text comes from when there is none: "the shipped text"
	Names    []TemplateName
	Problems []string
	Bucket   string // as typed: the problem that the preview is made with
	NoBucket string // why there is no preview
	Preview  *ReviewPreview
	Notice   string
}

// TemplateName is a value that templates can name.
type TemplateName struct{ Name, Means string }

func templateURL(pkg, problemType string) string {
	return PathTemplates + "?" + url.Values{"package": {pkg}, "type": {problemType}}.Encode()
}

// templateFor says what a template is for.
func templateFor(t crash.BugTemplate) string {
	switch {
	case t.Package != "" && t.ProblemType != "":
		return t.Package + ", " + t.ProblemType
	case t.Package != "":
		return t.Package + ", all types"
	case t.ProblemType != "":
		return "all packages, " + t.ProblemType
	}
	return "all packages and types"
}

// For says what the text that is shown is for.
func (p TemplatesPage) For() string { return templateFor(p.Editing) }

func (p TemplatesPage) form() PostFormArgs {
	return PostFormArgs{
		ID: "template-form", Action: PathTemplates, CSRFToken: p.Shell.CSRFToken, Class: "template-form",
		Part: true, Target: "#template", Errors: "#template-trouble",
	}
}
