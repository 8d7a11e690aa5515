// Package sentry reads what the libraries of Sentry send: envelopes, and events on their own. It turns events into
// reports with apport's fields, so that the same rules group them.
package sentry

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/format/jsonlimit"
)

const (
	maxItems  = 200     // of an envelope
	maxHeader = 8 << 10 // bytes of the header of an envelope or an item
	maxEvent  = 4 << 20 // bytes of an event
	maxValues = 100_000 // of an event
	maxLost   = 1e6     // events that a client may say it has lost
)

var limits = jsonlimit.Limits{Depth: 64, Values: maxValues}

// MemoryFor returns the largest number of bytes that reading an envelope and its event needs besides its own bytes.
func MemoryFor(body []byte) int64 {
	const perValue, perByte = 300, 4
	values := bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("["))
	return int64(min(values, maxValues))*perValue + int64(min(len(body), maxEvent))*perByte
}

// Envelope is what one request contains.
type Envelope struct {
	ID  string // of the event, as the sender wrote it
	Key string // the key in its DSN; empty: none

	Dropped int   // items that are not stored
	Lost    int64 // errors that the client says it has not sent

	event    json.RawMessage
	feedback json.RawMessage
}

// Project is where an event belongs to.
type Project struct {
	Number int64
	Name   string
	Source string // source package
}

func invalid(format string, args ...any) *crash.Error {
	return crash.Errorf(crash.Invalid, "invalid_envelope", format, args...)
}

// Parse reads an envelope. It takes the first event, and what a person wrote about it. Other items are dropped, of
// whatever type. Errors are of type *crash.Error, kind Invalid, with a sentence for the sender.
func Parse(body []byte) (Envelope, error) {
	line, rest := cutLine(body)
	var header struct {
		ID  string `json:"event_id"`
		DSN string `json:"dsn"`
	}
	if err := decodeHeader(line, &header); err != nil {
		return Envelope{}, err
	}
	e := Envelope{ID: header.ID}
	if dsn, err := url.Parse(header.DSN); err == nil && dsn.User != nil {
		e.Key = dsn.User.Username()
	}
	for n := 0; ; n++ {
		rest = bytes.TrimLeft(rest, "\r\n")
		if len(rest) == 0 {
			return e, nil
		}
		if n == maxItems {
			return Envelope{}, invalid("The envelope has more than %d items.", maxItems)
		}
		line, rest = cutLine(rest)
		var item struct {
			Type   string `json:"type"`
			Length *int64 `json:"length"`
		}
		if err := decodeHeader(line, &item); err != nil {
			return Envelope{}, err
		}
		var payload []byte
		switch {
		case item.Length == nil:
			payload, rest = cutLine(rest)
		case *item.Length < 0 || *item.Length > int64(len(rest)):
			return Envelope{}, invalid("An item of the envelope is shorter than its length.")
		default:
			payload, rest = rest[:*item.Length], rest[*item.Length:]
		}
		e.take(item.Type, payload)
	}
}

// take stores an item of the envelope, or counts it.
func (e *Envelope) take(kind string, payload []byte) {
	switch {
	case kind == "event" && e.event == nil:
		e.event = payload
	case (kind == "user_report" || kind == "feedback") && e.feedback == nil:
		e.feedback = payload
	default:
		e.Dropped++
		if kind == "client_report" {
			e.Lost += lost(payload)
		}
	}
}

// Event returns an envelope with a single event, as older libraries send it.
func Event(body []byte) Envelope { return Envelope{event: body} }

// cutLine cuts text after its first line.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte("\n"))
	return line, rest
}

func decodeHeader(line []byte, into any) error {
	if len(line) > maxHeader {
		return invalid("A header of the envelope has more than %d bytes.", maxHeader)
	}
	return decode(line, into)
}

// decode decodes a JSON object. Members of other types than usual are left out.
func decode(text []byte, into any) error {
	if len(text) > maxEvent {
		return crash.Errorf(crash.TooLarge, "too_large", "The event has more than %d bytes.", maxEvent)
	}
	if err := jsonlimit.Check(text, limits); err != nil {
		return err
	}
	err := json.Unmarshal(text, into)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || err != nil && !wrongType {
		return crash.Errorf(crash.Invalid, "invalid_json", "The envelope has no JSON object where it needs one.").
			Because(err)
	}
	return nil
}

// lost returns the number of errors that a client report says were not sent.
func lost(payload []byte) int64 {
	var report struct {
		Discarded []struct {
			Category string  `json:"category"`
			Quantity float64 `json:"quantity"`
		} `json:"discarded_events"`
	}
	if decode(payload, &report) != nil {
		return 0
	}
	n := 0.0
	for _, d := range report.Discarded {
		if d.Category == "error" && d.Quantity > 0 {
			n += d.Quantity
		}
	}
	return int64(min(n, maxLost))
}

// EventID returns the id of an event in its usual form, 32 hex digits, or "" if it is none.
func EventID(id string) string {
	id = strings.ToLower(strings.ReplaceAll(id, "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// event returns a name in the project that no other project has.
func (p Project) event(id string) string { return strconv.FormatInt(p.Number, 10) + "/" + id }
