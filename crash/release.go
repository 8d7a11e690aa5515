package crash

import (
	"cmp"
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
	"sync/atomic"
	"time"
	"unicode"

	"mishap/crash/pytext"
)

// maxReleaseKey is the number of characters of a release's name that its key depends on.
const maxReleaseKey = 64

// Key returns a text that sorts in release order, byte by byte or in any usual collation. The order
// is by distribution, then by version as numbers ("Ubuntu 9.10" before "Ubuntu 24.04"), with names
// ("Debian sid") after numbers. "LTS" makes no difference. The key of the empty release is empty;
// others consist of lower-case letters, digits and single blanks.
func (r Release) Key() string {
	var key []byte
	for rest := strings.ToLower(Truncate(string(r), maxReleaseKey)); rest != ""; {
		token := pytext.Run(rest, pytext.IsDigit)
		isNumber := token != ""
		if !isNumber {
			token = pytext.Run(rest, unicode.IsLetter)
		}
		if token == "" {
			rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !pytext.IsDigit(r) && !unicode.IsLetter(r) })
			continue
		}
		rest = rest[len(token):]
		if token == "lts" {
			continue
		}
		if len(key) > 0 {
			key = append(key, ' ')
		}
		if isNumber {
			token = strings.TrimLeft(token, "0")
			const digits = "0123456789" // at most maxReleaseKey characters have two
			key = append(key, digits[len(token)/10], digits[len(token)%10])
		}
		key = append(key, token...)
	}
	return string(key)
}

// Compare orders releases by Key, and those with the same key by name.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Key(), other.Key()), cmp.Compare(r, other))
}

// EndOfLifeOn reports whether support of the release has ended on that UTC day, according to
// [Releases]. It returns false for derivatives and unknown releases.
func (r Release) EndOfLifeOn(day time.Time) bool { return Releases().EndOfLife(r, day) }

// Codename returns the codename in [Releases], "noble" for "Ubuntu 24.04", or "" for an unknown
// release.
func (r Release) Codename() string { return Releases().Codename(r) }

// ReleaseTable holds releases of distributions: their names and support periods. It is immutable.
type ReleaseTable struct {
	series map[Release]series
	newest map[string]time.Time // by distribution: the day on which its newest series was created
}

type series struct {
	codename string
	released time.Time // zero: not planned yet
	end      time.Time // last supported day; zero: unknown
}

//go:embed distroinfo/*.csv
var distroInfo embed.FS

// releases is the table of this process, nil until SetReleases. It is a global although the house avoids
// them: intake, judging, pages, comments on bugs and methods of [Release] must agree, and a table that is
// handed down to each of them can be forgotten in one.
var releases atomic.Pointer[ReleaseTable]

// SetReleases sets the table that the whole process uses. Call it once at start, before anything reads or
// judges reports: states of problems that are already judged stay as they are.
func SetReleases(t *ReleaseTable) { releases.Store(t) }

// Releases returns the table that the whole process uses: that of SetReleases, or else [BuiltInReleases].
func Releases() *ReleaseTable {
	if t := releases.Load(); t != nil {
		return t
	}
	return BuiltInReleases()
}

