// Package config reads the configuration of mishap from a TOML file and the environment, checks it,
// and writes access tokens back into the file.
package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/symbols/debuginfo"
	"mishap/handlers/proxies"
	"mishap/notify/mail"
	"mishap/notify/webhook"
)

// DefaultFile is the configuration file without --config. It may be missing. Then PackagedFile is
// read, if it exists.
const (
	DefaultFile  = "local_config.toml"
	PackagedFile = "/etc/mishap/config.toml"
)

// Config holds the value of every key. keys.go lists the keys with their checks;
// local_config.default.toml explains them to people.
type Config struct {
	Listen               string
	IngestListen         string
	OpsListen            string
	LogLevel             string
	DrainSeconds         int     // -1: see Drain
	TracesURL            string  // of the OpenTelemetry collector; empty: off
	TracesRatio          float64 // part of the traces that are recorded, 0 to 1
	IngestMaxBytes       int
	IngestRatePerSystem  int // reports per minute; 0: off
	IngestRatePerAddress int // reports per minute; 0: off
	IngestMaxAgeDays     int
	Releases             string // see crash.ReleaseTable.Extend; a file, or empty for none
	ReportsKeepDays      int
	ReportsKeepTypes     string       // see privacy.ParseKeepTypes
	ReportsPartitions    string       // size, month or week
	ArchiveAfterMonths   int          // 0: never
	KeepBodies           int          // reports of a problem and month that are stored in full; 0: all
	CountsKeepYears      int          // 0: for ever, else at least 2
	AuditKeepDays        int          // 0: for ever, else at least 31
	PrivacyFields        string       // see privacy.Parse
	PrivacyUnlisted      string       // see privacy.ParseUnlisted
	PrivateKeepDays      int          // 0: for ever
	Cores                string       // wanted or never
	CoresPackages        string       // see debuginfo.ParsePatterns
	CoresKey             crash.Secret // empty: generated in data_dir
	CoresTotalMaxBytes   int
	CoresKeepDays        int
	CoreMaxBytes         int
	Blobs                string // a folder or see blobs.ParseLocation; empty: none
	BlobsAccessKey       string
	BlobsSecret          crash.Secret
	DebuginfodURLs       string // see debuginfo.ParseServers
	SymbolsFromMachine   bool
	SymbolsCacheMaxBytes int
	SymboliseSeconds     int
	SymboliseMaxMemory   int          // bytes
	APIRatePerAddress    int          // requests per minute; 0: off
	APIRatePerToken      int          // requests per minute; 0: off
	ExportRatePerAddress int          // files per minute for visitors; 0: off
	TrustedProxies       string       // see proxies.Parse
	WebhookAllowNetworks string       // see crash.ParseNetworks
	BaseURL              string       // without a slash at the end
	SMTPURL              crash.Secret // may hold a password; empty: no mail is sent
	SMTPTLS              string       // a key of mail.TLSModes
	MailFrom             string       // see mail.ParseFrom
	DatabaseURL          crash.Secret // may hold a password
	DataDir              string
	TrackerURL           string // without a slash at the end; "none": see HasLaunchpad
	TrackerNameSet       string // the key tracker_name; empty: see TrackerName
	TrackerAPIURL        string // without a slash at the end
	TrackerConsumerKey   string
	TrackerOAuthToken    crash.Secret
	TrackerOAuthSecret   crash.Secret
	TrackerTarget        string
	TrackerTimeout       int // seconds
	TrackerSettle        int // seconds
	ReadArchive          bool
	SourceLinks          string // see grouping.ParseLinkTemplates
	VersionLinks         string // see grouping.ParseLinkTemplates
	AllowBugFiling       bool
	RuleFilingsPerHour   int
	OpenIDURL            string // of the provider, without a slash at the end; empty: off
	OpenIDNameSet        string // the key openid_name; empty: see OpenID
	OIDCIssuer           string // empty: off
	OIDCNameSet          string // the key oidc_name; empty: see OIDC
	OIDCClientID         string
	OIDCClientSecret     crash.Secret
	OIDCGroupsClaim      string
	ProxyAuthHeader      string // empty: off
	ProxyAuthGroups      string // header with the groups; empty: none
	ProxyAuthFrom        string // see proxies.Parse
	SignInRole           string // none, viewer or triager
	GroupRightsMaxAge    int    // days
	RequireTOTP          string // see crash.AppPolicy
	LocalSignIn          string // see crash.LocalSignIn

	Trackers []Tracker // the [[tracker]] tables, in the order of the files

	File    string   // the configuration file, which may be missing
	DropIns []string // the files of config.d beside it, in the order in which they were read

	given  map[string]given // by key; omits keys with their default value
	tables []*table         // those of Trackers
}

