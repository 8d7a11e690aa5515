package views

import (
	"context"
	"io"
	"regexp"
	"strings"

	"github.com/a-h/templ"
)

// maxColoured is the size limit of coloured text, in bytes. The rest of a trace is plain.
const maxColoured = 400_000

// Classes of the parts of a trace: c-f for places, c-n for functions, c-a for addresses and
// numbers, c-s for quoted texts, c-e for errors, c-h for headings.
var (
	frameLine  = regexp.MustCompile(`^(\s*#\d+\s+)(0x[0-9a-fA-F]+ in )?(.*)$`)
	topLine    = regexp.MustCompile(`^\S.* \(.*\)(?: at \S+| from \S+)$`)
	sourceLine = regexp.MustCompile(`^(\s*(?:\|\s*)*File )("[^"]*")(, line )(\d+)(?:(, in )(.*))?$`)
	headLine   = regexp.MustCompile(`^(\s*[|+\-\s]*Traceback \(most recent call last\):|Thread \d+ \(.*|` +
		`\[?.{0,40}Call Trace:.*|goroutine \d+ .*|stack backtrace:|During handling of .*|The above exception .*)$`)
	exceptionLine = regexp.MustCompile(`^(\s*(?:\|\s*)*)((?:Caused by: |Exception in thread "[^"]*" )?` +
		`[A-Za-z_][\w.$]*(?:Error|Exception|Exit|Interrupt|Warning|Group|Gone|Failed)[\w.$]*)((?:\(|:| \().*)?$`)
	kernelLine = regexp.MustCompile(`^(.{0,80}?)((?:BUG|Oops|WARNING|kernel BUG|` +
		`general protection fault|Unable to handle)\b.*)$`)
	kernelFrame = regexp.MustCompile(`^(\s*(?:\[[^\]]{0,40}\]\s*)*(?:\? )?(?:RIP: \w+:|IP: )?(?:\[<[0-9a-f]+>\] )?)` +
		`([\w.]+)(\+0x[0-9a-f]+/0x[0-9a-f]+)(.*)$`)
	javaLine = regexp.MustCompile(`^(\s+at )([\w.$<>]+)(\()([^)]*)(\).*)$`)
	small    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\b0x[0-9a-fA-F]+\b`)
)

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
			colourLine(&b, line)
			if more {
				b.WriteByte('\n')
			}
			text = after
		}
		b.WriteString(templ.EscapeString(rest))
		_, err := io.WriteString(w, b.String())
		return err
	})
}

func colourLine(b *strings.Builder, line string) {
	if len(line) > longestColoured {
		b.WriteString(templ.EscapeString(line))
		return
	}
	if m := sourceLine.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "f", m[2])
		span(b, "", m[3])
		span(b, "a", m[4])
		span(b, "", m[5])
		span(b, "n", m[6])
		return
	}
	if m := frameLine.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "a", m[2])
		colourFrame(b, m[3])
		return
	}
	if topLine.MatchString(line) {
		colourFrame(b, line)
		return
	}
	if headLine.MatchString(line) {
		span(b, "h", line)
		return
	}
	if m := javaLine.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "n", m[2])
		span(b, "", m[3])
		span(b, "f", m[4])
		span(b, "", m[5])
		return
	}
	if m := kernelFrame.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "n", m[2])
		span(b, "a", m[3])
		span(b, "f", m[4])
		return
	}
	if m := exceptionLine.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "e", m[2])
		colourRest(b, m[3])
		return
	}
	if m := kernelLine.FindStringSubmatch(line); m != nil {
		span(b, "", m[1])
		span(b, "e", m[2])
		return
	}
	colourRest(b, line)
}

// colourFrame writes a frame such as "name (args) at file:line" or "name () from module".
func colourFrame(b *strings.Builder, frame string) {
	name, rest, _ := strings.Cut(frame, " (")
	if name == "??" {
		span(b, "e", name)
	} else {
		span(b, "n", name)
	}
	if len(name) == len(frame) {
		return
	}
	rest = " (" + rest
	for _, between := range []string{") at ", ") from "} {
		if i := strings.LastIndex(rest, between); i >= 0 {
			colourRest(b, rest[:i+len(between)])
			span(b, "f", rest[i+len(between):])
			return
		}
	}
	colourRest(b, rest)
}

// colourRest writes text with quoted texts and addresses coloured.
func colourRest(b *strings.Builder, text string) {
	from := 0
	for _, m := range small.FindAllStringIndex(text, -1) {
		span(b, "", text[from:m[0]])
		if text[m[0]] == '"' {
			span(b, "s", text[m[0]:m[1]])
		} else {
			span(b, "a", text[m[0]:m[1]])
		}
		from = m[1]
	}
	span(b, "", text[from:])
}

func span(b *strings.Builder, class, text string) {
	switch {
	case text == "":
	case class == "":
		b.WriteString(templ.EscapeString(text))
	default:
		b.WriteString(`<span class="c-` + class + `">` + templ.EscapeString(text) + `</span>`)
	}
}
