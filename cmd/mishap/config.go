package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/handlers/proxies"
)

// defaultConfigFile is read when --config is not given; it may be missing.
const defaultConfigFile = "local_config.toml"

// Config is everything that can be configured. The keys of the file, their checks and their words are in
// config_keys.go; local_config.default.toml explains each one to people.
type Config struct {
	Listen               string
	IngestListen         string
	OpsListen            string
	IngestMaxBytes       int
	IngestRatePerSystem  int // reports per minute; 0: off
	IngestRatePerAddress int // reports per minute; 0: off
	IngestMaxAgeDays     int
	ReportsKeepDays      int
	CoresTotalMaxBytes   int
	CoresKeepDays        int
	APIRatePerAddress    int          // requests per minute; 0: off
	APIRatePerToken      int          // requests per minute; 0: off
	TrustedProxies       string       // see proxies.Parse
	BaseURL              string       // without a slash at the end
	DatabaseURL          crash.Secret // may hold a password
	DataDir              string
	TrackerURL           string // without a slash at the end
	TrackerAPIURL        string // without a slash at the end
	TrackerConsumerKey   string
	TrackerOAuthToken    crash.Secret
	TrackerOAuthSecret   crash.Secret
	TrackerTarget        string
	TrackerTimeout       int // seconds
	TrackerSettle        int // seconds
	ReadArchive          bool
	SourceLinks          string // see crash.ParseLinkTemplates
	VersionLinks         string // the same
	AllowBugFiling       bool

	file  string           // where tokens are written
	given map[string]given // by key, for the keys that were given
}

// given says where a key was given.
type given struct {
	where string // "local_config.toml:12" or "MISHAP_LISTEN"
	wrong bool   // with an impossible value
}

// defaultConfig is the configuration of an empty file.
func defaultConfig() Config {
	return Config{
		Listen:              "127.0.0.1:8080",
		IngestListen:        "127.0.0.1:8081",
		OpsListen:           "127.0.0.1:8082",
		IngestMaxBytes:      16 << 20,
		IngestRatePerSystem: 6000,
		IngestMaxAgeDays:    366,
		CoresTotalMaxBytes:  20 << 30,
		CoresKeepDays:       7,
		APIRatePerAddress:   3000,
		APIRatePerToken:     6000,
		TrustedProxies:      proxies.Loopback,
		BaseURL:             "http://localhost:8080",
		DataDir:             "data",
		TrackerURL:          "https://launchpad.net",
		TrackerAPIURL:       "https://api.launchpad.net/devel",
		TrackerConsumerKey:  "mishap",
		TrackerTarget:       "ubuntu",
		TrackerTimeout:      75,
		TrackerSettle:       75,
		ReadArchive:         true,
		SourceLinks:         grouping.DefaultSourceLinks,
		VersionLinks:        grouping.DefaultVersionLinks,
		AllowBugFiling:      true,
		file:                defaultConfigFile,
		given:               map[string]given{},
	}
}

// mistakes are lines for the person who wrote the configuration, one per mistake.
type mistakes []string

func (m mistakes) Error() string { return strings.Join(m, "\n") }

// loadConfig reads the file, then the environment (in the form of os.Environ), which wins. Every mistake in either is
// reported at once, in an error with one line each. A missing file is a mistake when it was named by hand.
func loadConfig(file string, byHand bool, environ []string) (Config, error) {
	c := defaultConfig()
	c.file = file
	var wrong mistakes
	switch doc, err := os.ReadFile(file); {
	case err == nil:
		wrong = c.readFile(file, doc)
	case errors.Is(err, fs.ErrNotExist) && !byHand:
	default:
		wrong = append(wrong, file+": cannot be read: "+cause(err))
	}
	wrong = append(wrong, c.readEnvironment(environ)...)
	wrong = append(wrong, c.checkTogether()...)
	if len(wrong) > 0 {
		return Config{}, wrong
	}
	return c, nil
}

// checkTogether finds what is wrong only in combination.
func (c *Config) checkTogether() mistakes {
	var wrong mistakes
	pair := func(has, lacks string) {
		if !c.given[lacks].wrong {
			wrong = append(wrong, fmt.Sprintf("%s: %s: expected %s beside it, got none", c.given[has].where, has, lacks))
		}
	}
	switch {
	case c.TrackerOAuthToken != "" && c.TrackerOAuthSecret == "":
		pair("tracker_oauth_token", "tracker_oauth_secret")
	case c.TrackerOAuthToken == "" && c.TrackerOAuthSecret != "":
		pair("tracker_oauth_secret", "tracker_oauth_token")
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

// fromEnvironment reports whether the value of the key came from the environment.
func (c *Config) fromEnvironment(key string) bool {
	return strings.HasPrefix(c.given[key].where, envPrefix)
}

// secretsInFile reports whether a secret came from the file.
func (c *Config) secretsInFile() bool {
	for _, k := range c.keys() {
		if k.secret && k.show() != "" && !c.fromEnvironment(k.name) {
			return true
		}
	}
	return false
}

// trustedProxies reads what the configuration was checked for.
func (c *Config) trustedProxies() proxies.Networks {
	networks, _ := proxies.Parse(c.TrustedProxies)
	return networks
}

// trackerName is the tracker's name for people: "launchpad.net".
func (c *Config) trackerName() string {
	if u, err := url.Parse(c.TrackerURL); err == nil {
		return u.Host
	}
	return c.TrackerURL
}

// LogValue shows every value that differs from the defaults; secrets stay hidden.
func (c Config) LogValue() slog.Value {
	fallback := defaultConfig()
	var attrs []slog.Attr
	defaults := fallback.keys()
	for i, k := range c.keys() {
		if k.show() != defaults[i].show() {
			attrs = append(attrs, slog.String(k.name, k.show()))
		}
	}
	return slog.GroupValue(slices.Clip(attrs)...)
}

// cause is the reason of a file error without the name, which the caller has said already.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
