package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// DoorsPage holds the page about the clients that send reports.
type DoorsPage struct {
	Shell    layout.Shell
	Days     int // of the counts
	Doors    []DoorRow
	Projects []ProjectRow
	Address  string // of the listener, as clients reach it

	Pings   []crash.PingCount // of PingDay, the most frequent release first
	PingDay time.Time

	Installs []stats.InstallDay // the newest day first

	New     crash.Project // as typed
	Problem string        // why it was refused; empty: it was not
}

// Activity is what came through a door, or for a project.
type Activity struct {
	Stored, Repeated, Dropped, Lost int64
	Refused, Failed                 int64
	Reasons                         []crash.NameCount // of refusals and failures, the most frequent first
	LastSeen                        time.Time
}

// Add adds a count.
func (a *Activity) Add(c crash.DoorCount) {
	switch c.Outcome {
	case "stored":
		a.Stored += c.Requests
	case "repeated":
		a.Repeated += c.Requests
	case "dropped":
		a.Dropped += c.Requests
	case "lost":
		a.Lost += c.Requests
	case "refused":
		a.Refused += c.Requests
	default:
		a.Failed += c.Requests
	}
	if c.Reason != "" {
		i := slices.IndexFunc(a.Reasons, func(n crash.NameCount) bool { return n.Name == c.Reason })
		if i < 0 {
			i, a.Reasons = len(a.Reasons), append(a.Reasons, crash.NameCount{Name: c.Reason})
		}
		a.Reasons[i].Reports += c.Requests
		slices.SortStableFunc(a.Reasons, func(x, y crash.NameCount) int { return cmp.Compare(y.Reports, x.Reports) })
	}
	if c.LastSeen.After(a.LastSeen) {
		a.LastSeen = c.LastSeen
	}
}

// maxPingReleases is the number of releases that the sentence about pings names.
const maxPingReleases = 5

// pings says how many machines said that they are there.
func (p DoorsPage) pings() string {
	var all, rest int64
	var names []string
	for _, c := range p.Pings {
		all += c.Machines
		if c.Release == "" || len(names) == maxPingReleases {
			rest += c.Machines
			continue
		}
		names = append(names, crash.Count(c.Machines)+" "+string(c.Release))
	}
	if rest > 0 {
		names = append(names, crash.Count(rest)+" others")
	}
	return "On " + layout.Date(p.PingDay, p.Shell.Now) + ", " + crash.Counted(all, "machine", "machines") +
		" said that " + crash.Plural(all, "it is", "they are") + " there (mishap-send with ping = true): " +
		strings.Join(names, ", ") + "."
}

// maxReasons is the number of reasons that a cell shows.
const maxReasons = 4

func (a *Activity) reasons() string {
	var texts []string
	for _, r := range a.Reasons[:min(len(a.Reasons), maxReasons)] {
		texts = append(texts, strings.ReplaceAll(r.Name, "_", " ")+" "+crash.Count(r.Reports))
	}
	if len(a.Reasons) > maxReasons {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// DoorRow is one door.
type DoorRow struct {
	crash.Door
	Activity

	Closed crash.ClosedDoor // zero: it is open
}

var doorTitles = map[crash.Door]struct{ title, clients string }{
	crash.DoorWhoopsie: {"whoopsie", "Ubuntu’s whoopsie, mishap send, apport"},
	crash.DoorABRT:     {"ABRT", "Fedora’s reporter-ureport"},
	crash.DoorSentry:   {"Sentry", "programs with Sentry’s libraries, KDE’s DrKonqi"},
	crash.DoorMinidump: {"Minidumps", "programs with Breakpad or crashpad"},
}

func (d DoorRow) title() string { return doorTitles[d.Door].title }

func (d DoorRow) clients() string { return doorTitles[d.Door].clients }

func (d DoorRow) button() layout.Button {
	b := layout.Button{Text: "Close", Label: "Close the door of " + d.title(), Fields: []string{"door", string(d.Door),
		"do", "close"}}
	if d.Closed.Door != "" {
		b.Text, b.Label, b.Fields[3] = "Open", "Open the door of "+d.title(), "open"
	}
	return b
}

// ProjectRow is one project.
type ProjectRow struct {
	crash.Project
	Activity
}

func (p ProjectRow) number() string { return strconv.FormatInt(p.Number, 10) }

func (p ProjectRow) path() string { return layout.PathDoors + "/" + p.number() }

func (p ProjectRow) button(text, do string, more ...string) layout.Button {
	return layout.Button{Text: text, Label: text + " of " + p.Name, Fields: append([]string{"do", do}, more...)}
}

// dsn returns the address of a project for Sentry's libraries.
func (p DoorsPage) dsn(number, key string) string {
	return strings.Replace(p.Address, "://", "://"+key+"@", 1) + "/" + number
}

// example returns number and key of a project, or words that show where they belong.
func (p DoorsPage) example() (number, key string) {
	for _, project := range p.Projects {
		if key := project.Key(); key != "" {
			return project.number(), key
		}
	}
	return "NUMBER", "KEY"
}

// connection says how one kind of clients is connected.
type connection struct{ id, title, note, lines string }

func (p DoorsPage) connections() []connection {
	number, key := p.example()
	dsn := p.dsn(number, key)
	return []connection{
		{"whoopsie", "Ubuntu: whoopsie", "In /etc/default/whoopsie of each machine:",
			"CRASH_DB_URL=" + p.Address},
		{"send", "Other machines: mishap send", "In /etc/mishap/send.toml of each machine:",
			"server = \"" + p.Address + "\""},
		{"apport", "Derivatives of Ubuntu: apport", "In /etc/apport/crashdb.conf.d/mishap.conf, with mishap.py of the " +
			"package mishap-send beside apport’s other crash databases:",
			"mishap = {\"impl\": \"mishap\", \"url\": \"" + p.Address + "\"}"},
		{"abrt", "Fedora: ABRT", "In /etc/libreport/plugins/ureport.conf of each machine:",
			"URL = " + p.Address + "\nIncludeAuthData = yes\nAuthDataItems = machineid"},
		{"go", "Go: sentry-go", "At the start of the program:",
			"sentry.Init(sentry.ClientOptions{Dsn: \"" + dsn + "\", Release: \"NAME@VERSION\"})"},
		{"python", "Python: sentry-sdk", "At the start of the program:",
			"sentry_sdk.init(\"" + dsn + "\", release=\"NAME@VERSION\")"},
		{"node", "Node: @sentry/node", "At the start of the program:",
			"Sentry.init({dsn: \"" + dsn + "\", release: \"NAME@VERSION\"})"},
		{"drkonqi", "KDE: DrKonqi", "The address in its reports has another form:", p.dsn("api/"+number, key)},
		{"minidump", "C++: Breakpad or crashpad", "The address to which the program sends its minidumps:",
			p.Address + "/api/" + number + "/minidump/?sentry_key=" + key},
	}
}
