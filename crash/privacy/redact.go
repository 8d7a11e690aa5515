// Package redact removes private data from texts that become public: bugs in the tracker, and
// pages, feeds and API responses for visitors. It recognises private data by its form, and removes
// too much rather than too little.
package privacy

import (
	"net/netip"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// Redactor removes data that could identify a person or grant access. The zero value knows no
// names, and recognises private data by its form only. It is safe for concurrent use.
type Redactor struct {
	names []string // of the person and the machine, longest first
}

// Removed replaces private data.
const Removed = "[removed]"

// harmless lists names of accounts and machines that identify nobody.
var harmless = map[string]bool{
	"root": true, "user": true, "ubuntu": true, "debian": true, "linux": true, "localhost": true, "admin": true,
	"test": true,
	"live": true, "guest": true, "desktop": true, "server": true, "laptop": true, "daemon": true, "nobody": true,
}

var (
	environmentName = regexp.MustCompile(`(?m)^\s*(?:USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST)=(.+)$`)
	homeOwner       = regexp.MustCompile(`/home/([^/\s:'"]+)`)
)

// NewRedactor returns a Redactor that also removes the names of the person and the machine that the report
// f reveals.
func NewRedactor(f crash.Fields) Redactor {
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
	for _, field := range []string{"ProcEnviron", "ProcCwd", "ProcCmdline", "ExecutablePath", "Traceback", "JournalErrors",
		"StdErr", "ErrorMessage", "DpkgTerminalLog"} {
		for _, m := range homeOwner.FindAllStringSubmatch(f[field], -1) {
			add(m[1])
		}
	}
	// The second word of "Linux cedar 6.8.0-31-generic x86_64" is the machine's name, unless apport
	// has removed it.
	if words := strings.Fields(f["Uname"]); len(words) > 2 && words[0] == "Linux" &&
		(words[1][0] < '0' || words[1][0] > '9') {
		add(words[1])
	}
	var r Redactor
	for name := range found {
		r.names = append(r.names, name)
	}
	sort.Slice(r.names, func(i, j int) bool { return len(r.names[i]) > len(r.names[j]) })
	return r
}

// Text redacts prose, such as an error message or a line of a traceback.
func (r Redactor) Text(s string) string {
	s = header.ReplaceAllString(r.urls(s), "${1}"+Removed)
	s = r.patterns(keyedSecret.ReplaceAllString(r.secrets(s), "${1}"+Removed))
	s = userNamed.ReplaceAllString(s, "${1}"+Removed)
	return r.people(serialTight.ReplaceAllString(s, "${1}"+Removed))
}

// Code redacts a line of source code, in which "user" and "host" are variables.
func (r Redactor) Code(s string) string {
	s = header.ReplaceAllString(r.urls(s), "${1}"+Removed)
	return r.patterns(keyedSecret.ReplaceAllString(r.secrets(s), "${1}"+Removed))
}

// Name redacts text in place of the name of a function or exception, which can be anything.
func (r Redactor) Name(s string) string { return r.patterns(r.urls(s)) }

// secrets removes secrets by their context: in quotation marks, as an option, after a word.
func (r Redactor) secrets(s string) string {
	s = pythonCommand.ReplaceAllString(s, "Command '${1} "+Removed+"' ${2}")
	s = singleQuoted.ReplaceAllString(s, "${1}"+Removed+"'")
	s = doubleQuoted.ReplaceAllString(s, "${1}"+Removed+`"`)
	s = quotedAfter.ReplaceAllString(s, "${1}"+Removed)
	s = optSecret.ReplaceAllString(s, "${1}"+Removed)
	return saidSecret.ReplaceAllString(s, "${1}"+Removed)
}

// people removes names of people and machines by their context.
func (r Redactor) people(s string) string {
	s = userSingle.ReplaceAllString(s, "${1}"+Removed+"'")
	s = userDouble.ReplaceAllString(s, "${1}"+Removed+`"`)
	s = serialSaid.ReplaceAllString(s, "${1}"+Removed)
	s = userQuoted.ReplaceAllString(s, "${1}"+Removed)
	s = idNamed.ReplaceAllString(s, "${1}("+Removed+")")
	s = sudo.ReplaceAllString(s, "${1}"+Removed)
	return hostNamed.ReplaceAllStringFunc(s, func(m string) string {
		g := hostNamed.FindStringSubmatch(m)
		if sourceFile.MatchString(g[2]) || public(g[2]) {
			return m
		}
		return g[1] + Removed
	})
}

// public reports whether a host is a well-known public one.
func public(host string) bool {
	for _, end := range publicHosts {
		if host == end || strings.HasSuffix(host, "."+end) {
			return true
		}
	}
	return false
}

// hosts removes the hosts of URLs, with their paths, addresses of mail, and names of machines in
// private networks, in this order: a part of an address can look like such a name.
func hosts(s string) string {
	s = webAddress.ReplaceAllStringFunc(s, func(m string) string {
		g := webAddress.FindStringSubmatch(m)
		switch {
		case g[1] == "file://" || public(g[3]):
			return m
		case g[5] == "" || g[5] == "/":
			return g[1] + Removed + g[4] + g[5]
		}
		return g[1] + Removed
	})
	s = logins(email.ReplaceAllStringFunc(s, mail))
	return localHost.ReplaceAllString(s, "${1}"+Removed)
}

// mail replaces an email address. It returns symbol versions and units of systemd, which look
// similar, unchanged.
func mail(s string) string {
	if symbolsOf.MatchString(s) {
		return s
	}
	return Removed
}

// logins removes user@machine.
func logins(s string) string {
	var b strings.Builder
	last := 0
	for _, m := range login.FindAllStringSubmatchIndex(s, -1) {
		if symbolsOf.MatchString(s[m[2]:m[3]]) {
			continue
		}
		b.WriteString(s[last:m[2]] + Removed)
		last = m[3]
	}
	return b.String() + s[last:]
}

// Signature redacts a signature, in which colons separate names: "/usr/bin/gnome-session:11:main"
// contains no secret. Parts of a signature can be prose.
func (r Redactor) Signature(s string) string {
	s = r.patterns(givenSecret.ReplaceAllString(r.secrets(r.urls(s)), "${1}"+Removed))
	return r.people(userGiven.ReplaceAllString(s, "${1}"+Removed))
}

// urls removes hidden characters, private keys, and logins, hosts and queries of URLs.
func (r Redactor) urls(s string) string {
	s = crash.WithoutHidden(s)
	s = privateKey.ReplaceAllString(s, Removed)
	s = urlLogin.ReplaceAllString(s, "${1}"+Removed+"@")
	s = hosts(s)
	s = escapedMail.ReplaceAllString(escapedHome.ReplaceAllString(s, Removed), Removed)
	return urlQuery.ReplaceAllString(s, "${1}?"+Removed)
}

// patterns removes data with a recognisable form: tokens, paths, email addresses, identifiers and
// IP addresses. It also removes the names of the person and the machine.
func (r Redactor) patterns(s string) string {
	s = bearer.ReplaceAllString(s, Removed)
	s = knownToken.ReplaceAllString(s, Removed)
	s = tildeName.ReplaceAllString(r.Path(s), "${1}"+Removed+"${2}")
	s = serialNamed.ReplaceAllString(s, "${1}"+Removed)
	s = uuid.ReplaceAllString(s, Removed)
	s = hardware.ReplaceAllString(s, Removed)
	s = longHex.ReplaceAllString(s, Removed)
	s = longBase64.ReplaceAllStringFunc(s, tokenLike)
	s = replaceAddresses(s)
	s = numbers(s)
	s = memory.ReplaceAllString(s, "0x…")
	return r.withoutNames(s)
}

// numbers removes the numbers of telephones, payment cards and accounts.
func numbers(s string) string {
	s = replaceLone(s, iban, func(m, _, _ string) bool { return isIBAN(m) })
	s = replaceLone(s, card, func(m, before, after string) bool {
		return !strings.HasSuffix(before, ".") && !strings.HasPrefix(after, ".") && isCard(m)
	})
	s = phoneNamed.ReplaceAllStringFunc(s, func(m string) string {
		if len(digitsOf(m)) < 7 {
			return m
		}
		return phoneNamed.ReplaceAllString(m, "${1}"+Removed)
	})
	return replaceLone(s, phone, func(m, before, after string) bool {
		n := len(digitsOf(m))
		return n >= 8 && n <= 15 && !versionBefore.MatchString(before) && !versionAfter.MatchString(after)
	})
}

// isCard reports whether a text is the number of a payment card: its beginning and length are those
// of an issuer, and its check digit, by Luhn's rule, is right.
func isCard(text string) bool {
	digits := digitsOf(text)
	if !cardIssuer.MatchString(digits) {
		return false
	}
	sum := 0
	for i := range len(digits) {
		n := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			n = n*2/10 + n*2%10
		}
		sum += n
	}
	return sum%10 == 0
}

