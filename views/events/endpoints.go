package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// EndpointPath returns the address of an endpoint, with the name of an action or an empty text.
func EndpointPath(id int64, action string) string {
	return layout.PathEndpoints + "/" + strconv.FormatInt(id, 10) + action
}

// DeliveryPath returns the address of a delivery, with the name of an action or an empty text.
func DeliveryPath(endpoint int64, id crash.DeliveryID, action string) string {
	return EndpointPath(endpoint, "/deliveries/"+string(id)+action)
}

// NewEndpointPath returns the address of the form for a new endpoint.
func NewEndpointPath(kind crash.EndpointKind) string {
	return layout.PathEndpoints + "/new?" + url.Values{"kind": {string(kind)}}.Encode()
}

// EndpointPage holds the page of one endpoint, or the form for a new one.
type EndpointPage struct {
	Shell    layout.Shell
	Stop     crash.NotificationStop
	Endpoint crash.Endpoint // ID 0: a new one
	Form     EndpointForm
	Secret   string                 // a new secret, which is shown only once
	Test     *crash.DeliveryOutcome // of the test button
	Took     time.Duration          // of the test

	States     map[crash.DeliveryState]int64
	State      crash.DeliveryState // of the deliveries shown; empty: all
	Summary    crash.DeliveryID    // the shown deliveries are those that this one mentions; empty: all
	Deliveries []crash.Delivery
	Next       string // address of the next page; empty: this is the last
	First      bool
}

// EndpointForm holds the settings of an endpoint as a person has typed them.
type EndpointForm struct {
	Name, Address, Channel, Secret string
	PerMinute                      string
	Owner                          int64
	Owners                         []crash.User
	Wrong                          map[string]string // by field
}

// DeliveryPage holds the page of one delivery.
type DeliveryPage struct {
	Shell    layout.Shell
	Endpoint crash.Endpoint
	Type     string // of the event
	Delivery crash.Delivery
	Attempts []crash.DeliveryAttempt // newest first
}

// endpointKinds has the names and help of the kinds of endpoints.
var endpointKinds = map[crash.EndpointKind]struct{ word, help string }{
	crash.EndpointWebhook: {"Webhook", "A program of your own gets each event as JSON, signed as Standard Webhooks " +
		"describes. mishap shows the secret once, after you have added the endpoint."},
	crash.EndpointSlack: {"Slack", "In Slack, create an app with “Incoming Webhooks” and add a webhook to a " +
		"channel. Its address is a secret."},
	crash.EndpointMattermost: {"Mattermost", "In Mattermost, open Integrations, Incoming Webhooks, and add one. Its " +
		"address is a secret."},
	crash.EndpointMatrix: {"Matrix", "Create an account for mishap on a homeserver and invite it to an unencrypted " +
		"room. mishap needs an access token of that account, and does not join the room automatically."},
}

func endpointState(e crash.Endpoint) (word, look string) {
	switch {
	case !e.Disabled.IsZero():
		return "off", "state-error"
	case e.Failures > 0:
		return "failing", "state-warn"
	}
	return "on", "state-done"
}

// deliveryStates has the labels, styles and explanations of the states of deliveries.
var deliveryStates = map[crash.DeliveryState]struct{ word, look, means string }{
	crash.DeliveryWaiting:    {"waiting", "state-wait", "it has not been accepted yet"},
	crash.DeliveryDelivered:  {"delivered", "state-done", "the endpoint accepted it"},
	crash.DeliveryFailed:     {"failed", "state-error", "the endpoint refused it for good, or all attempts failed"},
	crash.DeliverySummarised: {"summarised", "", "the limit held it back, and a summary mentions it"},
}

func (p EndpointPage) isNew() bool { return p.Endpoint.ID == 0 }

func (p EndpointPage) action(name string) layout.PostFormArgs {
	return p.Shell.Form("endpoint-"+name, EndpointPath(p.Endpoint.ID, "/"+name))
}

func (p EndpointPage) settings() layout.PostFormArgs {
	action := EndpointPath(p.Endpoint.ID, "")
	if p.isNew() {
		action = layout.PathEndpoints
	}
	return layout.PostFormArgs{ID: "endpoint-settings", Action: action, CSRFToken: p.Shell.CSRFToken,
		Class: "endpoint-settings"}
}

func (p EndpointPage) total() int64 {
	var n int64
	for _, count := range p.States {
		n += count
	}
	return n
}

// DeliveriesURL returns the address of the deliveries of an endpoint in one state.
func DeliveriesURL(endpoint int64, state crash.DeliveryState) string {
	return layout.Address(EndpointPath(endpoint, ""), map[string]string{"state": string(state)})
}

func summaryURL(endpoint int64, summary crash.DeliveryID) string {
	return layout.Address(EndpointPath(endpoint, ""), map[string]string{"summary": string(summary)})
}

// NextDeliveries returns the address of the page after a delivery.
func NextDeliveries(state crash.DeliveryState, summary crash.DeliveryID, last crash.Delivery) string {
	return layout.Address(EndpointPath(last.Endpoint, ""), map[string]string{"state": string(state),
		"summary": string(summary), "after": fmt.Sprintf("%d.%s", last.Created.UnixMicro(), last.ID)})
}

func indented(payload string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(payload), "", "  "); err != nil {
		return payload
	}
	return b.String()
}

// endpointAnswered describes an answer: "200", or that there was none.
func endpointAnswered(status int) string {
	if status == 0 {
		return "no answer"
	}
	return strconv.Itoa(status)
}

func (p EndpointPage) invalid(field string) templ.OrderedAttributes {
	return layout.Invalid(p.Form.Wrong[field], "endpoint-"+field+"-error")
}

func (p EndpointPage) addressLabel() string {
	if p.Endpoint.Kind == crash.EndpointMatrix {
		return "Address of the homeserver"
	}
	return "Address"
}

// secretHint returns the hint at a field whose value is never shown.
func (p EndpointPage) secretHint(ofNew string) string {
	if p.isNew() {
		return ofNew
	}
	return "Leave this empty to keep the current one."
}

func attemptOutcome(a crash.DeliveryAttempt) string {
	switch {
	case a.Problem != "":
		return a.Problem
	case a.Ended.IsZero():
		return "in progress"
	}
	return "accepted"
}

func attemptTook(a crash.DeliveryAttempt) string {
	if a.Ended.IsZero() {
		return ""
	}
	return bugs.Took(max(a.Ended.Sub(a.Started), 1))
}
