package privacy

import (
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// anywhere lists lower-case texts. Each rule that applies to all texts requires one of them, or one
// of the forms of [hasShape].
var anywhere = []string{
	"@", "%2f", "%40", "://", "home", "/root/", "/run/", "/media/", "/mnt/", "users", `\`, "~", "/mail/", "/crontabs/",
	"accountsservice", "/ppd/", "system-connections", "bearer", "basic", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
	"github_pat", "glpat-", "xox", "akia", "aiza", "sk-", "npm_", "hf_", "dop_v1", "pypi-", "k_live", "k_test", "ya29",
	"sg.", "eyj", "-----begin", "0x", "ip-", ".local", ".lan", ".intranet", ".corp", ".fritz", "[removed]",
	"serial", "s/n", "asset",
}

// inText lists additional texts, one of which each rule for prose requires.
var inText = []string{
	"pass", "pin", "otp", "key", "sig=", "sig:", "sig ", "sig\"", "sig'", "pwd", "secret", "token", "credential",
	"sess", "cookie", "auth", "sid=", "sid:", "sid ", "sid\"", "sid'", "psk", "user", "login", "logname",
	"name", "ssid", "account", "host", "machine", "uid=",
	"gid=", "groups=", "sudo", "su ", "su\t", "su\n", "command ", "server", "resolve", "lookup", "connect", "ssh",
	"scp", ",",
}

// Quiet reports whether no rule applies to a text in lower case. It accepts several joined texts,
// to test them at once.
func Quiet(lower string) bool {
	return !containsAny(lower, anywhere) && !containsAny(lower, inText) && !hasShape(lower)
}

// Suspicious reports whether redacting prose may change it. It may return true for harmless text.
// It takes about 1 % of the time of redacting.
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

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// hasShape reports whether a text contains something in the form of an address, an identifier, a
// key or a number of a telephone or an account, or hidden characters.
func hasShape(s string) bool {
	var hex, word, digits, dots, pairs, colons int // lengths of runs, and counts within them
	numerals := 0                                  // in a run of digits and what separates them in numbers of telephones
	double, numbered := false, false               // in a run of hexadecimal digits and colons: "::" and a digit occurred
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
			// Pairs, 00:1a:2b:3c:4d:5e, and groups of four, 001a.2b3c.4d5e.
			if (c == ':' || c == '-' || c == '_') && hex >= 2 || c == '.' && hex >= 4 {
				if pairs++; pairs >= 2 {
					return true
				}
			} else if c != '_' {
				pairs = 0
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
