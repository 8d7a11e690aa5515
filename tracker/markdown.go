package tracker

import (
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
)

var (
	// linkParagraph matches plain words before an address, in one line.
	linkParagraph = regexp.MustCompile(`^[A-Za-z0-9 ,:.;]*(https?://[A-Za-z0-9/._:?=-]+)\n?$`)
	backticks     = regexp.MustCompile("`+")
	fenceLine     = regexp.MustCompile("^`{3,}text$")
	reference     = regexp.MustCompile(`([#@!~%&$])([0-9A-Za-z_"])`)
)

// Markdown returns Markdown that shows a plain text as it is, in blocks of code. There, a tracker makes no links and
// sends no mails, while the "#1" of a stack would mention issue 1, and "@all" everybody. Paragraphs that end with an
// address below one of the bases, and else have only plain words, stay outside, so that people can follow the link.
func Markdown(text string, bases ...string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	fence := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	var out, block []string
	flush := func() {
		if len(block) > 0 {
			out = append(out, fence+"text\n"+strings.Join(block, "\n\n")+"\n"+fence)
		}
		block = nil
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		m := linkParagraph.FindStringSubmatch(paragraph)
		below := func(base string) bool { return strings.HasPrefix(m[1], base+"/") }
		if m != nil && slices.ContainsFunc(bases, below) {
			flush()
			out = append(out, paragraph)
			continue
		}
		block = append(block, paragraph)
	}
	flush()
	return strings.Join(out, "\n\n")
}

// PlainText returns the text that Markdown got, or other Markdown as it is.
func PlainText(markdown string) string {
	var lines []string
	fence := "" // of the block; empty: outside
	for line := range strings.SplitSeq(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n") {
		switch {
		case fence == "" && fenceLine.MatchString(line):
			fence = strings.TrimSuffix(line, "text")
		case fence != "" && line == fence:
			fence = ""
		default:
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// PlainTitle returns a title in which a tracker sees no references, to the issue of "#1" or the person of "@name": it
// has an invisible character after their first one, which [Clean] removes. It has at most 255 characters, as GitLab and
// Forgejo allow.
func PlainTitle(title string) string {
	return crash.Shorten(reference.ReplaceAllString(title, "$1\u2060$2"), 255)
}
