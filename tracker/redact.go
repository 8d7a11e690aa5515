package tracker

import (
	"net/netip"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// redactor takes out of a text what could tell who somebody is or let somebody in. What leaves for the tracker is public
// for ever, so it rather takes too much than too little.
type redactor struct {
	names []string // of the person and the machine, longest first
}

// hidden is what stands in place of something private.
const hidden = "[removed]"

// harmless are names of accounts and machines that say nothing about anybody.
var harmless = map[string]bool{
	"root": true, "user": true, "ubuntu": true, "debian": true, "linux": true, "localhost": true, "admin": true, "test": true,
	"live": true, "guest": true, "desktop": true, "server": true, "laptop": true, "daemon": true, "nobody": true,
}

var (
	environmentName = regexp.MustCompile(`(?m)^\s*(?:USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST)=(.+)$`)
	homeOwner       = regexp.MustCompile(`/home/([^/\s:'"]+)`)
)

// newRedactor learns from a report which names to take out.
func newRedactor(f crash.Fields) redactor {
	found := map[string]bool{}
	add := func(name string) {
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if utf8.RuneCountInString(name) >= 3 && !harmless[strings.ToLower(name)] {
			found[name] = true
		}
	}
	for _, field := range []string{"UserName", "HostName", "Hostname", "RealName"} {
		add(f[field])
	}
	for _, m := range environmentName.FindAllStringSubmatch(f["ProcEnviron"], -1) {
		add(m[1])
	}
	for _, field := range []string{"ProcEnviron", "ProcCwd", "ProcCmdline", "ExecutablePath", "Traceback", "JournalErrors"} {
		for _, m := range homeOwner.FindAllStringSubmatch(f[field], -1) {
			add(m[1])
		}
	}
	// Linux cedar 6.8.0-31-generic x86_64: the second word is the machine's name, where apport has left it in.
	if words := strings.Fields(f["Uname"]); len(words) > 2 && words[0] == "Linux" && (words[1][0] < '0' || words[1][0] > '9') {
		add(words[1])
	}
	var r redactor
	for name := range found {
		r.names = append(r.names, name)
	}
	sort.Slice(r.names, func(i, j int) bool { return len(r.names[i]) > len(r.names[j]) })
	return r
}

const (
	// The name of something secret, up to what stands between it and its value; and the value.
	secretName  = `\b([\w-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|session(?:[_-]?id)?|cookie|auth)[\w-]*["']?\s*`
	secretValue = `["']?\s*)(?:(?:bearer|basic|token)\s+)?[^\s"'&,;)]+`
)

var (
	// Paths below somebody's home or a medium that somebody named, from where a path begins up to a blank, a quote, a colon or
	// a bracket.
	privatePath = regexp.MustCompile(`(?:^|[^\w./~+-])((?:file://)?(?:/(?:[\w.-]+/)*home/|/root/|/run/user/|/run/media/|/media/|/mnt/|/Users/|[A-Za-z]:\\Users\\|~[\w.-]*/)[^\s'"<>()\[\]{};:,]*)`)
	quotedPath  = regexp.MustCompile(`(['"])((?:file://)?(?:/(?:[^/'"\n]+/)*home/|/root/|/run/user/|/run/media/|/media/|/mnt/|/Users/|~/)[^'"\n]*)['"]`)
	sourceFile  = regexp.MustCompile(`^[\w.+-]{1,80}\.(?:py|pyx|c|cc|cpp|cxx|h|hh|hpp|rs|go|js|mjs|ts|vala|java|pl|pm|rb|php|lua|so|so\.[\d.]+)$`)

	keyedSecret = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*` + secretValue)
	givenSecret = regexp.MustCompile(`(?i)` + secretName + `=>?\s*` + secretValue)
	bearer      = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}`)
	urlLogin    = regexp.MustCompile(`(://)[^\s/@:'"]+(?::[^\s/@'"]*)?@`)
	urlQuery    = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s'"?#]+)[?#][^\s'"<>]+`)
	knownToken  = regexp.MustCompile(`\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)`)
	privateKey  = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	longHex     = regexp.MustCompile(`\b[0-9a-fA-F]{32,}\b`)
	longBase64  = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	uuid        = regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`)
	email       = regexp.MustCompile(`[\w.+%-]+@[\w-]+(?:\.[\w-]+)+`)
	hardware    = regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b`)
	ipv4        = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6        = regexp.MustCompile(`[0-9a-fA-F]*(?::[0-9a-fA-F]*){2,}(?:\d{1,3}(?:\.\d{1,3}){3})?(?:%\w+)?`)
	memory      = regexp.MustCompile(`\b0x[0-9a-fA-F]{6,}\b`)
)

