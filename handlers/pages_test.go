package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// today is the time at which these tests view pages: two days after the crashes of package
// crashtest.
var today = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// pages is a site to which tests can post reports.
type pages struct {
	*handlertest.Site
	intake *intake.Intake
	t      *testing.T
	pid    int
}

func newPages(t *testing.T) *pages {
	t.Helper()
	return newPagesOn(t, dbtest.New(t))
}

func newPagesOn(t *testing.T, store *db.Store) *pages {
	t.Helper()
	return newPagesIn(t, handlertest.Options{Store: store})
}

func newPagesIn(t *testing.T, o handlertest.Options) *pages {
	t.Helper()
	now := func() time.Time { return today }
	o.Now = now
	site := handlertest.New(t, o)
	return &pages{Site: site, intake: intake.New(intake.Config{MaxAgeDays: 366, Now: now}, site.Store), t: t}
}

// accept stores a report as if its machine had posted it.
func (p *pages) accept(system crash.SystemID, report crashtest.Report) crash.OopsID {
	p.t.Helper()
	receipt, err := p.intake.Accept(p.t.Context(), crash.Report{System: system, Fields: report.Fields()})
	if err != nil {
		p.t.Fatalf("accept: %v", err)
	}
	if receipt.Duplicate {
		p.t.Fatalf("accept: got a duplicate, want a new report")
	}
	dbtest.Counted(p.t, p.Store)
	return receipt.ID
}

// bucketOf returns the id of the bucket of a report.
func bucketOf(t *testing.T, report crashtest.Report) crash.BucketID {
	t.Helper()
	grouping := grouping.SignatureOf(report.Fields())
	if grouping.Signature == "" {
		t.Fatalf("signature: got none (%s)", grouping.Reason)
	}
	return crash.BucketIDOf(grouping.Signature)
}

// several stores n reports of distinct crashes, each from its own machine.
func (p *pages) several(n int, build func(...crashtest.Option) crashtest.Report, options ...crashtest.Option) {
	p.t.Helper()
	for range n {
		p.pid++
		p.accept(crash.SystemID(fmt.Sprintf("machine-%d", p.pid)), build(append(options, crashtest.Process(p.pid))...))
	}
	dbtest.Counted(p.t, p.Store)
}

// wantNoMarkup fails the test if a page contains an injected script or event handler.
func wantNoMarkup(t *testing.T, a *handlertest.Answer) {
	t.Helper()
	a.WantNone("script:not([src]), main img, [onerror], [onmouseover], [style]")
	if strings.Contains(a.Body, "<script>") {
		t.Errorf("got <script> in the page, want it escaped")
	}
}

// private are words that occur only in stacks, tracebacks and reports, never in counted values.
var private = []string{
	"harbour.csv", "/home/ines", "parse.c", "0x0000", "XDG_RUNTIME_DIR", "host-77", "io.py", "machine-1",
	"Traceback (most",
}

// wantNothingPrivate fails the test if a page shows private words to visitors.
func wantNothingPrivate(t *testing.T, a *handlertest.Answer) {
	t.Helper()
	for _, word := range private {
		if strings.Contains(a.Body, word) {
			t.Errorf("got %q in a page for visitors, want no private data", word)
		}
	}
	a.WantNone("a[href^='/oops/'], a[href^='/user/']")
}

// brokenSite returns a visitor of a site whose database is unavailable.
func brokenSite(t *testing.T) *handlertest.Client {
	t.Helper()
	return handlertest.New(t, handlertest.Options{Store: dbtest.Broken(t)}).Visitor(t)
}
