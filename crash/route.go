package crash

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Route says where the bugs of some source packages go.
type Route struct {
	Package     string // name of a source package, in which "*" stands for any characters
	ProblemType string // "Crash"; empty: any
	Release     string // of the newest report, in which "*" stands for any characters: "Fedora *"; empty: any
	Tracker     string // name of the tracker in the configuration
	Target      string // project or component there, with {source}, {release} and {version}; empty: the configured one
}

// String returns the route in words: "linux*, KernelOops → gnome".
func (r Route) String() string {
	text := r.Package
	for _, part := range []string{r.ProblemType, r.Release} {
		if part != "" {
			text += ", " + part
		}
	}
	return text + " → " + r.Tracker
}

// Routes are all routes, in order.
type Routes []Route

// MaxRoutes is the largest number of routes.
const MaxRoutes = 100_000

// First returns the first route that fits a source package, a problem type and a release, without those to other
// trackers. It returns false if there is none.
func (all Routes) First(source, problemType string, release Release, others []string) (Route, bool) {
	for _, r := range all {
		if fits(r.Package, source) && (r.ProblemType == "" || r.ProblemType == problemType) &&
			(r.Release == "" || fits(r.Release, string(release))) && !slices.Contains(others, r.Tracker) {
			return r, true
		}
	}
	return Route{}, false
}

func fits(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// routeColumns are the columns of a table of routes, in the order in which Text writes them.
var routeColumns = []string{"package", "type", "release", "tracker", "target"}

// Text returns the routes as CSV, with a line of names.
func (all Routes) Text() string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write(routeColumns) // a strings.Builder takes everything
	for _, r := range all {
		_ = w.Write([]string{r.Package, r.ProblemType, r.Release, r.Tracker, r.Target})
	}
	w.Flush()
	return out.String()
}

// maxRouteText is the largest length of one value of a route, in characters.
const maxRouteText = 200

// ReadRoutes reads routes from CSV. The first line names the columns: package and tracker, and, as needed, type,
// release and target. check says what is wrong with a route, or returns an empty text. ReadRoutes returns Unprocessable
// with a sentence that names the line.
func ReadRoutes(text string, check func(Route) string) (Routes, error) {
	wrong := func(line int, format string, args ...any) error {
		return Errorf(Unprocessable, "bad_routes", "Line %d: %s", line, fmt.Sprintf(format, args...))
	}
	text = strings.TrimPrefix(text, "\ufeff") // spreadsheets write it
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comment, r.TrimLeadingSpace = '#', true
	names, err := r.Read()
	head := 1
	if err == nil {
		head, _ = r.FieldPos(0)
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if !slices.Contains(routeColumns, names[i]) {
			return nil, wrong(head, "there is no column %q. The first line names the columns: %s.",
				Shorten(strings.ToValidUTF8(names[i], "\ufffd"), 40), strings.Join(routeColumns, ", "))
		}
	}
	var routes Routes
	for err == nil {
		var fields []string
		if fields, err = r.Read(); err != nil {
			break
		}
		line, _ := r.FieldPos(0)
		row := map[string]string{}
		for i, name := range names {
			row[name] = strings.TrimSpace(fields[i])
		}
		route := Route{row["package"], row["type"], row["release"], row["tracker"], row["target"]}
		_, badPackage := path.Match(route.Package, "")
		_, badRelease := path.Match(route.Release, "")
		switch {
		case slices.ContainsFunc(fields, notOneLine):
			return nil, wrong(line, "a value has more than %d characters or invalid ones.", maxRouteText)
		case route.Package == "":
			return nil, wrong(line, "the source package is missing. * stands for all of them.")
		case badPackage != nil || badRelease != nil:
			return nil, wrong(line, "the pattern has an unfinished bracket. * stands for any characters, \\[ for a bracket.")
		case len(routes) == MaxRoutes:
			return nil, wrong(line, "there are more than %d routes.", MaxRoutes)
		}
		if problem := check(route); problem != "" {
			return nil, wrong(line, "%s", problem)
		}
		routes = append(routes, route)
	}
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, wrong(parse.Line, "%s. A value with a comma or a quotation mark stands in quotation marks.", parse.Err)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return routes, nil
}

// notOneLine reports whether a value of a route is no short line of text.
func notOneLine(s string) bool {
	return !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxRouteText || strings.ContainsFunc(s, unicode.IsControl)
}
