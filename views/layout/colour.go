package layout

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"mishap/crash"
)

// maxColoured is the size limit of coloured text, in bytes. The rest of a trace is plain.
const maxColoured = 400_000

// A part writes a piece of a line in the colour of its kind.
type part func(b *strings.Builder, text string)

// The kinds of pieces, with their classes in the style sheets.
var (
	partPlain    = inClass("")
	partPlace    = inClass("c-f")
	partFunction = inClass("c-n")
	partNumber   = inClass("c-a") // or an address
	partQuoted   = inClass("c-s")
	partFault    = inClass("c-e")
	partHeading  = inClass("c-h")
)

// colourings say how to colour the lines that match a pattern: each of its groups is written by the part in
// the same place. The first match counts.
var colourings = []struct {
	pattern *regexp.Regexp
	parts   []part
}{
	{ // a frame of Python
		regexp.MustCompile(`^(\s*(?:\|\s*)*File )("[^"]*")(, line )(\d+)(?:(, in )(.*))?$`),
		[]part{partPlain, partPlace, partPlain, partNumber, partPlain, partFunction},
	},
	{ // a frame of gdb
		regexp.MustCompile(`^(\s*#\d+\s+)(0x[0-9a-fA-F]+ in )?(.*)$`),
		[]part{partPlain, partNumber, colourFrame},
	},
	{ // a line of StacktraceTop
		regexp.MustCompile(`^(\S.* \(.*\)(?: at \S+| from \S+))$`),
		[]part{colourFrame},
	},
	{ // a heading
		regexp.MustCompile(`^(\s*[|+\-\s]*Traceback \(most recent call last\):|Thread \d+ \(.*|` +
			`\[?.{0,40}Call Trace:.*|goroutine \d+ .*|stack backtrace:|During handling of .*|The above exception .*)$`),
		[]part{partHeading},
	},
	{ // a frame of Java
		regexp.MustCompile(`^(\s+at )([\w.$<>]+)(\()([^)]*)(\).*)$`),
		[]part{partPlain, partFunction, partPlain, partPlace, partPlain},
	},
	{ // a frame of the kernel
		regexp.MustCompile(`^(\s*(?:\[[^\]]{0,40}\]\s*)*(?:\? )?(?:RIP: \w+:|IP: )?(?:\[<[0-9a-f]+>\] )?)` +
			`([\w.]+)(\+0x[0-9a-f]+/0x[0-9a-f]+)(.*)$`),
		[]part{partPlain, partFunction, partNumber, partPlace},
	},
	{ // an exception
		regexp.MustCompile(`^(\s*(?:\|\s*)*)((?:Caused by: |Exception in thread "[^"]*" )?` +
			`[A-Za-z_][\w.$]*(?:Error|Exception|Exit|Interrupt|Warning|Group|Gone|Failed)[\w.$]*)((?:\(|:| \().*)?$`),
		[]part{partPlain, partFault, colourRest},
	},
	{ // a fault of the kernel
		regexp.MustCompile(`^(.{0,80}?)((?:BUG|Oops|WARNING|kernel BUG|general protection fault|Unable to handle)\b.*)$`),
		[]part{partPlain, partFault},
	},
}

