package grouping

import (
	"regexp"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// normalise replaces the parts of a message that vary between machines, processes or versions, so
// that one fault gives the same message everywhere:
//
//	addresses         0x7f22100     ADDR
//	hash sums         9f86d081884c  HEX
//	UUIDs                           UUID
//	versions          1:2.3-4ubu1   VERSION
//	other numbers     4711          N        but not after status, code, errno, signal, error
//	temporary names   /tmp/x8Kq     /tmp/TMP
//	people            /home/ines    /home/USER
//	times and dates   12:30:01      TIME, DATE
//
// Names stay, even with digits in them (x86_64, libssl3). It reads the text once, up to
// [maxMessage] code points.
func normalise(message string, rec *recorder) string {
	message = withoutControl(withoutSyslog(crash.Truncate(strings.TrimSpace(message), maxMessage)))
	before := "" // the previous word
	return wordsOrPaths.ReplaceAllStringFunc(message, func(word string) string {
		core := strings.TrimRight(word, ".:-")
		changed := rec.change(core, normaliseWord(core, before)) + word[len(core):]
		before = core
		return changed
	})
}

var (
	words        = regexp.MustCompile(`[\pL\pN_]+`) // as in [pytext.IsWord]
	wordsOrPaths = regexp.MustCompile(`[\pL\pN_./+~%:@-]+`)
)

// withoutNumbers replaces all numbers in a message of a language's runtime: "index out of range [5]
// with length 3".
func withoutNumbers(s string) string {
	return words.ReplaceAllStringFunc(s, func(word string) string {
		if isNumber(word) {
			return "N"
		}
		return word
	})
}

// withoutSyslog removes the prefix that a log adds to a line: "May 18 09:14:02 host ".
func withoutSyslog(line string) string {
	if len(line) < 17 || !clock.MatchString(line[7:15]) || line[3] != ' ' || line[6] != ' ' || line[15] != ' ' {
		return line
	}
	_, rest, ok := strings.Cut(line[16:], " ")
	if !ok {
		return line
	}
	return rest
}

// meaningful matches words before a small number that is significant.
func meaningful(word string) bool {
	switch strings.ToLower(word) {
	case "status", "code", "errno", "signal", "error", "exit", "rc", "exitcode", "retval", "statut", "sortie":
		return true
	}
	return false
}

func normaliseWord(word, before string) string {
	switch {
	case word == "":
		return word
	case uuid.MatchString(word):
		return "UUID"
	case isAddress(word):
		if meaningful(before) && len(word) <= len("0x80070005") {
			return word
		}
		return "ADDR"
	case isNumber(word):
		if meaningful(before) && len(word) <= 3 {
			return word
		}
		return "N"
	case strings.Contains(word, "/"):
		return normalisePath(word)
	case clock.MatchString(word):
		return "TIME"
	case isNetworkAddress(word):
		return "ADDR"
	case date.MatchString(word):
		return "DATE"
	case epochVersion.MatchString(word):
		return "VERSION"
	}
	return normaliseName(word)
}

func normalisePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parent := ""
		if i > 0 {
			parent = parts[i-1]
		}
		switch {
		case part == "":
		case isNumber(part):
			parts[i] = "N"
		case parent == "home" && i == 2 && parts[0] == "":
			parts[i] = "USER"
		case parent == "tmp" && looksRandom(part):
			parts[i] = "TMP"
		case i > 1 && parts[i-2] == "snap" && isRevision(part):
			parts[i] = "REVISION"
		case uuid.MatchString(part):
			parts[i] = "UUID"
		default:
			parts[i] = normaliseName(numberedArchive(part))
		}
	}
	return strings.Join(parts, "/")
}

// numberedArchive removes the number that apt prepends to archives for dpkg: "05-reef_1.2_all.deb".
func numberedArchive(file string) string {
	digits := pytext.Run(file, pytext.IsDigit)
	if digits != "" && strings.HasSuffix(file, ".deb") && strings.HasPrefix(file[len(digits):], "-") {
		return file[len(digits)+1:]
	}
	return file
}