// given records where a key was set.
type given struct {
	where string // "local_config.toml:12" or "MISHAP_LISTEN"
	line  int    // 0: a variable
	file  string // "local_config.toml"; empty: a variable
	wrong bool   // the value is invalid
	value string // as a text
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Listen:               "127.0.0.1:8080",
		IngestListen:         "127.0.0.1:8081",
		OpsListen:            "127.0.0.1:8082",
		LogLevel:             "info",
		DrainSeconds:         -1,
		TracesRatio:          1,
		IngestMaxBytes:       16 << 20,
		IngestRatePerSystem:  6000,
		IngestMaxAgeDays:     366,
		ReportsPartitions:    "size",
		PrivacyUnlisted:      privacy.Unlisted.String(),
		Cores:                "wanted",
		CoresTotalMaxBytes:   20 << 30,
		CoresKeepDays:        7,
		CoreMaxBytes:         256 << 20,
		SymbolsCacheMaxBytes: 20 << 30,
		SymboliseSeconds:     120,
		SymboliseMaxMemory:   4 << 30,
		APIRatePerAddress:    3000,
		APIRatePerToken:      6000,
		ExportRatePerAddress: 60,
		SMTPTLS:              "require",
		TrustedProxies:       proxies.Loopback,
		BaseURL:              "http://localhost:8080",
		DataDir:              "data",
		TrackerURL:           "https://launchpad.net",
		TrackerAPIURL:        "https://api.launchpad.net/devel",
		TrackerConsumerKey:   "mishap",
		TrackerTarget:        "ubuntu",
		TrackerTimeout:       75,
		TrackerSettle:        75,
		ReadArchive:          true,
		SourceLinks:          grouping.DefaultSourceLinks,
		VersionLinks:         grouping.DefaultVersionLinks,
		AllowBugFiling:       true,
		RuleFilingsPerHour:   20,
		OIDCGroupsClaim:      "groups",
		SignInRole:           "none",
		GroupRightsMaxAge:    30,
		RequireTOTP:          "none",
		LocalSignIn:          "shown",
		File:                 DefaultFile,
		given:                map[string]given{},
	}
}

// Mistakes is an error with one message for each mistake in a configuration.
type Mistakes []string

func (m Mistakes) Error() string { return strings.Join(m, "\n") }

// Load reads the files whose names end in .toml in the folder config.d beside a file, in the order of
// their names, then the file, and then an environment in the form of os.Environ. What is read later
// overrides what was read before. A missing file is a mistake only if required is true. The error is a
// Mistakes that lists all mistakes.
func Load(file string, required bool, environ []string) (Config, error) {
	c := Default()
	c.File = file
	wrong := c.readDropIns(filepath.Join(filepath.Dir(file), "config.d"))
	switch doc, err := os.ReadFile(file); {
	case err == nil:
		wrong = append(wrong, c.readFile(file, doc)...)
	case errors.Is(err, fs.ErrNotExist) && !required:
	default:
		wrong = append(wrong, file+": cannot be read: "+cause(err))
	}
	wrong = append(wrong, c.readEnvironment(environ)...)
	wrong = append(wrong, c.readStandardVariables(environ)...)
	c.takeTables()
	c.followListen()
	wrong = append(wrong, c.checkTogether()...)
	if len(wrong) > 0 {
		return Config{}, wrong
	}
	return c, nil
}

