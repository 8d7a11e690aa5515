package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"mishap/crash"
)

// Limits of the texts in payloads, in characters. Payloads stay below 20 kB, as Standard Webhooks
// recommends.
const (
	maxTitle      = 200
	maxText       = 500
	maxName       = 120
	maxListTitle  = 80 // in the list of a summary
	maxListName   = 60
	mentionBreak  = "\u200b" // between @ and a name, so that it is no mention
	timeOfPayload = time.RFC3339
)

// TypeTest is the type of the event that the test button sends.
const TypeTest = "test"

// eventTypes maps the kinds of events to their types in payloads, which docs/notifications.md describes.
var eventTypes = map[crash.EventKind]string{
	crash.EventNew:         "problem.new",
	crash.EventRegressed:   "problem.regressed",
	crash.EventRising:      "problem.rising",
	crash.EventProposed:    "problem.proposed",
	crash.EventSymbolised:  "problem.symbolised",
	crash.EventQuiet:       "problem.quiet",
	crash.EventUnmuted:     "problem.unmuted",
	crash.EventAssigned:    "problem.assigned",
	crash.EventMentioned:   "problem.mentioned",
	crash.EventStorm:       "package.storm",
	crash.EventRefused:     "bug.refused",
	crash.EventTracker:     "tracker.refused",
	crash.EventEndpointOff: "endpoint.disabled",
	crash.EventToken:       "token.expiring",
	crash.EventAccount:     "account.changed",
	crash.EventMany:        "summary",
}

// EventType returns the type of an event in payloads, such as "problem.new".
func EventType(kind crash.EventKind) string { return eventTypes[kind] }

var words = map[crash.EventKind]string{
	crash.EventNew: "New problem", crash.EventRegressed: "Regression", crash.EventRising: "Rising problem",
	crash.EventProposed: "New in proposed", crash.EventSymbolised: "Symbolised", crash.EventQuiet: "Quiet",
	crash.EventUnmuted: "Unmuted", crash.EventAssigned: "Assigned", crash.EventMentioned: "Mentioned",
	crash.EventStorm: "Many new problems", crash.EventRefused: "Bug refused", crash.EventTracker: "Bug tracker",
	crash.EventEndpointOff: "Endpoint switched off", crash.EventToken: "API token expires",
	crash.EventAccount: "Account changed", crash.EventMany: "Summary",
}

type eventData struct {
	Type     string      `json:"type,omitempty"` // only in the list of a summary
	Event    int64       `json:"event,omitempty"`
	Title    string      `json:"title"`
	Text     string      `json:"text,omitempty"`
	Problem  string      `json:"problem,omitempty"`
	Package  string      `json:"package,omitempty"`
	Source   string      `json:"source_package,omitempty"`
	Release  string      `json:"release,omitempty"`
	Version  string      `json:"version,omitempty"`
	Machines int64       `json:"machines,omitempty"`
	URL      string      `json:"url"`
	Events   []eventData `json:"events,omitempty"` // of a summary: the first ones that it mentions
}

// Payload returns the body of the requests of a delivery. It depends only on the delivery.
func (c *Client) Payload(d crash.DeliveryClaim) string {
	return c.payload(d.To, eventTypes[d.Event.Kind], words[d.Event.Kind], d.Event, d.Summarised)
}

func (c *Client) testPayload(to crash.Endpoint, person string) string {
	return c.payload(to, TypeTest, "Test", crash.Event{
		At: c.config.Now(), Title: "This is a test",
		Text: person + " tests the endpoint “" + to.Name + "”. No action is needed.",
	}, nil)
}

func (c *Client) payload(
	to crash.Endpoint, eventType, word string, e crash.Event, summarised []crash.Event,
) string {
	switch to.Kind {
	case crash.EndpointWebhook: // below
	case crash.EndpointSlack:
		return encode(map[string]any{"text": c.slackText(word, e, summarised), "link_names": false, "unfurl_links": false})
	case crash.EndpointMattermost:
		return encode(c.mattermost(to, word, e, summarised))
	case crash.EndpointMatrix:
		return encode(c.matrix(word, e, summarised))
	}
	data := c.data(e, maxTitle, maxName)
	data.Text = short(e.Text, maxText)
	for _, s := range summarised {
		one := c.data(s, maxListTitle, maxListName)
		one.Type = eventTypes[s.Kind]
		data.Events = append(data.Events, one)
	}
	return encode(struct {
		Type      string    `json:"type"`
		Timestamp string    `json:"timestamp"`
		Data      eventData `json:"data"`
	}{eventType, e.At.UTC().Format(timeOfPayload), data})
}

func (c *Client) data(e crash.Event, title, name int) eventData {
	data := eventData{
		Event: e.ID, Title: short(e.Title, title), Package: short(e.Package, name), Source: short(e.Source, name),
		Release: short(string(e.Release), name), Version: short(e.Version, name), Machines: e.Machines, URL: c.link(e),
	}
	if e.Bucket != nil {
		data.Problem = e.Bucket.String()
	}
	return data
}

