package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/intake"
)

// Files of the package distro-info-data, which list releases.
const (
	ubuntuReleases = "/usr/share/distro-info/ubuntu.csv"
	debianReleases = "/usr/share/distro-info/debian.csv"
)

// intakeConfig returns the part of the configuration that intake applies to reports.
func intakeConfig(c config.Config) intake.Config {
	releases, _ := knownReleases(ubuntuReleases, debianReleases) // serve logs the error
	return intake.Config{MaxAgeDays: c.IngestMaxAgeDays, Releases: releases, Privacy: c.Privacy()}
}

// knownReleases returns the built-in releases, updated from newer files on the machine. It ignores
// missing and older files. It always returns a table; the error names unreadable files.
func knownReleases(ubuntu, debian string) (*crash.ReleaseTable, error) {
	table := crash.BuiltInReleases()
	var wrong error
	for _, f := range []struct{ distribution, name string }{{"Ubuntu", ubuntu}, {"Debian", debian}} {
		wrong = errors.Join(wrong, readReleaseFile(f.name, func(r io.Reader) (err error) {
			table, err = table.With(f.distribution, r)
			return err
		}))
	}
	return table, wrong
}

func readReleaseFile(file string, read func(io.Reader) error) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// openCrashFile opens a report file. It does not follow a symbolic link, which anyone who may write to
// the folder could point elsewhere, and refuses what is no file: opening a FIFO would wait for ever.
func openCrashFile(file string) (*os.File, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return nil, crash.Errorf(crash.Invalid, "symbolic_link",
			"This is a symbolic link, which is not followed; name the file itself.")
	case !mode.IsRegular():
		return nil, errNoFile
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it was replaced
		err = errNoFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errNoFile = crash.Errorf(crash.Invalid, "no_file", "This is no file, but a folder, FIFO, socket or device.")

// reportFile is the content of a report file.
type reportFile struct {
	fields crash.Fields
	core   bool     // it has a core dump
	binary []string // names of the fields that are not text, or too large; they are dropped
}

// readCrashFile reads an apport report file. It skips core dumps, and texts beyond maxText bytes in
// total; 0 means the limit of package apport.
func readCrashFile(f *os.File, maxText int64) (c reportFile, err error) {
	var binary []apport.Binary
	c.fields, binary, err = apport.Read(f, apport.Limits{Text: maxText})
	for _, b := range binary {
		if apport.IsCore(b.Name) {
			c.core = c.core || b.Size > 0
		} else {
			c.binary = append(c.binary, b.Name)
		}
	}
	return c, err
}
