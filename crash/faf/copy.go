package faf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Listing is the answer of a server to GET /reports/. Servers that replicate their reports list the names of their
// µReports, which /report/<name> returns. FAF's own pages list the newest reports as objects; then all of them are at
// /reports/get_hash/ and /reports/items/.
type Listing struct {
	Names []string // of µReports
	Pages bool     // the answer is that of FAF's pages
}

// ParseListing parses the answer.
func ParseListing(body []byte) (Listing, error) {
	var pages struct {
		Reports *[]json.RawMessage `json:"reports"`
	}
	if err := json.Unmarshal(body, &pages); err == nil && pages.Reports != nil {
		return Listing{Pages: true}, nil
	}
	var l Listing
	if err := json.Unmarshal(body, &l.Names); err != nil {
		return l, errors.New("the answer is not a list of reports")
	}
	slices.Sort(l.Names)
	l.Names = slices.Compact(l.Names)
	return l, nil
}

// nameForm limits the names of µReports, which become parts of addresses.
var nameForm = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z._-]{0,199}$`)

// IsName reports whether a µReport may have this name.
func IsName(name string) bool { return nameForm.MatchString(name) }

// ParseHashes parses the answer of /reports/get_hash/…: the hashes of stacks.
func ParseHashes(body []byte) ([]string, error) {
	var answer struct {
		Data *[]string `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data == nil {
		return nil, errors.New("the answer is not a list of hashes")
	}
	return *answer.Data, nil
}

// Item is a report of FAF, as /reports/items/ describes it.
type Item struct {
	Report struct {
		ID        int64    `json:"id"`
		Component string   `json:"component"`
		Count     int64    `json:"count"`
		Last      string   `json:"last_occurrence"` // RFC 3339 without a zone
		Bugs      []string `json:"bugs"`            // their addresses
		Problem   int64    `json:"problem_id"`
	} `json:"report"`
	Executable string         `json:"executable"`
	Error      string         `json:"error_name"` // "SIGSEGV (11)", or the name of an exception
	Oops       string         `json:"oops"`
	Frames     []itemFrame    `json:"backtrace"`
	Releases   []counted      `json:"releases"`
	Arches     []counted      `json:"arches"`
	Packages   []packageCount `json:"package_counts"`
	Days       history        `json:"daily_history"`
	Weeks      history        `json:"weekly_history"`
	Months     history        `json:"monthly_history"`
}

type itemFrame struct {
	Name   string `json:"name"` // " ": unknown
	Binary string `json:"binary_path"`
	Source string `json:"source_path"`
	Line   int64  `json:"line_numer"` // as FAF writes it
}

// history counts the crashes by release, of about the last 20 days, weeks or months.
type history struct {
	ByRelease map[string][]struct {
		Date  string `json:"date"`
		Count int64  `json:"count"`
	} `json:"by_opsys"`
}

// counted is a name with its number of reports. FAF writes it as a list or, with some libraries, as an object.
type counted struct {
	Name  string
	Count int64
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *counted) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		type object counted
		return json.Unmarshal(text, (*object)(c))
	}
	return json.Unmarshal(text, &[]any{&c.Name, &c.Count})
}

// packageCount is a package, and the numbers of reports by version.
type packageCount struct {
	Name     string
	Versions []counted
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *packageCount) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.Name, new(any), &p.Versions})
}

// ParseItems parses the answer of /reports/items/: reports by the hash of their stacks. Reports that are not as
// expected are nil.
func ParseItems(body []byte) (map[string]*Item, error) {
	var texts map[string]json.RawMessage
	if err := json.Unmarshal(body, &texts); err != nil {
		return nil, errors.New("the answer is not a list of reports")
	}
	items := make(map[string]*Item, len(texts))
	for hash, text := range texts {
		var it Item
		items[hash] = nil
		if err := json.Unmarshal(text, &it); err == nil && it.Report.ID > 0 {
			items[hash] = &it
		}
	}
	return items, nil
}

// Copy is what is copied of a report of FAF: one crash for each of its releases.
type Copy struct {
	Reports []crash.Report // without their systems
	Old     int            // releases on which it occurred only before the oldest day
}

