package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/PuerkitoBio/goquery"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"mishap/crash/crashtest"
)

// strangers measures a page for a signed-in person and the reports of machines, both at a fixed rate,
// while many visitors request one public address without a pause. Each round measures without and then
// with these visitors. They are a process of their own with a lower priority, because in reality they
// are on other machines.
func (b *bench) strangersTable(ctx context.Context, s *subject) error {
	front, err := s.fetch(ctx, "/", nil, nil)
	for range 4 { // on a busy machine, the first answers may take too long
		if err != nil {
			front, err = s.fetch(ctx, "/", nil, nil)
		}
	}
	if err != nil {
		return err
	}
	names, err := newNames(ctx, s)
	if err != nil {
		return err
	}
	html, err := goquery.NewDocumentFromReader(bytes.NewReader(front))
	if err != nil {
		return err
	}
	own := strings.NewReplacer("{long}", strings.Repeat("-", 2048),
		"{style}", html.Find("link[rel=stylesheet]").AttrOr("href", ""))
	load := crashtest.NewLoad(time.Now())
	page := traffic{next: get(s.url+"/?period=month", s.signedIn, false), connections: b.clients,
		perSecond: b.pageRate, length: b.length}
	report := traffic{next: reportsTo(s.ingest, load), connections: b.clients, perSecond: b.rate, length: b.length}
	if err := both(ctx, page, report, &vegeta.Metrics{}, &vegeta.Metrics{}); err != nil { // warms up
		return err
	}
	fmt.Fprintf(b.out, "\n%-21s %-21s %s\n%10s %10s %10s %10s   %s\n", "page, p99 ms", "report, p99 ms", "",
		"alone", "disturbed", "alone", "disturbed", "ratios, answers to strangers per second")
	for line := range strings.Lines(benchPages) {
		columns := strings.Fields(line)
		if len(columns) != 3 || columns[1] != "stranger" || !strings.Contains(columns[2], b.only) {
			continue
		}
		var pages, reports [2]vegeta.Metrics // alone, disturbed
		var answers []string
		for range b.rounds {
			for disturbed := range 2 {
				if disturbed == 1 {
					stop, err := b.disturb(ctx, s.url+names.Replace(own.Replace(columns[2])))
					if err != nil {
						return err
					}
					err = both(ctx, page, report, &pages[1], &reports[1])
					answers = append(answers, stop())
					if err != nil {
						return err
					}
				} else if err := both(ctx, page, report, &pages[0], &reports[0]); err != nil {
					return err
				}
			}
			s.settle(ctx)
		}
		p0, p1 := p99(&pages[0]), p99(&pages[1])
		r0, r1 := p99(&reports[0]), p99(&reports[1])
		failed := ""
		if n := len(pages[1].Errors) + len(reports[1].Errors); n > 0 {
			failed = fmt.Sprintf("FAILED, %d kinds of errors: ", n)
		}
		fmt.Fprintf(b.out, "%10.1f %10.1f %10.1f %10.1f   %s%.1f  %.1f  %s  %s\n", p0, p1, r0, r1, failed, p1/p0, r1/r0,
			columns[2], answers[len(answers)/2])
	}
	return nil
}

func p99(m *vegeta.Metrics) float64 {
	m.Close()
	return ms(m.Latencies.P99)
}

// both sends two kinds of traffic at the same time and adds their answers to metrics.
func both(ctx context.Context, first, second traffic, into1, into2 *vegeta.Metrics) error {
	var wg sync.WaitGroup
	wg.Go(func() { _ = first.sendInto(ctx, into1) }) // the table counts errors
	wg.Go(func() { _ = second.sendInto(ctx, into2) })
	wg.Wait()
	for _, m := range []*vegeta.Metrics{into1, into2} {
		if m.Requests == 0 {
			return errors.New("no answer arrived")
		}
	}
	return ctx.Err()
}

// disturb starts strangers that request an address until stop is called, which returns what they report.
func (b *bench) disturb(ctx context.Context, address string) (stop func() string, err error) {
	var out strings.Builder
	c := exec.CommandContext(ctx, os.Args[0], "load", "--get", address, "--connections", strconv.Itoa(b.strangers),
		"--for", (b.length + time.Second).String())
	c.Stdout, c.Stderr = &out, b.err
	if err := c.Start(); err != nil {
		return nil, err
	}
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err == nil {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, c.Process.Pid, 20-own+strangersNice) // the kernel returns 20-nice
	}
	if err != nil {
		return nil, err
	}
	return func() string {
		_ = c.Wait() // it has printed its error
		return strings.TrimSpace(out.String())
	}, nil
}

// strangersNice is how much lower the priority of strangers is.
const strangersNice = 10
