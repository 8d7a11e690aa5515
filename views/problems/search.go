package problems

// SearchTitle is the title of the page of a search.
func SearchTitle(query string) string { return "Search: " + query }

// KeysTitle is the title of the page that lists all keys.
const KeysTitle = "Keyboard shortcuts"

// keyTable lists the keys that js/keys.js handles.
var keyTable = [][2]string{
	{"/", "Go to the search box"},
	{"j", "Next row"},
	{"k", "Previous row"},
	{"o", "Open the row"},
	{"c", "Review the bug of the row, or of this problem"},
	{"Shift+C", "Create that bug"},
	{"l", "Link a bug to the row and the selected rows, or to this problem"},
	{"a", "Assign the row and the selected rows, or this problem"},
	{"m", "Mute the row, the selected rows, or this problem"},
	{"f", "Mark the row, the selected rows, or this problem as fixed in a version"},
	{"e", "Embargo this problem, or lift its embargo"},
	{"x", "Select or deselect the row"},
	{"?", "Show or close this list; Escape closes it, too"},
}
