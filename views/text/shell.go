package text

// Texts of the shell around every page.
const (
	Brand           = "mishap"
	SiteDescription = "Crash reports of Linux machines, grouped into problems: how often, since when, on which releases " +
		"and versions, and their bugs."
	SkipToContent = "Skip to content"

	NavMain       = "Main"
	NavProblems   = "Problems"
	NavMyPackages = "My packages"
	NavAdmin      = "Admin"
	NavFooter     = "Help"
	NavSearchHelp = "Search help"
	NavKeys       = "Keyboard shortcuts"
	NavAPI        = "API"

	SignIn  = "Sign in"
	SignOut = "Sign out"
	Undo    = "Undo"
	Close   = "Close"

	Theme       = "Theme"
	ThemeSystem = "System"
	ThemeLight  = "Light"
	ThemeDark   = "Dark"
)
