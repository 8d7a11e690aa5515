package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/faf"
	"mishap/crash/format/abrt"
	"mishap/crash/intake"
	"mishap/db/bugs"
	"mishap/tracker"
)

// The limits of a copy.
const (
	fafRequestTime = 5 * time.Minute // FAF counts while it answers
	fafTries       = 5
	fafAtOnce      = 50        // reports of one request
	maxFAFList     = 256 << 20 // bytes
	maxFAFItems    = 64 << 20  // bytes
	maxFAFReport   = 4 << 20   // bytes, as FAF's own limit
)

// importFAF copies the reports of a FAF server.
func (p *program) importFAF(ctx context.Context, s session, address string) (err error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" {
		return fmt.Errorf("--faf: expected the address of FAF's pages, such as https://faf.example.org/faf, got %q", address)
	}
	address = strings.TrimRight(base.String(), "/")
	store, settings := bugs.New(s.store), trackerConfig(s.config, newLog(p.err, slog.LevelWarn), nil)
	c := fafCopy{
		program: p, address: address, intake: intake.New(intakeConfig(s.config), s.store),
		oldest: crash.Midnight(time.Now()).AddDate(0, 0, -s.config.IngestMaxAgeDays),
		client: &http.Client{Timeout: fafRequestTime},
		bugs:   store, sites: trackers(s.config, settings, tracker.NewCredentials(settings, store), store),
	}
	body, _, err := c.get(ctx, "/reports?limit=1", maxFAFList)
	if err != nil {
		return err
	}
	listing, err := faf.ParseListing(body)
	if err != nil {
		return fmt.Errorf("%s/reports/: %w", address, err)
	}
	if c.done, err = openFAFDone(filepath.Join(s.config.DataDir, "faf"), address); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.done.close()) }()
	if listing.Pages {
		err = c.copyItems(ctx)
	} else {
		err = c.copyNamed(ctx, listing.Names)
	}
	p.printf("%d stored, %d known already, %d too old, %d unusable.", c.stored, c.known, c.old, c.failed)
	if listing.Pages {
		p.printf("%s linked, %s redirected.", crash.Counted(int64(c.linked), "bug", "bugs"),
			crash.Counted(int64(c.redirected), "old address", "old addresses"))
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; the same command continues: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("%w; the same command continues", err)
	case c.failed > 0:
		return errReported
	}
	return nil
}

// fafCopy is a copy that runs.
type fafCopy struct {
	*program

	address string
	client  *http.Client
	intake  *intake.Intake
	done    *fafDone
	oldest  time.Time // crashes before that day are left out
	bugs    *bugs.Store
	sites   *tracker.Sites

	mu                         sync.Mutex
	stored, known, old, failed int
	linked, redirected         int
}

// fail prints why a report is not copied.
func (c *fafCopy) fail(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed++; c.failed <= maxSaid {
		_, _ = fmt.Fprintf(c.err, "%s: %s\n", onOneLine(crash.Shorten(name, 80)), onOneLine(reason(err)))
	}
}

// copyNamed copies µReports.
func (c *fafCopy) copyNamed(ctx context.Context, names []string) error {
	names = slices.DeleteFunc(names, func(name string) bool { return c.done.has(name) })
	bar := c.progressBar(len(names), "copying")
	defer func() { _ = bar.Finish() }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(importers)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			defer bar.Add(1) //nolint:errcheck // only a picture
			report, err := c.µReport(ctx, name)
			if err == nil {
				_, err = c.accept(ctx, report)
			}
			if err := c.unusable(ctx, name, err); err != nil {
				return err
			}
			return c.done.add(name)
		})
	}
	return group.Wait()
}

// unusable prints why a report cannot be copied. It returns an error that ends the copy.
func (c *fafCopy) unusable(ctx context.Context, name string, err error) error {
	switch kind := crash.KindOf(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && kind != crash.Invalid && kind != crash.NotFound:
		return err
	case err != nil:
		c.fail(name, err)
	}
	return nil
}

