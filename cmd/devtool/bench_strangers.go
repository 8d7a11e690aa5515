package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/spf13/cobra"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"mishap/crash/crashtest"
)

// strangersCommand measures a page for a signed-in person and the reports of machines, both at a fixed
// rate, alone and while strangers request one public address.
func strangersCommand() *cobra.Command {
	b := &bench{clients: 8} // other commands have other rates
	cmd := b.command(b.strangersTable, "bench-strangers", "Measures a page and reports while visitors request one public "+
		"address after the other", 10*time.Second)
	cmd.Flags().StringVar(&b.dataDir, "data-dir", "", "`folder`: the data_dir whose private PostgreSQL to use")
	cmd.Flags().IntVar(&b.rate, "rate", 20, "`number` of reports sent per second")
	cmd.Flags().IntVar(&b.pageRate, "page-rate", 10, "`number` of pages requested per second by a signed-in person")
	cmd.Flags().IntVar(&b.strangers, "visitors", 20, "`number` of visitors that never pause")
	cmd.Flags().IntVar(&b.slow, "slow", 2000, "`number` of visitors that read one large file slowly")
	cmd.Flags().BoolVar(&b.limits, "limits", false, "limit the visitors per address, as by default; each has an address")
	cmd.Flags().StringVar(&b.only, "only", "", "request only addresses that contain this `text`")
	_ = cmd.MarkFlagRequired("data-dir") // the flag exists
	return cmd
}

// strangersTable prints a line for each public address. Each round measures without and then with
// visitors. They are a process of their own with a lower priority, because in reality they are on other
// machines.
func (b *bench) strangersTable(ctx context.Context) error {
	s, err := startSubject(ctx, "", b.program, b.dataDir, "", b.limits)
	if err != nil {
		return err
	}
	defer s.stop()
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
	both := pageAndReports{s: s, length: b.length,
		page:   traffic{next: get(s.url+"/?period=month", s.signedIn, false), connections: b.clients, perSecond: b.pageRate},
		report: traffic{next: reportsTo(s.ingest, load), connections: b.clients, perSecond: b.rate},
	}
	if _, err := both.measure(ctx); err != nil { // warms up
		return err
	}
	fmt.Fprintf(b.out, "\n%-21s %-21s %-21s\n%10s %10s %10s %10s %10s %10s   %s\n", "page, p99 ms", "report, p99 ms",
		"processors, %", "alone", "disturbed", "alone", "disturbed", "alone", "disturbed",
		"ratios of p99: page report; address, answers to visitors")
	for line := range strings.Lines(benchPages) {
		columns := strings.Fields(line)
		if len(columns) != 3 || columns[1] != "stranger" || !strings.Contains(columns[2]+" ", b.only) {
			continue
		}
		address := s.url + names.Replace(own.Replace(columns[2]))
		var pages, reports, busy [2][]float64 // alone, disturbed; of each round
		var answers string
		failures := 0
		for range b.rounds {
			for disturbed := range 2 {
				stop := func() string { return "" }
				if disturbed == 1 {
					if stop, err = b.disturb(ctx, address, columns[0] == "slow"); err != nil {
						return err
					}
				}
				m, err := both.measure(ctx)
				answers = stop()
				if err != nil {
					return err
				}
				pages[disturbed], reports[disturbed] = append(pages[disturbed], m.page), append(reports[disturbed], m.report)
				busy[disturbed] = append(busy[disturbed], m.busy)
				failures += m.errors
			}
			s.settle(ctx)
		}
		failed := ""
		if failures > 0 {
			failed = fmt.Sprintf("%d FAILED: ", failures)
		}
		for _, both := range [][2][]float64{pages, reports, busy} {
			fmt.Fprintf(b.out, "%10.1f %10.1f ", median(both[0]), median(both[1]))
		}
		fmt.Fprintf(b.out, "  %.1f  %.1f  %s%s  %s\n", paired(pages[1], pages[0]), paired(reports[1], reports[0]), failed,
			columns[2], answers)
	}
	return nil
}

// pageAndReports are the requests that strangers must not disturb.
type pageAndReports struct {
	s            *subject
	page, report traffic
	length       time.Duration
}

// disturbance is how long 99 of 100 pages and reports took at most, in ms, and what else happened
// meanwhile.
type disturbance struct {
	page, report float64
	busy         float64 // the share of all processors that the server and PostgreSQL used, in per cent
	errors       int     // failed requests
}

// measure sends pages and reports at the same time.
func (b pageAndReports) measure(ctx context.Context) (d disturbance, err error) {
	var page, report vegeta.Metrics
	before, began := b.s.processes.Used(), time.Now()
	var wg sync.WaitGroup
	b.page.length, b.report.length = b.length, b.length
	wg.Go(func() { _ = b.page.sendInto(ctx, &page) }) // errors are counted
	wg.Go(func() { _ = b.report.sendInto(ctx, &report) })
	wg.Wait()
	after, took := b.s.processes.Used(), time.Since(began).Seconds()
	for _, m := range []*vegeta.Metrics{&page, &report} {
		m.Close()
		d.errors += int(m.Requests) - int(math.Round(m.Success*float64(m.Requests))) //nolint:gosec // few
		if m.Requests == 0 {
			return d, errors.New("no answer arrived")
		}
	}
	d.page, d.report = ms(page.Latencies.P99), ms(report.Latencies.P99)
	d.busy = 100 * (after.Server + after.PostgreSQL - before.Server - before.PostgreSQL) / took / float64(runtime.NumCPU())
	return d, ctx.Err()
}

// disturb starts visitors that request an address. stop waits for their end and returns what they report.
func (b *bench) disturb(ctx context.Context, address string, slowly bool) (stop func() string, err error) {
	number := b.strangers
	if slowly {
		number = b.slow
	}
	var out strings.Builder
	c := exec.CommandContext(ctx, os.Args[0], "load", "--get", address, "--connections", strconv.Itoa(number),
		"--slow="+strconv.FormatBool(slowly), "--for", (b.length + time.Second).String())
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
