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

// AndOthers joins names of which n are left out: "a, b and 3 others".
func AndOthers(names string, n int) string {
	return names + " and " + Counted(int64(n), "other", "others")
}