// isIBAN reports whether a text is an international number of an account, whose rest by 97 is 1.
func isIBAN(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	if len(text) < 15 || len(text) > 34 || !hasShape(text) {
		return false
	}
	rest := 0
	for _, c := range text[4:] + text[:4] {
		if n := int(c - '0'); n <= 9 {
			rest = (rest*10 + n) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// Path redacts paths in s. Of a source file in a home directory it keeps the file name, which helps
// developers and identifies nobody.
func (r Redactor) Path(s string) string {
	s = quotedPath.ReplaceAllStringFunc(crash.WithoutHidden(s), func(m string) string {
		return m[:1] + shortPath(m[1:len(m)-1]) + m[len(m)-1:]
	})
	var b strings.Builder
	last := 0
	for _, m := range privatePath.FindAllStringSubmatchIndex(s, -1) {
		if m[2] < last {
			continue // in the rest of the one before
		}
		end := m[3]
		if short := shortPath(s[m[2]:end]); short == Removed {
			end += len(pathRest.FindString(s[end:]))
		}
		b.WriteString(s[last:m[2]] + shortPath(s[m[2]:end]))
		last = end
	}
	return r.withoutNames(b.String() + s[last:])
}

func shortPath(p string) string {
	name := p[strings.LastIndexAny(p, `/\`)+1:]
	if !sourceFile.MatchString(name) {
		return Removed
	}
	return Removed + "/" + name
}

func (r Redactor) withoutNames(s string) string {
	for _, name := range r.names {
		s = replaceWord(s, name)
	}
	return s
}

// replaceWord replaces name wherever it is a word of its own.
func replaceWord(s, name string) string {
	var b strings.Builder
	for {
		i := indexName(s, name)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(name)
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[end:])
		b.WriteString(s[:i])
		if i > 0 && isWordRune(before) || end < len(s) && isWordRune(after) {
			b.WriteString(s[i:end])
		} else {
			b.WriteString(Removed)
		}
		s = s[end:]
	}
}

// indexName returns the index of name in s, or -1. It ignores the case of names with at least 5
// characters, such as machine names.
func indexName(s, name string) int {
	if len(name) < 5 || len(name) > 200 {
		return strings.Index(s, name)
	}
	for i := 0; i+len(name) <= len(s); i++ {
		if c := s[i] | 0x20; c == name[0]|0x20 && strings.EqualFold(s[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

func isWordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// tokenLike replaces a long run that looks like a key: it mixes capital letters, small letters and
// digits, and is neither a mangled function name nor a path.
func tokenLike(s string) string {
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") || strings.Count(s, "/") > 2 ||
		strings.Count(s, "_") > 2 || strings.Count(s, "-") > 3 {
		return s
	}
	digits := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	if digits >= 4 && strings.ToLower(s) != s && strings.ToUpper(s) != s {
		return Removed
	}
	return s
}

// replaceAddresses removes IP addresses, but not versions, times and names with "::".
func replaceAddresses(s string) string {
	s = nameOfIPv4.ReplaceAllString(s, Removed)
	s = replaceLone(s, ipv6, func(m, _, _ string) bool {
		address, _, _ := strings.Cut(m, "%")
		a, err := netip.ParseAddr(address)
		return err == nil && !a.IsLoopback() && !a.IsUnspecified() && strings.ContainsAny(m, "0123456789")
	})
	return replaceLone(s, ipv4, func(m, before, after string) bool {
		a, err := netip.ParseAddr(m)
		if err != nil || a.IsLoopback() || a.IsUnspecified() {
			return false
		}
		// Versions never look like 172.* and 192.* private addresses; others look like versions
		// beside a dash, a tilde or an epoch.
		return m[:3] == "172" && a.IsPrivate() || m[:3] == "192" && a.IsPrivate() || !versionBefore.MatchString(before) &&
			!versionAfter.MatchString(after)
	})
}

var (
	versionBefore = regexp.MustCompile(`(?:[\w.+~]|[\w.+~]-|\d:)$`)
	versionAfter  = regexp.MustCompile(`^(?:[\w+~(<]|-[\w.~+]|\.\d)`)
)

// replaceLone replaces matches of re that are not part of a longer word, if hide returns true for
// the match and the text before and after it.
func replaceLone(s string, re *regexp.Regexp, hide func(m, before, after string) bool) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		after, _ := utf8.DecodeRuneInString(s[m[1]:])
		joined := m[0] > 0 && (isWordRune(before) || before == ':' && re == ipv6) || m[1] < len(s) &&
			(isWordRune(after) || after == '(' || after == '<')
		if joined || !hide(s[m[0]:m[1]], s[max(0, m[0]-2):m[0]], s[m[1]:]) {
			continue
		}
		b.WriteString(s[last:m[0]])
		b.WriteString(Removed)
		last = m[1]
	}
	b.WriteString(s[last:])
	return b.String()
}
