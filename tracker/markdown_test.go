package tracker_test

import (
	"testing"

	"mishap/crash/checktest"
	"mishap/tracker"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const base = "https://mishap.example"
	for text, want := range map[string]string{
		"It crashed.": "```text\nIt crashed.\n```",
		"Reports: https://mishap.example/problem/1\n\n#0  a at ./b.c:1\n\n#1  @all /close": "Reports: " +
			"https://mishap.example/problem/1\n\n```text\n#0  a at ./b.c:1\n\n#1  @all /close\n```",
		"a\r\nb\rc\r\n\r\nhttps://mishap.example/x\n\nd\n": "```text\na\nb\nc\n```\n\nhttps://mishap.example/x\n\n" +
			"```text\nd\n\n```",
		"```\n@all\n```\n\n`````text":               "``````text\n```\n@all\n```\n\n`````text\n``````",
		"See https://mishap.example.evil/x":         "```text\nSee https://mishap.example.evil/x\n```",
		"It crashed.\n\nhttps://mishap.example/x\n": "```text\nIt crashed.\n```\n\nhttps://mishap.example/x\n",
		"See #1: https://mishap.example/x":          "```text\nSee #1: https://mishap.example/x\n```",
		"https://mishap.example/x\n/close":          "```text\nhttps://mishap.example/x\n/close\n```",
		"https://mishap.example/x?a=*b*":            "```text\nhttps://mishap.example/x?a=*b*\n```",
		"":                                          "```text\n\n```",
	} {
		got := tracker.Markdown(text, base)
		checktest.Equal(t, "Markdown of "+text, got, want)
		plain := tracker.PlainText(got)
		checktest.Equal(t, "text of "+got, tracker.Markdown(plain, base), want)
	}
	const other = "Look:\n```\ncode\n```\nand ```text\n"
	checktest.Equal(t, "text of Markdown by others", tracker.PlainText(other), other)
	title := tracker.PlainTitle("f(int&a)::{lambda()#1} != @all ~\"x\" $ # 1")
	checktest.Equal(t, "title", title, "f(int&\u2060a)::{lambda()#\u20601} != @\u2060all ~\u2060\"x\" $ # 1")
	checktest.Equal(t, "clean title", tracker.Clean(title, 100), "f(int&a)::{lambda()#1} != @all ~\"x\" $ # 1")
}
