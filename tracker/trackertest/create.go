package trackertest

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxTitle       = 200
	maxDescription = 50000
)

var (
	validTag  = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	validName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`)

	informationTypes = []string{"Public", "Public Security", "Private Security", "Private", "Proprietary", "Embargoed"}
	forDistributions = informationTypes[:4]

	// series are the series of the distribution, against which bugs cannot be filed.
	series = []string{"trusty", "xenial", "bionic", "focal", "jammy", "noble", "oracular", "plucky", "questing",
		"resolute"}
)

// createBug files a bug, or returns one line for each invalid parameter.
func (s *Server) createBug(c *call, token *accessToken) response {
	switch {
	case token == nil:
		return text(401, "You need to be logged in to view this URL.")
	case !token.writes():
		return text(401, "(<lp.systemhomes.MaloneApplication object>, 'createBug', 'launchpad.AnyPerson')")
	}
	bug := &Bug{Reporter: token.Person, Status: "New"}
	var wrong []string
	add := func(name, message string) {
		if message != "" {
			wrong = append(wrong, name+": "+message)
		}
	}
	var message string
	bug.Title, message = title(c.form)
	add("title", message)
	bug.Description, message = description(c.form)
	add("description", message)
	bug.Tags, message = tags(c.form)
	add("tags", message)
	bug.InformationType, message = informationType(c.form)
	add("information_type", message)
	private, security := flag(c.form, "private", add), flag(c.form, "security_related", add)
	if bug.InformationType == "" {
		bug.InformationType = informationTypeOf(private, security)
	}
	target, message := s.target(c, c.form)
	add("target", message)
	if len(wrong) > 0 {
		return text(400, strings.Join(wrong, "\n")).with("Content-Type", "text/plain")
	}
	if refusal := s.place(bug, target); refusal != "" {
		return text(400, refusal).with("Content-Type", "text/plain")
	}
	if !slices.Contains(forDistributions, bug.InformationType) {
		return text(400, fmt.Sprintf("%s doesn't allow %s bugs.", displayName(bug.Distribution), bug.InformationType))
	}
	bug.Number, bug.Created, bug.Subscribers = s.state.nextBug(), s.now(), []string{token.Person}
	s.state.Bugs = append(s.state.Bugs, bug)
	s.save()
	return text(201, "").with("Location", fmt.Sprintf("%s/bugs/%d", c.root(), bug.Number))
}

const missing = "Required input is missing."

func title(form url.Values) (value, wrong string) {
	value, ok := textParam(form, "title")
	switch n := utf8.RuneCountInString(value); {
	case !ok:
		return "", missing
	case n < 1:
		return "", fmt.Sprintf("(%s, 1)", pyQuote(value))
	case n > maxTitle:
		return "", fmt.Sprintf("(%s, %d)", pyQuote(value), maxTitle)
	case strings.Contains(value, "\n"):
		return "", fmt.Sprintf("(%s, 'title')", pyQuote(value))
	}
	return value, ""
}

func description(form url.Values) (value, wrong string) {
	value, ok := textParam(form, "description")
	switch n := utf8.RuneCountInString(strings.TrimRight(value, " \t\n\v\f\r")); {
	case !ok:
		return "", missing
	case n < 1:
		return "", fmt.Sprintf("(%s, 1)", pyQuote(value))
	case n > maxDescription:
		return "", fmt.Sprintf("(%s, %d)", pyQuote(value), maxDescription)
	}
	return value, ""
}

func tags(form url.Values) (value []string, wrong string) {
	var bad []string
	for _, tag := range textList(form, "tags") {
		if !validTag.MatchString(tag) {
			bad = append(bad, fmt.Sprintf("ConstraintNotSatisfied(%s, '')", pyQuote(tag)))
		}
		value = append(value, tag)
	}
	if bad != nil {
		return nil, "([" + strings.Join(bad, ", ") + "], 'tags')"
	}
	return value, ""
}

// informationType parses a parameter with a fixed set of values, which is sent as plain text.
func informationType(form url.Values) (value, wrong string) {
	value = form.Get("information_type")
	if form.Has("information_type") && !slices.Contains(informationTypes, value) {
		return "", fmt.Sprintf("Invalid value %q. Acceptable values are: %s", value, strings.Join(informationTypes, ", "))
	}
	return value, ""
}

// informationTypeOf converts the two old flags.
func informationTypeOf(private, security bool) string {
	return map[[2]bool]string{
		{true, true}: "Private Security", {false, true}: "Public Security", {true, false}: "Private",
		{false, false}: "Public",
	}[[2]bool{private, security}]
}

func flag(form url.Values, name string, add func(name, message string)) bool {
	if !form.Has(name) {
		return false
	}
	v, ok := loads(form.Get(name)).(bool)
	if !ok {
		raw := loads(form.Get(name))
		add(name, fmt.Sprintf("got '%s', expected bool: %s", pyType(raw), pyRepr(raw)))
	}
	return v
}

func pyType(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case int64:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	}
	return "str"
}

// target parses the link of the bug's target and returns the segments of its path.
func (s *Server) target(c *call, params url.Values) (path []string, wrong string) {
	link, ok := textParam(params, "target")
	if !ok {
		return nil, missing
	}
	path, wrong = s.resolve(c, link)
	if wrong == "" && !s.exists(path) {
		wrong = fmt.Sprintf("No such object %q.", link)
	}
	return path, wrong
}

// resolve parses a link. It must be a path, or an absolute address on this host in an active API
// version.
func (s *Server) resolve(c *call, link string) (path []string, wrong string) {
	u, err := url.Parse(link)
	noSuch := fmt.Sprintf("No such object %q.", link)
	switch {
	case err != nil, u.Scheme == "" && !strings.HasPrefix(link, "/"):
		return nil, fmt.Sprintf("%q is not a valid URI.", link)
	case u.Host != "" && u.Scheme+"://"+u.Host != c.origin, u.RawQuery != "", u.Fragment != "":
		return nil, noSuch
	}
	path = splitPath(u.EscapedPath())
	if u.Host != "" {
		if !slices.Contains(versions, path[0]) {
			return nil, noSuch
		}
		path = path[1:]
	}
	return path, ""
}

// exists reports whether there is a target at a path. Series exist; createBug refuses them later.
func (s *Server) exists(path []string) bool {
	if len(path) == 0 || path[0] != s.opts.Distribution {
		return false
	}
	if rest := path[1:]; len(rest) > 0 && slices.Contains(series, rest[0]) {
		return true
	}
	return len(path) == 1 || len(path) == 3 && path[1] == "+source" && s.knowsPackage(path[2])
}

func (s *Server) knowsPackage(name string) bool {
	if slices.Contains(s.opts.Unpublished, name) {
		return true
	}
	if s.opts.Packages == nil {
		return validName.MatchString(name)
	}
	return slices.Contains(s.opts.Packages, name)
}

// place sets the target of a bug, or returns why the bug cannot have it.
func (s *Server) place(bug *Bug, path []string) (refusal string) {
	bug.Distribution = path[0]
	if len(path) > 1 && slices.Contains(series, path[1]) {
		return "Can't create a bug on a series. Create it with a non-series task instead, and target it to the series " +
			"afterwards."
	}
	if len(path) == 3 {
		bug.Package = path[2]
		if slices.Contains(s.opts.Unpublished, bug.Package) {
			return fmt.Sprintf("Package %s not published in %s", bug.Package, displayName(bug.Distribution))
		}
	}
	return ""
}

// displayName returns a distribution's name for people, such as "Ubuntu".
func displayName(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
