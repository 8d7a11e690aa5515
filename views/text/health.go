package text

// Texts of the health page and of the links to files.
const (
	HealthGood    = "OK"
	HealthBad     = "Problem"
	HealthHint    = "The same for programs, on the address of ops_listen:"
	ExportsBefore = "This list as"
)
