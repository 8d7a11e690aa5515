package redact

import "regexp"

// The rules of the Redactor. They recognise private data by its form, and remove too much rather
// than too little.

// ownedPaths matches paths outside home directories that contain names of people, networks and
// printers.
const ownedPaths = `/var/mail/|/var/spool/mail/|/var/spool/cron/crontabs/|/var/lib/AccountsService/(?:users|icons)` +
	`/|/etc/cups/ppd/|/etc/NetworkManager/system-connections/`

const (
	// secretName matches the name of a secret up to the separator, and secretValue the value after
	// it.
	secretName = `\b([\w-]*(?:passw(?:or)?d|passphrase|passcode|\bpass|\bpin|\botp|account[_-]?key|\bsig|pwd|secret|` +
		`token|credential|api[_-]?key|access[_-]?key|private[_-]?key|session(?:[_-]?id)?|cookie|auth)[\w-]*["']?\s*`
	serialName  = `(?i)\b((?:serial(?:[ _-]?(?:number|num|no))?\.?|s/n|asset[ _-]?tag)["']?`
	serialValue = `[^\s"',;()\d]*\d[^\s"',;()]*`
	secretValue = `["']?\s*)(?:(?:bearer|basic|token)\s+)?[^\s"'&,;)]+`
)

var (
	// Paths in home directories and removable media, up to a blank, a quotation mark, a colon or a
	// bracket.
	privatePath = regexp.MustCompile(`(?:^|[^\w./~+-])((?:file://)?(?:/(?:[\w.-]+/)*home[s\d]?/|/root/|/run/user/|` +
		`/run/media/|/media/|/mnt/|(?:[A-Za-z]:)?/Users/|` + ownedPaths + `|(?i:[A-Z]:\\{1,2}users\\)|\\\\[\w.-]+\\|` +
		`~[\w.-]*/|\$\{?HOME\}?/)[^\s'"<>()\[\]{};:,]*)`)
	quotedPath = regexp.MustCompile(`(['"])((?:file://)?(?:/(?:[^/'"\n]+/)*home[s\d]?/|/root/|/run/user/|` +
		`/run/media/|/media/|/mnt/|(?:[A-Za-z]:)?/Users/|` + ownedPaths + `|(?i:[A-Z]:\\{1,2}users\\)|\\\\[\w.-]+\\|` +
		`~[\w.-]*/|\$\{?HOME\}?/)[^'"\n]*)['"]`)
	sourceFile = regexp.MustCompile(`^[\w.+-]{1,80}\.(?:py|pyx|c|cc|cpp|cxx|h|hh|hpp|rs|go|js|mjs|ts|vala|java|pl|` +
		`pm|rb|php|lua|so|so\.[\d.]+)$`)

	keyedSecret = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*` + secretValue)
	givenSecret = regexp.MustCompile(`(?i)` + secretName + `=>?\s*` + secretValue)
	bearer      = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}`)
	urlLogin    = regexp.MustCompile(`(://)[^\s/@:'"]+(?::[^\s/@'"]*)?@`)
	urlQuery    = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s'"?#]+)[?#][^\s'"<>]+`)
	optSecret   = regexp.MustCompile(`(?i)(\B--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key)` +
		`[\w-]*\s+)[^\s'"-][^\s'"]*`)
	saidSecret = regexp.MustCompile(`(?i)\b((?:password|passphrase|token|secret|api key)\s+)(?:'[^'\s]*\d[^'\s]*'|` +
		`"[^"\s]*\d[^"\s]*"|[\w.+/=-]*[a-z][\w.+/=-]*\d[\w.+/=-]*)`)
	singleQuoted = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*')[^'\n]*'`)
	doubleQuoted = regexp.MustCompile(`(?i)` + secretName + `(?:=>|[=:])\s*")[^"\n]*"`)
	header       = regexp.MustCompile(`(?i)\b((?:set-)?cookie:\s*|authorization:\s*)[^'"\n]+`)
	knownToken   = regexp.MustCompile(`\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|` +
		`xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|(?:npm|hf|dop_v1)_\w{16,}|pypi-[\w-]{16,}|` +
		`[rs]k_(?:live|test)_\w{10,}|ya29\.[\w-]{6,}|SG\.[\w-]{10,}\.[\w-]+|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	longHex    = regexp.MustCompile(`\b[0-9a-fA-F]{32,}\b`)
	longBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	uuid       = regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`)
	email      = regexp.MustCompile(`(?:\[removed\]|[\w.+%-]+)@[\w-]+(?:\.[\w-]+)+`)
	hardware   = regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b|` +
		`\b[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\b|(?:_[0-9A-F]{2}){6}\b`)
	ipv4        = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6        = regexp.MustCompile(`(?:[0-9a-fA-F]*:){2,}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*)(?:%\w+)?`)
	nameOfIPv4  = regexp.MustCompile(`\bip-\d{1,3}(?:-\d{1,3}){3}\b`)
	escapedHome = regexp.MustCompile(`(?i)%2F(?:home|root|Users|run%2Fuser|media)%2F[^\s'"&]*`)
	escapedMail = regexp.MustCompile(`[\w.+-]+%40[\w-]+(?:\.[\w-]+)+`)
	tildeName   = regexp.MustCompile(`(['"\s=]|^)~[a-z_][\w-]*(['"\s,;]|$)`)

	// user@machine, but not a symbol version or an entry of a symbol table.
	login     = regexp.MustCompile(`(?:^|[^\w@.-])([a-z_][\w.-]*@[A-Za-z][\w.-]*)`)
	symbolsOf = regexp.MustCompile(`@(?:plt|got|tls|[A-Z][A-Za-z0-9]*_[\d.]+)$`)
	userNamed = regexp.MustCompile(`(?i)\b((?:user(?:[_-]?name)?|login|logname|sudo_user|real[_-]?name|` +
		`host[_-]?name|e?ssid)["']?\s*[=:]\s*["']?)[^\s"',;()]+`)
	// Serial numbers have a digit. In signatures, a colon without a blank separates functions.
	serialNamed = regexp.MustCompile(serialName + `(?:\s*[=#]\s*|:\s+)["']?)` + serialValue)
	serialTight = regexp.MustCompile(serialName + `:)` + serialValue)
	userQuoted  = regexp.MustCompile(`(?i)\b((?:user(?:name)?|account|host(?:name)?|machine|ssid)\s+)(?:'[^'\n]+'|` +
		`"[^"\n]+"|‘[^’\n]+’|“[^”\n]+”)`)
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
	memory = regexp.MustCompile(`\b0x[0-9a-fA-F]{6,}\b`)
)

// publicHosts lists domains that do not identify a person.
var publicHosts = []string{
	"ubuntu.com", "launchpad.net", "canonical.com", "snapcraft.io", "debian.org", "debian.net", "python.org", "gnome.org",
	"kde.org",
	"kernel.org", "freedesktop.org", "mozilla.org", "mozilla.com", "w3.org", "gnu.org", "pypi.org", "fedoraproject.org",
	"localhost",
	"127.0.0.1", "[::1]", "xml.org", "apache.org", "libreoffice.org", "documentfoundation.org",
}