// readDropIns reads the files of a folder, which may be missing, and returns their mistakes.
func (c *Config) readDropIns(folder string) Mistakes {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return Mistakes{folder + ": cannot be read: " + cause(err)}
	}
	var wrong Mistakes
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		if filepath.Ext(name) != ".toml" {
			continue
		}
		doc, err := os.ReadFile(name)
		if err != nil {
			wrong = append(wrong, name+": cannot be read: "+cause(err))
			continue
		}
		c.DropIns = append(c.DropIns, name)
		wrong = append(wrong, c.readFile(name, doc)...)
	}
	return wrong
}

// followListen sets base_url, if nothing has set it, to the address of this machine with the port of
// listen. Port 0 stands for any.
func (c *Config) followListen() {
	host, port, err := net.SplitHostPort(c.Listen)
	if _, set := c.given["base_url"]; set || err != nil || port == "0" {
		return
	}
	if IsLoopback(host) {
		host = "localhost"
	}
	c.BaseURL = LocalURL(net.JoinHostPort(host, port))
}

// LocalURL returns the URL at which this machine reaches a listener.
func LocalURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// IsLoopback reports whether a host, without its port, is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// checkTogether returns the mistakes that involve more than one key.
func (c *Config) checkTogether() Mistakes {
	var wrong Mistakes
	for _, k := range []struct {
		has, lacks string
		wrong      bool
	}{
		{"tracker_oauth_token", "tracker_oauth_secret", c.TrackerOAuthToken != "" && c.TrackerOAuthSecret == ""},
		{"tracker_oauth_secret", "tracker_oauth_token", c.TrackerOAuthToken == "" && c.TrackerOAuthSecret != ""},
		{"oidc_issuer", "oidc_client_id", c.OIDCIssuer != "" && c.OIDCClientID == ""},
		{"oidc_client_id", "oidc_issuer", c.OIDCIssuer == "" && c.OIDCClientID != ""},
		{"oidc_client_secret", "oidc_issuer", c.OIDCIssuer == "" && c.OIDCClientSecret != ""},
		// Without the list, anyone could send the header and be anyone.
		{"proxy_auth_header", "proxy_auth_from", c.ProxyAuthHeader != "" && c.ProxyAuthFrom == ""},
		{"proxy_auth_from", "proxy_auth_header", c.ProxyAuthHeader == "" && c.ProxyAuthFrom != ""},
		{"proxy_auth_groups_header", "proxy_auth_header", c.ProxyAuthHeader == "" && c.ProxyAuthGroups != ""},
		{"blobs", "cores_key", c.Blobs != "" && c.CoresKey == ""}, // all instances must be able to read the cores
		{"smtp_url", "mail_from", c.SMTPURL != "" && c.MailFrom == ""},
	} {
		if k.wrong && !c.given[k.lacks].wrong {
			wrong = append(wrong, fmt.Sprintf("%s: %s: expected %s beside it, got none", c.given[k.has].where, k.has, k.lacks))
		}
	}
	if c.ProxyAuthHeader != "" && strings.EqualFold(c.ProxyAuthHeader, c.ProxyAuthGroups) {
		wrong = append(wrong, c.given["proxy_auth_groups_header"].where+
			": proxy_auth_groups_header: expected another header than proxy_auth_header, got the same")
	}
	if c.LocalSignIn == "off" && c.OpenIDURL == "" && c.OIDCIssuer == "" && c.ProxyAuthHeader == "" {
		wrong = append(wrong, c.given["local_sign_in"].where+": local_sign_in: nobody could sign in; set openid_url, "+
			"oidc_issuer or proxy_auth_header, too")
	}
	if !c.HasLaunchpad() && !slices.ContainsFunc(c.Trackers, func(t Tracker) bool { return !t.Upstream }) {
		wrong = append(wrong, c.given["tracker_url"].where+
			`: tracker_url: expected a [[tracker]] table without upstream = true beside "none", got none`)
	}
	if _, err := c.Relay(); err != nil {
		where := cmp.Or(c.given["smtp_tls"].where, c.given["smtp_url"].where)
		wrong = append(wrong, where+": smtp_tls: "+err.Error())
	}
	taken := map[string]string{}
	for _, k := range []struct{ name, value string }{
		{"listen", c.Listen}, {"ingest_listen", c.IngestListen}, {"ops_listen", c.OpsListen},
	} {
		other, twice := taken[k.value]
		if twice && !strings.HasSuffix(k.value, ":0") {
			where := cmp.Or(c.given[k.name].where, c.given[other].where)
			wrong = append(wrong, where+": "+k.name+": expected an address of its own, got that of "+other+", "+k.value)
		}
		taken[k.value] = k.name
	}
	return wrong
}

