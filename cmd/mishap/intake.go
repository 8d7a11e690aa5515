package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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
	err1 := readReleaseFile(ubuntu, func(r io.Reader) (err error) {
		table, err = table.WithUbuntu(r)
		return err
	})
	err2 := readReleaseFile(debian, func(r io.Reader) (err error) {
		table, err = table.WithDebian(r)
		return err
	})
	return table, errors.Join(err1, err2)
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

// readCrashFile reads the fields of an apport report file. It skips core dumps, and texts beyond
// maxText bytes in total; 0 means the limit of package apport.
func readCrashFile(file string, maxText int64) (crash.Fields, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	fields, _, err := apport.Read(f, apport.Limits{Text: maxText})
	return fields, err
}
