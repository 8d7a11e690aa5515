package text

// Texts of the search, its help and the keyboard shortcuts.
const (
	SearchHeading = "Search"
	SearchPeriod  = "Period"
	SignInToSee   = "to see whether it exists here"
	NoSuchReport  = "No report has this id: it never arrived, or it has been deleted after the " +
		"retention period."
	NoSuchMachine     = "No reports from this machine are stored."
	NoSuchProblem     = "No problem has this id."
	NoProblemWithBug  = "No problem has this bug."
	SearchLabel       = "Search problems"
	SearchPlaceholder = "Search: signature, package, frame:…, oops id, bug"
	SearchIntro       = "Words match signatures (functions and files), titles, names, " +
		"packages, programs, and first and last versions. An oops id, a problem id, a whole signature, a bug number " +
		"(#2101233 or its address), a machine id, or an address of a page here leads straight to what it names."
	SearchSyntax = "Terms side by side must all match; OR separates alternatives, " +
		"parentheses group, a minus sign in front excludes, quotation marks keep spaces together, and * stands for " +
		"any characters."
	SearchTips    = "How to search"
	SearchFields  = "Fields"
	ColumnField   = "Field"
	ColumnMeaning = "Meaning"
	ColumnExample = "Example"
	KeysMean      = "These keys work on every page, except while you type. They need JavaScript."
	ColumnKey     = "Key"
	ColumnAction  = "Action"
	KeySearch     = "Go to the search box"
	KeyNext       = "Next row"
	KeyPrevious   = "Previous row"
	KeyOpen       = "Open the row"
	KeyReview     = "Review the bug of the row, or of this problem"
	KeyCreate     = "Create that bug"
	KeyLink       = "Link a bug to the row and the selected rows, or to this problem"
	KeyEmbargo    = "Embargo this problem, or lift its embargo"
	KeyMute       = "Mute the row, the selected rows, or this problem"
	KeyFixed      = "Mark the row, the selected rows, or this problem as fixed in a version"
	KeySelect     = "Select or deselect the row"
	KeyHelp       = "Show or close this list; Escape closes it, too"
)

// SearchExample holds the terms of a query, as an example.
var SearchExample = []string{"package:zsh", `release:"Ubuntu 24.04"`, "frame:parse_row", "seen:>=5.9", "-state:fixed"}

// SearchFor is the title of the page of a search.
func SearchFor(query string) string { return "Search: " + query }

// LooksLike says what kind of object a text names.
func LooksLike(kind string) string { return "This is the id of a " + kind + "." }
