package text

import (
	"strconv"
)

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

// Texts of the links to the previous and the next page of a list.
const (
	PagerReports         = "Reports"
	PagerProblems        = "Problems in the list"
	PagerPreviousProblem = "← previous problem"
	PagerNextProblem     = "next problem →"
	PagerNewer           = "← newer"
	PagerOlder           = "older →"
	PagerNewest          = "← newest"
	PagerOldest          = "oldest →"
	PagerPrevious        = "← previous"
	PagerNext            = "next →"
	PagerCommon          = "most common problems"
	PagerOfProblem       = "reports of this problem"
	PagerOfMachine       = "reports of this machine"
	PagerWithTrace       = "with a trace"
)

// PagerSearch names the list of a search.
func PagerSearch(query string) string { return "search: " + query }

// PagerPlace is the position in a list: "3 of 72".
func PagerPlace(place, of int) string { return strconv.Itoa(place) + " of " + strconv.Itoa(of) }
