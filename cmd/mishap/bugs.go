package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/faf"
	"mishap/db/bugs"
	"mishap/tracker"
)

func (p *program) bugsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bugs",
		Short: "Imports links between problems and bugs, and shows what would be filed",
		Long: `Imports links between problems and bugs from another crash tracker, and the addresses of its pages. Shows the
request that would file a bug.`,
	}
	cmd.AddCommand(p.importBugsCommand(), p.fafQueryCommand(), p.bugRequestCommand())
	return cmd
}

func (p *program) importBugsCommand() *cobra.Command {
	var apply bool
	var oopses string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Links problems to the bugs that another crash tracker knows",
		Long: `Reads signatures of problems, each with a bug of the tracker, and says what linking them would do. With
--apply it links them. A problem without a report gets its bug with its first report. Links that people have
removed stay removed. It can run any number of times, also while mishap serves.

FILE is one of these; "-" is the standard input:

  - CSV with a signature and a bug in each row. The bug is a number or an address. If the first row names
    columns, the names are "signature", "bug" and "address", in any order, and other columns are ignored.
  - apport's duplicate database (SQLite), which the program sqlite3 reads.
  - What "mishap bugs faf-query" prints in the database of FAF, the analytics server of ABRT. The texts of kernel
    oopses are in files; --oopses names a copy of FAF's folder with them.

An address is that of a page at errors.ubuntu.com (/oops/<id>, /problem/<hash>) or FAF. If the old host name leads
to mishap, it redirects to the problem.

Rows that cannot be used are printed with the reason, the others are imported, and the exit status is 1.`,
		Example: `  mishap bugs import links.csv
  mishap bugs import --apply apport_duplicates.db
  mishap bugs import --oopses lob/Report/oops faf.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			rows, err := readBugRows(ctx, s.args[0], oopses)
			if err != nil {
				return "", err
			}
			store, settings := bugs.New(s.store), trackerConfig(s.config, newLog(p.err, slog.LevelWarn), nil)
			sites := trackers(s.config, settings, tracker.NewCredentials(settings, store), store)
			return "", p.importBugs(ctx, store, sites, rows, apply)
		}),
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "link the problems to their bugs")
	cmd.Flags().StringVar(&oopses, "oopses", "", "`folder` with FAF's texts of oopses, "+
		"which FAF has at /var/spool/faf/lob/Report/oops")
	return cmd
}

func (p *program) fafQueryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "faf-query",
		Short: "Prints the query that exports the problems of FAF",
		Long: `Prints the query that selects the problems of FAF, with their stacks, bugs and addresses, from FAF's
database. "mishap bugs import" reads the answer.`,
		Example: `  mishap bugs faf-query | psql -XqAt faf > faf.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.out, faf.Query)
			return err
		},
	}
}

func (p *program) bugRequestCommand() *cobra.Command {
	var upstream bool
	cmd := &cobra.Command{
		Use:   "request PROBLEM",
		Short: "Prints the request that would file the bug of a problem",
		Long: `Prints the request that Create would send to the tracker for a problem, or the mail, without sending it.
Secrets are hidden. What is read from the tracker before that, such as the versions that Bugzilla knows, is read.

PROBLEM is the address of the problem's page, its id, or its signature.`,
		Example: `  mishap bugs request 9f3ac1d2e4b5a60718293a4b5c6d7e8f90a1b2c3
  mishap bugs request --upstream https://crashes.example.org/problem/9f3ac1d2e4b5a60718293a4b5c6d7e8f90a1b2c3`,
		Args: cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			id, err := crash.ParseBucketID(path.Base(s.args[0]))
			if err != nil {
				id = crash.BucketIDOf(s.args[0])
			}
			store, settings := bugs.New(s.store), trackerConfig(s.config, newLog(p.err, slog.LevelWarn), nil)
			sites := trackers(s.config, settings, tracker.NewCredentials(settings, store), store)
			request, err := tracker.NewFiler(settings, store, sites).Request(ctx, id, nil, upstream)
			if err != nil {
				return "", err
			}
			_, err = io.WriteString(p.out, request)
			return "", err
		}),
	}
	cmd.Flags().BoolVar(&upstream, "upstream", false, "the bug for the upstream project")
	return cmd
}

// bugRow is a row of a file with links.
type bugRow struct {
	line       int    // 0: the file has no lines
	name       string // how messages call it
	signatures []string
	why        error // why there are no signatures
	bugs       []bugName
	addresses  []string // of the problem, in the other crash tracker
}

