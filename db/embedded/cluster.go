package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// firstSQL makes our database. Error reports of our sessions leave out the rows that caused them: rows hold crash
// reports.
const firstSQL = "create database " + database + ";\n" +
	"alter database " + database + " set log_error_verbosity = terse;\n"

// makeCluster makes the server's files when there are none. They grow in a scratch folder and get their name when they
// are complete, so that an interrupted start leaves nothing that looks like a database.
func (h home) makeCluster(ctx context.Context, p programs, throwaway bool) error {
	leftovers, _ := filepath.Glob(h.path("new-*")) // the pattern is well formed
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // a leftover that cannot be removed does no harm
	}
	if _, err := os.Stat(filepath.Join(h.cluster(), "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp(h.dir, "new-")
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // after success it has another name
	if err := h.account.give(scratch); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + scratch, "--username=" + role, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
		"--lc-messages=C", "--data-checksums", "--no-instructions",
	}
	if throwaway {
		args = append(args, "--no-sync")
	}
	if err := h.run(ctx, scratch, "", p.path("initdb"), args...); err != nil {
		return err
	}
	if err := h.run(ctx, scratch, firstSQL, p.path("postgres"), "--single", "-D", scratch, "postgres"); err != nil {
		return err
	}
	if err := os.Rename(scratch, h.cluster()); err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	return nil
}

// run runs a program to its end; its last words go into the error.
func (h home) run(ctx context.Context, dir, input, program string, args ...string) error {
	cmd := h.account.command(ctx, dir, program, args...)
	dieWithParent(cmd.SysProcAttr)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOwnThread(cmd.Run); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastWords(out.Bytes()))
	}
	return nil
}

// everyday are lines of a server's start that explain nothing.
var everyday = []string{"starting PostgreSQL", "listening on", "database system is", "database system was", "shutting down"}

// lastWords picks from a program's output what says why it failed: its last lines that carry a level, without the time
// before it; else simply its last lines.
func lastWords(out []byte) string {
	const enough = 5
	level := regexp.MustCompile(`\b(?:FATAL|PANIC|ERROR|LOG|DETAIL|HINT|error|detail|hint):\s+(.*)$`)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var said []string
	for _, line := range lines {
		m := level.FindStringSubmatch(line)
		if m != nil && !slices.ContainsFunc(everyday, func(s string) bool { return strings.HasPrefix(m[1], s) }) {
			said = append(said, m[1])
		}
	}
	if len(said) == 0 {
		said = lines
	}
	said = slices.Compact(said)
	return strings.Join(said[max(0, len(said)-enough):], "; ")
}
