package main

import (
	"regexp"
	"strings"
	"sync"
)

// addresses are the addresses of a running server and the location of its database.
type addresses struct{ base, ingest, database string }

// banner reads the addresses that the server prints when it is ready.
type banner struct {
	text []byte
	read chan addresses // gets one value
	done bool
}

func newBanner() *banner { return &banner{read: make(chan addresses, 1)} }

var (
	bannerPages  = regexp.MustCompile(`(?m)^ +pages +(\S+)$`)
	bannerIngest = regexp.MustCompile(`(?m)^ +machines post to +(\S+)$`)
	bannerData   = regexp.MustCompile(`(?m)^ +private PostgreSQL +(.+)$`)
)

// Write is called by one goroutine.
func (b *banner) Write(p []byte) (int, error) {
	if b.done {
		return len(p), nil
	}
	b.text = append(b.text, p...)
	pages, ingest := bannerPages.FindSubmatch(b.text), bannerIngest.FindSubmatch(b.text)
	if pages != nil && ingest != nil && strings.Contains(string(b.text), "Ctrl-C") {
		b.done = true
		d := addresses{base: string(pages[1]), ingest: string(ingest[1]), database: "the database of database_url"}
		if data := bannerData.FindSubmatch(b.text); data != nil {
			d.database = string(data[1])
		}
		b.read <- d
	}
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
