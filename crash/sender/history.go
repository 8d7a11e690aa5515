package sender

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// packageAt returns the package that a program belonged to at that time. Its version is empty if another one was
// installed since then, and the log of the package manager does not have the earlier one.
func (m Machine) packageAt(ctx context.Context, program string, at time.Time) (p pack, found bool, err error) {
	p, found, err = m.packageOf(ctx, program)
	if err != nil || !found || at.IsZero() {
		return p, found, err
	}
	switch filepath.Base(m.Packages) {
	case "dpkg-query":
		if p.installed.After(at) {
			p.version = m.versionBefore(at, dpkgUpgrade, p, "var/log/dpkg.log.1", "var/log/dpkg.log")
		}
	case "pacman":
		if before := m.versionBefore(at, pacmanUpgrade, p, "var/log/pacman.log"); before != "" {
			p.version = before
		}
	default: // rpm has no log
		if p.installed.After(at) {
			p.version = ""
		}
	}
	return p, true, nil
}

// Lines of logs: time, package, version before.
var (
	dpkgUpgrade = upgradeLine{regexp.MustCompile(
		`^([0-9-]{10} [0-9:]{8}) upgrade ([^ :]+)(?::[a-z0-9-]+)? ([^ ]+) [^ ]+$`), time.DateTime}
	pacmanUpgrade = upgradeLine{regexp.MustCompile(
		`^\[([0-9-]{10}T[0-9:]{8}[+-][0-9]{4})\] \[ALPM\] (?:up|down)graded ([^ ]+) \(([^ ]+) -> [^ ]+\)$`),
		"2006-01-02T15:04:05-0700"}
)

type upgradeLine struct {
	line   *regexp.Regexp
	layout string // of the time
}

// versionBefore returns the version that the first upgrade of a package after that time replaced, or "".
func (m Machine) versionBefore(at time.Time, u upgradeLine, p pack, logs ...string) string {
	for _, log := range logs { // oldest first
		f, err := os.Open(filepath.Join(m.Root, "/", log))
		if err != nil {
			continue
		}
		version := u.firstAfter(at, bufio.NewScanner(f), p.name)
		_ = f.Close() // only read
		if version != "" {
			return version
		}
	}
	return ""
}

func (u upgradeLine) firstAfter(at time.Time, lines *bufio.Scanner, name string) string {
	for lines.Scan() {
		if !strings.Contains(lines.Text(), name) {
			continue
		}
		found := u.line.FindStringSubmatch(lines.Text())
		if found == nil || found[2] != name {
			continue
		}
		when, err := time.ParseInLocation(u.layout, found[1], time.Local)
		if err == nil && when.After(at) {
			return found[3]
		}
	}
	return ""
}
