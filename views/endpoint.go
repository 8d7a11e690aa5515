package views

import (
	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/text"
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
		return text.FieldHomeserver
	}
	return text.FieldAddress
}

func (p EndpointPage) addressHint() string {
	if p.isNew() {
		return text.FieldAddressHint + " " + text.FieldAddressPrivate
	}
	return text.FieldAddressKeep
}

func (p EndpointPage) tokenHint() string {
	if p.isNew() {
		return text.FieldTokenHint
	}
	return text.FieldTokenKeep
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
		return text.AttemptRunning
	}
	return text.AttemptAccepted
}

func attemptTook(a crash.DeliveryAttempt) string {
	if a.Ended.IsZero() {
		return ""
	}
	return took(max(a.Ended.Sub(a.Started), 1))
}
