package layout

import "github.com/a-h/templ"

// Offers returns the attributes that make a control request suggestions for the typed text. Its
// datalist follows it.
func Offers(of string) templ.Attributes {
	return templ.Attributes{
		"list":          of + "-offers",
		"hx-get":        PathComplete + "?of=" + of,
		"hx-trigger":    "input changed delay:150ms",
		"hx-target":     "#" + of + "-offers",
		"hx-swap":       "innerHTML",
		"hx-sync":       "this:replace",
		"hx-push-url":   "false",
		"hx-status:4xx": "swap:none",
		"hx-status:5xx": "swap:none",
	}
}

// InPlace returns the attributes that make a link or a form put the answer of url into the page, in
// place of target. Refusals appear among the messages at the top. Without scripts the browser
// follows the link.
func InPlace(url, target string) templ.Attributes {
	return templ.Attributes{
		"hx-get":        url,
		"hx-target":     target,
		"hx-swap":       "outerHTML",
		"hx-push-url":   "true",
		"hx-status:4xx": "target:#flash swap:innerHTML push:false",
		"hx-status:5xx": "target:#flash swap:innerHTML push:false",
	}
}
