package index

import (
	"cmp"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

type field struct {
	means    string // short explanation for people
	example  string
	values   []string // all possible values; nil: any
	ordered  bool     // supports < and >
	versions bool     // its values are versions
	counts   bool     // restricts the reports that count
	read     func(op, value string) (holds func(*Problem) bool, problem string)
}

// Field describes a field of the query language, for help and completion.
type Field struct {
	Name, Means, Example string
	Values               []string
}

// Fields returns all fields, in the order in which the help shows them.
func Fields() []Field {
	out := make([]Field, len(fieldOrder))
	for i, name := range fieldOrder {
		f := fields[name]
		out[i] = Field{Name: name, Means: f.means, Example: f.example, Values: f.values}
	}
	return out
}

var fieldOrder = []string{
	"package", "source", "program", "frame", "file", "signature", "title", "release", "version", "arch", "type",
	"rule", "state", "is", "bug", "assignee", "tag", "seen", "first", "last", "lowest", "highest", "reports", "machines",
	"since",
	"until", "new", "gone", "id",
}

// states lists the states that are one word, and "none" for problems without a bug.
var states = stateValues()

func stateValues() []string {
	var values []string
	for _, word := range crash.StateWords {
		if !strings.Contains(string(word), " ") {
			values = append(values, string(word))
		}
	}
	return append(values, "none")
}

// The values of the field "is" for the manual status.
const (
	isMuted       = "muted"
	isWontFix     = "wontfix"
	isFixedByHand = "fixed-by-hand"
	isHeld        = "held"
	isEmbargoed   = "embargoed"
)

// kinds lists the values of the field "is": these and the states.
var kinds = kindValues()

func kindValues() []string {
	values := []string{"filed", "unfiled", "symbolised", "provisional", "named", isMuted, isWontFix, isFixedByHand, isHeld,
		isEmbargoed}
	for _, s := range states {
		if s != "none" && !slices.Contains(values, s) {
			values = append(values, s)
		}
	}
	return values
}

var fields = map[string]field{
	"": {read: contains((*Problem).Folded)},
	"package": {means: "binary or source package; * stands for any characters", example: "zsh",
		read: names(func(p *Problem) [2]string { return [2]string{p.Package, p.Source} })},
	"source": {means: "source package", example: "mesa",
		read: names(func(p *Problem) [2]string { return [2]string{p.Source} })},
	"program": {means: "program, by its path or name", example: "nautilus",
		read: names(func(p *Problem) [2]string { return [2]string{p.Executable, path.Base(p.Executable)} })},
	"frame": {means: "name of a function in the signature, or part of it", example: "parse_row", read: frame},
	"file": {means: "path of the program or of a file in the traceback, or part of it", example: "gnome-shell",
		read: file},
	"signature": {means: "part of the signature", example: "g_list_free", read: contains((*Problem).FoldedSignature)},
	"title":     {means: "part of the title, or of the name that people gave", example: "SIGSEGV", read: title},
	"release": {means: "count only reports from this release", example: `"Ubuntu 24.04"`, counts: true,
		read: counted},
	"version": {means: "count only reports of this package version", example: "5.9-4", counts: true, versions: true,
		read: counted},
	"arch": {means: "count only reports from this architecture", example: "arm64", counts: true, read: counted},
	"type": {means: "problem type", example: "Crash",
		read: names(func(p *Problem) [2]string { return [2]string{p.Type} })},
	"rule": {means: "grouping rule", example: "traceback",
		read: names(func(p *Problem) [2]string { return [2]string{string(p.Rule)} })},
	"state": {means: "state, as on the page of the problem", example: "regression", values: states, read: state},
	"is": {means: "filed, unfiled (without a bug), symbolised, provisional, named, muted, wontfix, fixed-by-hand, " +
		"held (for people with a role), embargoed (for people who may see that), or a state",
		example: "unfiled",
		values:  kinds, read: is},
	"bug": {means: "number of the bug, none or any", example: "2101233", values: []string{"none", "any"}, read: bug},
	"assignee": {means: "who takes care of it: a name, me (your account and your name at the tracker), none or any",
		example: "me", values: []string{"me", "none", "any"}, read: assignee},
	"tag": {means: "tag, none or any; * stands for any characters", example: "any", values: []string{"none", "any"},
		read: tag},
	"seen": {means: "seen in any such version, in dpkg's order", example: ">=5.9", ordered: true, versions: true,
		read: seen},
	"first": {means: "version of the oldest report", example: ">=5.9", ordered: true, versions: true,
		read: version(func(p *Problem) string { return p.key(p.first.version) })},
	"last": {means: "version of the newest report", example: "<5.9", ordered: true, versions: true,
		read: version(func(p *Problem) string { return p.key(p.last.version) })},
	"lowest": {means: "lowest version, in dpkg's order", example: ">=5.9", ordered: true, versions: true,
		read: version(func(p *Problem) string { return p.key(p.lowest) })},
	"highest": {means: "highest version, in dpkg's order", example: "<5.9", ordered: true, versions: true,
		read: version(func(p *Problem) string { return p.key(p.highest) })},
	"reports": {means: "number of reports (all time)", example: ">100", ordered: true,
		read: number(func(p *Problem) int64 { return p.Reports })},
	"machines": {means: "number of machines (all time)", example: ">5", ordered: true,
		read: number(func(p *Problem) int64 { return p.Systems })},
	"since": {means: "count only reports from this day on", example: "2026-11-01", counts: true, read: dated},
	"until": {means: "count only reports up to this day", example: "2026-11-21", counts: true, read: dated},
	"new": {means: "day of the oldest report", example: ">=2026-11-01", ordered: true,
		read: day(func(p *Problem) time.Time { return p.First().At })},
	"gone": {means: "day of the newest report", example: "<2026-10-01", ordered: true,
		read: day(func(p *Problem) time.Time { return p.Last().At })},
	"id": {means: "beginning of the problem id", example: "9f3ac1", read: id},
}

// contains returns a match for a part of a text, which is in lower case. Like all matches, it ignores case.
func contains(of func(*Problem) string) func(op, value string) (func(*Problem) bool, string) {
	return func(_, value string) (func(*Problem) bool, string) {
		lower := strings.ToLower(value)
		return func(p *Problem) bool { return strings.Contains(of(p), lower) }, ""
	}
}

func glob(pattern string) func(string) bool {
	if !strings.Contains(pattern, "*") {
		return func(s string) bool { return strings.EqualFold(s, pattern) }
	}
	parts := strings.Split(strings.ToLower(pattern), "*")
	return func(s string) bool {
		rest, ok := strings.CutPrefix(strings.ToLower(s), parts[0])
		if !ok {
			return false
		}
		for _, part := range parts[1 : len(parts)-1] {
			i := strings.Index(rest, part)
			if i < 0 {
				return false
			}
			rest = rest[i+len(part):]
		}
		return strings.HasSuffix(rest, parts[len(parts)-1])
	}
}

func names(of func(*Problem) [2]string) func(op, value string) (func(*Problem) bool, string) {
	return func(_, value string) (func(*Problem) bool, string) {
		is := glob(value)
		return func(p *Problem) bool {
			for _, s := range of(p) {
				if s != "" && is(s) {
					return true
				}
			}
			return false
		}, ""
	}
}

func title(_, value string) (func(*Problem) bool, string) {
	lower := strings.ToLower(value)
	return func(p *Problem) bool {
		return strings.Contains(p.Folded(), lower) && (strings.Contains(strings.ToLower(p.Title), lower) ||
			strings.Contains(strings.ToLower(p.Name), lower))
	}, ""
}

// partOrGlob returns a match for texts in lower case that contain a value or, if that has a *, match it. They
// all contain hint.
func partOrGlob(value string) (has func(string) bool, hint string) {
	if strings.Contains(value, "*") {
		return glob(value), ""
	}
	hint = strings.ToLower(value)
	return func(text string) bool { return strings.Contains(text, hint) }, hint
}

// frame returns a match for functions in a signature, that is, for its parts after the program and
// the signal.
func frame(_, value string) (func(*Problem) bool, string) {
	has, hint := partOrGlob(value)
	return func(p *Problem) bool {
		if !strings.Contains(p.FoldedSignature(), hint) {
			return false
		}
		_, functions, _ := strings.Cut(p.FoldedSignature(), ":")
		for functions != "" {
			var f string
			f, functions = nextFunction(functions)
			if has(f) {
				return true
			}
		}
		return false
	}, ""
}

// file returns a match for the program's path, and for parts of the signature that are paths or
// positions in files: "/usr/lib/python3/dist-packages/apt/cache.py@83", "src/buffer.rs".
func file(_, value string) (func(*Problem) bool, string) {
	has, hint := partOrGlob(value)
	return func(p *Problem) bool {
		if !strings.Contains(p.Folded(), hint) {
			return false
		}
		if program := strings.ToLower(p.Executable); program != "" && (has(program) || has(path.Base(program))) {
			return true
		}
		for parts := p.FoldedSignature(); parts != ""; {
			var part string
			part, parts = nextFunction(parts)
			part, _, at := strings.Cut(part, "@")
			if (at || strings.Contains(part, "/") || path.Ext(part) != "" && !strings.Contains(part, " ")) &&
				(has(part) || has(path.Base(part))) {
				return true
			}
		}
		return false
	}, ""
}

func nextFunction(s string) (function, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] != ':' {
			continue
		}
		if i+1 < len(s) && s[i+1] == ':' {
			i++
			continue
		}
		return s[:i], s[i+1:]
	}
	return s, ""
}