// Copy returns reports as apport would make them, or why there are none. There is one for each release on which FAF
// counted the crash on a day since oldest: FAF knows how many there were, but not which version, architecture and
// machine each of them had. server names FAF in their numbers.
func (it Item) Copy(server string, oldest time.Time) (Copy, error) {
	all, why := it.report().reports()
	if len(all) == 0 {
		return Copy{}, why
	}
	var c Copy
	for _, release := range it.Releases {
		day := it.lastDay(release.Name)
		if day.Before(oldest) {
			c.Old++
			continue
		}
		f := crash.Fields{
			"Package":       strings.TrimSpace(it.Report.Component + " " + it.version(release.Name)),
			"SourcePackage": it.Report.Component, "DistroRelease": releaseOf(release.Name), "Date": day.Format(time.ANSIC),
			"FAFReports": strconv.FormatInt(release.Count, 10),
		}
		if arch := mostFrequent(it.Arches); arch != "" {
			f["Architecture"] = arch
		}
		for name, text := range all[0] {
			f[name] = text
		}
		for name, text := range f {
			f[name] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		}
		c.Reports = append(c.Reports, crash.Report{Fields: f,
			Number: fmt.Sprintf("faf %s %d %s", server, it.Report.ID, release.Name)})
	}
	return c, nil
}

// releaseOf returns the release with FAF's name, such as "Red Hat Enterprise Linux 9".
func releaseOf(name string) string {
	os := crash.OS{Name: name}
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		os.Name, os.Version = name[:i], name[i+1:]
	}
	if os.Name == "Red Hat Enterprise Linux" {
		os.ID = "rhel"
	}
	return string(os.Release())
}

// lastDay returns the last day on which FAF counted the crash on a release, or the start of the week or month. If the
// histories lack the release, which is the only one, it is the day of the last crash; else zero.
func (it Item) lastDay(release string) (last time.Time) {
	for _, h := range []history{it.Days, it.Weeks, it.Months} {
		for _, period := range h.ByRelease[release] {
			if day, err := time.Parse(time.DateOnly, crash.Truncate(period.Date, 10)); err == nil && period.Count > 0 &&
				day.After(last) {
				last = day
			}
		}
	}
	if last.IsZero() && len(it.Releases) == 1 {
		last, _ = time.Parse(time.DateOnly, crash.Truncate(it.Report.Last, 10))
	}
	return last
}

// version returns the most frequent version of the component whose name ends in the mark of the release, such as
// ".fc43" for Fedora 43, or "" if there is none. Other versions may belong to another release.
func (it Item) version(release string) string {
	mark := ""
	if number, ok := strings.CutPrefix(release, "Fedora "); ok {
		mark = ".fc" + number
	} else if i := strings.LastIndexByte(release, ' '); i >= 0 {
		major, _, _ := strings.Cut(release[i+1:], ".")
		mark = ".el" + major
	}
	var versions []counted
	for _, p := range it.Packages {
		for _, v := range p.Versions {
			if p.Name == it.Report.Component && mark != "" && marked(v.Name, mark) {
				versions = append(versions, v)
			}
		}
	}
	return strings.TrimPrefix(mostFrequent(versions), "0:")
}

// marked reports whether a version contains a mark, and no digit after it.
func marked(version, mark string) bool {
	_, after, found := strings.Cut(version, mark)
	return found && (after == "" || after[0] < '0' || after[0] > '9')
}

func mostFrequent(all []counted) string {
	var best counted
	for _, c := range all {
		if c.Count > best.Count || c.Count == best.Count && c.Name < best.Name {
			best = c
		}
	}
	return best.Name
}

// signalForm matches FAF's names of signals, such as "SIGSEGV (11)".
var signalForm = regexp.MustCompile(`^(?:SIG[A-Z0-9+-]+ )?\(?([0-9]{1,3})\)?$`)

// report returns what is known of the crash. Its type follows from the error, since the answer does not name it.
func (it Item) report() Report {
	r := Report{ID: it.Report.ID, Type: "python", Error: it.Error, Executables: []string{it.Executable}, Oops: it.Oops}
	for _, f := range it.Frames {
		frame := Frame{Function: strings.TrimSpace(f.Name), File: f.Binary, Line: f.Line}
		if frame.Function == "" {
			frame.Function = "??"
		}
		r.Frames = append(r.Frames, frame)
	}
	if it.Oops != "" {
		r.Type = "kerneloops"
	} else if m := signalForm.FindStringSubmatch(it.Error); m != nil {
		r.Type, r.Error = "core", m[1]
	}
	return r
}

// Addresses returns the addresses of the report's pages, for [crash.ParseOldAddress].
func (it Item) Addresses(hash string) []string {
	return Report{ID: it.Report.ID, Problem: it.Report.Problem, Hashes: []string{hash}}.Addresses()
}