// SetByVariable returns the name of the environment variable that set a key, or an empty string.
func (c *Config) SetByVariable(key string) string {
	if where := c.given[key].where; strings.HasPrefix(where, envPrefix) {
		return where
	}
	return ""
}

// Exposed returns the file, of the configuration file and those beside it, that holds secrets and that
// other accounts can read, or an empty string. The group may read a file of root, because packages give
// it to the group of mishap's account.
func (c *Config) Exposed() string {
	for _, file := range append([]string{c.File}, c.DropIns...) {
		holds := func(keys []key, from map[string]given) bool {
			return slices.ContainsFunc(keys, func(k key) bool {
				return k.secret && k.show() != "" && from[k.name].file == file
			})
		}
		info, err := os.Stat(file)
		if err != nil || !holds(c.keys(), c.given) &&
			!slices.ContainsFunc(c.tables, func(t *table) bool { return holds(t.keys(), t.given) }) {
			continue
		}
		others := fs.FileMode(0o077)
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 && owner.Gid != 0 {
			others = 0o007
		}
		if info.Mode().Perm()&others != 0 {
			return file
		}
	}
	return ""
}

// ProxyNetworks returns the networks of TrustedProxies.
func (c *Config) ProxyNetworks() proxies.Networks {
	networks, _ := proxies.Parse(c.TrustedProxies)
	return networks
}

// Level returns the level of LogLevel.
func (c *Config) Level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // keys checks it
	return level
}

// proxyDrain is how long an instance behind a proxy serves after it is told to stop. The proxies in
// docs/operating.md notice within this time.
const proxyDrain = 5 * time.Second

// Drain returns how long the instance serves, although it is not ready, after it is told to stop. By
// default that is 0 without a proxy. There is one if pages are https, which mishap itself does not speak,
// or if trusted_proxies is set.
func (c *Config) Drain() time.Duration {
	switch {
	case c.DrainSeconds >= 0:
		return time.Duration(c.DrainSeconds) * time.Second
	case strings.HasPrefix(c.BaseURL, "https:"), c.TrustedProxies != "" && c.given["trusted_proxies"].where != "":
		return proxyDrain
	}
	return 0
}

// Relay returns the relay for mail, or nil if there is none.
func (c *Config) Relay() (*mail.Relay, error) {
	if c.SMTPURL == "" {
		return nil, nil //nolint:nilnil // no relay is a valid choice
	}
	return mail.ParseRelay(string(c.SMTPURL), c.SMTPTLS)
}

// TracesAddress returns the address to which spans are sent, or an empty string if traces are off.
func (c *Config) TracesAddress() string {
	if c.TracesURL == "" || strings.HasSuffix(c.TracesURL, tracesPath) {
		return c.TracesURL
	}
	return c.TracesURL + tracesPath
}

// tracesPath is the path at which collectors receive spans by OTLP over HTTP.
const tracesPath = "/v1/traces"

// ReportsKeep returns for how long reports are stored.
func (c *Config) ReportsKeep() privacy.Keep {
	types, _ := privacy.ParseKeepTypes(c.ReportsKeepTypes) // keys checks it
	return privacy.Keep{Days: c.ReportsKeepDays, Types: types}
}

// Privacy returns the table of PrivacyFields and PrivacyUnlisted.
func (c *Config) Privacy() *privacy.Table {
	table, _ := privacy.Parse(c.PrivacyFields, c.PrivacyUnlisted)
	return table
}

