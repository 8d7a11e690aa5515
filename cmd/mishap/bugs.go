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
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker/launchpad"
)

func (p *program) bugsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bugs",
		Short: "Imports links between problems and bugs",
		Long:  `Imports links between problems and bugs from another crash tracker.`,
	}
	cmd.AddCommand(p.importBugsCommand())
	return cmd
}

func (p *program) importBugsCommand() *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Links problems to the bugs that another crash tracker knows",
		Long: `Reads signatures of problems, each with a bug of the tracker, and says what linking them would do. With
--apply it links them. A problem without a report gets its bug with its first report. Links that people have
removed stay removed. It can run any number of times, also while mishap serves.

FILE is one of these; "-" is the standard input:

  - CSV with a signature and a bug in each row. The bug is a number or an address. If the first row names
    columns, the names are "signature" and "bug", in any order, and other columns are ignored.
  - apport's duplicate database (SQLite), which the program sqlite3 reads.

Rows that cannot be used are printed with the reason, the others are imported, and the exit status is 1.`,
		Example: `  mishap bugs import links.csv
  mishap bugs import --apply apport_duplicates.db`,
		Args: cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			rows, err := readBugRows(ctx, s.args[0])
			if err != nil {
				return "", err
			}
			client := launchpad.New(trackerConfig(s.config, newLog(p.err, slog.LevelWarn), nil), nil)
			return "", p.importBugs(ctx, bugs.New(s.store), client, rows, apply)
		}),
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "link the problems to their bugs")
	return cmd
}

// bugRow is a row of a file with links.
type bugRow struct {
	line           int // 0: the file has no lines
	signature, bug string
}

// sqliteStart is how an SQLite database begins.
const sqliteStart = "SQLite format 3\x00"

// readBugRows reads the rows of a file: CSV, or apport's duplicate database.
func readBugRows(ctx context.Context, file string) ([]bugRow, error) {
	in := os.Stdin
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }() // only read
	}
	start := bufio.NewReader(in)
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
	signature, bug := 0, 1
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
			if signature, bug = named, slices.Index(fields, "bug"); bug < 0 {
				return nil, errors.New(`the first row names the column "signature", but no column "bug"`)
			}
			continue
		}
		row := bugRow{line: line}
		if max(signature, bug) < len(fields) {
			row.signature, row.bug = fields[signature], fields[bug]
		}
		rows = append(rows, row)
	}
}

// link returns the link of a row, or why the row cannot be used.
func (r bugRow) link(client *launchpad.Client) (crash.BugImport, error) {
	switch {
	case r.signature == "" || r.bug == "":
		return crash.BugImport{}, errors.New("there is no signature and bug")
	case strings.ContainsAny(r.signature, "\r\n"):
		return crash.BugImport{}, errors.New("the signature has several lines, as no problem here has")
	case utf8.RuneCountInString(r.signature) > crash.MaxSignature || !utf8.ValidString(r.signature):
		return crash.BugImport{}, fmt.Errorf("the signature is not valid UTF-8, or has more than %d characters",
			crash.MaxSignature)
	}
	number, err := client.BugNumber(r.bug)
	if err != nil {
		return crash.BugImport{}, err
	}
	return crash.BugImport{Signature: r.signature, Bug: crash.Bug{Number: number, URL: client.BugURL(number)}}, nil
}

const (
	importAtOnce = 500 // links of one statement
	maxSaid      = 20  // rows that are printed because they cannot be used
)

// importBugs links problems to bugs if apply is set, and prints what becomes of the rows.
func (p *program) importBugs(
	ctx context.Context, store *bugs.Store, client *launchpad.Client, rows []bugRow, apply bool,
) error {
	var links []crash.BugImport
	unusable := 0
	for _, row := range rows {
		link, err := row.link(client)
		if err == nil {
			links = append(links, link)
			continue
		}
		if unusable++; unusable <= maxSaid {
			where := ""
			if row.line > 0 {
				where = fmt.Sprintf("line %d: ", row.line)
			}
			_, _ = fmt.Fprintf(p.err, "%s%s: %s\n", where, onOneLine(crash.Shorten(row.signature, 80)), explain(err))
		}
	}
	if more := unusable - maxSaid; more > 0 {
		_, _ = fmt.Fprintf(p.err, "%d more rows cannot be used.\n", more)
	}
	counts := map[crash.ImportFate]int{}
	bar := p.progressBar(len(links), "importing")
	for some := range slices.Chunk(links, importAtOnce) {
		fates, err := store.ImportBugs(ctx, some, apply)
		if err != nil {
			return err
		}
		for _, fate := range fates {
			counts[fate]++
		}
		_ = bar.Add(len(some))
	}
	_ = bar.Finish()
	linked, waiting := "to link", "to wait"
	if apply {
		linked, waiting = "linked", "waiting"
	}
	p.printf("%d %s, %d %s for the first report of their problem, %d linked already, %d unlinked by people, %d unusable.",
		counts[crash.ImportLinks], linked, counts[crash.ImportWaits], waiting, counts[crash.ImportKnown],
		counts[crash.ImportRemoved], unusable)
	if !apply && counts[crash.ImportLinks]+counts[crash.ImportWaits] > 0 {
		p.printf("Nothing was changed; --apply does it.")
	}
	if unusable > 0 {
		return errReported
	}
	return nil
}