func (c *Client) link(e crash.Event) string {
	switch {
	case e.Bucket != nil:
		return c.config.BaseURL + e.Bucket.Path()
	case e.Kind == crash.EventTracker:
		return c.config.BaseURL + "/admin/tracker"
	case e.Kind == crash.EventEndpointOff:
		return c.config.BaseURL + "/admin/notifications"
	case e.Package != "":
		return c.config.BaseURL + "/package/" + url.PathEscape(short(e.Package, maxName))
	}
	return c.config.BaseURL + "/"
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // not of these types
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func short(text string, limit int) string {
	text = strings.Join(strings.Fields(plain(text, len(text))), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

func facts(e crash.Event) (list []struct{ name, value string }) {
	for _, f := range []struct{ name, value string }{
		{"Package", e.Package}, {"Release", string(e.Release)}, {"Version", e.Version}, {"Machines", machines(e.Machines)},
	} {
		if f.value = short(f.value, maxName); f.value != "" {
			list = append(list, f)
		}
	}
	return list
}

func machines(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// slackEscaper escapes text for Slack, also within a link: it can contain no markup and no mention.
var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦", "@", "@"+mentionBreak)

// slackText returns an event as a message for Slack: a link with the title, a sentence, and facts.
func (c *Client) slackText(word string, e crash.Event, summarised []crash.Event) string {
	lines := []string{word + ": " + c.slackLink(e, maxTitle)}
	if text := short(e.Text, maxText); text != "" {
		lines = append(lines, slackEscaper.Replace(text))
	}
	var parts []string
	for _, f := range facts(e) {
		parts = append(parts, f.name+": "+slackEscaper.Replace(f.value))
	}
	if len(parts) > 0 {
		lines = append(lines, strings.Join(parts, " · "))
	}
	for _, s := range summarised {
		lines = append(lines, "• "+words[s.Kind]+": "+c.slackLink(s, maxListTitle))
	}
	return strings.Join(lines, "\n")
}

func (c *Client) slackLink(e crash.Event, limit int) string {
	return "<" + slackURL(c.link(e)) + "|" + slackEscaper.Replace(short(e.Title, limit)) + ">"
}

// slackURL escapes an address for a link. Own addresses contain none of these characters; the names of
// packages in them are escaped already.
func slackURL(address string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C").Replace(address)
}

// markdownEscaper escapes text for Mattermost, which renders Markdown and Slack's markup.
var markdownEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦", "@", "@"+mentionBreak,
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "#", `\#`,
	"!", `\!`, ":", ":"+mentionBreak)

func (c *Client) mattermost(to crash.Endpoint, word string, e crash.Event, summarised []crash.Event) any {
	type field struct {
		Title string `json:"title"`
		Value string `json:"value"`
		Short bool   `json:"short"`
	}
	fields := []field{}
	for _, f := range facts(e) {
		fields = append(fields, field{f.name, markdownEscaper.Replace(f.value), true})
	}
	text := markdownEscaper.Replace(short(e.Text, maxText))
	for _, s := range summarised {
		text += "\n* " + words[s.Kind] + " – " + c.markdownLink(s, maxListTitle)
	}
	message := map[string]any{
		"username": "mishap",
		"text":     word + " – " + c.markdownLink(e, maxTitle),
		"attachments": []any{map[string]any{
			"fallback": word + " – " + strings.ReplaceAll(short(e.Title, maxTitle), "@", "@"+mentionBreak),
			"text":     text, "fields": fields,
		}},
	}
	if to.Channel != "" {
		message["channel"] = to.Channel
	}
	return message
}

func (c *Client) markdownLink(e crash.Event, limit int) string {
	address := strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(c.link(e))
	return "[" + markdownEscaper.Replace(short(e.Title, limit)) + "](" + address + ")"
}

func (c *Client) matrix(word string, e crash.Event, summarised []crash.Event) any {
	escape := func(text string) string { return html.EscapeString(strings.ReplaceAll(text, "@", "@"+mentionBreak)) }
	link := func(e crash.Event, limit int) string {
		return `<a href="` + html.EscapeString(c.link(e)) + `">` + escape(short(e.Title, limit)) + `</a>`
	}
	body := []string{word + ": " + short(e.Title, maxTitle)}
	formatted := "<strong>" + word + "</strong>: " + link(e, maxTitle)
	add := func(text string) {
		if text != "" {
			body = append(body, text)
			formatted += "<br>" + escape(text)
		}
	}
	add(short(e.Text, maxText))
	var parts []string
	for _, f := range facts(e) {
		parts = append(parts, f.name+": "+f.value)
	}
	add(strings.Join(parts, " · "))
	for i, s := range summarised {
		body = append(body, "• "+words[s.Kind]+": "+short(s.Title, maxListTitle)+" "+c.link(s))
		if i == 0 {
			formatted += "<ul>"
		}
		formatted += "<li>" + words[s.Kind] + ": " + link(s, maxListTitle) + "</li>"
		if i == len(summarised)-1 {
			formatted += "</ul>"
		}
	}
	body = append(body, c.link(e))
	return map[string]any{
		"msgtype": "m.notice", "format": "org.matrix.custom.html", "formatted_body": formatted,
		"body":       strings.ReplaceAll(strings.Join(body, "\n"), "@", "@"+mentionBreak),
		"m.mentions": map[string]any{},
	}
}
