package crash

import (
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// ReleaseTable holds the releases of Ubuntu and Debian: their names and support periods. It is
// immutable.
type ReleaseTable struct {
	series map[Release]series
	newest map[string]time.Time // by distribution: the day on which its newest series was created
}

type series struct {
	codename string
	released time.Time // zero: not planned yet
	end      time.Time // last supported day; zero: unknown
}

//go:embed distroinfo/ubuntu.csv distroinfo/debian.csv
var distroInfo embed.FS

// BuiltInReleases returns the table of the release data that is embedded in the program.
var BuiltInReleases = sync.OnceValue(func() *ReleaseTable {
	ubuntu, err1 := distroInfo.Open("distroinfo/ubuntu.csv")
	debian, err2 := distroInfo.Open("distroinfo/debian.csv")
	if err1 != nil || err2 != nil {
		return &ReleaseTable{}
	}
	t, err := ReadReleases(ubuntu, debian)
	if err != nil {
		return &ReleaseTable{}
	}
	return t
})

// ReadReleases parses ubuntu.csv and debian.csv of the package distro-info-data
// (/usr/share/distro-info). Support of an Ubuntu release ends on its date eol, or eol-server if
// that is later; paid extended support does not count. Support of a Debian release ends on eol-lts,
// which is free. Errors have no kind.
func ReadReleases(ubuntu, debian io.Reader) (*ReleaseTable, error) {
	t := &ReleaseTable{
		series: map[Release]series{"Ubuntu RTM 14.09": {end: time.Unix(0, 0)}}, // the phones, discontinued
		newest: map[string]time.Time{},
	}
	err1 := t.read(distributionUbuntu, ubuntu)
	err2 := t.read(distributionDebian, debian)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return t, nil
}

// The distributions of a table.
const (
	distributionUbuntu = "Ubuntu"
	distributionDebian = "Debian"
)

// lifeEnds lists the columns with end dates; the latest date of a row is the end of support.
var lifeEnds = map[string][]string{
	distributionUbuntu: {"eol", "eol-server"},
	distributionDebian: {"eol", "eol-lts"},
}

// The limits of release data. The real files have about fifty lines.
const (
	maxReleaseData = 1 << 20 // bytes
	maxReleases    = 500     // of one distribution
)

// versionForm and seriesForm match valid versions and codenames in release data.
var (
	versionForm = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,2})?$`)
	seriesForm  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
)

// read adds the releases of one distribution. If it returns an error, t may be incomplete.
func (t *ReleaseTable) read(distribution string, from io.Reader) error {
	r := csv.NewReader(io.LimitReader(from, maxReleaseData))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("release data of %s: %w", distribution, err)
	}
	if len(rows) == 0 || !slices.Contains(rows[0], "version") || !slices.Contains(rows[0], "series") ||
		!slices.Contains(rows[0], "eol") {
		return fmt.Errorf("release data of %s: the first line does not name the columns version, series and eol",
			distribution)
	}
	if len(rows) > maxReleases {
		return fmt.Errorf("release data of %s: more than %d lines", distribution, maxReleases)
	}
	for i, row := range rows[1:] {
		if err := t.readRow(distribution, rows[0], row); err != nil {
			return fmt.Errorf("release data of %s, line %d: %w", distribution, i+2, err)
		}
	}
	return nil
}

// readRow adds the release in one row.
func (t *ReleaseTable) readRow(distribution string, header, row []string) error {
	column := func(name string) string {
		if at := slices.Index(header, name); at >= 0 && at < len(row) {
			return row[at]
		}
		return ""
	}
	s := series{codename: column("series")}
	version := strings.TrimSuffix(column("version"), " LTS")
	if version != "" && !versionForm.MatchString(version) || !seriesForm.MatchString(s.codename) {
		return fmt.Errorf("%.40q, %.40q are not a version and a codename", version, s.codename)
	}
	created, err := parseDay(column("created"))
	if err != nil {
		return err
	}
	if s.released, err = parseDay(column("release")); err != nil {
		return err
	}
	for _, name := range lifeEnds[distribution] {
		end, err := parseDay(column(name))
		if err != nil {
			return err
		}
		if end.After(s.end) {
			s.end = end
		}
	}
	if version == "" {
		version = s.codename // Debian's sid and rc-buggy
	}
	t.series[Release(distribution+" "+version)] = s
	if created.After(t.newest[distribution]) {
		t.newest[distribution] = created
	}
	return nil
}

// WithUbuntu returns a table that also has the releases of another ubuntu.csv, if that file is at
// least as new: its newest series was created no earlier than the newest one here. The dates in the
// file take precedence; no release is removed. If the file is older, or on error, WithUbuntu
// returns t.
func (t *ReleaseTable) WithUbuntu(csv io.Reader) (*ReleaseTable, error) {
	return t.with(distributionUbuntu, csv)
}

// WithDebian works like WithUbuntu, for debian.csv.
func (t *ReleaseTable) WithDebian(csv io.Reader) (*ReleaseTable, error) {
	return t.with(distributionDebian, csv)
}

func (t *ReleaseTable) with(distribution string, csv io.Reader) (*ReleaseTable, error) {
	other := &ReleaseTable{series: map[Release]series{}, newest: map[string]time.Time{}}
	if err := other.read(distribution, csv); err != nil {
		return t, err
	}
	if len(other.series) == 0 || other.newest[distribution].Before(t.newest[distribution]) {
		return t, nil
	}
	merged := &ReleaseTable{series: maps.Clone(t.series), newest: maps.Clone(t.newest)}
	maps.Copy(merged.series, other.series)
	maps.Copy(merged.newest, other.newest)
	return merged, nil
}

func parseDay(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, s)
}

// find looks up a release by the name that reports give, with or without " LTS", or with Debian's
// long name.
func (t *ReleaseTable) find(r Release) (series, bool) {
	name := strings.TrimSuffix(string(r), " LTS")
	if rest, ok := strings.CutPrefix(name, "Debian GNU/Linux "); ok {
		name = "Debian " + rest
	}
	s, ok := t.series[Release(name)]
	return s, ok
}

// EndOfLife reports whether support of the release has ended on that UTC day; the last supported
// day is still supported. It returns false for derivatives, unknown releases and those without a
// known end.
func (t *ReleaseTable) EndOfLife(r Release, day time.Time) bool {
	s, ok := t.find(r)
	return ok && !s.end.IsZero() && Midnight(day).After(s.end)
}

// Life returns the UTC day of the release and the last supported day, either zero if unknown.
func (t *ReleaseTable) Life(r Release) (released, end time.Time) {
	s, _ := t.find(r)
	return s.released, s.end
}

// Codename returns the codename of a release, such as "noble", or "" if the release is unknown.
func (t *ReleaseTable) Codename(r Release) string {
	s, _ := t.find(r)
	return s.codename
}

// Supported lists the releases that are out and still supported on that UTC day, in release order.
func (t *ReleaseTable) Supported(day time.Time) []Release {
	var list []Release
	for r, s := range t.series {
		if !s.released.IsZero() && !s.released.After(day) && !t.EndOfLife(r, day) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Release) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// ReleasedBetween lists the releases that came out on the UTC days from since to until, both
// included, in release order.
func (t *ReleaseTable) ReleasedBetween(since, until time.Time) []ReleaseDay {
	var list []ReleaseDay
	for r, s := range t.series {
		if !s.released.Before(Midnight(since)) && !s.released.After(Midnight(until)) {
			list = append(list, ReleaseDay{r, s.released})
		}
	}
	slices.SortFunc(list, func(a, b ReleaseDay) int { return a.Release.Compare(b.Release) })
	return list
}

// ReleaseDay is a release and the UTC day on which it came out.
type ReleaseDay struct {
	Release Release
	Day     time.Time
}

// All lists every release of a distribution ("Ubuntu") with a codename, including planned ones, in
// release order.
func (t *ReleaseTable) All(distribution string) []Release {
	var list []Release
	for r, s := range t.series {
		if strings.HasPrefix(string(r), distribution+" ") && s.codename != "" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, Release.Compare)
	return list
}

// Latest returns the newest release of a distribution ("Ubuntu") that is supported on that UTC day,
// or "" if there is none. It ignores names without a number, such as Debian's sid.
func (t *ReleaseTable) Latest(distribution string, day time.Time) Release {
	var latest Release
	for _, r := range t.Supported(day) {
		if version, ok := strings.CutPrefix(string(r), distribution+" "); ok && version[0] >= '0' && version[0] <= '9' {
			latest = r
		}
	}
	return latest
}