// WebhookNetworks returns the networks of WebhookAllowNetworks.
func (c *Config) WebhookNetworks() webhook.Networks {
	list, _ := crash.ParseNetworks(c.WebhookAllowNetworks)
	return list
}

// OpenID returns how people sign in with OpenID 2.0.
func (c *Config) OpenID() crash.OpenIDConfig {
	name := c.OpenIDNameSet
	if name == "" {
		switch name = hostOf(c.OpenIDURL); name {
		case "login.ubuntu.com":
			name = "Ubuntu One"
		case "login.launchpad.net":
			name = "Launchpad"
		}
	}
	return crash.OpenIDConfig{URL: c.OpenIDURL, Name: name}
}

// OIDC returns how people sign in with OpenID Connect.
func (c *Config) OIDC() crash.OIDCConfig {
	return crash.OIDCConfig{Issuer: c.OIDCIssuer, Name: cmp.Or(c.OIDCNameSet, hostOf(c.OIDCIssuer)),
		ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, GroupsClaim: c.OIDCGroupsClaim}
}

// ProxyAuthNetworks returns the networks of ProxyAuthFrom.
func (c *Config) ProxyAuthNetworks() proxies.Networks {
	networks, _ := proxies.Parse(c.ProxyAuthFrom)
	return networks
}

// Rights returns the rights of people who have none by hand.
func (c *Config) Rights() crash.RightsConfig {
	role, _ := crash.ParseRole(c.SignInRole) // "none" is no role
	return crash.RightsConfig{Everyone: role, GroupsMaxAge: time.Duration(c.GroupRightsMaxAge) * 24 * time.Hour}
}

// hostOf returns the host of an address, with its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// CorePatterns returns the patterns of CoresPackages.
func (c *Config) CorePatterns() debuginfo.Patterns {
	patterns, _ := debuginfo.ParsePatterns(c.CoresPackages)
	return patterns
}

// TrackerName returns the name that pages use for the tracker: the configured one, "Launchpad" for
// hosts of launchpad.net, else the host. Without Launchpad, it is the name of the first tracker that is
// not upstream.
func (c *Config) TrackerName() string {
	if c.TrackerNameSet != "" {
		return c.TrackerNameSet
	}
	if i := slices.IndexFunc(c.Trackers, func(t Tracker) bool { return !t.Upstream }); !c.HasLaunchpad() && i >= 0 {
		return c.Trackers[i].Name
	}
	u, err := url.Parse(c.TrackerURL)
	if err != nil {
		return c.TrackerURL
	}
	if host := u.Hostname(); host == "launchpad.net" || strings.HasSuffix(host, ".launchpad.net") {
		return "Launchpad"
	}
	return u.Host
}

// LogValue returns the values that differ from the defaults, with secrets hidden.
func (c Config) LogValue() slog.Value {
	fallback := Default()
	attrs := changed(c.keys(), fallback.keys())
	for _, t := range c.Trackers {
		values := changed((&table{Tracker: t}).keys(), new(table).keys())
		attrs = append(attrs, slog.Attr{Key: "tracker." + t.Name, Value: slog.GroupValue(values...)})
	}
	return slog.GroupValue(slices.Clip(attrs)...)
}

// changed returns the values of keys that differ from the defaults, with secrets hidden.
func changed(keys, defaults []key) []slog.Attr {
	var attrs []slog.Attr
	for i, k := range keys {
		if k.show() != defaults[i].show() {
			attrs = append(attrs, slog.String(k.name, k.show()))
		}
	}
	return attrs
}

// Format writes LogValue for every verb of package fmt.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.LogValue().String()) }

