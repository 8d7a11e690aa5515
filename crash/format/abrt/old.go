package abrt

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldDocument has the members of a µReport of version 1 that differ from version 2.
type oldDocument struct {
	Type         string     `json:"type"`
	Architecture string     `json:"architecture"`
	Component    string     `json:"component"`
	Executable   string     `json:"executable"`
	UserType     string     `json:"user_type"`
	CrashThread  int64      `json:"crash_thread"`
	Backtrace    []oldFrame `json:"core_backtrace"`
	Oops         string     `json:"oops"`
	Installed    *rpm       `json:"installed_package"`
	Related      []struct {
		Installed *rpm `json:"installed_package"`
	} `json:"related_packages"`
}

type oldFrame struct {
	Thread   int64   `json:"thread"`
	Frame    int64   `json:"frame"`
	BuildID  string  `json:"buildid"`
	Offset   *uint64 `json:"offset"` // of Python, the line
	Path     string  `json:"path"`
	Function string  `json:"funcname"`
}

var (
	oldSignal    = regexp.MustCompile(`(?i)(?:signal|SIG[A-Z0-9]+ \(?)\s*([0-9]{1,3})`)
	oldException = regexp.MustCompile(`(?:^|[: ])([A-Za-z_][A-Za-z0-9_.]*(?:Error|Exception|Interrupt|Exit|Warning))\b`)
)

// convert fills in a document of version 2, as FAF does.
func (o *oldDocument) convert(d *document) {
	kind := strings.ToLower(o.Type)
	if kind == "userspace" {
		kind = "core"
	}
	d.OS.Architecture = cmp.Or(o.Architecture, d.OS.Architecture)
	d.Packages = nil
	if o.Installed != nil {
		o.Installed.Role = "affected"
		d.Packages = append(d.Packages, *o.Installed)
	}
	for _, r := range o.Related {
		if r.Installed != nil {
			r.Installed.Role = "related"
			d.Packages = append(d.Packages, *r.Installed)
		}
	}
	p := problem{Type: kind, Component: o.Component, Executable: o.Executable, Oops: o.Oops}
	root, local := o.UserType == "root", o.UserType == "local"
	if o.UserType != "" {
		p.User = user{Root: &root, Local: &local}
	}
	slices.SortStableFunc(o.Backtrace, func(a, b oldFrame) int { return cmp.Compare(a.Frame, b.Frame) })
	switch kind {
	case "core":
		if m := oldSignal.FindStringSubmatch(d.Reason); m != nil {
			signal, _ := strconv.Atoi(m[1]) // digits
			p.Signal = &signal
		}
		thread := stackEntry{Crashed: true}
		for _, f := range o.Backtrace {
			if f.Thread == o.CrashThread {
				thread.Frames = append(thread.Frames, f.frame())
			}
		}
		p.Stack = []stackEntry{thread}
	case "python":
		if m := oldException.FindStringSubmatch(d.Reason); m != nil {
			p.Exception = m[1]
		}
		for _, f := range o.Backtrace {
			p.Stack = append(p.Stack, stackEntry{frame: f.frame()})
		}
	}
	d.Problem = p
}

func (f oldFrame) frame() frame {
	converted := frame{BuildID: f.BuildID, Offset: f.Offset, File: f.Path, Function: f.Function}
	if f.Offset != nil {
		converted.Line = *f.Offset
	}
	return converted
}
