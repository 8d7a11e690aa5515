package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"mishap/crash/crashtest"
)

// traffic describes the requests of clients during a measurement.
type traffic struct {
	next        vegeta.Targeter // returns the next request
	connections int             // each sends the next request after an answer, unless there is a rate
	perSecond   int             // fixed rate, independent of the answers; 0: none
	length      time.Duration
}

// send sends the traffic and waits for all answers. An answer that is not a success is an error.
func (t traffic) send(ctx context.Context) (vegeta.Metrics, error) {
	var m vegeta.Metrics
	err := t.sendInto(ctx, &m)
	m.Close()
	return m, err
}

// sendInto is like send, and adds the answers to m.
func (t traffic) sendInto(ctx context.Context, m *vegeta.Metrics) error {
	workers := uint64(max(t.connections, 0))
	options := []func(*vegeta.Attacker){vegeta.Connections(mostConnections), vegeta.Workers(workers)}
	if t.perSecond == 0 {
		options = append(options, vegeta.MaxWorkers(workers))
	}
	attacker := vegeta.NewAttacker(options...)
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	for r := range attacker.Attack(t.next, vegeta.Rate{Freq: t.perSecond, Per: time.Second}, t.length, "") {
		m.Add(r)
	}
	if len(m.Errors) > 0 {
		return errors.New(m.Errors[0])
	}
	return ctx.Err()
}

// get requests an address, compressed as browsers do. If uncached is true, it makes the address too
// long for the page cache; the page is the same.
func get(address string, header http.Header, uncached bool) vegeta.Targeter {
	headers := http.Header{"Accept-Encoding": {"gzip"}}
	maps.Copy(headers, header)
	if uncached {
		mark := "?"
		if strings.Contains(address, "?") {
			mark = "&"
		}
		address += mark + "uncached=" + strings.Repeat("-", 2048)
	}
	return vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: address, Header: headers})
}

// reportsTo posts reports to the given address.
func reportsTo(address string, load *crashtest.Load) vegeta.Targeter {
	return func(t *vegeta.Target) error {
		path, body := load.Next()
		t.Method, t.URL, t.Body = http.MethodPost, "http://"+address+path, body
		return nil
	}
}
