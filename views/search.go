package views

import (
	"net/url"

	"mishap/views/text"
)

// SearchURL returns the address of a search.
func SearchURL(text string) string { return PathSearch + "?" + url.Values{"q": {text}}.Encode() }

// keyTable lists the keys that js/keys.js handles.
var keyTable = [][2]string{
	{"/", text.KeySearch},
	{"j", text.KeyNext},
	{"k", text.KeyPrevious},
	{"o", text.KeyOpen},
	{"c", text.KeyReview},
	{"Shift+C", text.KeyCreate},
	{"l", text.KeyLink},
	{"x", text.KeySelect},
	{"?", text.KeyHelp},
}
