package stats

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Install says how many machines had a release, or a version of a package in it, on a day.
type Install struct {
	Day          time.Time // UTC
	Release      crash.Release
	Architecture string // empty: all
	Package      string // binary package; empty: the release itself
	Version      string // empty where Package is
	Machines     int64
}

// InstallDay sums up the imported numbers of machines of a day.
type InstallDay struct {
	Day      time.Time // UTC
	Machines int64     // of the releases
	Releases int64     // with a number
	Versions int64     // of packages with a number
	Source   string
	Imported time.Time
}

const (
	maxInstalls     = 200_000 // rows of a file
	maxInstallFault = 20      // errors that are listed
	maxInstallText  = 200     // characters of a name
)

// installColumns are the columns of a file of machines. The first three are required.
var installColumns = []string{"day", "release", "machines", "architecture", "package", "version"}

// ReadInstalls reads numbers of machines from a CSV file with a header. It returns an error of kind Invalid that lists
// the first faults with their lines.
func ReadInstalls(r io.Reader, now time.Time) ([]Install, error) {
	rows := csv.NewReader(r)
	rows.Comment, rows.TrimLeadingSpace, rows.ReuseRecord = '#', true, true
	header, err := rows.Read()
	if err != nil {
		return nil, installFault("line 1: expected a header with the columns %s", strings.Join(installColumns, ","))
	}
	at := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		if _, twice := at[name]; twice || !slices.Contains(installColumns, name) {
			return nil, installFault("line 1: unexpected column %q; the columns are %s", name,
				strings.Join(installColumns, ","))
		}
		at[name] = i
	}
	for _, name := range installColumns[:3] {
		if _, ok := at[name]; !ok {
			return nil, installFault("line 1: the column %s is missing", name)
		}
	}
	f := installFile{at: at, today: crash.Midnight(now), cells: map[Install]int{}, both: map[Install]int{}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.faults = append(f.faults, strings.TrimPrefix(err.Error(), "record on "))
			break
		}
		line, _ := rows.FieldPos(0)
		if fault := f.add(row, line); fault != "" {
			f.faults = append(f.faults, fmt.Sprintf("line %d: %s", line, fault))
		}
		if len(f.faults) >= maxInstallFault {
			f.faults = append(f.faults, "and perhaps more")
			break
		}
	}
	switch {
	case len(f.faults) > 0:
		return nil, installFault("%s", strings.Join(f.faults, "\n"))
	case len(f.installs) == 0:
		return nil, installFault("the file has no lines below its header")
	}
	return f.installs, nil
}

func installFault(format string, args ...any) error {
	return crash.Errorf(crash.Invalid, "bad_installs", "Nothing was imported.\n"+format, args...)
}

// installFile is a file that is being read.
type installFile struct {
	at       map[string]int // columns
	today    time.Time
	installs []Install
	cells    map[Install]int // lines, by what they are about
	both     map[Install]int // the same without the architecture; negative: of a line without one
	faults   []string
}

// add adds a row, or says what is wrong with it.
func (f *installFile) add(row []string, line int) (fault string) {
	text := func(name string) string {
		if i, ok := f.at[name]; ok {
			return strings.Clone(strings.TrimSpace(row[i]))
		}
		return ""
	}
	i := Install{Release: crash.Release(text("release")), Architecture: text("architecture"), Package: text("package"),
		Version: text("version")}
	day, err := time.Parse(time.DateOnly, text("day"))
	if err != nil {
		return fmt.Sprintf("%q is not a day; write it like %s", text("day"), f.today.Format(time.DateOnly))
	}
	i.Day = day
	machines, err := strconv.ParseInt(text("machines"), 10, 64)
	for name := range f.at {
		if value := text(name); len([]rune(value)) > maxInstallText || strings.ContainsFunc(value, isControl) {
			return "the " + name + " is too long, or has control characters"
		}
	}
	switch {
	case err != nil || machines < 0:
		return fmt.Sprintf("%q is not a number of machines", text("machines"))
	case day.After(f.today):
		return "the day " + text("day") + " is in the future"
	case i.Release == "":
		return "the release is missing"
	case (i.Package == "") != (i.Version == ""):
		return "a package and its version belong together; leave both empty for the release itself"
	case len(f.installs) >= maxInstalls:
		return fmt.Sprintf("the file has more than %d lines", maxInstalls)
	}
	if other, ok := f.cells[i]; ok {
		return fmt.Sprintf("says the same as line %d", other)
	}
	f.cells[i] = line
	whole := i
	whole.Architecture = ""
	sign := 1
	if i.Architecture == "" {
		sign = -1
	}
	if other, ok := f.both[whole]; ok && (other < 0 || sign < 0) {
		return fmt.Sprintf("counts machines of line %d again: name each architecture, or none", max(other, -other))
	}
	f.both[whole] = sign * line
	i.Machines = machines
	f.installs = append(f.installs, i)
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
