package tracker

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
)

func TestCheckTemplate(t *testing.T) {
	t.Parallel()
	const good = "{how_often}\n{problem_url}\n"
	for name, tt := range map[string]struct {
		text string
		want string // part of the first problem; empty: no problem
	}{
		"shipped":                     {DefaultTemplate, ""},
		"smallest":                    {"{problem_url}", ""},
		"nested blocks":               {good + "{?trace}\nx {?frames}y{/frames}\n{/trace}", ""},
		"the sign itself":             {good + "{{frames} and }", ""},
		"lines of other systems":      {"a\r\n{?trace}\r\n{trace}\r\n{/trace}\r\n{problem_url}", ""},
		"empty":                       {"", "{problem_url} is missing"},
		"no address":                  {"{how_often}", "{problem_url} is missing"},
		"address only in a block":     {"{?trace}{problem_url}{/trace}", "{problem_url} is missing"},
		"address only as a condition": {"{?problem_url}x{/problem_url}", "{problem_url} is missing"},
		"unknown name":                {good + "\n{hostname}", "Line 4: there is no value with the name “hostname”"},
		"unknown condition":           {good + "{?user}x{/user}", "Line 3: there is no value with the name “user”"},
		"capitals":                    {good + "{Package}", "“Package”"},
		"nothing in it":               {good + "{}", "Line 3"},
		"a sign by itself":            {"int main() { return }\n{problem_url}", "Line 1: “{” does not begin a name"},
		"a block without an end":      {good + "{?trace}x", "Line 3: the block {?trace} is never ended"},
		"an end without a block":      {good + "{/trace}", "Line 3: {/trace} does not end"},
		"blocks that cross":           {good + "{?trace}{?frames}{/trace}{/frames}", "Line 3: {/trace} does not end"},
		"long":                        {good + strings.Repeat("x", maxTemplate), "the limit is 20000"},
		"bytes that are no text":      {good + "\xff", "invalid characters"},
		"many signs do not blow up":   {strings.Repeat("{", 100_001), "Line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := CheckTemplate(tt.text)
			if tt.want == "" && got != nil || tt.want != "" &&
				(len(got) == 0 || !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, tt.want) })) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(got) > 30 {
				t.Errorf("got %d problems, want a few", len(got))
			}
		})
	}
}

func TestFillTemplate(t *testing.T) {
	t.Parallel()
	values := map[string]string{"package": "tide", "trace": "a\nb {package} {{", "problem_url": "https://x/"}
	for _, tt := range []struct{ name, text, want string }{
		{"values", "{package}: {problem_url}", "tide: https://x/"},
		{"an empty value", "[{program}]", "[]"},
		{"values are not read again", "{trace}", "a\nb {package} {{"},
		{"a block in a line", "x{?package} of {package}{/package}{?program} in {program}{/program}.", "x of tide."},
		{"marks on lines of their own", "a\n{?package}\n\n{package}\n{/package}\n  {?program}\nnot here\n  {/program}\nb\n",
			"a\n\ntide\nb\n"},
		{"a mark on the last line", "a\n{?package}\nb\n{/package}", "a\nb\n"},
		{"nested", "{?package}1{?program}2{/program}3{?trace}4{/trace}{/package}5", "1345"},
		{"signs", "{{package} }} }", "{package} }} }"},
		{"lines of other systems", "a\r\nb\r{package}", "a\nb\ntide"},
	} {
		parts, problems := parseTemplate(tt.text)
		if got := fill(parts, values); got != tt.want || problems != nil {
			t.Errorf("%s: got %q (%q), want %q", tt.name, got, problems, tt.want)
		}
	}
}

// TestTemplateNames checks that every offered name has a value in some bug, and that every value
// has a name.
func TestTemplateNames(t *testing.T) {
	t.Parallel()
	values := writer{}.values("")
	for _, n := range TemplateNames() {
		if n.Means == "" {
			t.Errorf("%s: got no explanation", n.Name)
		}
		delete(values, n.Name)
	}
	for name := range values {
		t.Errorf("the value %s has no name", name)
	}
}

