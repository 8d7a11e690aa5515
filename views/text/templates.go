package text

// Texts of the page that edits bug templates.
const (
	BugTemplates   = "Bug templates"
	TemplatesMeans = "A template is the description of new bugs. mishap uses the most specific one: for the package " +
		"and problem type, then for the package, the type, everything; otherwise the built-in template."
	TemplatesNone     = "No template has been changed yet: all bugs use the built-in one."
	TemplateScope     = "For"
	TemplateChangedBy = "Changed by"
	TemplateChanged   = "Changed"

	TemplateForPackage = "Template for"
	TemplateAllSources = "all source packages"
	TemplateAndType    = "and problem type"
	TemplateAllTypes   = "all types"
	TemplateShow       = "Show"

	TemplateLabel   = "Template"
	TemplateValues  = "Values and syntax"
	TemplateInserts = "inserts a value; private data is removed from it"
	TemplateBlock   = "this part appears only if the value is not empty; a mark on a line of its own leaves no " +
		"empty line"
	TemplateBrace       = "inserts a single brace"
	TemplateSyntaxName  = "{name}"
	TemplateSyntaxBlock = "{?name} … {/name}"
	TemplateSyntaxBrace = "{{"

	TemplateProblem     = "Problem for the preview"
	TemplateProblemHint = "The address or id of a problem. If empty, the most common problem of the package is used."
	TemplatePreview     = "Preview"
	TemplateSave        = "Save template"
	TemplateDelete      = "Delete template"

	TemplateBuiltIn     = "the built-in template"
	TemplateTextsBack   = "Your text has been restored. It has not been saved yet."
	TemplateNoProblem   = "This package has no problem to preview the template with. Enter the address of a problem."
	TemplateBadName     = "The name of the package or of the problem type contains invalid characters or is too long."
	TemplateEverything  = "all packages and problem types"
	TemplateAllPackages = "all packages"
)

// TemplateFor names a template by its scope.
func TemplateFor(scope string) string { return "Template for " + scope }

// TemplateOf names a template by its scope within a sentence.
func TemplateOf(scope string) string { return "the template for " + scope }

// TemplateInherited says which template applies as long as there is no specific one.
func TemplateInherited(from string) string {
	return "No template of its own yet: bugs use " + from + ", which is shown below. Save to create one."
}

// TemplateSaved confirms that a template was saved.
func TemplateSaved(scope string) string {
	return "Template for " + scope + " saved. New bugs will use it."
}

// TemplateDeleted confirms that a template was deleted.
func TemplateDeleted(scope string) string { return "Template for " + scope + " deleted." }

// TemplateForType is the scope of a template for a package, or for all, and a problem type.
func TemplateForType(packages, problemType string) string { return packages + ", " + problemType }
