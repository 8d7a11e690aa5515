package views

import "net/url"

// SearchURL returns the address of a search.
func SearchURL(text string) string { return PathSearch + "?" + url.Values{"q": {text}}.Encode() }

// keyTable lists the keys that js/keys.js handles.
var keyTable = [][2]string{
	{"/", "goes to the search"},
	{"j", "next row of a list"},
	{"k", "previous row"},
	{"o", "opens the row"},
	{"c", "opens the review of the bug of the row, or of the problem that is shown"},
	{"Shift+C", "creates that bug at once"},
	{"l", "links a bug to the row and those that are chosen, or to the problem that is shown"},
	{"x", "chooses the row, or no longer"},
	{"?", "this list; once more, or Escape, closes it"},
}
