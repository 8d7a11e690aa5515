package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/format/coredump"
)

// Limits of an oops.
const (
	maxOopsLines = 300
	maxOopsLine  = 1000
	maxOopsGap   = 5 * time.Second // between two lines
)

// kernelLine is a line of the kernel's log.
type kernelLine struct {
	text  string
	stamp time.Duration // since the boot
	boot  string        // empty: unknown
	at    time.Time
}

// oops is a problem of the kernel: its lines.
type oops struct {
	kernelLine // the first one
	lines      []string
	last       time.Duration
}

// key tells oopses apart. The journal and pstore have the same ones.
func (o *oops) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", o.stamp.Microseconds(), o.text))
	return hex.EncodeToString(sum[:16])
}

// oopses finds the problems in the kernel's log that stop a thread or the machine. It ignores warnings.
type oopses struct {
	open  *oops // not complete yet
	boot  string
	quiet time.Duration // consequences of the last problem of this boot end here
}

var (
	oopsStarts = [...]string{"BUG: ", "watchdog: BUG: ", "kernel BUG at ", "Oops", "Unable to handle kernel ",
		"Internal error: ", "Kernel panic - not syncing", "general protection fault", "double fault"}
	oopsNumber = regexp.MustCompile(` \[#[0-9]+\]`) // "invalid opcode: 0000 [#1] SMP"
)

// add adds a line. It returns the problem that is complete with it, if any.
func (c *oopses) add(l kernelLine) (done *oops) {
	l.text = crash.Truncate(strings.ToValidUTF8(l.text, "\uFFFD"), maxOopsLine)
	if o := c.open; o != nil {
		if l.boot != o.boot || l.stamp < o.last || l.stamp-o.last > maxOopsGap || len(o.lines) == maxOopsLines {
			done, c.open = c.finish(), nil
		} else {
			o.lines, o.last = append(o.lines, l.text), l.stamp
			if strings.HasPrefix(l.text, "---[ end ") {
				return c.finish()
			}
			return nil
		}
	}
	starts := slices.ContainsFunc(oopsStarts[:], func(s string) bool { return strings.HasPrefix(l.text, s) }) ||
		oopsNumber.MatchString(l.text)
	if starts && (l.boot != c.boot || c.quiet == 0 || l.stamp > c.quiet) {
		c.open = &oops{kernelLine: l, lines: []string{l.text}, last: l.stamp}
	}
	return done
}

// finish returns the problem that is open, or nil.
func (c *oopses) finish() *oops {
	done := c.open
	if done != nil {
		c.open, c.boot, c.quiet = nil, done.boot, done.last+maxOopsGap
	}
	return done
}

// lineOf returns the line of an entry of the journal.
func lineOf(e coredump.Entry) kernelLine {
	stamp, at := e.Times()
	return kernelLine{text: e["MESSAGE"], stamp: stamp, boot: e["_BOOT_ID"], at: at}
}

var (
	taintLetters  = regexp.MustCompile(`Tainted: ([A-Z ]+)`)
	taintNames    = regexp.MustCompile(`\[([A-Z])\]=[A-Z]`) // of newer kernels
	kernelRelease = regexp.MustCompile(`(?:Not tainted|Tainted: [A-Z ]+?) +([0-9]+\.[0-9][0-9A-Za-z.+~_-]*) #`)
	debianKernel  = regexp.MustCompile(` #[0-9]+ +Debian ([0-9][0-9A-Za-z.+:~-]*)`)
)

// taint returns the reason why nobody could act on a problem of this kernel, or "".
func taint(text string) string {
	var letters string
	for _, found := range [][][]string{taintLetters.FindAllStringSubmatch(text, -1),
		taintNames.FindAllStringSubmatch(text, -1)} {
		for _, m := range found {
			letters += m[1]
		}
	}
	for _, t := range [...]struct{ letter, reason string }{
		{"P", "a proprietary module was loaded"}, {"O", "a module that is not part of the kernel was loaded"},
		{"M", "the hardware reported an error"}, {"D", "it follows an earlier problem"},
	} {
		if strings.Contains(letters, t.letter) {
			return t.reason
		}
	}
	return ""
}

