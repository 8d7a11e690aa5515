package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pelletier/go-toml/v2/unstable"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/symbols/debuginfo"
	"mishap/handlers/proxies"
	"mishap/notify/mail"
)

// key is one key of the configuration file.
type key struct {
	name   string
	wants  string        // the expected value, for messages
	kind   unstable.Kind // String, Integer or Bool
	secret bool
	array  bool                   // an array of strings is valid, too
	set    func(text string) bool // sets the value and reports whether it is valid
	show   func() string          // returns the value for logs
}

// keys returns every key, bound to the fields of c, in the order of local_config.default.toml.
func (c *Config) keys() []key {
	const seconds = "a number of seconds"
	return []key{
		text("listen", "an address such as 127.0.0.1:8080", &c.Listen, isAddress),
		text("ingest_listen", "an address such as 127.0.0.1:8081", &c.IngestListen, isAddress),
		text("ops_listen", "an address such as 127.0.0.1:8082", &c.OpsListen, isAddress),
		choice("log_level", &c.LogLevel, "debug", "info", "warn", "error"),
		number("drain_seconds", "a number of seconds, or -1 for 5 behind a proxy and otherwise 0", &c.DrainSeconds, -1, 3600),
		optionalAddress("traces_url", "the address of an OpenTelemetry collector such as http://localhost:4318, or nothing",
			&c.TracesURL),
		fraction("traces_ratio", "a number from 0 to 1 such as 0.01", &c.TracesRatio),
		list("trusted_proxies", "networks or addresses such as 127.0.0.0/8 10.1.2.3, or nothing",
			&c.TrustedProxies, parses(proxies.Parse)),
		address("base_url", "an address such as https://crashes.example.com, without a path", &c.BaseURL, false),
		number("ingest_max_bytes", "a number of bytes above 0", &c.IngestMaxBytes, 1, 1<<30),
		number("ingest_rate_per_system", "a number of reports per minute, or 0 for no limit", &c.IngestRatePerSystem, 0, 1e9),
		number("ingest_rate_per_address", "a number of reports per minute, or 0 for no limit",
			&c.IngestRatePerAddress, 0, 1e9),
		number("ingest_max_age_days", "a number of days above 0", &c.IngestMaxAgeDays, 1, 36500),
		text("releases", "the path of a file, or nothing", &c.Releases,
			func(s string) bool { return s == "" || isPath(s) }),
		number("reports_keep_days", "a number of days, or 0 for ever", &c.ReportsKeepDays, 0, 36500),
		list("reports_keep_types", "problem types with a number of days, or 0 for ever, such as KernelOops=90 Snap=30, "+
			"or nothing", &c.ReportsKeepTypes, parses(privacy.ParseKeepTypes)),
		choice("reports_partitions", &c.ReportsPartitions, "size", "month", "week"),
		number("archive_after_months", "a number of months, or 0 for never", &c.ArchiveAfterMonths, 0, 1200),
		number("keep_bodies_per_problem", "a number of reports, or 0 for all", &c.KeepBodies, 0, 1e6),
		except(number("counts_keep_years", "a number of years, at least 2, or 0 for ever", &c.CountsKeepYears, 0, 100),
			func() bool { return c.CountsKeepYears == 1 }), // lists and charts cover more than a year
		except(number("audit_keep_days", "a number of days above 30, or 0 for ever", &c.AuditKeepDays, 0, 36500),
			func() bool {
				return c.AuditKeepDays > 0 && c.AuditKeepDays < 31 // the database keeps these days
			}),
		number("private_keep_days", "a number of days, or 0 for ever", &c.PrivateKeepDays, 0, 36500),
		list("privacy_fields", "fields with a class (restricted, private or secret) such as "+
			"JournalErrors=secret Acme*=restricted, or nothing; public fields cannot be changed", &c.PrivacyFields,
			func(s string) bool {
				_, err := privacy.Parse(s, privacy.Unlisted.String())
				return err == nil
			}),
		choice("privacy_unlisted", &c.PrivacyUnlisted, "restricted", "private", "secret"),
		choice("cores", &c.Cores, "wanted", "never"),
		list("cores_packages", "patterns of packages, programs or paths such as acme-* !acme-vault, or nothing",
			&c.CoresPackages, parses(debuginfo.ParsePatterns)),
		secret("cores_key", "a text of at least 32 characters on one line that nobody can guess, or nothing",
			&c.CoresKey, func(s string) bool { return s == "" || len(s) >= 32 && isToken(s) }),
		number("cores_total_max_bytes", "a number of bytes above 0", &c.CoresTotalMaxBytes, 1, 1<<50),
		number("cores_keep_days", "a number of days, or 0 for ever", &c.CoresKeepDays, 0, 36500),
		number("core_max_bytes", "a number of bytes above 0", &c.CoreMaxBytes, 1, 1<<50),
		text("blobs", "an absolute path, an address such as s3://bucket/prefix?endpoint=https://s3.example.com, or nothing",
			&c.Blobs, isBlobs),
		text("blobs_access_key", "the access key of the object storage on one line", &c.BlobsAccessKey, isToken),
		secret("blobs_secret", "the secret of the access key on one line", &c.BlobsSecret, isToken),
		list("debuginfod_urls", "addresses of debuginfod servers, each with patterns of packages behind it if it is "+
			"not for all, such as http://symbols.example.com acme-* https://debuginfod.ubuntu.com !acme-*, or nothing",
			&c.DebuginfodURLs, parses(debuginfo.ParseServers)),
		flag("symbols_from_machine", &c.SymbolsFromMachine),
		number("symbols_cache_max_bytes", "a number of bytes above 0", &c.SymbolsCacheMaxBytes, 1, 1<<50),
		number("symbolise_seconds", seconds+" above 0", &c.SymboliseSeconds, 1, 3600),
		number("symbolise_max_memory_bytes", "a number of bytes, at least 536870912", &c.SymboliseMaxMemory, 512<<20, 1<<50),
		number("api_rate_per_address", "a number of requests per minute, or 0 for no limit", &c.APIRatePerAddress, 0, 1e9),
		number("api_rate_per_token", "a number of requests per minute, or 0 for no limit", &c.APIRatePerToken, 0, 1e9),
		number("export_rate_per_address", "a number of files per minute, or 0 for no limit", &c.ExportRatePerAddress, 0, 1e9),
		secret("smtp_url", "an address such as smtps://user:password@relay.example.org, or nothing", &c.SMTPURL, isRelay),
		choice("smtp_tls", &c.SMTPTLS, "require", "opportunistic", "off"),
		text("mail_from", "a mail address such as crashes@example.org, or nothing", &c.MailFrom, isFrom),
		list("webhook_allow_networks", "networks or addresses such as 10.1.2.0/24 fd00::7, or nothing",
			&c.WebhookAllowNetworks, parses(crash.ParseNetworks)),
		secret("database_url", "an address such as postgres://user:password@host/database, or nothing",
			&c.DatabaseURL, isDatabase),
		text("data_dir", "the path of a folder", &c.DataDir, isPath),
		text("tracker_url", `an address such as https://launchpad.net, or "none"`, &c.TrackerURL,
			func(s string) bool { return s == noLaunchpad || isBase(s, true) }).trimmed("/", &c.TrackerURL),
		text("tracker_name", "a name such as Launchpad of at most 40 characters, or nothing", &c.TrackerNameSet, isName),
		address("tracker_api_url", "an address such as https://api.launchpad.net/devel", &c.TrackerAPIURL, true),
		text("tracker_consumer_key", "the consumer key of this application", &c.TrackerConsumerKey, isPlain),
		secret("tracker_oauth_token", "an access token on one line", &c.TrackerOAuthToken, isToken),
		secret("tracker_oauth_secret", "the secret of the access token on one line", &c.TrackerOAuthSecret, isToken),
		text("tracker_target", "the tracker's name of a distribution or project, such as ubuntu", &c.TrackerTarget,
			regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`).MatchString),
		number("tracker_timeout_seconds", seconds+" above 0", &c.TrackerTimeout, 1, 3600),
		number("tracker_settle_seconds", seconds+", 0 or more", &c.TrackerSettle, 0, 86400),
		flag("read_archive", &c.ReadArchive),
		links("source_links", &c.SourceLinks),
		links("version_links", &c.VersionLinks),
		flag("allow_bug_filing", &c.AllowBugFiling),
		number("rule_filings_per_hour", "a number of bugs, 0 or more", &c.RuleFilingsPerHour, 0, 1e6),
		optionalAddress("openid_url", "an address such as https://login.ubuntu.com, or nothing", &c.OpenIDURL),
		text("openid_name", "a name such as Ubuntu One of at most 40 characters, or nothing", &c.OpenIDNameSet, isName),
		text("oidc_issuer", "the address of the issuer, exactly as the provider writes it, or nothing", &c.OIDCIssuer,
			func(s string) bool { return s == "" || isBase(s, true) }),
		text("oidc_name", "a name of at most 40 characters, or nothing", &c.OIDCNameSet, isName),
		text("oidc_client_id", "the client id that the provider has given to this site, or nothing", &c.OIDCClientID,
			isToken),
		secret("oidc_client_secret", "the secret of the client on one line, or nothing", &c.OIDCClientSecret, isToken),
		text("oidc_groups_claim", "the name of a claim such as groups", &c.OIDCGroupsClaim, isPlain),
		text("proxy_auth_header", "the name of a header such as X-Forwarded-User, or nothing", &c.ProxyAuthHeader, isHeader),
		text("proxy_auth_groups_header", "the name of a header such as X-Forwarded-Groups, or nothing",
			&c.ProxyAuthGroups, isHeader),
		list("proxy_auth_from", "networks or addresses of proxies such as 127.0.0.0/8 10.1.2.3, or nothing",
			&c.ProxyAuthFrom, parses(proxies.Parse)),
		choice("sign_in_role", &c.SignInRole, "none", "viewer", "triager"),
		number("group_rights_max_age", "a number of days above 0", &c.GroupRightsMaxAge, 1, 36500),
		choice("require_totp", &c.RequireTOTP, "none", "admins", "everyone"),
		choice("local_sign_in", &c.LocalSignIn, "shown", "hidden", "off"),
	}
}

func text(name, wants string, into *string, valid func(string) bool) key {
	return key{name: name, wants: wants, kind: unstable.String,
		set: func(s string) bool {
			if !valid(s) {
				return false
			}
			*into = s
			return true
		},
		show: func() string { return *into }}
}

// list returns a key for a text of words, which may also be an array of strings.
func list(name, wants string, into *string, valid func(string) bool) key {
	k := text(name, wants, into, valid)
	k.array = true
	return k
}

// choice returns a key for one of a few words.
func choice(name string, into *string, words ...string) key {
	last := len(words) - 1
	wants := `"` + strings.Join(words[:last], `", "`) + `" or "` + words[last] + `"`
	return text(name, wants, into, func(s string) bool { return slices.Contains(words, s) })
}

// parses returns a check that a function accepts a text.
func parses[T any](parse func(string) (T, error)) func(string) bool {
	return func(s string) bool {
		_, err := parse(s)
		return err == nil
	}
}

// links returns a key for templates of addresses, see [grouping.ParseLinkTemplates].
func links(name string, into *string) key {
	const wants = "pairs of a distribution or release and an address with " +
		"{source}, {version}, {tag}, {codename}, {file} and {line}, such as " +
		"Debian https://sources.debian.org/src/{source}/{version}/{file}#L{line}"
	return text(name, wants, into, parses(grouping.ParseLinkTemplates))
}

func secret(name, wants string, into *crash.Secret, valid func(string) bool) key {
	return key{name: name, wants: wants, kind: unstable.String, secret: true,
		set: func(s string) bool {
			if !valid(s) {
				return false
			}
			*into = crash.Secret(s)
			return true
		},
		show: func() string { return into.String() }}
}

// address returns a key for a base address, whose final slash is removed.
func address(name, wants string, into *string, path bool) key {
	return text(name, wants, into, func(s string) bool { return isBase(s, path) }).trimmed("/", into)
}

// optionalAddress returns a key like address, whose value may be empty.
func optionalAddress(name, wants string, into *string) key {
	return text(name, wants, into, func(s string) bool { return s == "" || isBase(s, true) }).trimmed("/", into)
}

func (k key) trimmed(end string, into *string) key {
	set := k.set
	k.set = func(s string) bool {
		ok := set(s)
		*into = strings.TrimRight(*into, end)
		return ok
	}
	return k
}

func number(name, wants string, into *int, low, high int) key {
	return key{name: name, wants: wants, kind: unstable.Integer,
		set: func(s string) bool {
			n, err := strconv.Atoi(s)
			if err != nil || n < low || n > high {
				return false
			}
			*into = n
			return true
		},
		show: func() string { return strconv.Itoa(*into) }}
}

// fraction returns a key for a number from 0 to 1.
func fraction(name, wants string, into *float64) key {
	return key{name: name, wants: wants, kind: unstable.Float,
		set: func(s string) bool {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || !(f >= 0 && f <= 1) { // not a number is neither
				return false
			}
			*into = f
			return true
		},
		show: func() string { return strconv.FormatFloat(*into, 'g', -1, 64) }}
}

// except returns k without the values after which wrong returns true.
func except(k key, wrong func() bool) key {
	set := k.set
	k.set = func(text string) bool { return set(text) && !wrong() }
	return k
}

func flag(name string, into *bool) key {
	return key{name: name, wants: "true or false", kind: unstable.Bool,
		set: func(s string) bool {
			if s != "true" && s != "false" {
				return false
			}
			*into = s == "true"
			return true
		},
		show: func() string { return strconv.FormatBool(*into) }}
}

// isAddress accepts "host:port" with the number of a port. Port 0 stands for any free one.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil || s != strings.TrimSpace(s) {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func isBase(s string, path bool) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && (path || strings.Trim(u.Path, "/") == "")
}

func isRelay(s string) bool {
	_, err := mail.ParseRelay(s, "require")
	return err == nil || s == ""
}

func isFrom(s string) bool {
	_, err := mail.ParseFrom(s)
	return err == nil || s == ""
}

func isDatabase(s string) bool {
	if s == "" {
		return true
	}
	_, err := pgconn.ParseConfig(s)
	return err == nil && (strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") ||
		strings.Contains(s, "="))
}

// isBlobs accepts an absolute path, a location in object storage, or nothing.
func isBlobs(s string) bool {
	_, err := blobs.ParseLocation(s)
	return err == nil || s == "" || filepath.IsAbs(s) && isPath(s)
}

// isHeader accepts the name of a header that carries no other meaning, or nothing.
func isHeader(s string) bool {
	switch http.CanonicalHeaderKey(s) {
	case "Host", "Cookie", "Authorization", "X-Forwarded-For", "X-Forwarded-Proto", "Content-Type":
		return false
	}
	return s == "" || headerName.MatchString(s)
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

func isPath(s string) bool { return s != "" && !strings.ContainsRune(s, 0) }

// isName accepts a short text for people, or none.
func isName(s string) bool { return s == "" || isPlain(s) && utf8.RuneCountInString(s) <= 40 }

func isPlain(s string) bool { return strings.TrimSpace(s) == s && s != "" && isToken(s) }

// isToken accepts any printable text of at most one line.
func isToken(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// removed says what to do about keys of earlier versions.
var removed = map[string]string{
	"serve_symbols": "mishap no longer serves debug files; delete this key, and run debuginfod (docs/symbols.md)",
}

// unknown says what is wrong with a key that does not exist: "unknown key; did you mean listen?".
func unknown(name string, keys []key) string {
	if advice := removed[name]; advice != "" {
		return advice
	}
	if near := nearest(name, keys); near != "" {
		return "unknown key; did you mean " + near + "?"
	}
	return "unknown key"
}

// nearest returns the key that most resembles a name, or an empty string.
func nearest(name string, keys []key) string {
	plain := strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	best, distance := "", len(plain)/3+2
	for _, k := range keys {
		if d := editDistance(plain, k.name); d < distance {
			best, distance = k.name, d
		}
	}
	for _, k := range keys {
		if best == "" && len(plain) > 3 && strings.HasSuffix(k.name, "_"+plain) {
			best = k.name
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// envPrefix is the prefix of every variable. MISHAP_LISTEN contains a value; MISHAP_LISTEN_FILE
// names a file that contains it.
const envPrefix = "MISHAP_"

// Variable returns the name of the environment variable that sets a key.
func Variable(key string) string { return envPrefix + strings.ToUpper(key) }

// readEnvironment sets the keys that have variables and returns their mistakes. An empty variable
// sets an empty value.
func (c *Config) readEnvironment(environ []string) Mistakes {
	values := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(name, envPrefix) {
			values[name] = value
		}
	}
	var wrong Mistakes
	for _, k := range c.keys() {
		wrong = append(wrong, setFromVariable(values, Variable(k.name), k, c.given)...)
	}
	return append(wrong, c.readTableVariables(values)...)
}

// setFromVariable sets a key from the variable name, or from the file that name_FILE names, if there is one. It
// records this in into, and returns the mistakes.
func setFromVariable(values map[string]string, name string, k key, into map[string]given) Mistakes {
	value, direct := values[name]
	path, byFile := values[name+"_FILE"]
	switch {
	case direct && byFile:
		return Mistakes{name + ": expected one of " + name + " and " + name + "_FILE, got both"}
	case byFile:
		name += "_FILE"
		content, err := os.ReadFile(path)
		if err != nil {
			into[k.name] = given{where: name, wrong: true}
			return Mistakes{name + ": " + path + " cannot be read: " + cause(err)}
		}
		value = strings.TrimRight(string(content), "\r\n")
	case !direct:
		return nil
	}
	valid := k.set(value)
	into[k.name] = given{where: name, wrong: !valid, value: value}
	if valid {
		return nil
	}
	got := "something else (not shown)"
	if !k.secret {
		got = strconv.Quote(value)
	}
	return Mistakes{name + ": expected " + k.wants + ", got " + got}
}

// readStandardVariables sets traces_url, if it is empty, from the variables that programs with
// OpenTelemetry have in common. It returns their mistakes.
func (c *Config) readStandardVariables(environ []string) Mistakes {
	if c.TracesURL != "" {
		return nil
	}
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	if strings.EqualFold(values["OTEL_SDK_DISABLED"], "true") {
		return nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := values[name]
		if value == "" {
			continue
		}
		k := optionalAddress("traces_url", "", &c.TracesURL)
		if !k.set(value) {
			return Mistakes{name + ": expected an address such as http://localhost:4318, got " + strconv.Quote(value) +
				"; unset it, or set traces_url"}
		}
		c.given["traces_url"] = given{where: name, value: value}
		return nil
	}
	return nil
}

// StrayVariables returns a warning for each variable that looks misspelt. These are not mistakes,
// because container platforms add their own variables with the same prefix.
func StrayVariables(environ []string) []string {
	var c Config
	keys := c.keys()
	var stray []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		plain, ours := strings.CutPrefix(name, envPrefix)
		if !ours || isTrackerVariable(name) {
			continue
		}
		suffix := ""
		if base, file := strings.CutSuffix(plain, "_FILE"); file {
			plain, suffix = base, "_FILE"
		}
		if advice := removed[strings.ToLower(plain)]; advice != "" {
			stray = append(stray, name+" is not used: "+advice)
			continue
		}
		near := nearest(plain, keys)
		if near != "" && near != strings.ToLower(plain) {
			stray = append(stray, name+" is not used; did you mean "+Variable(near)+suffix+"?")
		}
	}
	return stray
}

// Export returns the present configuration as one file: the configuration file, with the values of the
// files beside it, of files of secrets and of environment variables. Without secrets, a comment replaces each
// secret.
func (c *Config) Export(secrets bool) ([]byte, error) {
	doc, err := os.ReadFile(c.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	byName := map[string]key{}
	for _, k := range c.keys() {
		byName[k.name] = k
	}
	var out bytes.Buffer
	from := 0
	replace := func(e expression, line string) {
		out.Write(doc[from:max(from, bytes.LastIndexByte(doc[:e.begin], '\n')+1)])
		out.WriteString(strings.TrimSuffix(line, "\n"))
		from = e.end
	}
	var in *table
	err = walkTOML(doc, func(e expression) {
		name, inFile := strings.CutSuffix(e.key, "_file")
		switch {
		case e.table:
			in = cmp.Or(c.tableAt(e.line), new(table)) // a new one after a change of the file
			end := len(doc)
			if n := bytes.IndexByte(doc[e.begin:], '\n'); n >= 0 {
				end = e.begin + n + 1
			}
			out.Write(doc[from:end])
			from = end
			for _, k := range in.keys() {
				if k.secret && in.setByVariable(k.name) {
					out.WriteString(in.secretLine(k.name, secrets))
				}
			}
		case in != nil && (name == "token" || name == "webhook_secret"):
			if in.setByVariable(name) {
				replace(e, "# "+e.key+" was set by the environment; see above")
			} else if e.value != "" && (inFile || !secrets) {
				replace(e, in.secretLine(name, secrets))
			}
		case in != nil:
		case c.SetByVariable(e.key) != "":
			replace(e, "# "+e.key+" was set by the environment; see below")
		case byName[e.key].secret && !secrets && e.value != "":
			replace(e, hiddenLine(e.key))
		}
	}, func(int, string, string) {})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	out.Write(doc[from:])
	if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	var lines strings.Builder
	for _, k := range c.keys() {
		value, from := c.given[k.name].value, c.given[k.name].file
		switch {
		case c.SetByVariable(k.name) == "" && (from == "" || from == c.File):
		case k.secret && !secrets && value != "":
			lines.WriteString(hiddenLine(k.name) + "\n")
		default:
			lines.WriteString(k.line(value))
		}
	}
	whole := out.Bytes()
	if lines.Len() > 0 {
		if whole, err = insertKeys(whole, lines.String(), "\n"); err != nil {
			return nil, err
		}
	}
	for _, t := range c.tables {
		if t.file != c.File {
			whole = append(whole, t.export(secrets)...)
		}
	}
	return whole, nil
}

// line returns a line of a configuration file that gives the key a value.
func (k key) line(value string) string {
	if k.kind == unstable.String {
		value = quoteTOML(value)
	}
	return k.name + " = " + value + "\n"
}

// HiddenSecret is the text of the comments that replace secrets, after the name of the key.
const HiddenSecret = ": a secret, which is not in the backup; set it again"

func hiddenLine(name string) string { return "# " + name + HiddenSecret }

// WithTexts returns a configuration file with other values for keys that are texts, in the order of the
// keys' names.
func WithTexts(doc []byte, values map[string]string) ([]byte, error) {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var err error
	for _, name := range names {
		if doc, err = setText(doc, name, values[name]); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