// small matches what is coloured in other text.
var small = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\b0x[0-9a-fA-F]+\b`)

// longestColoured is the length limit of a coloured line. Longer lines are plain.
const longestColoured = 4000

// Trace renders a stack or a traceback with coloured parts. The colours add no information.
func Trace(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		rest := ""
		if len(text) > maxColoured {
			end := strings.LastIndexByte(text[:maxColoured], '\n') + 1
			text, rest = text[:end], text[end:]
		}
		if strings.HasPrefix(text, "\n") {
			b.WriteByte('\n') // browsers drop the first line break
		}
		for text != "" {
			line, after, more := strings.Cut(text, "\n")
			ColourLine(&b, line)
			if more {
				b.WriteByte('\n')
			}
			text = after
		}
		partPlain(&b, rest)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// ColourLine writes a line of a trace with its parts marked.
func ColourLine(b *strings.Builder, line string) {
	if len(line) > longestColoured {
		partPlain(b, line)
		return
	}
	for _, c := range colourings {
		if groups := c.pattern.FindStringSubmatch(line); groups != nil {
			for i, write := range c.parts {
				write(b, groups[i+1])
			}
			return
		}
	}
	colourRest(b, line)
}

// colourFrame writes a frame such as "name (args) at file:line" or "name () from module".
func colourFrame(b *strings.Builder, frame string) {
	name, rest, _ := strings.Cut(frame, " (")
	if name == "??" {
		partFault(b, name)
	} else {
		partFunction(b, name)
	}
	if len(name) == len(frame) {
		return
	}
	rest = " (" + rest
	for _, between := range []string{") at ", ") from "} {
		if i := strings.LastIndex(rest, between); i >= 0 {
			colourRest(b, rest[:i+len(between)])
			partPlace(b, rest[i+len(between):])
			return
		}
	}
	colourRest(b, rest)
}

func colourRest(b *strings.Builder, text string) {
	from := 0
	for _, m := range small.FindAllStringIndex(text, -1) {
		partPlain(b, text[from:m[0]])
		if text[m[0]] == '"' {
			partQuoted(b, text[m[0]:m[1]])
		} else {
			partNumber(b, text[m[0]:m[1]])
		}
		from = m[1]
	}
	partPlain(b, text[from:])
}

// inClass returns a part with a class of the style sheets; empty: without.
func inClass(class string) part {
	return func(b *strings.Builder, text string) {
		switch {
		case text == "":
		case class == "":
			b.WriteString(templ.EscapeString(text))
		default:
			b.WriteString(`<span class="` + class + `">` + templ.EscapeString(text) + `</span>`)
		}
	}
}

// The colours of releases, by group. css/12-releases.css defines them. A group repeats its colours
// only for releases that are never supported at the same time.
const (
	colourLTS         = 0  // four colours: Ubuntu's releases of April in even years
	colourInterim     = 4  // three: Ubuntu's other releases
	colourDebian      = 7  // three: Debian's numbered releases
	colourSid         = 10 // one: Debian's releases without a number
	colourDerivative  = 11 // three: all other releases
	colourNone        = 14 // one: no release, or several together
	releaseColours    = 15
	derivativeColours = colourNone - colourDerivative
)

// ReleaseClass returns the CSS class with the colour of a release. It depends on nothing but the
// name, so a release has the same colour in every chart, on every page and in every year.
func ReleaseClass(r crash.Release) string { return fmt.Sprintf("release-%d", releaseColour(r)) }

func releaseColour(r crash.Release) int {
	if r == "" || r == crash.OtherReleases {
		return colourNone
	}
	name := strings.TrimSuffix(strings.Replace(string(r), "Debian GNU/Linux ", "Debian ", 1), " LTS")
	distribution, version, _ := strings.Cut(name, " ")
	first, second, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	switch {
	case distribution == "Ubuntu" && err == nil && major > 0 && (second == "04" || second == "10"):
		if major%2 == 0 && second == "04" {
			return colourLTS + major/2%4
		}
		return colourInterim + interimNumber(major, second)%3
	case distribution == "Debian" && err == nil && major > 0:
		return colourDebian + major%3
	case distribution == "Debian" && !strings.ContainsAny(version, " 0123456789"):
		return colourSid
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r)) // never fails
	return colourDerivative + int(hash.Sum32()%derivativeColours)
}

// interimNumber numbers Ubuntu's releases between two of long support: 24.10, 25.04 and 25.10 are
// consecutive.
func interimNumber(year int, month string) int {
	n := year / 2 * 3
	if year%2 == 1 {
		n++
		if month == "10" {
			n++
		}
	}
	return n
}