// µReport reads a µReport. Its day is that of the file at the server, if the server names it.
func (c *fafCopy) µReport(ctx context.Context, name string) (crash.Report, error) {
	if !faf.IsName(name) {
		return crash.Report{}, crash.Errorf(crash.Invalid, "name", "The name is not that of a report.")
	}
	body, head, err := c.get(ctx, "/report/"+name, maxFAFReport)
	if err != nil {
		return crash.Report{}, err
	}
	report, err := abrt.Parse(body)
	if err != nil {
		return crash.Report{}, err
	}
	report.Number = "faf " + c.address + " " + name
	if at, err := http.ParseTime(head.Get("Last-Modified")); err == nil {
		report.Fields["Date"] = at.UTC().Format(time.ANSIC)
		if at.Before(c.oldest) {
			report.Fields = nil
		}
	}
	return report, nil
}

// accept stores a report, and returns its signature, or "" if it is in no problem. A report without fields is too old.
func (c *fafCopy) accept(ctx context.Context, report crash.Report) (signature string, err error) {
	var receipt intake.Receipt
	if report.Fields != nil {
		receipt, err = c.intake.Accept(ctx, report)
	}
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case report.Fields == nil:
		c.old++
	case receipt.Duplicate:
		c.known++
	default:
		c.stored++
	}
	return receipt.Signature, nil
}

// copyItems copies what FAF's pages know of its reports, by the month of their last crash.
func (c *fafCopy) copyItems(ctx context.Context) error {
	var months []time.Time
	for month := c.oldest; month.Before(time.Now().AddDate(0, 0, 1)); month = month.AddDate(0, 1, 0) {
		months = append(months, month)
	}
	bar := c.progressBar(len(months), "copying, by month")
	defer func() { _ = bar.Finish() }()
	for _, month := range months {
		until := month.AddDate(0, 1, 0)
		body, _, err := c.get(ctx, "/reports/get_hash/*/*/"+month.Format(time.DateOnly)+"/"+until.Format(time.DateOnly),
			maxFAFList)
		if err != nil {
			return err
		}
		hashes, err := faf.ParseHashes(body)
		if err != nil {
			return fmt.Errorf("%s/reports/get_hash/: %w", c.address, err)
		}
		hashes = slices.DeleteFunc(hashes, c.done.has)
		for some := range slices.Chunk(hashes, fafAtOnce) {
			if err := c.copySome(ctx, some); err != nil {
				return err
			}
		}
		_ = bar.Add(1)
	}
	return nil
}

func (c *fafCopy) copySome(ctx context.Context, hashes []string) error {
	question, err := json.Marshal(hashes)
	if err != nil {
		return err
	}
	body, _, err := c.ask(ctx, http.MethodPost, "/reports/items/", question, maxFAFItems)
	if err != nil {
		return err
	}
	items, err := faf.ParseItems(body)
	if err != nil {
		return fmt.Errorf("%s/reports/items/: %w", c.address, err)
	}
	var more imports
	for _, hash := range hashes {
		row, err := c.copyItem(ctx, hash, items[hash])
		if err := c.unusable(ctx, hash, err); err != nil {
			return err
		}
		for _, err := range more.add(ctx, row, c.sites) {
			c.fail(row.name, err)
		}
	}
	fates, err := c.bugs.ImportBugs(ctx, more.links, true)
	if err != nil {
		return err
	}
	for _, fate := range fates {
		if fate == crash.ImportLinks || fate == crash.ImportWaits {
			c.linked++
		}
	}
	added, err := c.bugs.ImportAddresses(ctx, more.addresses, true)
	if err != nil {
		return err
	}
	c.redirected += added
	for _, hash := range hashes {
		if err := c.done.add(hash); err != nil {
			return err
		}
	}
	return nil
}