func counted(_, _ string) (func(*Problem) bool, string) { return everything, "" }

func everything(*Problem) bool { return true }

func oneOf(value string, of []string) string {
	return strconv.Quote(value) + " is none of " + strings.Join(of, ", ") + "."
}

// state returns a match for the state that pages and lists show.
func state(_, value string) (func(*Problem) bool, string) {
	value = strings.ToLower(value)
	if value == "none" {
		return func(p *Problem) bool { return p.Bug == 0 }, ""
	}
	if slices.Contains(states, value) {
		return func(p *Problem) bool { return p.State == crash.StateWord(value) }, ""
	}
	return nil, oneOf(value, states)
}

// is returns a match for a property: with or without a bug, with or without function names, a
// manual status, or a state.
func is(field, value string) (func(*Problem) bool, string) {
	switch value = strings.ToLower(value); value {
	case "filed":
		return func(p *Problem) bool { return p.Bug != 0 }, ""
	case "unfiled":
		return func(p *Problem) bool { return p.Bug == 0 }, ""
	case "symbolised":
		return func(p *Problem) bool { return !p.Provisional }, ""
	case "provisional":
		return func(p *Problem) bool { return p.Provisional }, ""
	case "named":
		return func(p *Problem) bool { return p.Name != "" }, ""
	case isMuted:
		return (*Problem).Muted, ""
	case isWontFix:
		return func(p *Problem) bool { return p.Triage != nil && p.Triage.WontFix }, ""
	case isFixedByHand:
		return func(p *Problem) bool { return p.Triage != nil && len(p.Triage.Fixes) > 0 }, ""
	case isHeld:
		return (*Problem).Held, ""
	case isEmbargoed:
		return func(p *Problem) bool { return p.Triage != nil && p.Triage.Embargoed }, ""
	case "none":
	default:
		if slices.Contains(states, value) {
			return state(field, value)
		}
	}
	return nil, oneOf(value, kinds)
}

