package problems

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// Addresses of a person's packages, and of changes to them.
const (
	PathFollow   = layout.PathMy + "/follow"
	PathUnfollow = layout.PathMy + "/unfollow"
	PathSeen     = layout.PathMy + "/seen"
)

// FollowPart holds the button that follows or unfollows something.
type FollowPart struct {
	Follow    crash.Follow
	On        bool // the person follows it
	CSRFToken string
}

func (p FollowPart) form() layout.PostFormArgs {
	args := layout.PostFormArgs{ID: p.id(), Action: PathFollow, CSRFToken: p.CSRFToken, Class: "inline follow",
		Decides: true}
	if p.On {
		args.Action = PathUnfollow
	}
	return args
}

// id returns the id of the button. A page has buttons for several searches, but only one other.
func (p FollowPart) id() string {
	if p.Follow.Kind == crash.FollowSearch {
		return "follow-search-" + p.Follow.Name
	}
	return "follow"
}

func (p FollowPart) label() string {
	switch p.Follow.Kind {
	case crash.FollowProblem:
		return "Follow this problem"
	case crash.FollowSearch:
		return "Follow"
	case crash.FollowPackage, crash.FollowPerson, crash.FollowSet:
	}
	return "Follow " + p.Follow.Name
}

// MyPage holds what a person follows, and the problems of these packages.
type MyPage struct {
	Shell    layout.Shell
	List     ListPage // controls of the rows; it has no rows itself
	Visit    crash.Visit
	Groups   []MyGroup // without empty groups
	Problems int
	Mine     int // of these, assigned to the person
	Reports  int64
	Only     string // the only group shown; empty: all
	Notice   string // why something is missing
	Ignored  string // which values of the address are invalid
	Followed []Followed
	Suggest  string // account in the tracker whose packages the person could follow
	Tracker  string // its name
	Form     FollowForm
}

// MyGroup is a group of problems with something in common.
type MyGroup struct {
	Name  string // name in addresses
	Words string
	Count int // number of its problems, shown or not
	Rows  []ListRow
}

// Followed is one thing that a person follows, with its counts.
type Followed struct {
	crash.Follow
	Packages int    // number of packages, of a person or set
	Unknown  bool   // the tracker has not been asked yet
	Nobody   bool   // the tracker has no such name, or the search does not exist any more
	Label    string // title of a problem or name of a search; empty: Name
	Path     string // address of a problem or search
	News     string // what is new about a problem since the previous visit
	Problems int    // in the selected days
	Unread   int    // of these, unread
	Reports  int64  // in the selected days
}

// FollowForm holds the form that follows something more.
type FollowForm struct {
	Kind    crash.FollowKind
	Name    string
	Problem string // why following failed
}

// followKinds lists the kinds of things to follow, with their labels.
var followKinds = []struct {
	kind  crash.FollowKind
	words string
}{
	{crash.FollowPackage, "package"}, {crash.FollowPerson, "packages of a person or team"},
	{crash.FollowSet, "package set"},
}

func (f Followed) label() string {
	switch f.Kind {
	case crash.FollowPerson:
		return "person or team"
	case crash.FollowSet:
		return "package set"
	case crash.FollowProblem:
		return "problem"
	case crash.FollowSearch:
		return "saved search"
	case crash.FollowPackage:
	}
	return "package"
}

func (f Followed) title() string { return cmp.Or(f.Label, f.Name) }

func (f Followed) path() string {
	switch f.Kind {
	case crash.FollowPerson:
		return "/?" + url.Values{"user": {f.Name}, "period": {string(crash.PeriodMonth)}}.Encode()
	case crash.FollowSet:
		return "/?" + url.Values{"packageset": {f.Name}, "period": {string(crash.PeriodMonth)}}.Encode()
	case crash.FollowProblem, crash.FollowSearch:
		return f.Path
	case crash.FollowPackage:
	}
	return PackagePath(f.Name)
}

// feed returns the address of the feed of its new problems, which needs no sign-in. A problem has
// none.
func (f Followed) feed() string {
	query := url.Values{"sort": {"first"}, "period": {string(crash.PeriodYear)}}
	switch f.Kind {
	case crash.FollowPerson:
		query.Set("user", f.Name)
	case crash.FollowSet:
		query.Set("packageset", f.Name)
	case crash.FollowProblem:
		return ""
	case crash.FollowSearch:
		path, rest, _ := strings.Cut(f.Path, "?")
		if path == "/" {
			path = "/problems"
		}
		return path + ".atom?" + rest
	case crash.FollowPackage:
		return PackagePath(f.Name) + ".atom"
	}
	return "/problems.atom?" + query.Encode()
}

func (f Followed) hint() string {
	switch {
	case f.Nobody && f.Kind == crash.FollowSearch:
		return "no longer exists"
	case f.Nobody:
		return "unknown to the tracker"
	case f.Kind == crash.FollowProblem:
		return f.News
	case f.Kind == crash.FollowSearch:
		return ""
	case f.Unknown:
		return "being read from the tracker"
	case f.Kind != crash.FollowPackage:
		return crash.Counted(int64(f.Packages), "source package", "source packages")
	}
	return ""
}

// url returns the address of the page for a period and, if only is set, for one group.
func (p MyPage) url(period crash.Period, only string) string {
	q := url.Values{"period": {string(period)}}
	if only != "" {
		q.Set("only", only)
	}
	set(q, "muted", p.List.Choice.ShowMuted)
	return layout.PathMy + "?" + q.Encode()
}

func (p MyPage) withMuted() string {
	p.List.Choice.ShowMuted = MutedShow
	return p.url(p.List.Choice.Period, p.Only)
}

func (p MyPage) since() string {
	if p.Visit.Seen.IsZero() {
		return ""
	}
	return layout.Ago(p.Visit.Seen, p.Shell.Now)
}

func (p MyPage) newer() bool {
	return slices.ContainsFunc(p.Groups, func(g MyGroup) bool { return g.Name == MyUnread })
}

// The groups of a person's problems.
const (
	MyUnread     = "unread"
	MyAssigned   = "assigned"
	MyRegression = "regression"
	MyUnfiled    = "unfiled"
	MyFiled      = "filed"
)

func (g MyGroup) id() string { return "my-" + g.Name }

// more returns the number of problems of the group that are not shown.
func (g MyGroup) more() int { return g.Count - len(g.Rows) }

func (g MyGroup) countWords() string { return strconv.Itoa(g.Count) + " " + g.Words }

func (p MyPage) seenAt() string { return p.Visit.Last.UTC().Format(time.RFC3339Nano) }

// ReadingPackages says that the packages of a person or set are not known yet.
func ReadingPackages(name string) string {
	return "The packages of " + name + " are being read from the tracker. Reload the page in a moment."
}

func (p MyPage) unfollow(i int) layout.PostFormArgs {
	return layout.PostFormArgs{ID: "unfollow-" + strconv.Itoa(i), Action: PathUnfollow, CSRFToken: p.Shell.CSRFToken,
		Class: "inline"}
}
