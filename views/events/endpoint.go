package events

import (
	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/bugs"
)

// invalid returns the attributes of a field with an error.
func (p EndpointPage) invalid(field string) templ.OrderedAttributes {
	if p.Form.Wrong[field] == "" {
		return nil
	}
	return templ.OrderedAttributes{
		{Key: "aria-describedby", Value: "endpoint-" + field + "-error"}, {Key: "aria-invalid", Value: "true"},
	}
}

func (p EndpointPage) addressLabel() string {
	if p.Endpoint.Kind == crash.EndpointMatrix {
		return "Address of the homeserver"
	}
	return "Address"
}

func (p EndpointPage) addressHint() string {
	if p.isNew() {
		return "It is stored encrypted, and pages show only its host. Private networks are refused unless " +
			"webhook_allow_networks in the configuration permits them."
	}
	return "It is stored encrypted and is not shown. Leave this empty to keep it."
}

func (p EndpointPage) tokenHint() string {
	if p.isNew() {
		return "It is stored encrypted and is not shown."
	}
	return "Leave this empty to keep the current one."
}

// deliveryLook returns the label, style and explanation of the state of a delivery.
func deliveryLook(state crash.DeliveryState) (word, look, means string) {
	for _, s := range deliveryStates {
		if s.state == state {
			return s.word, s.look, s.means
		}
	}
	return string(state), "", ""
}

// attemptOutcome describes the outcome of an attempt.
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
