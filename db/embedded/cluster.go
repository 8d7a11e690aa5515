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

// firstSQL creates mishap's database. Error messages in the server's log omit the rows that caused
// them, since rows contain crash reports.
const firstSQL = "create database " + database + ";\n" +
	"alter database " + database + " set log_error_verbosity = terse;\n"

// makeCluster creates the server's files if there are none. It uses a temporary directory and
// renames it at the end, so an interrupted start leaves nothing that looks like a database.
func (h home) makeCluster(ctx context.Context, p programs, throwaway bool) error {
	h.removeScratch()
	if _, err := os.Stat(filepath.Join(h.cluster(), "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp(h.dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // after success, it has been renamed
	if err := h.account.chown(scratch); err != nil {
		return err
	}
	if err := h.initdb(ctx, p, scratch, throwaway); err != nil {
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

// initdb makes the files of a server without databases in an empty directory.
func (h home) initdb(ctx context.Context, p programs, dir string, throwaway bool) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + role, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
		"--lc-messages=C", "--data-checksums", "--no-instructions",
	}
	if throwaway {
		args = append(args, "--no-sync")
	}
	return h.run(ctx, dir, "", p.path("initdb"), args...)
}

// scratchPrefix begins the names of temporary directories.
const scratchPrefix = "new-"

// removeScratch removes the temporary directories of interrupted starts.
func (h home) removeScratch() {
	leftovers, _ := filepath.Glob(h.path(scratchPrefix + "*")) // the pattern is valid
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // a remaining directory does no harm
	}
}

// run runs a program until it ends. An error includes its last messages.
func (h home) run(ctx context.Context, dir, input, program string, args ...string) error {
	cmd := h.account.command(ctx, dir, program, args...)
	dieWithParent(cmd.SysProcAttr)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOwnThread(cmd.Run); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastMessages(out.Bytes()))
	}
	return nil
}

// routineMessages lists routine messages at the start of a server, which explain nothing.
var routineMessages = []string{"starting PostgreSQL", "listening on", "database system is", "database system was",
	"shutting down"}

// lastMessages returns the messages in a program's output that explain its failure: the last lines
// with a level, without time stamps, or else the last lines.
func lastMessages(out []byte) string {
	const enough = 5
	level := regexp.MustCompile(`\b(?:FATAL|PANIC|ERROR|LOG|DETAIL|HINT|error|detail|hint):\s+(.*)$`)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var said []string
	for _, line := range lines {
		m := level.FindStringSubmatch(line)
		if m != nil && !slices.ContainsFunc(routineMessages, func(s string) bool { return strings.HasPrefix(m[1], s) }) {
			said = append(said, m[1])
		}
	}
	if len(said) == 0 {
		said = lines
	}
	said = slices.Compact(said)
	return strings.Join(said[max(0, len(said)-enough):], "; ")
}
