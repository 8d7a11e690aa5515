package privacy

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// Redactor removes data that could identify a person or grant access from texts that become public: bugs
// in the tracker, and pages, feeds and API responses for visitors. The zero value knows no names, and
// recognises private data by its form only. It is safe for concurrent use.
type Redactor struct {
	names []string // of the person and the machine, longest first
}

// Removed replaces private data.
const Removed = "[removed]"

// harmless lists names of accounts and machines that identify nobody.
var harmless = strings.Fields("root user ubuntu debian linux localhost admin test live guest desktop server laptop " +
	"daemon nobody")

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
		if utf8.RuneCountInString(name) >= 3 && !slices.Contains(harmless, strings.ToLower(name)) {
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
	slices.SortFunc(r.names, func(a, b string) int { return len(b) - len(a) })
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

func public(host string) bool {
	return slices.ContainsFunc(publicHosts, func(end string) bool {
		return host == end || strings.HasSuffix(host, "."+end)
	})
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

// anywhere lists lower-case texts. Each rule that applies to all texts requires one of them, or one
// of the forms of [hasShape].
var anywhere = startsOf(
	"@", "%2f", "%40", "://", "home", "/root/", "/run/", "/media/", "/mnt/", "users", `\`, "~", "/mail/", "/crontabs/",
	"accountsservice", "/ppd/", "system-connections", "bearer", "basic", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
	"github_pat", "glpat-", "xox", "akia", "aiza", "sk-", "npm_", "hf_", "dop_v1", "pypi-", "k_live", "k_test", "ya29",
	"sg.", "eyj", "-----begin", "0x", "ip-", ".local", ".lan", ".intranet", ".corp", ".fritz", "[removed]",
	"serial", "s/n", "asset",
)

// inText lists additional texts, one of which each rule for prose requires.
var inText = startsOf(
	"pass", "pin", "otp", "key", "sig=", "sig:", "sig ", "sig\"", "sig'", "pwd", "secret", "token", "credential",
	"sess", "cookie", "auth", "sid=", "sid:", "sid ", "sid\"", "sid'", "psk", "user", "login", "logname",
	"name", "ssid", "account", "host", "machine", "uid=",
	"gid=", "groups=", "sudo", "su ", "su\t", "su\n", "command ", "server", "resolve", "lookup", "connect", "ssh",
	"scp", ",",
)

// Quiet reports whether no rule applies to a text in lower case. It accepts several joined texts,
// to test them at once.
func Quiet(lower string) bool {
	return !containsAny(lower, anywhere) && !containsAny(lower, inText) && !hasShape(lower)
}

// Suspicious reports whether redacting prose may change it. It may return true for harmless text.
// It takes about 1% of the time of redacting.
func Suspicious(s string) bool {
	lower := strings.ToLower(s)
	return containsAny(lower, anywhere) || containsAny(lower, inText) || hasShape(s)
}

// suspiciousSignature works like [Suspicious], for signatures and paths. The rules for prose require a
// blank, a quotation mark or "=".
func suspiciousSignature(s string) bool {
	lower := strings.ToLower(s)
	return containsAny(lower, anywhere) || strings.ContainsAny(s, " ='\"\t\n") && containsAny(lower, inText) || hasShape(s)
}

// starts are the rests of texts by their first byte, so that one pass finds any of them.
type starts [256][]string

func startsOf(texts ...string) *starts {
	var of starts
	for _, text := range texts {
		of[text[0]] = append(of[text[0]], text[1:])
	}
	return &of
}

func containsAny(s string, parts *starts) bool {
	for i := range len(s) {
		for _, rest := range parts[s[i]] {
			if strings.HasPrefix(s[i+1:], rest) {
				return true
			}
		}
	}
	return false
}

// hasShape reports whether a text contains something in the form of an address, an identifier, a
// key or a number of a telephone or an account, or hidden characters.
func hasShape(s string) bool {
	// Lengths of runs, and counts within them.
	var hex, word, digits, dots, pairs, fours, colons int
	numerals := 0                    // in a run of digits and what separates them in numbers of telephones
	double, numbered := false, false // in a run of hexadecimal digits and colons: "::" and a digit occurred
	hidden := false
	for i := range len(s) {
		c := s[i]
		hidden = hidden || c >= utf8.RuneSelf
		isDigit := c >= '0' && c <= '9'
		isHex := isDigit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		// Long runs: keys, sums, UUIDs.
		if isHex {
			hex++
		} else {
			if c == '-' && hex >= 8 {
				return true
			}
			// Pairs, 00:1a:2b:3c:4d:5e or _00_1A_2B_3C_4D_5E, and groups of four, 001a.2b3c.4d5e.
			if (c == ':' || c == '-' || c == '_') && hex >= 2 {
				pairs++
			} else if c != '_' {
				pairs = 0
			}
			if c == '.' && hex >= 4 {
				fours++
			} else {
				fours = 0
			}
			if pairs >= 5 || fours >= 2 {
				return true
			}
			hex = 0
		}
		if isDigit || isLetter || c == '+' || c == '/' || c == '_' || c == '-' {
			if word++; isDigit {
				digits++
			}
		} else {
			word, digits = 0, 0
		}
		if isDigit {
			numerals++
		} else if !strings.ContainsRune(" ()./+-", rune(c)) {
			numerals = 0
		}
		if numerals >= 7 || hex >= 32 || word >= 40 && digits >= 4 {
			return true
		}
		// IP addresses.
		if c == '.' && i > 0 && i+1 < len(s) && isNumeral(s[i-1]) && isNumeral(s[i+1]) {
			if dots++; dots >= 3 {
				return true
			}
		}
		switch {
		case c == ':':
			if colons++; i > 0 && s[i-1] == ':' {
				double = true
			}
		case isHex:
			numbered = numbered || isDigit
		default:
			colons, double, numbered = 0, false, false
		}
		if numbered && (double || colons >= 6) {
			return true
		}
	}
	return hidden && crash.WithoutHidden(s) != s
}

func isNumeral(c byte) bool { return c >= '0' && c <= '9' }

// The rules of the Redactor. They recognise private data by its form, and remove too much rather
// than too little.

// ownedPaths matches paths outside home directories that contain names of people, networks and
// printers.
const ownedPaths = `/var/mail/|/var/spool/mail/|/var/spool/cron/crontabs/|/var/lib/AccountsService/(?:users|icons)` +
	`/|/etc/cups/ppd/|/etc/NetworkManager/system-connections/`

const (
	// secretName matches the name of a secret up to the separator, and secretValue the value after
	// it.
	secretName = `\b((?:[\w-]*(?:passw(?:or)?d|passphrase|passcode|account[_-]?key|pwd|secret|token|credential|` +
		`api[_-]?key|access[_-]?key|private[_-]?key|session(?:[_-]?id)?|sessid|cookie|auth)[\w-]*|` +
		`(?:[\w-]*[_.-])?(?:pass|pin(?: ?code)?|otp|sig|sid|psk)(?:[_-][\w-]*)?)["']?\s*`
	serialName  = `(?i)\b((?:[\w-]*serial(?:[ _-]?(?:number|num|no|short))?\.?|s/n|asset[ _-]?tag)["']?`
	serialValue = `[^\s"',;()\d]*\d[^\s"',;()]*`
	// nameOfUser matches what stands before the name of a person, machine or network.
	nameOfUser = `(?i)\b((?:user(?:[_-]?name)?|login|logname|sudo_user|real[_-]?name|host[_-]?name|e?ssid)["']?\s*`
	quotation  = `(?:'[^'\n]+'|"[^"\n]+"|‘[^’\n]+’|“[^”\n]+”)`

	secretValue = `["']?\s*)(?:(?:bearer|basic|token)\s+)?[^\s"'&,;)]+`
)

var (
	// Paths in home directories and removable media, up to a blank, a quotation mark, a colon or a
	// bracket.
	privatePath = regexp.MustCompile(`(?:^|[^\w./~+-])((?:file://)?(?:/(?:[\w.-]+/)*home[s\d]?/|/root/|/run/user/|` +
		`/run/media/|/media/|/mnt/|(?:[A-Za-z]:)?/Users/|` + ownedPaths + `|(?i:[A-Z]:\\{1,2}users\\)|\\\\[\w.-]+\\|` +
		`~[\w.-]*/|\$\{?HOME\}?/)[^\s'"<>()\[\]{};:,]*)`)
	// The rest of a private path with blanks: more folders, or words up to the suffix of a document.
	pathRest = regexp.MustCompile(`^(?:\\?(?: [\pL\pN_.+&-]+){1,3}/[^\s'"<>()\[\]{};:,]*)*(?:(?: [\pL\pN_.+&-]+){1,5}\.` +
		`(?i:odt|ods|odp|docx?|xlsx?|pptx?|pdf|txt|rtf|csv|jpe?g|png|heic|mp[34]|mkv|zip|kdbx)\b)?`)
	quotedPath = regexp.MustCompile(`(['"])((?:file://)?(?:/(?:[^/'"\n]+/)*home[s\d]?/|/root/|/run/user/|` +
		`/run/media/|/media/|/mnt/|(?:[A-Za-z]:)?/Users/|` + ownedPaths + `|(?i:[A-Z]:\\{1,2}users\\)|\\\\[\w.-]+\\|` +
		`~[\w.-]*/|\$\{?HOME\}?/)[^'"\n]*)['"]`)
	sourceFile = regexp.MustCompile(`^[\w.+-]{1,80}\.(?:py|pyx|c|cc|cpp|cxx|h|hh|hpp|rs|go|js|mjs|ts|vala|java|pl|` +
		`pm|rb|php|lua|so|so\.[\d.]+)$`)

	keyedSecret = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*` + secretValue)
	// In signatures, a colon without a blank separates functions.
	givenSecret = regexp.MustCompile(`(?i)` + secretName + `(?:=>?\s*|:\s+)` + secretValue)
	userGiven   = regexp.MustCompile(nameOfUser + `(?:=\s*|:\s+)["']?)[^\s"',;()]+`)
	bearer      = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}`)
	urlLogin    = regexp.MustCompile(`(://)[^\s/@:'"]+(?::[^\s/@'"]*)?@`)
	urlQuery    = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s'"?#]+)[?#][^\s'"<>]+`)
	optSecret   = regexp.MustCompile(`(?i)(\B--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key)` +
		`[\w-]*\s+)[^\s'"-][^\s'"]*`)
	saidSecret = regexp.MustCompile(`(?i)\b((?:password|passwd|passphrase|pwd|token|secret|api key)\s+)` +
		`(?:'[^'\s]*\d[^'\s]*'|"[^"\s]*\d[^"\s]*"|[\w.+/=-]*[a-z][\w.+/=-]*\d[\w.+/=-]*)`)
	quotedAfter = regexp.MustCompile(`(?i)\b((?:password|passwd|passphrase|passcode|pwd)\s+(?:(?:is|was|of)\s+)?)` +
		quotation)
	singleQuoted = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*')[^'\n]*'`)
	doubleQuoted = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*")[^"\n]*"`)
	header       = regexp.MustCompile(`(?i)\b((?:set-)?cookie:\s*|authorization:\s*)[^'"\n]+`)
	knownToken   = regexp.MustCompile(`\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|` +
		`xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|(?:npm|hf|dop_v1)_\w{16,}|pypi-[\w-]{16,}|` +
		`[rs]k_(?:live|test)_\w{10,}|ya29\.[\w-]{6,}|SG\.[\w-]{10,}\.[\w-]+|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?` +
		`(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`)
	longHex    = regexp.MustCompile(`\b[0-9a-fA-F]{32,}\b`)
	longBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	uuid       = regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`)
	email      = regexp.MustCompile(`(?:\[removed\]|[\pL\pN_.+%-]+)@[\pL\pN_-]+(?:\.[\pL\pN_-]+)+`)
	hardware   = regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b|` +
		`\b[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\b|(?:_[0-9A-F]{2}){6}\b`)
	ipv4        = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6        = regexp.MustCompile(`(?:[0-9a-fA-F]*:){2,}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*)(?:%\w+)?`)
	nameOfIPv4  = regexp.MustCompile(`\bip-\d{1,3}(?:-\d{1,3}){3}\b`)
	escapedHome = regexp.MustCompile(`(?i)%2F(?:home|root|Users|run%2Fuser|media)%2F[^\s'"&]*`)
	escapedMail = regexp.MustCompile(`[\w.+-]+%40[\w-]+(?:\.[\w-]+)+`)
	tildeName   = regexp.MustCompile(`(['"\s=]|^)~[a-z_][\w-]*(['"\s,;]|$)`)

	// user@machine, but not a symbol version, an entry of a symbol table or an instance of a unit of
	// systemd.
	login     = regexp.MustCompile(`(?:^|[^\w@.-])([a-z_][\w.+-]*@[A-Za-z][\w.-]*)`)
	symbolsOf = regexp.MustCompile(`@(?:plt|got|tls|[A-Z][A-Za-z0-9]*_[\d.]+|[\w.:-]+\.(?:service|socket|slice|scope|` +
		`timer|target|mount|path|device|swap))$`)
	userNamed  = regexp.MustCompile(nameOfUser + `[=:]\s*["']?)[^\s"',;()]+`)
	userSingle = regexp.MustCompile(nameOfUser + `[=:]\s*')[^'\n]*'`)
	userDouble = regexp.MustCompile(nameOfUser + `[=:]\s*")[^"\n]*"`)
	// Serial numbers have a digit. In signatures, a colon without a blank separates functions.
	serialNamed = regexp.MustCompile(serialName + `(?:\s*[=#]\s*|:\s+)["']?)` + serialValue)
	serialTight = regexp.MustCompile(serialName + `:)` + serialValue)
	userQuoted  = regexp.MustCompile(`(?i)\b((?:user(?:name)?|account|host(?:name)?|machine|ssid)\s+)` + quotation)
	// Serial numbers that follow their name after a blank, and those in lists of USB devices.
	serialSaid = regexp.MustCompile(`(?i)\b((?:serial (?:number|num|no\.?)|s/n)(?: is)? |iSerial +\d+ )` +
		`([A-Z0-9-]*\d[A-Z0-9-]*)`)
	idNamed = regexp.MustCompile(`(\b(?:[ug]id=|groups=)\d+|,\d+)\([^)\n]*\)`)
	sudo    = regexp.MustCompile(`(\b(?:sudo|runuser|su)\s+(?:-u|--user[= ]|-l|-)\s*)[\w.-]+`)

	// Names of machines in private networks.
	localHost = regexp.MustCompile(`(^|[\s'"@=(\[,:]|//)([\w-]+(?:\.[\w-]+)*\.(?:local|lan|localdomain|intranet|` +
		`corp|home\.arpa|fritz\.box))\b`)
	hostNamed = regexp.MustCompile(`(?i)\b((?:host(?:name)?|server|resolve|lookup|connect(?:ing|ion)? to|ssh|scp)` +
		`\s+['"]?)([\w-]+(?:\.[\w-]+)*\.[a-z]{2,})`)
	webAddress = regexp.MustCompile(`\b([a-z][a-z0-9+.-]*://)((?:\[removed\]@)?)(\[[0-9a-fA-F:.%\w]+\]|` +
		`[^\s/:?#'"<>\[\]()]+)((?::\d+)?)([/?#][^\s'"<>]*)?`)
	// The arguments of a program, in Python's error messages.
	pythonCommand = regexp.MustCompile(
		`\bCommand (?:'\[?['"]?|\[['"]|")([^'",\s\]]+)[^\n]*?(returned non-zero|timed out|` +
			`died with)`)
	// Numbers of telephones: international ones, ones after a word, and the usual forms of North America
	// and Germany.
	phone = regexp.MustCompile(`\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,5}(?:[ ./-]?\d{2,8}){1,4}\b|` +
		`\(\d{3}\) ?\d{3}-\d{4}\b|\b\d{3}-\d{3}-\d{4}\b|\b0[1-9]\d{1,3}[/-]\d{5,8}\b`)
	phoneNamed = regexp.MustCompile(`(?i)\b((?:tele)?(?:phone|tel|mobile|fax|sms)(?:[ _-]?(?:number|num|no))?` +
		`[.:="' ]+(?:to )?)[+(]?\d[\d ()/.-]{5,20}\d`)
	// Digits that may be the number of a payment card; [isCard] decides. The same for accounts, [isIBAN].
	cardIssuer = regexp.MustCompile(`^(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|` +
		`3[068]\d{12}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}|(?:50|5[6-8]|6\d)\d{10,17})$`)
	card   = regexp.MustCompile(`\b\d{4}(?:[ -]?\d{2,6}){2,4}\b`)
	iban   = regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
	memory = regexp.MustCompile(`\b0x[0-9a-fA-F]{6,}\b`)
)

var publicHosts = strings.Fields("ubuntu.com launchpad.net canonical.com snapcraft.io debian.org debian.net " +
	"python.org gnome.org kde.org kernel.org freedesktop.org mozilla.org mozilla.com w3.org gnu.org pypi.org " +
	"fedoraproject.org localhost 127.0.0.1 [::1] xml.org apache.org libreoffice.org documentfoundation.org")

// Texts are the texts of a problem that pages, feeds and the API show.
type Texts struct {
	Title, Signature, Executable, Name string

	Rule crash.GroupingRule // that made the signature
}

// PublicTitle reports whether visitors see the titles of problems of a grouping rule. Those of
// [crash.RuleStacktrace] have a program, a signal and a function. Others can end with a message of
// the program, such as that of an exception, which belongs to a private field.
func PublicTitle(rule crash.GroupingRule) bool { return rule == crash.RuleStacktrace }

// Public returns the texts as visitors see them, redacted like bugs, and without a title that is
// not public. It is fast for texts that contain nothing suspicious; see [Suspicious].
func (t Texts) Public() Texts {
	var r Redactor
	if all := t.Executable + "\n" + t.Signature + "\n" + t.Title + "\n" + t.Name; strings.Contains(all, "/home/") {
		r = NewRedactor(crash.Fields{"Traceback": all})
	}
	out := t
	if !PublicTitle(t.Rule) {
		out.Title = ""
	}
	for _, text := range []*string{&out.Title, &out.Name} {
		if len(r.names) > 0 || Suspicious(*text) {
			*text = r.Text(*text)
		}
	}
	if len(r.names) > 0 || suspiciousSignature(out.Signature) {
		out.Signature = r.Signature(out.Signature)
	}
	if len(r.names) > 0 || suspiciousSignature(out.Executable) {
		out.Executable = r.Path(out.Executable)
	}
	return out
}

// RedactBucket returns b as visitors see it.
func RedactBucket(b crash.Bucket) crash.Bucket {
	t := Texts{Title: b.Title, Signature: b.Signature, Executable: b.Executable, Name: b.Name, Rule: b.Rule}.Public()
	b.Title, b.Signature, b.Executable, b.Name = t.Title, t.Signature, t.Executable, t.Name
	for _, label := range []*string{&b.ProblemType, &b.Package, &b.SourcePackage, &b.LowestVersion, &b.HighestVersion,
		&b.FirstSeenVersion, &b.LastSeenVersion} {
		*label = RedactLabel(*label)
	}
	for _, release := range []*crash.Release{&b.LowestRelease, &b.HighestRelease, &b.HighestVersionRelease,
		&b.FirstSeenRelease, &b.LastSeenRelease} {
		*release = RedactLabel(*release)
	}
	b.Status = RedactStatus(b.Status)
	return b
}

// RedactSignature returns a signature as visitors see it.
func RedactSignature(s string) string { return Texts{Signature: s}.Public().Signature }

// RedactLabel returns the name of a package, version, release, architecture or problem type as visitors
// see it. Names of ordinary characters stay unchanged, since they cannot be addresses or paths.
func RedactLabel[T ~string](s T) T {
	if strings.ContainsAny(string(s), `/\@%$=`) {
		return T(Redactor{}.Text(string(s)))
	}
	return s
}

// RedactStatus returns a status as visitors see it, without private data in releases and versions.
func RedactStatus(s crash.Status) crash.Status {
	public := slices.Clone(s.Releases) // cached statuses share the slice
	for i := range public {
		r := &public[i]
		r.Release = RedactLabel(r.Release)
		for _, version := range []*string{&r.Highest, &r.Newer, &r.Fix, &r.FixAfter, &r.AgainAt} {
			*version = RedactLabel(*version)
		}
	}
	s.Releases, s.Note = public, RedactLabel(s.Note)
	return s
}

// RedactLabels returns the names that RedactLabel does not change.
func RedactLabels[T ~string](names []T) []T {
	return slices.DeleteFunc(slices.Clone(names), func(name T) bool { return RedactLabel(name) != name })
}

// RedactManual returns a manual status as visitors see it: without persons and reasons, and without
// private data in releases and versions.
func RedactManual(m crash.ManualStatus) crash.ManualStatus {
	m.Muted, m.WontFix, m.Returned = publicEntry(m.Muted), publicEntry(m.WontFix), publicEntry(m.Returned)
	m.Embargo, m.Hold = nil, nil
	m.Fixes = slices.Clone(m.Fixes) // cached statuses share the slice
	for i := range m.Fixes {
		f := &m.Fixes[i]
		f.FixedIn = publicFix(f.FixedIn)
		f.AgainIn, f.AgainAt = RedactLabel(f.AgainIn), RedactLabel(f.AgainAt)
		f.By = *publicEntry(&f.By)
	}
	return m
}

func publicEntry(t *crash.Mark) *crash.Mark {
	if t == nil {
		return nil
	}
	out := crash.Mark{
		ID: t.ID, Bucket: t.Bucket, Kind: t.Kind, Until: t.Until, At: t.At, UndoneAt: t.UndoneAt, EndedAt: t.EndedAt,
		EndedWhy: RedactLabel(t.EndedWhy),
	}
	out.Until.Release, out.Until.Version = RedactLabel(out.Until.Release), RedactLabel(out.Until.Version)
	for _, f := range t.Fixes {
		out.Fixes = append(out.Fixes, publicFix(f))
	}
	return &out
}

func publicFix(f crash.FixedIn) crash.FixedIn {
	return crash.FixedIn{Release: RedactLabel(f.Release), Version: RedactLabel(f.Version)}
}