// cause returns the text of err without the name of the file.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// readFile sets the keys in a TOML document and returns the mistakes in it. After a line that is
// not TOML it continues with the next one.
func (c *Config) readFile(file string, doc []byte) Mistakes {
	var found []mistake
	var in *table // nil: the top level
	ignored := false
	keys, into := c.keys(), c.given
	seen := map[string]int{} // key → line
	say := func(line int, name, format string, args ...any) {
		found = append(found, mistake{in, line, name + ": " + fmt.Sprintf(format, args...)})
		into[name] = given{where: fmt.Sprintf("%s:%d", file, line), line: line, file: file, wrong: true}
	}
	enter := func(e expression) {
		if in != nil {
			c.checkTable(in, say)
		}
		in = nil
		ignored = e.key != "tracker" || !e.list
		if ignored { // it has no keys of its own
			say(e.line, e.heading(), "expected only [[tracker]] tables")
			keys, into = nil, map[string]given{}
			return
		}
		in = &table{file: file, line: e.line, given: map[string]given{}}
		c.tables = append(c.tables, in)
		keys, into, seen = in.keys(), in.given, map[string]int{}
	}
	err := walkTOML(doc, func(e expression) {
		known := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key })
		switch {
		case e.table:
			enter(e)
			return
		case ignored: // the table has been reported
			return
		case seen[e.key] > 0:
			say(e.line, e.key, "given twice, first on line %d", seen[e.key])
			return
		case known < 0 && in != nil:
			say(e.line, e.key, "%s", unknownInTable(e.key, keys, c.keys()))
		case known < 0:
			say(e.line, e.key, "%s", unknown(e.key, keys))
		case !keys[known].take(e):
			say(e.line, e.key, "expected %s, got %s", keys[known].wants, e.shown(keys[known].secret))
		default:
			into[e.key] = given{where: fmt.Sprintf("%s:%d", file, e.line), line: e.line, file: file, value: e.text()}
		}
		seen[e.key] = e.line
	}, func(line int, words, reason string) {
		name := strings.TrimLeft(firstWord.FindString(words), "\t '\"")
		known := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case known < 0:
			say(line, "not TOML", "%s", reason)
			ignored = ignored || strings.HasPrefix(strings.TrimSpace(words), "[") // a heading
		case keys[known].secret:
			say(line, name, "expected %s, in quotes", keys[known].wants)
		default:
			say(line, name, "expected %s, got what is not TOML: %s", keys[known].wants, reason)
		}
	})
	if in != nil {
		c.checkTable(in, say)
	}
	slices.SortStableFunc(found, func(a, b mistake) int { return a.line - b.line })
	var wrong Mistakes
	for _, m := range found {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s%s", file, m.line, m.in.prefix(), m.text))
	}
	if err != nil {
		wrong = append(wrong, file+": "+err.Error())
	}
	return wrong
}

// mistake is a mistake in a file.
type mistake struct {
	in   *table // nil: at the top level
	line int
	text string
}

// firstWord matches the key of a line that is not TOML.
var firstWord = regexp.MustCompile(`^[ \t]*["']?[A-Za-z0-9_-]+`)

// take sets the key from a TOML value, and reports whether the value is valid.
func (k key) take(e expression) bool {
	if k.array && e.texts != nil {
		return k.set(e.text())
	}
	if e.kind != k.kind && (e.kind != unstable.Integer || k.kind != unstable.Float) {
		return false
	}
	text := e.text()
	if e.kind == unstable.Integer {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return false
		}
		text = strconv.FormatInt(n, 10)
	}
	return k.set(text)
}

// expression is one "key = value" or one table heading of a TOML document.
type expression struct {
	key        string // dotted as written
	table      bool
	list       bool // [[key]], not [key]
	kind       unstable.Kind
	value      string   // the text of a scalar
	texts      []string // the elements of an array of strings; nil: another value
	raw        string   // the scalar as written
	begin      int      // where the key begins in the document, in bytes
	start, end int      // bytes of raw in the document; for other values than scalars, only end
	line       int
}

// text returns the value as in an environment variable.
func (e expression) text() string {
	if e.texts != nil {
		return strings.Join(e.texts, " ")
	}
	return e.value
}

// heading returns a table's heading.
func (e expression) heading() string {
	if e.list {
		return "[[" + e.key + "]]"
	}
	return "[" + e.key + "]"
}