// BuiltInReleases returns the table of the release data that is embedded in the program.
var BuiltInReleases = sync.OnceValue(func() *ReleaseTable {
	ubuntu, err1 := distroInfo.Open("distroinfo/ubuntu.csv")
	debian, err2 := distroInfo.Open("distroinfo/debian.csv")
	others, err3 := distroInfo.Open("distroinfo/others.csv")
	if err1 != nil || err2 != nil || err3 != nil {
		return &ReleaseTable{}
	}
	t, err := ReadReleases(ubuntu, debian)
	if err == nil {
		t, err = t.Extend(others)
	}
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

// With returns a table that also has the releases of another file of a distribution, "Ubuntu" or "Debian", if
// that file is at least as new: its newest series was created no earlier than the newest one here. The
// dates in the file take precedence; no release is removed. If the file is older, or on error, With
// returns t.
func (t *ReleaseTable) With(distribution string, csv io.Reader) (*ReleaseTable, error) {
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

// The columns of a file of releases, see [ReleaseTable.Extend].
var releaseColumns = []string{"distribution", "version", "codename", "released", "eol"}

// distributionForm and releaseForm match valid distributions and versions in such a file.
var (
	distributionForm = regexp.MustCompile(`^\pL[\pL !_./-]{0,60}$`)
	releaseForm      = regexp.MustCompile(`^([0-9]{1,4}(\.[0-9]{1,3}){0,2}|[A-Za-z][A-Za-z-]{0,31})?$`)
)

// Extend returns a table that also has the releases of a CSV file. Its first line names the columns:
// distribution, version (empty for rolling distributions), codename, released and eol, the last day with
// support. The first two are required, and days are written as 2026-11-29. What a row says takes
// precedence; what it leaves empty stays as it was. Lines that begin with # are comments. Errors name the
// line and have no kind.
func (t *ReleaseTable) Extend(from io.Reader) (*ReleaseTable, error) {
	r := csv.NewReader(io.LimitReader(from, maxReleaseData))
	r.Comment, r.TrimLeadingSpace = '#', true
	header, err := r.Read()
	if err != nil || len(header) < 2 || header[0] != releaseColumns[0] || header[1] != releaseColumns[1] {
		return nil, fmt.Errorf("the first line does not name the columns %s", strings.Join(releaseColumns, ","))
	}
	for i, name := range header {
		if !slices.Contains(releaseColumns, name) || slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("line 1: %.40q is not a column, or is there twice; the columns are %s", name,
				strings.Join(releaseColumns, ","))
		}
	}
	more := &ReleaseTable{series: maps.Clone(t.series), newest: t.newest}
	seen := map[Release]bool{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return more, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		name, err := more.extend(header, row)
		if line, _ := r.FieldPos(0); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		} else if seen[name] || len(seen) == maxReleases {
			return nil, fmt.Errorf("line %d: %s is there twice, or there are more than %d releases", line, name,
				maxReleases)
		}
		seen[name] = true
	}
}

// extend adds or changes the release of a row.
func (t *ReleaseTable) extend(header, row []string) (Release, error) {
	column := func(name string) string {
		if at := slices.Index(header, name); at >= 0 {
			return strings.TrimSpace(row[at])
		}
		return ""
	}
	distribution, number, codename := column("distribution"), column("version"), column("codename")
	if !distributionForm.MatchString(distribution) {
		return "", fmt.Errorf("%.40q is not the name of a distribution, such as Fedora; versions have their own column",
			distribution)
	}
	if !releaseForm.MatchString(number) {
		return "", fmt.Errorf("%.40q is not a version, such as 43 or 16.0", number)
	}
	if codename != "" && !seriesForm.MatchString(codename) {
		return "", fmt.Errorf("%.40q is not a codename of lower-case letters and digits, such as noble", codename)
	}
	name := Release(strings.TrimSpace(distribution + " " + number))
	s := t.series[name]
	s.codename = cmp.Or(codename, s.codename)
	for at, to := range map[string]*time.Time{"released": &s.released, "eol": &s.end} {
		day, err := parseDay(column(at))
		if err != nil {
			return "", fmt.Errorf("%s: %.40q is not a day, such as 2026-11-29", at, column(at))
		}
		if !day.IsZero() {
			*to = day
		}
	}
	if !s.end.IsZero() && s.end.Before(s.released) {
		return "", fmt.Errorf("%s ends on %s, before its release on %s", name, s.end.Format(time.DateOnly),
			s.released.Format(time.DateOnly))
	}
	t.series[name] = s
	return name, nil
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

// Distribution returns the distribution of a release in lower case: "ubuntu" for "Ubuntu 24.04". A
// derivative is a distribution of its own: "ubuntu kylin" for "Ubuntu Kylin 24.04". Package
// versions are comparable only within one distribution.
func (r Release) Distribution() string {
	if strings.HasPrefix(string(r), "Debian GNU/Linux ") {
		return "debian"
	}
	words := strings.Fields(strings.ToLower(string(r)))
	named := words[:0:0]
	for _, w := range words {
		if w != "lts" && !strings.ContainsFunc(w, unicode.IsDigit) {
			named = append(named, w)
		}
	}
	if n := len(named); n > 1 && n == len(words) {
		named = named[:n-1] // a release with a name instead of a number, such as "Debian sid"
	}
	return strings.Join(named, " ")
}

// Short returns the name without the distribution if it is still clear: "24.04" for "Ubuntu 24.04",
// "sid" for "Debian sid", but "Debian 13" in full.
func (r Release) Short() string {
	switch {
	case r == "":
		return "an unknown release"
	case r == "Debian sid" || r == "Debian experimental":
		return strings.TrimPrefix(string(r), "Debian ")
	case r.Distribution() == "ubuntu":
		return strings.TrimPrefix(string(r), "Ubuntu ")
	}
	return string(r)
}

// Named returns the release of a distribution ("ubuntu") with this codename, or "" if there is
// none. It accepts "unstable" for sid, as Debian's changelogs do.
func (t *ReleaseTable) Named(distribution, codename string) Release {
	if distribution == "debian" && codename == "unstable" {
		codename = "sid"
	}
	if codename == "" {
		return ""
	}
	for r, s := range t.series {
		if s.codename == codename && r.Distribution() == distribution {
			return r
		}
	}
	return ""
}

// Predecessor returns the release among candidates that immediately precedes r in its distribution,
// or "" if there is none. Releases without a number ("Debian sid") neither precede nor follow
// others.
func (r Release) Predecessor(candidates []Release) Release {
	family, numbered := r.distribution()
	if !numbered {
		return ""
	}
	var before Release
	for _, other := range candidates {
		if name, ok := other.distribution(); ok && name == family && other.Key() < r.Key() &&
			(before == "" || other.Key() > before.Key()) {
			before = other
		}
	}
	return before
}

// SameDistribution reports whether two releases belong to one distribution: "Debian 13" and "Debian
// sid" do, "Ubuntu 24.04" and "Kubuntu 24.04" do not.
func (r Release) SameDistribution(other Release) bool {
	return r.distributionName() == other.distributionName()
}

// distributionName returns the name without its number or, if it has none, without its last word
// unless that is the only one.
func (r Release) distributionName() string {
	name, numbered := r.distribution()
	if last := strings.LastIndexByte(name, ' '); last >= 0 && !numbered {
		name = name[:last]
	}
	return strings.TrimSpace(name)
}

// distribution returns the part of the name before its first digit, and whether there is a digit.
func (r Release) distribution() (name string, numbered bool) {
	for i, c := range r {
		if '0' <= c && c <= '9' {
			return string(r[:i]), true
		}
	}
	return string(r), false
}

// ReleaseKind says how trustworthy the name of a release is: machines can send any name.
type ReleaseKind int

// The kinds of releases, the most trustworthy first.
const (
	OfficialRelease   ReleaseKind = iota // in the table of releases, or empty
	DerivativeRelease                    // of a known distribution or derivative, with a short version number
	UnknownRelease                       // any other name
)

// Kind returns how trustworthy the name of the release is.
func (t *ReleaseTable) Kind(r Release) ReleaseKind {
	if _, ok := t.find(r); ok || r == "" {
		return OfficialRelease
	}
	if derivativeForm.MatchString(string(r)) {
		return DerivativeRelease
	}
	return UnknownRelease
}

// The largest number of releases that a list names, by kind. Official releases are not limited.
const (
	maxDerivatives = 10
	maxUnknown     = 5
)

// OtherReleases is the row of a list for all releases that it does not name.
const OtherReleases Release = "other releases"

// ReleaseList is the releases that a list names: all official ones, and the derivatives and unknown
// ones with the most reports, a limited number of each. Invented names therefore never displace
// real ones.
type ReleaseList struct {
	table *ReleaseTable
	named map[Release]bool
	rest  bool // some releases are not named
}

// List chooses the releases that a list names, given the number of reports of each.
func (t *ReleaseTable) List(reports map[Release]int64) ReleaseList {
	l := ReleaseList{table: t, named: map[Release]bool{}}
	more := map[ReleaseKind][]Release{}
	for r := range reports {
		if kind := t.Kind(r); kind == OfficialRelease {
			l.named[r] = true
		} else {
			more[kind] = append(more[kind], r)
		}
	}
	for kind, most := range map[ReleaseKind]int{DerivativeRelease: maxDerivatives, UnknownRelease: maxUnknown} {
		some := more[kind]
		slices.SortFunc(some, func(a, b Release) int {
			return cmp.Or(cmp.Compare(reports[b], reports[a]), cmp.Compare(a, b))
		})
		l.rest = l.rest || len(some) > most
		for _, r := range some[:min(len(some), most)] {
			l.named[r] = true
		}
	}
	return l
}

// Names reports whether the list names a release.
func (l ReleaseList) Names(r Release) bool { return l.named[r] }

// Of returns r if the list names it, else OtherReleases.
func (l ReleaseList) Of(r Release) Release {
	if l.named[r] {
		return r
	}
	return OtherReleases
}

// Ascending returns the named releases in release order: official ones, then derivatives, then
// unknown ones. OtherReleases comes last, if any release is not named.
func (l ReleaseList) Ascending() []Release {
	return l.sorted(Release.Compare)
}

// Descending returns the same releases as Ascending, with the newest release of each kind first.
func (l ReleaseList) Descending() []Release {
	return l.sorted(func(a, b Release) int { return b.Compare(a) })
}

// Offered returns the releases that a form offers, the newest of each kind first. It includes the
// release chosen at present, if any, and excludes the empty release and OtherReleases.
func (l ReleaseList) Offered(chosen Release) []Release {
	list := slices.DeleteFunc(l.Descending(), func(r Release) bool { return r == "" || r == OtherReleases })
	if chosen != "" && !slices.Contains(list, chosen) {
		list = append(list, chosen)
	}
	return list
}

func (l ReleaseList) sorted(compare func(a, b Release) int) []Release {
	list := slices.SortedFunc(maps.Keys(l.named), func(a, b Release) int {
		return cmp.Or(cmp.Compare(l.table.Kind(a), l.table.Kind(b)), compare(a, b))
	})
	if l.rest {
		list = append(list, OtherReleases)
	}
	return list
}

// OccurredAt parses the Date of a report: asctime in the C locale, "Mon May  5 14:46:10 2025". That
// is local time without a zone, which OccurredAt reads as UTC. It returns false if the date is
// missing or malformed.
func OccurredAt(date string) (time.Time, bool) {
	const longest = 64
	if len(date) > longest {
		return time.Time{}, false
	}
	t, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(strings.FieldsFunc(date, pytext.IsSpace), " "))
	return t, err == nil
}

// CountingDay returns the UTC midnight of the day on which a report counts. That is the day of the
// crash, if it is at most one day after the arrival and at most maxAgeDays before it, else the day
// of the arrival. A zero occurred is unknown.
func CountingDay(occurred, arrived time.Time, maxAgeDays int) time.Time {
	arrival := Midnight(arrived)
	if occurred.IsZero() {
		return arrival
	}
	day := Midnight(occurred)
	if day.After(arrival.AddDate(0, 0, 1)) || day.Before(arrival.AddDate(0, 0, -maxAgeDays)) {
		return arrival
	}
	return day
}

// LastDays returns the first and the last of the n UTC days that end with the day of now. All periods
// that end now consist of such days: the past week is today and the six days before.
func LastDays(now time.Time, n int) (since, until time.Time) {
	until = Midnight(now)
	return until.AddDate(0, 0, 1-n), until
}

// Elapsed returns the share of a UTC day that has passed at now, from 0 to 1, in whole minutes. Rates count
// the machines of today by it: reports of a day that has just begun are few.
func Elapsed(day, now time.Time) float64 {
	part := float64(now.Truncate(time.Minute).Sub(Midnight(day))) / float64(24*time.Hour)
	return min(max(part, 0), 1)
}

// Midnight returns the start of the UTC day of t.
func Midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
