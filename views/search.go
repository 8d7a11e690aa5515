package views

import (
	"net/url"

	"mishap/views/text"
)

// SearchURL returns the address of a search.
func SearchURL(query string) string { return PathSearch + "?" + url.Values{"q": {query}}.Encode() }

// SearchTitle is the title of the page of a search.
func SearchTitle(query string) string { return text.SearchFor(query) }

// KeysTitle is the title of the page that lists all keys.
const KeysTitle = text.NavKeys

// keyTable lists the keys that js/keys.js handles.
var keyTable = [][2]string{
	{"/", text.KeySearch},
	{"j", text.KeyNext},
	{"k", text.KeyPrevious},
	{"o", text.KeyOpen},
	{"c", text.KeyReview},
	{"Shift+C", text.KeyCreate},
	{"l", text.KeyLink},
	{"a", text.KeyAssign},
	{"m", text.KeyMute},
	{"f", text.KeyFixed},
	{"e", text.KeyEmbargo},
	{"x", text.KeySelect},
	{"?", text.KeyHelp},
}