// FuzzTemplate checks that no template causes a panic, and that every valid one results in a text
// with the address.
func FuzzTemplate(f *testing.F) {
	f.Add(DefaultTemplate)
	f.Add("{?trace}\n{{{trace}{/trace}\n{problem_url}")
	f.Fuzz(func(t *testing.T, text string) {
		parts, _ := parseTemplate(text)
		filled := fill(parts, map[string]string{"problem_url": "https://x/", "trace": "y"})
		if len(CheckTemplate(text)) == 0 && !strings.Contains(filled, "https://x/") {
			t.Errorf("%q: got %q, want the address in it", text, filled)
		}
	})
}

func TestWithMarker(t *testing.T) {
	t.Parallel()
	const marker, limit = "https://x.example/problem/0", 50_000
	for _, tt := range []struct{ name, text, want string }{
		{"there already", "a " + marker + " b", "a " + marker + " b"},
		{"added", "a\n\n \n", "a\n\n" + marker + "\n"},
		{"too long, at the end", strings.Repeat("ż", limit) + marker,
			strings.Repeat("ż", limit-len(marker)-4) + "…\n\n" + marker + "\n"},
	} {
		got := withMarker(tt.text, marker, limit)
		if got != tt.want || len([]rune(got)) > limit {
			t.Errorf("%s: got %d characters …%q, want %d", tt.name, len([]rune(got)), got[max(0, len(got)-50):],
				len([]rune(tt.want)))
		}
	}
}

// ines is a report with private data of its user.
var ines = crash.Fields{
	"ProcEnviron": "USER=ines.almeida\nHOSTNAME=cedar-laptop\nHOME=/home/ines.almeida", "ProcCwd": "/home/inesa/Documents",
}

// TestPrivatePieces checks that only a person's additions are pointed out, not the composed text.
func TestPrivatePieces(t *testing.T) {
	t.Parallel()
	r := privacy.NewRedactor(ines)
	for _, tt := range []struct{ line, want string }{
		{"nothing of the kind in tide_parse_row () at ../src/parse.c:88", ""},
		{"open /home/bob/letter.txt now", "/home/bob/letter.txt"},
		{"ines.almeida on cedar-laptop", "ines.almeida|cedar-laptop"},
		{"ask ann@mail.example.org", "ann@mail.example.org"},
		{"at 192.168.7.12 and 00:1a:2b:3c:4d:5e", "192.168.7.12|00:1a:2b:3c:4d:5e"},
		{"token=abcdef", "abcdef"},
		{"<Foo at 0x7f12ab34cd56> of ines.almeida at 0x7f12ab34cd56", "ines.almeida"},
		{"<Foo at 0x7f12ab34cd56>", ""},
		{"inesa", "inesa"},
	} {
		if got := strings.Join(privatePieces(r, tt.line), "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestNothingLeavesTooLate checks that nothing is sent after the deadline for sending, whatever
// caused the delay.
func TestNothingLeavesTooLate(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	late := &boundedConn{Conn: ours, until: time.Now().Add(-time.Millisecond)}
	if n, err := late.Write([]byte("x")); n != 0 || !errors.Is(err, errSlowSending) {
		t.Errorf("got %d, %v, want nothing written", n, err)
	}
	// As after a suspend: only the wall clock has passed the deadline.
	asleep := &boundedConn{Conn: ours, until: time.Now().Round(0).Add(-time.Millisecond)}
	if n, err := asleep.Write([]byte("x")); n != 0 || !errors.Is(err, errSlowSending) {
		t.Errorf("by the wall clock: got %d, %v, want nothing written", n, err)
	}

	reached := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(s.Close)
	c := NewCaller(Config{URL: s.URL, APIURL: s.URL + "/devel", Timeout: 5 * time.Second}, nil, Auth{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.exchange(newWriter(-time.Second), "create", req, -time.Second)
	if e := callError("create", err); e.Text != errSlowSending.Error() || e.Outcome == OutcomeDone {
		t.Errorf("got %v, want it cancelled", err)
	}
	select {
	case <-reached:
		t.Error("the request arrived")
	default:
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"my crash service": "my%20crash%20service", "a+b": "a%2Bb", "&secret": "%26secret", "-._~": "-._~", `"\`: "%22%5C",
		"é": "%C3%A9",
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