// looksRandom reports whether the name of a temporary file was probably generated: it has a digit
// or a capital letter.
func looksRandom(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' })
}

// normaliseName normalises a name made of pieces: "brigwifi-dkms_2.0-1ubuntu3_all.deb",
// "main.c:88", "libc.so.6".
func normaliseName(name string) string {
	var b strings.Builder
	inVersion := false
	for name != "" {
		piece := name
		if i := strings.IndexAny(name, "-_:@"); i >= 0 {
			piece = name[:i]
		}
		name = name[len(piece):]
		separator := name[:min(1, len(name))]
		name = name[len(separator):]
		digit := piece != "" && piece[0] >= '0' && piece[0] <= '9'
		switch {
		case inVersion && digit:
			// This piece continues the preceding version.
			s := b.String()
			b.Reset()
			b.WriteString(s[:len(s)-1])
		case version.MatchString(piece):
			inVersion = true
			b.WriteString("VERSION")
		default:
			inVersion = false
			if before := b.String(); !strings.HasSuffix(before, "_") || len(piece) > 2 { // keeps "x86_64"
				piece = normalisePiece(piece)
			}
			b.WriteString(piece)
		}
		inVersion = inVersion && separator == "-"
		b.WriteString(separator)
	}
	return b.String()
}

func normalisePiece(piece string) string {
	switch {
	case isNumber(piece):
		return "N"
	case isHexSum(piece):
		return "HEX"
	case len(piece) == len("tmp")+8 && strings.HasPrefix(piece, "tmp") && looksRandom(piece):
		return "TMP" // Python names temporary files like this
	case isAddress(piece):
		return "ADDR"
	}
	if !strings.Contains(piece, ".") {
		return piece
	}
	parts := strings.Split(piece, ".")
	for i, part := range parts {
		switch {
		case isNumber(part):
			parts[i] = "N"
		case i > 0 && i == len(parts)-1 && isTemporarySuffix(part):
			parts[i] = "TMP"
		}
	}
	return strings.Join(parts, ".")
}

// isTemporarySuffix matches the random endings of mktemp: six or ten characters with small and
// capital letters and digits.
func isTemporarySuffix(s string) bool {
	if len(s) != 6 && len(s) != 10 {
		return false
	}
	small := strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' })
	capital := strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return small && capital && strings.ContainsFunc(s, pytext.IsDigit)
}

var (
	version      = regexp.MustCompile(`^v?[0-9]+\.[0-9]`)                     // "2.0", "1.4.9+dfsg", "v1.2"
	epochVersion = regexp.MustCompile(`^[0-9]+:[0-9][^:]*[.-][^:]*$`)         // "1:2.3-4"
	hardware     = regexp.MustCompile(`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`) // "52:54:00:12:34:56"
	hexSum       = regexp.MustCompile(`^[0-9a-fA-F]{8,}$`)
	uuid         = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	clock        = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}[0-9:.+Z]*$`)            // "12:30", "12:30:01.123"
	date         = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9:.+TZ-]*$`) // alone or with a time
)

func isNumber(s string) bool { return s != "" && pytext.Run(s, pytext.IsDigit) == s }

// isAddress matches "0x" with at least six hexadecimal digits, like apport's rule for assertions.
func isAddress(s string) bool {
	hex, ok := strings.CutPrefix(s, "0x")
	return ok && len(hex) >= 6 && pytext.Run(hex, isHex) == hex
}

// isNetworkAddress matches IPv6 addresses, "fe80::12", "2001:db8:0:0:0:0:0:1", and MAC addresses.
func isNetworkAddress(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF:") == "" && strings.ContainsFunc(s, pytext.IsDigit) &&
		(hardware.MatchString(s) || strings.Count(s, ":") == 7 || strings.Contains(s, "::"))
}

// isHexSum matches eight or more hexadecimal digits, with at least one digit and one letter.
func isHexSum(s string) bool {
	return hexSum.MatchString(s) && !isNumber(s) && strings.ContainsFunc(s, pytext.IsDigit)
}
