package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/tracker/kinds"
)

// Tracker is one [[tracker]] table: a tracker besides the first one, which the keys tracker_… describe.
type Tracker struct {
	Name          string       // permanent; in routes, addresses and the database
	Kind          string       // the name of one of kinds.All
	URL           string       // of its pages, without a slash at the end
	APIURL        string       // without a slash at the end; empty: the kind's usual one
	Target        string       // where bugs go without a route; may contain {source}, {release} and {version}
	Account       string       // login or mail address, for kinds that need one
	Token         crash.Secret // empty: none
	Variant       string       // of the kind's API; empty: the usual one
	Group         string       // that private bugs are shown to
	Upstream      bool         // bugs of upstream projects live there
	Review        bool         // a person reviews every bug before it is sent
	PerMinute     int          // bugs filed at most; 0: no limit
	PerDay        int          // bugs filed at most; 0: no limit
	WebhookSecret crash.Secret // empty: none
	Timeout       int          // seconds; 0: the kind's
	Settle        int          // seconds; 0: the kind's
}

// noLaunchpad is the value of tracker_url without Launchpad.
const noLaunchpad = "none"

// HasLaunchpad reports whether the keys tracker_… describe a tracker. Otherwise there are only Trackers.
func (c *Config) HasLaunchpad() bool { return c.TrackerURL != noLaunchpad }

// table is one [[tracker]] table with the places of its values.
type table struct {
	Tracker

	tokenFile         string
	webhookSecretFile string
	file              string
	line              int              // of its heading
	given             map[string]given // by key; omits keys with their default value
}

// keys returns every key of the table, bound to the fields of t, in the order of local_config.default.toml.
func (t *table) keys() []key {
	var kindNames []string
	for _, k := range kinds.All {
		kindNames = append(kindNames, k.Name)
	}
	return []key{
		text("name", `a name such as gnome of a-z, 0-9 and "-", at most 31 characters, and not launchpad or oauth`,
			&t.Name, isTrackerName),
		choice("kind", &t.Kind, kindNames...),
		address("url", "an address such as https://gitlab.gnome.org", &t.URL, true),
		optionalAddress("api_url", "an address such as https://gitlab.gnome.org/api/v4, or nothing", &t.APIURL),
		text("target", "where bugs go, such as GNOME/{source}, with no other placeholders than {source}, {release} and "+
			"{version}, or nothing", &t.Target, isTarget),
		text("account", "a login or mail address on one line, or nothing", &t.Account, isLine),
		secret("token", "an access token on one line, or nothing", &t.Token, isToken),
		text("token_file", "the path of a file with the access token, or nothing", &t.tokenFile, isOptionalPath),
		text("variant", "a variant of the kind's API on one line, or nothing", &t.Variant, isLine),
		text("group", "a group of the tracker on one line, or nothing", &t.Group, isLine),
		flag("upstream", &t.Upstream),
		flag("review", &t.Review),
		number("per_minute", "a number of bugs, or 0 for no limit", &t.PerMinute, 0, 1e6),
		number("per_day", "a number of bugs, or 0 for no limit", &t.PerDay, 0, 1e6),
		secret("webhook_secret", "the secret of a webhook on one line, or nothing", &t.WebhookSecret, isToken),
		text("webhook_secret_file", "the path of a file with the secret of a webhook, or nothing", &t.webhookSecretFile,
			isOptionalPath),
		number("timeout_seconds", "a number of seconds, or 0 for the kind's", &t.Timeout, 0, 3600),
		number("settle_seconds", "a number of seconds, or 0 for the kind's", &t.Settle, 0, 86400),
	}
}

// prefix returns the words that name the table in a message; none for the top level.
func (t *table) prefix() string {
	switch {
	case t == nil:
		return ""
	case t.Name == "":
		return "tracker: "
	}
	return fmt.Sprintf("tracker %q: ", t.Name)
}

// variable returns the name of the environment variable that sets a secret of the table.
func (t *table) variable(key string) string {
	return Variable("tracker_" + strings.ReplaceAll(t.Name, "-", "_") + "_" + key)
}

// setByVariable reports whether an environment variable has set a key.
func (t *table) setByVariable(key string) bool {
	return strings.HasPrefix(t.given[key].where, envPrefix)
}

// isTrackerName accepts the name of a tracker. Launchpad's is taken, and the variable for the token of one named
// "oauth" is that of tracker_oauth_token.
func isTrackerName(s string) bool {
	return trackerName.MatchString(s) && s != "launchpad" && s != "oauth"
}

var trackerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// isTarget accepts a line with the placeholders {source}, {release} and {version}, or nothing.
func isTarget(s string) bool {
	return isLine(s) && !strings.ContainsAny(strings.NewReplacer("{source}", "", "{release}", "",
		"{version}", "").Replace(s), "{}")
}

