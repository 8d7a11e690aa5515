package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"mishap/crash/crashtest"
)

// traffic is what clients send for a while.
type traffic struct {
	next        vegeta.Targeter // makes the next request
	connections int             // each sends again as soon as it has its answer, unless there is a rate
	perSecond   int             // at a fixed rate requests are sent when they are due, however slow the answers are
	length      time.Duration   // 0: until the context ends
}

// send sends the traffic and waits for all answers. An answer that is not a success is an error.
func (t traffic) send(ctx context.Context) (vegeta.Metrics, error) {
	options := []func(*vegeta.Attacker){vegeta.Connections(mostConnections), vegeta.Workers(uint64(t.connections))}
	if t.perSecond == 0 {
		options = append(options, vegeta.MaxWorkers(uint64(t.connections)))
	}
	attacker := vegeta.NewAttacker(options...)
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	var m vegeta.Metrics
	for r := range attacker.Attack(t.next, vegeta.Rate{Freq: t.perSecond, Per: time.Second}, t.length, "") {
		m.Add(r)
	}
	m.Close()
	if len(m.Errors) > 0 {
		return m, errors.New(m.Errors[0])
	}
	return m, ctx.Err()
}

// get asks for an address, compressed as browsers do. A fresh request differs from all others, so that no cached page answers it.
func get(address string, header http.Header, fresh bool) vegeta.Targeter {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept-Encoding", "gzip")
	mark := "?nth="
	if strings.Contains(address, "?") {
		mark = "&nth="
	}
	return func(t *vegeta.Target) error {
		t.Method, t.URL, t.Header = http.MethodGet, address, header
		if fresh {
			t.URL += mark + fmt.Sprint(requestNumber.Add(1))
		}
		return nil
	}
}

// requestNumber numbers fresh requests.
var requestNumber atomic.Uint64

// reportsTo posts reports to the address that takes them.
func reportsTo(address string, load *crashtest.Load) vegeta.Targeter {
	return func(t *vegeta.Target) error {
		path, body := load.Next()
		t.Method, t.URL, t.Body = http.MethodPost, "http://"+address+path, body
		return nil
	}
}
