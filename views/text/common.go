package text

// Texts that several pages share.
const (
	NeverSeen      = "never"
	UnknownValue   = "unknown"
	UnknownRelease = "unknown release"
	BlankSignature = "(blank signature)"
	Copy           = "Copy"
	AsTable        = "As table"
	AllColumns     = "All"
	NotGrouped     = "not grouped"
)

// CopyWhat labels a button that copies an identifier.
func CopyWhat(what string) string { return "Copy " + what }
