package privacy

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

// publicHosts lists domains that do not identify a person.
var publicHosts = []string{
	"ubuntu.com", "launchpad.net", "canonical.com", "snapcraft.io", "debian.org", "debian.net", "python.org", "gnome.org",
	"kde.org",
	"kernel.org", "freedesktop.org", "mozilla.org", "mozilla.com", "w3.org", "gnu.org", "pypi.org", "fedoraproject.org",
	"localhost",
	"127.0.0.1", "[::1]", "xml.org", "apache.org", "libreoffice.org", "documentfoundation.org",
}