// bugName names a bug as a file does.
type bugName struct {
	tracker string // empty: that of the address, or mishap's
	bug     string // a number or an address
}

// resolve returns the bug, or why there is no such bug for mishap.
func (n bugName) resolve(ctx context.Context, sites *tracker.Sites) (crash.Bug, error) {
	name := n.bug
	if n.tracker != "" {
		if _, ok := sites.Member(n.tracker); !ok {
			return crash.Bug{}, fmt.Errorf("bug %s is in the tracker %q, which is not in the configuration", n.bug, n.tracker)
		}
		name = n.tracker + "#" + n.bug
	}
	number, err := sites.BugNumber(ctx, name)
	if err != nil {
		return crash.Bug{}, err
	}
	return crash.Bug{Number: number, URL: sites.BugURL(ctx, number)}, nil
}

// sqliteStart is how an SQLite database begins.
const sqliteStart = "SQLite format 3\x00"

// readBugRows reads the rows of a file: CSV, apport's duplicate database, or FAF's problems. The folder oopses
// has FAF's texts of oopses; empty: there is none.
func readBugRows(ctx context.Context, file, oopses string) ([]bugRow, error) {
	in := os.Stdin
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }() // only read
	}
	start := bufio.NewReader(in)
	if first, _ := start.Peek(len(faf.Start)); string(first) == faf.Start {
		return bugRowsOfFAF(start, oopses)
	}
	if first, _ := start.Peek(len(sqliteStart)); string(first) != sqliteStart { // a short file is CSV
		return bugRowsOfCSV(start)
	}
	if file == "-" {
		return nil, errors.New("a database can only be read from a file: give its name instead of -")
	}
	out, err := exec.CommandContext(ctx, "sqlite3", "-readonly", "-batch", "-csv", "-noheader", file,
		"select signature, crash_id from crashes order by crash_id").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("the program sqlite3 is missing; install it (Debian, Ubuntu: apt-get install sqlite3)")
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s is not apport's duplicate database: %s", file, onOneLine(string(e.Stderr)))
	}
	if err != nil {
		return nil, err
	}
	rows, err := bugRowsOfCSV(bytes.NewReader(out))
	for i := range rows {
		rows[i].line = 0
	}
	return rows, err
}

func bugRowsOfCSV(in io.Reader) (rows []bugRow, err error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	signature, bug, address := 0, 1, -1
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not CSV: %w", err)
		}
		line, _ := r.FieldPos(0)
		if named := slices.Index(fields, "signature"); len(rows) == 0 && signature == 0 && named >= 0 {
			signature, bug, address = named, slices.Index(fields, "bug"), slices.Index(fields, "address")
			if bug < 0 && address < 0 {
				return nil, errors.New(`the first row names the column "signature", but no column "bug" or "address"`)
			}
			continue
		}
		field := func(column int) string {
			if column < 0 || column >= len(fields) {
				return ""
			}
			return fields[column]
		}
		row := bugRow{line: line, name: field(signature)}
		if row.name != "" {
			row.signatures = []string{row.name}
		}
		if name := field(bug); name != "" {
			row.bugs = []bugName{{bug: name}}
		}
		if old := field(address); old != "" {
			row.addresses = []string{old}
		}
		if row.name == "" || len(row.bugs)+len(row.addresses) == 0 {
			row.why = errors.New("there is no signature and bug")
		}
		rows = append(rows, row)
	}
}

// maxFAFLine limits a report of FAF, in bytes.
const maxFAFLine = 16 << 20