// shown returns the value for a message, shortened and without secrets.
func (e expression) shown(secret bool) string {
	switch {
	case e.kind == unstable.Array:
		return "an array"
	case e.kind == unstable.InlineTable:
		return "a table"
	case secret:
		return "something else (not shown)"
	}
	s := e.raw
	if e.kind == unstable.String {
		s = strconv.Quote(e.value)
	}
	return crash.Shorten(s, 60)
}

// walkTOML calls each for every expression of a document in order. It calls bad for every line that
// is not TOML, with the number of the line, its text and the reason.
func walkTOML(doc []byte, each func(expression), bad func(line int, words, reason string)) error {
	if !utf8.Valid(doc) {
		return errors.New("expected UTF-8 text, got other bytes")
	}
	from := 0
	if bytes.HasPrefix(doc, []byte("\ufeff")) {
		from = len("\ufeff")
	}
	for from < len(doc) {
		var p unstable.Parser
		p.Reset(doc[from:])
		before := bytes.Count(doc[:from], []byte("\n"))
		for p.NextExpression() {
			each(newExpression(&p, from, before))
		}
		var broken *unstable.ParserError
		if !errors.As(p.Error(), &broken) {
			return p.Error()
		}
		at := len(doc) - from // without a position, the document ends too early
		if len(broken.Highlight) > 0 {
			at = int(p.Range(broken.Highlight).Offset)
		}
		if rest := doc[from+at:]; len(rest) > 0 && rest[0] == '\n' && at > 0 {
			at-- // an error at the end of a line concerns that line
		}
		start := bytes.LastIndexByte(doc[:from+at], '\n') + 1
		words, _, more := bytes.Cut(doc[start:], []byte("\n"))
		bad(bytes.Count(doc[:start], []byte("\n"))+1, string(words), broken.Message)
		if !more {
			return nil
		}
		from = start + len(words) + 1
	}
	return nil
}

func newExpression(p *unstable.Parser, from, linesBefore int) expression {
	node := p.Expression()
	var e expression
	var parts []string
	for it := node.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
		if e.line == 0 {
			e.line = p.Shape(it.Node().Raw).Start.Line + linesBefore
			e.begin = from + int(it.Node().Raw.Offset)
		}
	}
	e.key = strings.Join(parts, ".")
	if node.Kind != unstable.KeyValue {
		e.table, e.list = true, node.Kind == unstable.ArrayTable
		return e
	}
	value := node.Value()
	e.kind, e.value = value.Kind, string(value.Data)
	e.raw = string(p.Raw(value.Raw))
	if e.kind == unstable.Array {
		e.texts = texts(value)
	}
	e.start = from + int(value.Raw.Offset)
	e.end = from + int(node.Raw.Offset+node.Raw.Length)
	return e
}

// texts returns the elements of an array, or nil unless all are strings.
func texts(array *unstable.Node) []string {
	found := []string{}
	for it := array.Children(); it.Next(); {
		if it.Node().Kind != unstable.String {
			return nil
		}
		found = append(found, string(it.Node().Data))
	}
	return found
}

// TokenLines returns the lines of the configuration file for an access token, with its secret.
func TokenLines(token, secret crash.Secret) string {
	return "tracker_oauth_token = " + quoteTOML(string(token)) + "\n" +
		"tracker_oauth_secret = " + quoteTOML(string(secret)) + "\n"
}

// quoteTOML returns s as a basic string of TOML. That is a string of JSON in which DEL is escaped.
func quoteTOML(s string) string {
	quoted, _ := json.Marshal(s) // never fails for a string
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// WriteTokens writes an access token and its secret into a configuration file, and creates the file
// if it is missing. It changes nothing else in the file. It replaces the file atomically, with the
// same owner, and so that only the owner can read it (mode 0600). The group of mishap's account may
// still read a file of root. It follows symbolic links. The error is Unavailable.
func WriteTokens(file string, token, secret crash.Secret) error {
	file = behindLinks(file)
	doc, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errUnwritable("%s cannot be read: %s", file, cause(err))
	}
	for _, v := range []struct {
		key   string
		value crash.Secret
	}{{"tracker_oauth_token", token}, {"tracker_oauth_secret", secret}} {
		if doc, err = setText(doc, v.key, string(v.value)); err != nil {
			return errUnwritable("%s: %s", file, err)
		}
	}
	if err := replaceFile(file, doc); err != nil {
		return errUnwritable("%s cannot be written: %s", file, cause(err))
	}
	return nil
}

