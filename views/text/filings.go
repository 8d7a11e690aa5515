package text

// Texts of the filing log and of bug templates.
const (
	BugTemplates = "Bug templates"
)
