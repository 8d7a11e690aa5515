package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"sync"
)

// addresses are the addresses of a running server and the location of its database.
type addresses struct{ base, ingest, database string }

// banner reads the addresses that the server logs when it is ready.
type banner struct {
	text []byte         // of a line that is not complete
	read chan addresses // gets one value
	done bool
}

func newBanner() *banner { return &banner{read: make(chan addresses, 1)} }

// Write is called by one goroutine.
func (b *banner) Write(p []byte) (int, error) {
	b.text = append(b.text, p...)
	for !b.done {
		line, rest, complete := bytes.Cut(b.text, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		b.text = rest
		var l struct {
			Message        string `json:"msg"`
			Pages, Reports string
			Database       string `json:"private_postgresql"`
		}
		if json.Unmarshal(line, &l) == nil && l.Message == "ready" {
			b.done = true
			b.read <- addresses{base: l.Pages, ingest: l.Reports,
				database: cmp.Or(l.Database, "the database of database_url")}
		}
	}
	b.text = nil
	return len(p), nil
}

// lastLines collects the error messages at the end of a program's output: lines that begin with its
// name, and mistakes in the configuration. It omits log records.
type lastLines struct {
	mu   sync.Mutex
	text []byte
}

// keptOutput is the number of bytes stored from the end of the output.
const keptOutput = 8 << 10

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-keptOutput):]
	return len(p), nil
}

func (l *lastLines) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(l.text)) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "mishap: "))
		}
	}
	return strings.Join(lines, "\n")
}