func bugRowsOfFAF(in io.Reader, oopses string) (rows []bugRow, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxFAFLine)
	for lines.Scan() {
		row := bugRow{line: len(rows) + 1}
		r, err := faf.Parse(lines.Bytes())
		if err != nil {
			rows = append(rows, bugRow{line: row.line, why: err})
			continue
		}
		if r.Oops, err = readOops(oopses, r.OopsFile()); err != nil {
			return nil, err
		}
		row.name = fmt.Sprintf("FAF's report %d", r.ID)
		row.addresses = r.Addresses()
		row.signatures, row.why = r.Signatures()
		for _, b := range r.Bugs {
			switch {
			case b.Tracker != "":
				row.bugs = append(row.bugs, bugName{b.Tracker, strconv.FormatInt(b.Number, 10)})
			case strings.Contains(b.URL, "://"):
				row.bugs = append(row.bugs, bugName{bug: b.URL})
			}
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

// maxOops limits the text of an oops, in bytes. FAF's limit is 64 KiB.
const maxOops = 1 << 20

// readOops returns the text of an oops, or "" if there is no such folder or file.
func readOops(dir, file string) (string, error) {
	if dir == "" || file == "" {
		return "", nil
	}
	f, err := os.OpenInRoot(dir, file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxOops))
	return strings.ToValidUTF8(strings.ReplaceAll(string(text), "\x00", ""), "\uFFFD"), err
}

// imports are what the rows of a file say.
type imports struct {
	links     []crash.BugImport
	addresses []crash.OldAddress
}

// add adds what a row says, and returns why parts of the row cannot be used.
func (m *imports) add(ctx context.Context, r bugRow, sites *tracker.Sites) (unusable []error) {
	if r.why != nil {
		return []error{r.why}
	}
	for _, s := range r.signatures {
		switch {
		case strings.ContainsAny(s, "\r\n"):
			return []error{errors.New("the signature has several lines, as no problem here has")}
		case utf8.RuneCountInString(s) > crash.MaxSignature || !utf8.ValidString(s):
			return []error{fmt.Errorf("the signature is not valid UTF-8, or has more than %d characters",
				crash.MaxSignature)}
		}
	}
	for _, name := range r.bugs {
		bug, err := name.resolve(ctx, sites)
		if err != nil {
			unusable = append(unusable, err)
			continue
		}
		for _, s := range r.signatures {
			m.links = append(m.links, crash.BugImport{Signature: s, Bug: bug})
		}
	}
	for _, address := range r.addresses {
		path, err := crash.ParseOldAddress(address)
		if err != nil {
			unusable = append(unusable, err)
			continue
		}
		for _, s := range r.signatures {
			m.addresses = append(m.addresses, crash.OldAddress{Path: path, Bucket: crash.BucketIDOf(s)})
		}
	}
	return unusable
}

const (
	importAtOnce = 500 // links of one statement
	maxSaid      = 20  // reasons that are printed
)

// importBugs links problems to bugs if apply is set, and prints what becomes of the rows.
func (p *program) importBugs(
	ctx context.Context, store *bugs.Store, sites *tracker.Sites, rows []bugRow, apply bool,
) error {
	var all imports
	unusable := 0
	for _, row := range rows {
		for _, err := range all.add(ctx, row, sites) {
			if unusable++; unusable > maxSaid {
				continue
			}
			where := ""
			if row.line > 0 {
				where = fmt.Sprintf("line %d: ", row.line)
			}
			_, _ = fmt.Fprintf(p.err, "%s%s: %s\n", where, onOneLine(crash.Shorten(row.name, 80)), explain(err))
		}
	}
	if more := unusable - maxSaid; more > 0 {
		_, _ = fmt.Fprintf(p.err, "%d more cannot be used.\n", more)
	}
	counts := map[crash.ImportFate]int{}
	bar := p.progressBar(len(all.links)+len(all.addresses), "importing")
	for some := range slices.Chunk(all.links, importAtOnce) {
		fates, err := store.ImportBugs(ctx, some, apply)
		if err != nil {
			return err
		}
		for _, fate := range fates {
			counts[fate]++
		}
		_ = bar.Add(len(some))
	}
	redirects := 0
	for some := range slices.Chunk(all.addresses, importAtOnce) {
		added, err := store.ImportAddresses(ctx, some, apply)
		if err != nil {
			return err
		}
		redirects += added
		_ = bar.Add(len(some))
	}
	_ = bar.Finish()
	linked, waiting, redirected := "to link", "to wait", "to redirect"
	if apply {
		linked, waiting, redirected = "linked", "waiting", "redirected"
	}
	p.printf("%d %s, %d %s for the first report of their problem, %d linked already, %d unlinked by people, %d unusable.",
		counts[crash.ImportLinks], linked, counts[crash.ImportWaits], waiting, counts[crash.ImportKnown],
		counts[crash.ImportRemoved], unusable)
	if len(all.addresses) > 0 {
		p.printf("%d old addresses %s, %d known already.", redirects, redirected, len(all.addresses)-redirects)
	}
	if !apply && counts[crash.ImportLinks]+counts[crash.ImportWaits]+redirects > 0 {
		p.printf("Nothing was changed; --apply does it.")
	}
	if unusable > 0 {
		return errReported
	}
	return nil
}