func bug(_, value string) (func(*Problem) bool, string) {
	switch strings.ToLower(value) {
	case "none":
		return func(p *Problem) bool { return p.Bug == 0 }, ""
	case "any":
		return func(p *Problem) bool { return p.Bug != 0 }, ""
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(value, "#"), 10, 64)
	if err != nil || n < 1 {
		return nil, strconv.Quote(value) + " is neither the number of a bug, nor none, nor any."
	}
	return func(p *Problem) bool { return p.Bug == n }, ""
}

func compared(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return c == 0
}

const notAVersion = " is not a version that dpkg takes, such as 1:2.4-1ubuntu3."

// seen returns a match for the range of versions in which a problem was seen, from the lowest to
// the highest.
func seen(op, value string) (func(*Problem) bool, string) {
	if !dpkg.Valid(value) {
		return nil, strconv.Quote(value) + notAVersion
	}
	key := string(dpkg.Key(value))
	return func(p *Problem) bool {
		if p.key(p.highest) == "" {
			return false
		}
		switch op {
		case "<", "<=":
			return compared(op, cmp.Compare(p.key(p.lowest), key))
		case ">", ">=":
			return compared(op, cmp.Compare(p.key(p.highest), key))
		}
		return p.key(p.lowest) <= key && key <= p.key(p.highest)
	}, ""
}

func version(of func(*Problem) (key string)) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		if !dpkg.Valid(value) {
			return nil, strconv.Quote(value) + notAVersion
		}
		want := string(dpkg.Key(value))
		return func(p *Problem) bool {
			key := of(p)
			return key != "" && compared(op, cmp.Compare(key, want))
		}, ""
	}
}

func number(of func(*Problem) int64) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return nil, strconv.Quote(value) + " is not a number."
		}
		return func(p *Problem) bool { return compared(op, cmp.Compare(of(p), n)) }, ""
	}
}

func date(text string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t, err == nil
}

const notADay = " is not a day, such as 2026-11-21."

func dated(_, value string) (func(*Problem) bool, string) {
	if _, ok := date(value); !ok {
		return nil, strconv.Quote(value) + notADay
	}
	return everything, ""
}

func day(of func(*Problem) time.Time) func(op, value string) (func(*Problem) bool, string) {
	return func(op, value string) (func(*Problem) bool, string) {
		t, ok := date(value)
		if !ok {
			return nil, strconv.Quote(value) + notADay
		}
		want := DayOf(t)
		return func(p *Problem) bool {
			at := of(p)
			return !at.IsZero() && compared(op, cmp.Compare(DayOf(at), want))
		}, ""
	}
}

func id(_, value string) (func(*Problem) bool, string) {
	value = strings.ToLower(value)
	if len(value) > 40 || strings.Trim(value, "0123456789abcdef") != "" {
		return nil, strconv.Quote(value) + " is not the beginning of a problem's address: up to 40 of 0–9 and a–f."
	}
	return func(p *Problem) bool {
		var text [40]byte
		hex.Encode(text[:], p.ID[:])
		return string(text[:len(value)]) == value
	}, ""
}