// isLine accepts a text of at most 200 bytes without blanks around it, or nothing.
func isLine(s string) bool { return s == "" || isPlain(s) && len(s) <= 200 }

func isOptionalPath(s string) bool { return s == "" || isPath(s) }

// unknownInTable says what is wrong with a key that tables do not have.
func unknownInTable(name string, keys, topLevel []key) string {
	if slices.ContainsFunc(topLevel, func(k key) bool { return k.name == name }) {
		return "expected no key of the top level in a table; move it above the first [[tracker]]"
	}
	if near := nearest(name, keys); near != "" {
		return "unknown key; did you mean " + near + "?"
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return "unknown key; expected one of " + strings.Join(names, ", ")
}

// checkTable reads the files of secrets of a table that has ended, and says the mistakes that involve more than
// one key.
func (c *Config) checkTable(t *table, say func(line int, name, format string, args ...any)) {
	keys := t.keys()
	for _, k := range keys {
		if _, set := t.given[k.name]; !set && slices.Contains([]string{"name", "kind", "url"}, k.name) {
			say(t.line, k.name, "expected %s, got none", k.wants)
		}
	}
	for _, other := range c.tables {
		if other == t {
			break
		}
		if t.Name != "" && t.Name == other.Name {
			say(t.given["name"].line, "name", "given twice, first at %s", other.given["name"].where)
			break
		}
	}
	for _, k := range keys {
		name := k.name + "_file"
		path, line := t.given[name].value, t.given[name].line
		switch {
		case !k.secret || path == "":
			continue
		case k.show() != "":
			say(max(line, t.given[k.name].line), name, "expected one of %s and %s, got both", k.name, name)
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(t.file), path)
		}
		content, err := os.ReadFile(path)
		switch {
		case err != nil:
			say(line, name, "%s cannot be read: %s", path, cause(err))
		case !k.set(strings.TrimRight(string(content), "\r\n")):
			say(line, name, "%s: expected %s, got something else (not shown)", path, k.wants)
		}
	}
}

// trackerVariable matches the variables of secrets in tables.
var trackerVariable = regexp.MustCompile(`^` + envPrefix + `TRACKER_([A-Z0-9_]+)_(?:TOKEN|WEBHOOK_SECRET)(?:_FILE)?$`)

// isTrackerVariable reports whether an environment variable is for a secret in a table.
func isTrackerVariable(name string) bool {
	m := trackerVariable.FindStringSubmatch(name)
	return m != nil && m[1] != "OAUTH"
}

// readTableVariables sets the secrets of tables that have variables and returns their mistakes.
func (c *Config) readTableVariables(values map[string]string) Mistakes {
	var wrong Mistakes
	used := map[string]bool{}
	for _, t := range c.tables {
		for _, k := range t.keys() {
			if name := t.variable(k.name); k.secret && t.Name != "" {
				used[name], used[name+"_FILE"] = true, true
				wrong = append(wrong, setFromVariable(values, name, k, t.given)...)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if isTrackerVariable(name) && !used[name] {
			wanted := strings.ReplaceAll(strings.ToLower(trackerVariable.FindStringSubmatch(name)[1]), "_", "-")
			wrong = append(wrong, fmt.Sprintf("%s: expected a [[tracker]] table with the name %q, got none", name, wanted))
		}
	}
	return wrong
}

// takeTables sets Trackers.
func (c *Config) takeTables() {
	for _, t := range c.tables {
		if kind := kinds.Named(t.Kind); kind != nil {
			if _, set := t.given["review"]; !set {
				t.Review = kind.Review
			}
			if _, set := t.given["per_day"]; !set {
				t.PerDay = kind.PerDay
			}
		}
		c.Trackers = append(c.Trackers, t.Tracker)
	}
}

// tableAt returns the table whose heading is on a line of the configuration file, or nil.
func (c *Config) tableAt(line int) *table {
	i := slices.IndexFunc(c.tables, func(t *table) bool { return t.file == c.File && t.line == line })
	if i < 0 {
		return nil
	}
	return c.tables[i]
}

// export returns the table as text. Without secrets, a comment replaces each secret.
func (t *table) export(secrets bool) string {
	var out strings.Builder
	out.WriteString("\n[[tracker]]\n")
	for _, k := range t.keys() {
		value, set := t.given[k.name]
		switch {
		case k.secret:
			out.WriteString(t.secretLine(k.name, secrets))
		case set && !strings.HasSuffix(k.name, "_file"):
			out.WriteString(k.line(value.value))
		}
	}
	return out.String()
}

// secretLine returns the line for a secret, wherever it came from; nothing if there is none. Without secrets, it
// is a comment.
func (t *table) secretLine(name string, secrets bool) string {
	value := t.Token
	if name == "webhook_secret" {
		value = t.WebhookSecret
	}
	switch {
	case value == "":
		return ""
	case !secrets:
		return hiddenLine(name) + "\n"
	}
	return name + " = " + quoteTOML(string(value)) + "\n"
}