// text redacts running text: an error message, a line of a traceback.
func (r redactor) text(s string) string {
	return r.rest(keyedSecret.ReplaceAllString(r.first(s), "${1}"+hidden))
}

// signature redacts a signature, in which colons stand between names: "/usr/bin/gnome-session:11:main" has no secret.
func (r redactor) signature(s string) string {
	return r.rest(givenSecret.ReplaceAllString(r.first(s), "${1}"+hidden))
}

func (r redactor) first(s string) string {
	s = privateKey.ReplaceAllString(s, hidden)
	s = urlLogin.ReplaceAllString(s, "${1}"+hidden+"@")
	return urlQuery.ReplaceAllString(s, "${1}?"+hidden)
}

func (r redactor) rest(s string) string {
	s = bearer.ReplaceAllString(s, hidden)
	s = knownToken.ReplaceAllString(s, hidden)
	s = r.path(s)
	s = email.ReplaceAllString(s, hidden)
	s = uuid.ReplaceAllString(s, hidden)
	s = hardware.ReplaceAllString(s, hidden)
	s = longHex.ReplaceAllString(s, hidden)
	s = longBase64.ReplaceAllStringFunc(s, tokenLike)
	s = replaceAddresses(s)
	s = memory.ReplaceAllString(s, "0x…")
	return r.withoutNames(s)
}

// path redacts what is a path or holds some. Of a source file below somebody's home the last part of the name stays, since
// it tells a developer something and nobody else anything.
func (r redactor) path(s string) string {
	s = quotedPath.ReplaceAllStringFunc(s, func(m string) string { return m[:1] + shortPath(m[1:len(m)-1]) + m[len(m)-1:] })
	var b strings.Builder
	last := 0
	for _, m := range privatePath.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[last:m[2]] + shortPath(s[m[2]:m[3]]))
		last = m[3]
	}
	return r.withoutNames(b.String() + s[last:])
}

func shortPath(p string) string {
	name := p[strings.LastIndexAny(p, `/\`)+1:]
	if !sourceFile.MatchString(name) {
		return hidden
	}
	return hidden + "/" + name
}

func (r redactor) withoutNames(s string) string {
	for _, name := range r.names {
		s = replaceWord(s, name)
	}
	return s
}

// replaceWord replaces name where it stands by itself, not as a part of a longer word.
func replaceWord(s, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, name)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(name)
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[end:])
		b.WriteString(s[:i])
		if i > 0 && wordly(before) || end < len(s) && wordly(after) {
			b.WriteString(name)
		} else {
			b.WriteString(hidden)
		}
		s = s[end:]
	}
}

func wordly(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// tokenLike hides a long run of letters and digits that looks like a key: capitals, small letters and digits mixed, and
// not a mangled name of a function or a path.
func tokenLike(s string) string {
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") || strings.Count(s, "/") > 2 || strings.Count(s, "_") > 2 || strings.Count(s, "-") > 3 {
		return s
	}
	digits := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	if digits >= 4 && strings.ToLower(s) != s && strings.ToUpper(s) != s {
		return hidden
	}
	return s
}

// replaceAddresses hides addresses of the internet, and leaves alone versions, times and names with "::".
func replaceAddresses(s string) string {
	s = replaceLone(s, ipv4, func(m string) bool {
		a, err := netip.ParseAddr(m)
		return err == nil && !a.IsLoopback() && !a.IsUnspecified()
	})
	return replaceLone(s, ipv6, func(m string) bool {
		address, _, _ := strings.Cut(m, "%")
		a, err := netip.ParseAddr(address)
		return err == nil && !a.IsLoopback() && !a.IsUnspecified() && strings.ContainsAny(m, "0123456789")
	})
}

// replaceLone hides the matches that hide says yes to and that are no part of a longer word or of a dotted one.
func replaceLone(s string, re *regexp.Regexp, hide func(string) bool) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		after, _ := utf8.DecodeRuneInString(s[m[1]:])
		joined := m[0] > 0 && (wordly(before) || strings.ContainsRune(".-+~:", before)) ||
			m[1] < len(s) && (wordly(after) || strings.ContainsRune("-+~(<", after))
		if joined || !hide(s[m[0]:m[1]]) {
			continue
		}
		b.WriteString(s[last:m[0]])
		b.WriteString(hidden)
		last = m[1]
	}
	b.WriteString(s[last:])
	return b.String()
}