// copyItem stores a report of FAF. It returns its problems with their bugs and old addresses.
func (c *fafCopy) copyItem(ctx context.Context, hash string, it *faf.Item) (row bugRow, err error) {
	if it == nil {
		return row, crash.Errorf(crash.Invalid, "faf", "FAF's answer does not describe this report.")
	}
	copied, err := it.Copy(c.address, c.oldest)
	if err != nil {
		return row, crash.Errorf(crash.Invalid, "faf", "Report %d: %s.", it.Report.ID, err)
	}
	c.old += copied.Old
	var signatures []string
	for _, report := range copied.Reports {
		signature, err := c.accept(ctx, report)
		if err := c.unusable(ctx, hash, err); err != nil {
			return row, err
		}
		if signature != "" && !slices.Contains(signatures, signature) {
			signatures = append(signatures, signature)
		}
	}
	if len(signatures) == 0 {
		return row, nil
	}
	row = bugRow{name: "FAF's report " + strconv.FormatInt(it.Report.ID, 10), signatures: signatures,
		addresses: it.Addresses(hash)}
	for _, bug := range it.Report.Bugs {
		row.bugs = append(row.bugs, bugName{bug: bug})
	}
	return row, nil
}

func (c *fafCopy) get(ctx context.Context, path string, limit int64) ([]byte, http.Header, error) {
	return c.ask(ctx, http.MethodGet, path, nil, limit)
}

// ask sends a request, up to fafTries times. NotFound and Invalid are about what was asked for; after any other
// error, the server cannot be copied at present.
func (c *fafCopy) ask(ctx context.Context, method, path string, question []byte, limit int64) ([]byte, http.Header,
	error,
) {
	pause := time.Second
	for try := 1; ; try++ {
		body, head, err := c.askOnce(ctx, method, path, question, limit)
		if kind := crash.KindOf(err); err == nil || kind != crash.Unavailable || try == fafTries {
			return body, head, err
		}
		if err := crash.Sleep(ctx, pause); err != nil {
			return nil, nil, err
		}
		pause *= 2
	}
}

func (c *fafCopy) askOnce(ctx context.Context, method, path string, question []byte, limit int64) ([]byte, http.Header,
	error,
) {
	r, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(question))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	if question != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, nil, crash.Errorf(crash.Unavailable, "faf", "FAF cannot be reached: %s.", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	where := method + " " + c.address + path
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return nil, nil, crash.Errorf(crash.NotFound, "faf", "FAF does not know %s.", where)
	case answer.StatusCode >= 500, answer.StatusCode == http.StatusTooManyRequests:
		return nil, nil, crash.Errorf(crash.Unavailable, "faf", "FAF answers %s with %s.", where, answer.Status)
	case answer.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("FAF answers %s with %s", where, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, nil, crash.Errorf(crash.Unavailable, "faf", "FAF's answer to %s broke off: %s.", where, err)
	}
	if int64(len(body)) > limit {
		return nil, nil, crash.Errorf(crash.Invalid, "faf", "FAF's answer to %s has more than %d bytes.", where, limit)
	}
	return body, answer.Header, nil
}

// fafDone is the file with the names of what is copied, one in each line. After a crash, reports that it lacks are
// copied again; the database recognises them.
type fafDone struct {
	names map[string]bool
	mu    sync.Mutex
	file  *os.File
}

func openFAFDone(dir, server string) (*fafDone, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(server))
	file, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%x.copied", sum[:8])), os.O_RDWR|os.O_CREATE|os.O_APPEND,
		fs.FileMode(0o600))
	if err != nil {
		return nil, err
	}
	d := &fafDone{names: map[string]bool{}, file: file}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		d.names[lines.Text()] = true
	}
	err = lines.Err()
	if err == nil {
		_, err = file.WriteString("\n") // ends a line that was cut off
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

func (d *fafDone) has(name string) bool { return d.names[name] }

func (d *fafDone) add(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.file.WriteString(onOneLine(name) + "\n")
	return err
}

func (d *fafDone) close() error { return d.file.Close() }
