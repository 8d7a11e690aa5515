package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReleaseFiles checks that newer release data of the machine is used, and that bad data never
// prevents the start.
func TestReleaseFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const header = "version,codename,series,created,release,eol\n"
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	newer := write("newer.csv", header+"31.10,Zealous Zebra,zealous,2031-04-24,2031-10-16,2032-07-15\n")
	older := write("older.csv", header+"24.04 LTS,Noble Numbat,noble,2023-10-12,2024-04-25,2024-05-01\n")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none.csv")
	for _, c := range []struct {
		name, ubuntu, debian string
		zealous              bool   // whether the newer file is used
		names                string // part of the error; empty: no error
	}{
		{"none", none, none, false, ""},
		{"newer", newer, none, true, ""},
		{"older", older, none, false, ""},
		{"newer beside a broken one", newer, write("broken.csv", "\x00\xff\"\n"), true, "broken.csv"},
		{"broken", write("hostile.csv", header+strings.Repeat(",", 1<<21)), none, false, "hostile.csv"},
		{"folder", dir, none, false, dir},
		{"pipe", pipe, pipe, false, "pipe"},
		{"device without an end", "/dev/zero", none, false, "/dev/zero"},
	} {
		table, err := knownReleases(c.ubuntu, c.debian)
		if got := table.Codename("Ubuntu 31.10") == "zealous"; got != c.zealous {
			t.Errorf("%s: got the newer file %v, want %v", c.name, got, c.zealous)
		}
		if table.EndOfLife("Ubuntu 24.04", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: support of Ubuntu 24.04 has ended, want it supported", c.name)
		}
		if (err == nil) != (c.names == "") || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: got error %v, want one that names %q", c.name, err, c.names)
		}
	}
}