// oops makes the report of a problem of the kernel, with the fields that apport gives it.
func (m Machine) oops(ctx context.Context, o *oops) (crash.Fields, error) {
	text := strings.Join(o.lines, "\n")
	if reason := taint(text); reason != "" {
		return nil, fmt.Errorf("the kernel is tainted: %s", reason)
	}
	release := kernelRelease.FindStringSubmatch(text)
	if release == nil {
		return nil, errors.New("the log does not name the version of the kernel")
	}
	f := crash.Fields{"ProblemType": "KernelOops", "OopsText": text, "Uname": "Linux " + release[1],
		"Architecture": m.Architecture}
	if !o.at.IsZero() {
		f["Date"] = o.at.UTC().Format(time.ANSIC)
	}
	if m.Release != "" {
		f["DistroRelease"] = string(m.Release)
	}
	for _, file := range [...]string{"/boot/vmlinuz-" + release[1], "/usr/lib/modules/" + release[1] + "/vmlinuz",
		"/lib/modules/" + release[1] + "/vmlinuz"} {
		p, found, err := m.packageAt(ctx, file, o.at)
		if err != nil {
			return nil, err
		}
		if found {
			if own := debianKernel.FindStringSubmatch(text); own != nil && filepath.Base(m.Packages) == "dpkg-query" {
				p.version = own[1] // the one that ran; another one may be installed
			}
			f["Package"], f["PackageArchitecture"] = p.field(), p.architecture
			if p.source != "" {
				f["SourcePackage"] = p.source
			}
			return f, nil
		}
	}
	return nil, errNoPackage
}

const (
	seenFile   = "oopses.json"
	maxSeen    = 200
	maxDmesg   = 4 << 20
	maxDmesges = 100
)

// seen stores the keys of the oopses that need no more attention.
type seen struct {
	file string
	keys []string
}

func openSeen(state string) (*seen, error) {
	s := &seen{file: filepath.Join(state, seenFile)}
	content, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && json.Unmarshal(content, &s.keys) != nil {
		s.keys = nil
	}
	return s, err
}

// first reports whether an oops has not been seen before.
func (s *seen) first(o *oops) bool {
	key := o.key()
	if slices.Contains(s.keys, key) {
		return false
	}
	s.keys = append(s.keys, key)
	s.keys = s.keys[max(0, len(s.keys)-maxSeen):]
	return true
}

func (s *seen) save() error {
	content, err := json.Marshal(s.keys)
	if err != nil {
		return err
	}
	return writeFile(s.file, content)
}

// dmesgLine matches a line that the kernel wrote into persistent memory: "<4>[   12.345678][ T12] text".
var dmesgLine = regexp.MustCompile(`^<[0-9]+>\[ *([0-9]+)\.([0-9]{6})\](?:\[ *[TC][0-9]+\])? ?(.*)$`)

// pstoreOopses returns the problems in the files that systemd-pstore has saved below a folder: those that
// stopped the machine, so that the journal may lack them.
func pstoreOopses(folder string) (found []*oops, err error) {
	n := 0
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == folder {
			return filepath.SkipAll
		}
		if err != nil || d.Name() != "dmesg.txt" {
			return err
		}
		if n++; n > maxDmesges {
			return filepath.SkipAll
		}
		all, err := readDmesg(name)
		found = append(found, all...)
		return err
	})
	return found, err
}

func readDmesg(name string) (found []*oops, err error) {
	f, err := apport.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxDmesg))
	if err != nil {
		return nil, err
	}
	var lines []kernelLine
	for line := range strings.Lines(string(content)) {
		m := dmesgLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		stamp, err := strconv.ParseInt(m[1]+m[2], 10, 64)
		if err == nil && stamp < 1<<50 {
			// The time of the boot after the problem is close enough.
			lines = append(lines, kernelLine{text: m[3], stamp: time.Duration(stamp) * time.Microsecond, at: info.ModTime()})
		}
	}
	slices.SortStableFunc(lines, func(a, b kernelLine) int { return cmp.Compare(a.stamp, b.stamp) }) // parts, in any order
	var c oopses
	for _, l := range lines {
		if o := c.add(l); o != nil {
			found = append(found, o)
		}
	}
	if o := c.finish(); o != nil {
		found = append(found, o)
	}
	return found, nil
}