// errUnwritable returns the error of WriteTokens.
func errUnwritable(format string, args ...any) error {
	return crash.Errorf(crash.Unavailable, "config_unwritable", format, args...)
}

// setText returns a TOML document with a new text for a top-level key, in place or on a new line behind
// the other top-level keys.
func setText(doc []byte, name, text string) ([]byte, error) {
	var found *expression
	broken, tables := 0, false
	err := walkTOML(doc, func(e expression) {
		tables = tables || e.table
		if e.key == name && !tables && found == nil {
			found = &e
		}
	}, func(line int, _, _ string) { broken = line })
	switch {
	case err != nil:
		return nil, err
	case broken > 0:
		return nil, fmt.Errorf("line %d is not TOML; correct it first", broken)
	case found != nil && (found.kind == unstable.Array || found.kind == unstable.InlineTable):
		return nil, fmt.Errorf("line %d: %s is not a text; correct it first", found.line, name)
	case found != nil:
		return bytes.Join([][]byte{doc[:found.start], doc[found.end:]}, []byte(quoteTOML(text))), nil
	}
	eol := "\n"
	if bytes.Contains(doc, []byte("\r\n")) {
		eol = "\r\n"
	}
	return insertKeys(doc, name+" = "+quoteTOML(text)+eol, eol)
}

// insertKeys returns a TOML document with more lines for the top level: at its end or, if it has tables,
// before the first one with the comment above it.
func insertKeys(doc []byte, lines, eol string) ([]byte, error) {
	least, heading := 0, -1
	if bytes.HasPrefix(doc, []byte("\ufeff")) {
		least = len("\ufeff")
	}
	err := walkTOML(doc, func(e expression) {
		switch {
		case heading >= 0:
		case e.table:
			heading = bytes.LastIndexByte(doc[:e.begin], '\n') + 1
		default:
			least = e.end // the rest of the line may be a comment
			if n := bytes.IndexByte(doc[least:], '\n'); n >= 0 {
				least += n + 1
			}
		}
	}, func(int, string, string) {})
	if err != nil {
		return nil, err
	}
	if heading < 0 {
		if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
			lines = eol + lines
		}
		return append(bytes.Clone(doc), lines...), nil
	}
	at := max(heading, least)
	above := func() string { // the line above at, or nothing
		if at <= least {
			return ""
		}
		return string(doc[max(bytes.LastIndexByte(doc[:at-1], '\n')+1, least):at])
	}
	for strings.HasPrefix(strings.TrimSpace(above()), "#") {
		at = max(at-len(above()), least)
	}
	if at > least && strings.TrimSpace(above()) == "" {
		for at > least && strings.TrimSpace(above()) == "" {
			at = max(at-len(above()), least)
		}
	} else {
		lines += eol // a blank line before the table
	}
	return slices.Concat(doc[:at], []byte(lines), doc[at:]), nil
}

// replaceFile replaces a file atomically: it writes and syncs a temporary file and renames it.
func replaceFile(file string, content []byte) (err error) {
	folder := filepath.Dir(file)
	tmp, err := os.CreateTemp(folder, "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close()
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if before, statErr := os.Stat(file); statErr == nil {
		if owner, ok := before.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
			if err = tmp.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
			if owner.Uid == 0 && owner.Gid != 0 && before.Mode().Perm()&0o040 != 0 {
				if err = tmp.Chmod(0o640); err != nil {
					return err
				}
			}
		}
	}
	if _, err = tmp.Write(content); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// behindLinks returns the target of a symbolic link, which need not exist, or file itself.
func behindLinks(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	target, err := os.Readlink(file)
	if err != nil {
		return file
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return target
}
