package views

import (
	"net/url"
	"strconv"
	"time"

	"mishap/crash"
)

// Where a person's packages are, and what changes them.
const (
	PathMy       = "/my"
	PathFollow   = PathMy + "/follow"
	PathUnfollow = PathMy + "/unfollow"
	PathSeen     = PathMy + "/seen"
)

// FollowPart is the button by which something is followed, or is followed no longer.
type FollowPart struct {
	Follow    crash.Follow
	On        bool // it is followed
	CSRFToken string
}

func (p FollowPart) form() PostFormArgs {
	args := PostFormArgs{ID: "follow", Action: PathFollow, CSRFToken: p.CSRFToken, Class: "inline follow", Part: true}
	if p.On {
		args.Action = PathUnfollow
	}
	return args
}

// MyPage is what a person follows: the problems of these packages, and which packages they are.
type MyPage struct {
	Shell    Shell
	List     ListPage // the controls of rows; it has none itself
	Visit    crash.Visit
	Groups   []MyGroup // none of them empty
	Problems int
	Reports  int64
	Only     string // the one group that is shown; empty: all
	Notice   string // what is not known yet
	Followed []Followed
	Suggest  string // whose packages could be followed: the person's name at the tracker
	Tracker  string // its name
	Form     FollowForm
}

// MyGroup is problems that stand together, and what they have in common.
type MyGroup struct {
	Name  string // in addresses
	Words string
	Count int // of problems, shown or not
	Rows  []ListRow
}

// Followed is one thing that a person follows, with what was counted of it.
type Followed struct {
	crash.Follow
	Packages int   // of a person or set
	Unknown  bool  // the tracker has not been asked about it yet
	Nobody   bool  // the tracker knows nothing of this name
	Problems int   // in the chosen days
	New      int   // of these, since the visit before
	Reports  int64 // in the chosen days
}

// FollowForm is what was typed to follow something more.
type FollowForm struct {
	Kind    crash.FollowKind
	Name    string
	Problem string // why it cannot be followed
}

// followKinds are what can be followed, with what they are called.
var followKinds = []struct {
	kind  crash.FollowKind
	words string
}{
	{crash.FollowPackage, "package"}, {crash.FollowPerson, "packages of a person or team"}, {crash.FollowSet, "package set"},
}

func (f Followed) words() string {
	switch f.Kind {
	case crash.FollowPerson:
		return "person or team"
	case crash.FollowSet:
		return "package set"
	case crash.FollowPackage:
	}
	return "package"
}

// path is where its problems are.
func (f Followed) path() string {
	switch f.Kind {
	case crash.FollowPerson:
		return "/?" + url.Values{"user": {f.Name}, "period": {string(crash.PeriodMonth)}}.Encode()
	case crash.FollowSet:
		return "/?" + url.Values{"packageset": {f.Name}, "period": {string(crash.PeriodMonth)}}.Encode()
	case crash.FollowPackage:
	}
	return PackagePath(f.Name)
}

// feed is where readers of feeds find its new problems: an address that needs nobody signed in.
func (f Followed) feed() string {
	query := url.Values{"sort": {"first"}, "period": {string(crash.PeriodYear)}}
	switch f.Kind {
	case crash.FollowPerson:
		query.Set("user", f.Name)
	case crash.FollowSet:
		query.Set("packageset", f.Name)
	case crash.FollowPackage:
		return PackagePath(f.Name) + ".atom"
	}
	return "/problems.atom?" + query.Encode()
}

// what is the thing in one field of a form.
func (f Followed) what() string { return f.String() }

// hint says what besides numbers there is to say of it.
func (f Followed) hint() string {
	switch {
	case f.Nobody:
		return "the tracker knows nothing of this name"
	case f.Unknown:
		return "the tracker is being asked"
	case f.Kind != crash.FollowPackage:
		return Counted(int64(f.Packages), "source package", "source packages")
	}
	return ""
}

// url is the address of the page with a period, and one group of problems only.
func (p MyPage) url(period crash.Period, only string) string {
	q := url.Values{"period": {string(period)}}
	if only != "" {
		q.Set("only", only)
	}
	return PathMy + "?" + q.Encode()
}

// since says from when on something is new.
func (p MyPage) since() string {
	if p.Visit.Seen.IsZero() {
		return ""
	}
	return Ago(p.Visit.Seen, p.Shell.Now)
}

// newer reports whether anything is new.
func (p MyPage) newer() bool {
	for _, g := range p.Groups {
		if g.Name == MyNew {
			return true
		}
	}
	return false
}

// The groups of a person's problems.
const (
	MyNew        = "new"
	MyRegression = "regression"
	MyUnfiled    = "unfiled"
	MyFiled      = "filed"
)

// mark is how a group's number is introduced.
func (g MyGroup) id() string { return "my-" + g.Name }

// more is how many problems of the group are not shown.
func (g MyGroup) more() int { return g.Count - len(g.Rows) }

func (g MyGroup) countWords() string { return strconv.Itoa(g.Count) + " " + g.Words }

func (p MyPage) seenAt() string { return p.Visit.Last.UTC().Format(time.RFC3339Nano) }
