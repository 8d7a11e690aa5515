package main

import (
	"os"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/intake"
)

// Where distribution packages keep what is known of releases (package distro-info-data).
const (
	ubuntuReleases = "/usr/share/distro-info/ubuntu.csv"
	debianReleases = "/usr/share/distro-info/debian.csv"
)

// intake is the part of the configuration by which reports are judged.
func (c *Config) intake() intake.Config {
	return intake.Config{MaxAgeDays: c.IngestMaxAgeDays, Releases: knownReleases(ubuntuReleases, debianReleases)}
}

// knownReleases is what this machine's files know of releases, when they know more than this program.
func knownReleases(ubuntu, debian string) *crash.ReleaseTable {
	u, err := os.Open(ubuntu)
	if err != nil {
		return crash.BuiltInReleases()
	}
	defer u.Close() //nolint:errcheck // only read
	d, err := os.Open(debian)
	if err != nil {
		return crash.BuiltInReleases()
	}
	defer d.Close() //nolint:errcheck // only read
	read, err := crash.ReadReleases(u, d)
	if err != nil {
		return crash.BuiltInReleases()
	}
	return crash.Newest(read, crash.BuiltInReleases())
}

// readCrashFile reads the fields of an apport report file, whose texts may have so many bytes together (0: as many as
// package apport allows). Dumps of memory in it are passed over, and so are compressed texts beyond the limit.
func readCrashFile(file string, maxText int64) (crash.Fields, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	fields, _, err := apport.Read(f, apport.Limits{Text: maxText})
	return fields, err
}
