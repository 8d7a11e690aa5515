package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
)

// writeFile writes a configuration file into its own folder.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "local_config.toml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDefaultFile checks that the default file documents every key, in order, with its default.
func TestDefaultFile(t *testing.T) {
	t.Parallel()
	const file = "../../../local_config.default.toml"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	defaults := Default()
	for _, k := range defaults.keys() {
		want = append(want, k.name)
	}
	for _, k := range new(table).keys() {
		if !strings.Contains(string(doc), "\n#"+k.name+" = ") {
			t.Errorf("%s: got no example of the key %s of tables", file, k.name)
		}
	}
	lines := strings.Split(string(doc), "\n")
	var got []string
	err = walkTOML(doc, func(e expression) {
		got = append(got, e.key)
		if above := lines[e.line-2]; !strings.HasPrefix(above, "# ") {
			t.Errorf("%s: got no comment above it", e.key)
		}
	}, func(line int, words, reason string) { t.Errorf("line %d, %q: %s", line, words, reason) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of %s (-want +got):\n%s", file, diff)
	}
	c, err := Load(file, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := c.keys()
	for i, k := range defaults.keys() {
		if k.show() != read[i].show() {
			t.Errorf("%s in %s: got %s, want the default %s", k.name, file, read[i].show(), k.show())
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		env       []string
		want      []string
	}{
		{"all at once", `
lisen = "127.0.0.1:1"
ingest_max_bytes = "x"
tracker_timeout_seconds = 0
allow_bug_filing = "true"
listen = 8080
listen = "127.0.0.1:1"
base_url = "crashes.example.com"
`, nil, []string{
			`F:2: lisen: unknown key; did you mean listen?`,
			`F:3: ingest_max_bytes: expected a number of bytes above 0, got "x"`,
			`F:4: tracker_timeout_seconds: expected a number of seconds above 0, got 0`,
			`F:5: allow_bug_filing: expected true or false, got "true"`,
			`F:6: listen: expected an address such as 127.0.0.1:8080, got 8080`,
			`F:7: listen: given twice, first on line 6`,
			`F:8: base_url: expected an address such as https://crashes.example.com, without a path, got "crashes.example.com"`,
		}},
		{"not TOML", "listen = 127.0.0.1:80\nops_listen =\ndata_dir = \"x\n:::\ningest_max_bytes = 16MB\nfoo = 1", nil,
			[]string{
				`F:1: listen: expected an address such as 127.0.0.1:8080, got what is not TOML: expected newline but got U+002E '.'`,
				`F:2: ops_listen: expected an address such as 127.0.0.1:8082, got what is not TOML: unexpected character U+000A at start of value`,
				`F:3: data_dir: expected the path of a folder, got what is not TOML: basic strings cannot have new lines`,
				`F:4: not TOML: invalid character at start of key: U+003A ':'`,
				`F:5: ingest_max_bytes: expected a number of bytes above 0, got what is not TOML: strings must be quoted`,
				`F:6: foo: unknown key`,
			}},
		{"a key of an earlier version", "serve_symbols = true\n", nil, []string{
			`F:1: serve_symbols: mishap no longer serves debug files; delete this key, and run debuginfod (docs/symbols.md)`,
		}},
		{"no end", "listen =", nil, []string{
			`F:1: listen: expected an address such as 127.0.0.1:8080, got what is not TOML: expected value, not end of input`,
		}},
		{"tables and arrays", "listen = [\"127.0.0.1:1\"]\ndata_dir = { a = 1 }\ntracker.url = " +
			"\"x\"\n[tracker]\nurl = \"x\"\n", nil,
			[]string{
				`F:1: listen: expected an address such as 127.0.0.1:8080, got an array`,
				`F:2: data_dir: expected the path of a folder, got a table`,
				`F:3: tracker.url: unknown key; did you mean tracker_url?`,
				`F:4: [tracker]: expected only [[tracker]] tables`,
			}},
		{"secrets stay hidden", "tracker_oauth_secret = hush1\ntracker_oauth_token = 4711\ndatabase_url = " +
			"\"mysql://u:hush2@h/d\"\n",
			[]string{"MISHAP_DATABASE_URL=hush3://x"}, []string{
				`F:1: tracker_oauth_secret: expected the secret of the access token on one line, in quotes`,
				`F:2: tracker_oauth_token: expected an access token on one line, got something else (not shown)`,
				`F:3: database_url: expected an address such as postgres://user:password@host/database, or nothing, got something else (not shown)`,
				`MISHAP_DATABASE_URL: expected an address such as postgres://user:password@host/database, or nothing, got something else (not shown)`,
			}},
		{"token without secret", "tracker_oauth_token = \"t\"\ntracker_oauth_secret = \"\"\n", nil, []string{
			`F:1: tracker_oauth_token: expected tracker_oauth_secret beside it, got none`,
		}},
		{"shared cores without a key", "blobs = \"/srv/mishap\"\n", nil, []string{
			`F:1: blobs: expected cores_key beside it, got none`,
		}},
		{"mail", "smtp_url = \"smtp://ada:hush4@relay.example.org\"\nsmtp_tls = \"off\"\nmail_from = \"\"\n", nil, []string{
			`F:1: smtp_url: expected mail_from beside it, got none`,
			`F:2: smtp_tls: expected "require" or "opportunistic" for a relay on another machine, got "off"`,
		}},
		{"mail values", "smtp_url = \"relay:hush5\"\nsmtp_tls = \"yes\"\nmail_from = \"ada\"\n", nil, []string{
			`F:1: smtp_url: expected an address such as smtps://user:password@relay.example.org, or nothing, got something else (not shown)`,
			`F:2: smtp_tls: expected "require", "opportunistic" or "off", got "yes"`,
			`F:3: mail_from: expected a mail address such as crashes@example.org, or nothing, got "ada"`,
		}},
		{"proxy header from anyone", "proxy_auth_header = \"X-Forwarded-User\"\n", nil, []string{
			`F:1: proxy_auth_header: expected proxy_auth_from beside it, got none`,
		}},
		{"proxy header from the internet", "proxy_auth_header = \"X-Forwarded-User\"\nproxy_auth_from = \"0.0.0.0/0\"\n", nil,
			[]string{`F:2: proxy_auth_from: expected networks or addresses of proxies such as 127.0.0.0/8 10.1.2.3, or ` +
				`nothing, got "0.0.0.0/0"`}},
		{"proxy header with another meaning", "proxy_auth_from = \"10.1.2.3\"\nproxy_auth_header = \"x-forwarded-for\"\n",
			nil,
			[]string{
				`F:2: proxy_auth_header: expected the name of a header such as X-Forwarded-User, or nothing, got "x-forwarded-for"`,
			}},
		{"no proxy header", "proxy_auth_from = \"10.1.2.3\"\n\nproxy_auth_groups_header = \"Remote-Groups\"\n", nil, []string{
			`F:1: proxy_auth_from: expected proxy_auth_header beside it, got none`,
			`F:3: proxy_auth_groups_header: expected proxy_auth_header beside it, got none`,
		}},
		{"one proxy header for two", "proxy_auth_from = \"10.1.2.3\"\nproxy_auth_header = \"Remote-User\"\n" +
			"proxy_auth_groups_header = \"remote-user\"\n", nil, []string{
			`F:3: proxy_auth_groups_header: expected another header than proxy_auth_header, got the same`,
		}},
		{"no way to sign in", "\nlocal_sign_in = \"off\"\n", nil, []string{
			`F:2: local_sign_in: nobody could sign in; set openid_url, oidc_issuer or proxy_auth_header, too`,
		}},
		{"half of OpenID Connect", "oidc_issuer = \"https://id.example.com\"\nopenid_url = \"login.ubuntu.com\"\n" +
			"sign_in_role = \"admin\"\n", nil, []string{
			`F:2: openid_url: expected an address such as https://login.ubuntu.com, or nothing, got "login.ubuntu.com"`,
			`F:3: sign_in_role: expected "none", "viewer" or "triager", got "admin"`,
			`F:1: oidc_issuer: expected oidc_client_id beside it, got none`,
		}},
		{"one address for two", "ops_listen = \"127.0.0.1:8080\"\n", nil, []string{
			`F:1: ops_listen: expected an address of its own, got that of listen, 127.0.0.1:8080`,
		}},
		{"environment", "", []string{"MISHAP_LISTEN=80", "MISHAP_INGEST_MAX_BYTES=", "MISHAP_ALLOW_BUG_FILING=yes",
			"MISHAP_DATA_DIR=a", "MISHAP_DATA_DIR_FILE=/b", "MISHAP_TRACKER_OAUTH_SECRET_FILE=/nowhere/secret"}, []string{
			`MISHAP_LISTEN: expected an address such as 127.0.0.1:8080, got "80"`,
			`MISHAP_INGEST_MAX_BYTES: expected a number of bytes above 0, got ""`,
			`MISHAP_DATA_DIR: expected one of MISHAP_DATA_DIR and MISHAP_DATA_DIR_FILE, got both`,
			`MISHAP_TRACKER_OAUTH_SECRET_FILE: /nowhere/secret cannot be read: no such file or directory`,
			`MISHAP_ALLOW_BUG_FILING: expected true or false, got "yes"`,
		}},
		{"proxies", "trusted_proxies = \"localhost\"\n", []string{"MISHAP_TRUSTED_PROXIES=10.0.0.0/33"}, []string{
			`F:1: trusted_proxies: expected networks or addresses such as 127.0.0.0/8 10.1.2.3, or nothing, got "localhost"`,
			`MISHAP_TRUSTED_PROXIES: expected networks or addresses such as 127.0.0.0/8 10.1.2.3, or nothing, got "10.0.0.0/33"`,
		}},
		{"proxies in an array", "trusted_proxies = [\"10.0.0.0/8\", 7]\n", nil, []string{
			`F:1: trusted_proxies: expected networks or addresses such as 127.0.0.0/8 10.1.2.3, or nothing, got an array`,
		}},
		{"not text", "listen = \"\xff\"\n", nil, []string{`F: expected UTF-8 text, got other bytes`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, tt.doc)
			_, err := Load(file, true, tt.env)
			if err == nil {
				t.Fatal("got no error")
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), file, "F"), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigImpossibleValues(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"listen": {`""`, `"localhost"`, `"127.0.0.1:http"`, `"127.0.0.1:70000"`, `" :80"`},
		"base_url": {`""`, `"ftp://x"`, `"http://"`, `"https://x/y"`, `"https://x?a=b"`, `"https://u:p@x"`,
			`"//x"`},
		"tracker_api_url":        {`"api.launchpad.net/devel"`, `"https://x/devel#a"`},
		"tracker_target":         {`""`, `"Ubuntu"`, `"ubuntu/+source"`, `"../x"`},
		"tracker_name":           {`" x"`, "\"a\\nb\"", `"` + strings.Repeat("x", 41) + `"`},
		"tracker_consumer_key":   {`""`, `" x"`, "\"a\\nb\""},
		"ingest_max_bytes":       {`0`, `-1`, `1.5`, `2000000000`, `99999999999999999999`},
		"ingest_rate_per_system": {`-1`},
		"ingest_max_age_days":    {`0`},
		"reports_keep_days":      {`-1`},
		"reports_keep_types":     {`"KernelOops"`, `"KernelOops=-1"`, `"=3"`, `"Snap=1 Snap=2"`, `3`},
		"counts_keep_years":      {`1`, `-1`, `101`},
		"audit_keep_days":        {`-1`, `30`},
		"cores_keep_days":        {`-1`},
		"cores_total_max_bytes":  {`0`, `-1`, `"20 GiB"`},
		"tracker_settle_seconds": {`-1`},
		"data_dir":               {`""`},
		"blobs":                  {`"blobs"`, `"s3://bucket"`, `"s3://bucket?endpoint=ftp://x"`, `"https://x"`},
		"blobs_secret":           {"\"a\\nb\""},
	} {
		for _, value := range values {
			_, err := Load(writeFile(t, name+" = "+value+"\n"), true, nil)
			if err == nil || !strings.Contains(err.Error(), ":1: "+name+": expected ") {
				t.Errorf("%s = %s: got %v, want a mistake", name, value, err)
			}
		}
	}
}

func TestConfigValues(t *testing.T) {
	t.Parallel()
	held := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(held, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "\ufefflisten = '[::1]:0' # any port\r\ningest_max_bytes = 0x1_000\r\nbase_url = "+
		"\"https://c.example.com/\"\r\n"+
		"allow_bug_filing = true\r\ntracker_oauth_token = \"file-token\"\r\n")
	c, err := Load(file, true, []string{"MISHAP_ALLOW_BUG_FILING=false", "MISHAP_TRACKER_OAUTH_TOKEN=env-token",
		"MISHAP_TRACKER_OAUTH_SECRET_FILE=" + held, "MISHAP_TRACKER_URL=http://127.0.0.1:8085/", "PATH=/bin",
		"MISHAP_PORT_8080_TCP=tcp://10.0.0.1:8080"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"listen", c.Listen, "[::1]:0"},
		{"base_url", c.BaseURL, "https://c.example.com"},
		{"tracker_url", c.TrackerURL, "http://127.0.0.1:8085"},
		{"tracker_oauth_token", string(c.TrackerOAuthToken), "env-token"},
		{"tracker_oauth_secret", string(c.TrackerOAuthSecret), "from-file"},
		{"ops_listen", c.OpsListen, "127.0.0.1:8082"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if c.IngestMaxBytes != 0x1000 {
		t.Errorf("ingest_max_bytes: got %d, want %d", c.IngestMaxBytes, 0x1000)
	}
	if c.AllowBugFiling {
		t.Error("allow_bug_filing: got the value in the file, want that in the environment")
	}
	if c.SetByVariable("tracker_oauth_token") != "MISHAP_TRACKER_OAUTH_TOKEN" || c.SetByVariable("listen") != "" {
		t.Error("SetByVariable: got the wrong variable")
	}
}

func TestConfigFileMissing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "local_config.toml")
	if _, err := Load(file, false, nil); err != nil {
		t.Errorf("default file missing: got %v, want the defaults", err)
	}
	_, err := Load(file, true, nil)
	if want := file + ": cannot be read: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("named file missing: got %v, want %s", err, want)
	}
}

func TestStrayVariables(t *testing.T) {
	t.Parallel()
	got := StrayVariables([]string{"MISHAP_LISTN=x", "MISHAP_DATABASE_URI_FILE=x", "MISHAP_LISTEN=x",
		"MISHAP_SERVICE_HOST=x", "MISHAP_DATA_DIR_FILE=x", "LISTN=x", "MISHAP_SERVE_SYMBOLS=x"})
	want := []string{"MISHAP_LISTN is not used; did you mean MISHAP_LISTEN?",
		"MISHAP_DATABASE_URI_FILE is not used; did you mean MISHAP_DATABASE_URL_FILE?",
		"MISHAP_SERVE_SYMBOLS is not used: mishap no longer serves debug files; delete this key, and run debuginfod " +
			"(docs/symbols.md)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stray variables (-want +got):\n%s", diff)
	}
}

// TestDerived checks values that follow from several keys, and from the variables of other programs.
func TestDerived(t *testing.T) {
	t.Parallel()
	trackerName, baseURL := (*Config).TrackerName, func(c *Config) string { return c.BaseURL }
	proxies := func(c *Config) string { return fmt.Sprint(c.ProxyNetworks()) }
	drain := func(c *Config) string { return c.Drain().String() } // of an instance that is told to stop
	traces := func(c *Config) string { return fmt.Sprint(c.TracesAddress(), " ", c.TracesRatio) }
	const standard = "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318"
	const ours = "MISHAP_BASE_URL=https://c.example.com"
	for _, tt := range []struct {
		doc, environ string // environ separates variables by blanks
		value        func(*Config) string
		want         string // the value, or a part of the mistake
	}{
		{`tracker_url = "https://launchpad.net"`, "", trackerName, "Launchpad"},
		{`tracker_url = "https://qastaging.launchpad.net"`, "", trackerName, "Launchpad"},
		{`tracker_url = "http://127.0.0.1:8085"`, "", trackerName, "127.0.0.1:8085"},
		{`tracker_url = "https://notlaunchpad.net"`, "", trackerName, "notlaunchpad.net"},
		{`tracker_name = "Practice Launchpad"`, "", trackerName, "Practice Launchpad"},

		{"", "", proxies, "[127.0.0.0/8 ::1/128]"},
		{`trusted_proxies = "10.1.2.3, 192.0.2.0/24"`, "", proxies, "[10.1.2.3/32 192.0.2.0/24]"},
		{`trusted_proxies = ["10.1.2.3", "192.0.2.0/24"]`, "", proxies, "[10.1.2.3/32 192.0.2.0/24]"},
		{`trusted_proxies = []`, "", proxies, "[]"},
		{`trusted_proxies = "10.1.2.3"`, "MISHAP_TRUSTED_PROXIES=", proxies, "[]"},

		{"", "MISHAP_LISTEN=127.0.0.1:9000", baseURL, "http://localhost:9000"},
		{"", "MISHAP_LISTEN=:80", baseURL, "http://localhost:80"},
		{"", "MISHAP_LISTEN=[::]:81", baseURL, "http://localhost:81"},
		{"", "MISHAP_LISTEN=192.0.2.7:9000", baseURL, "http://192.0.2.7:9000"},
		{"", "MISHAP_LISTEN=crashes.example.com:82", baseURL, "http://crashes.example.com:82"},
		{"", "MISHAP_LISTEN=127.0.0.1:0", baseURL, "http://localhost:8080"},
		{"", "MISHAP_LISTEN=127.0.0.1:9000 " + ours, baseURL, "https://c.example.com"},

		{"", "", drain, "0s"},
		{`base_url = "https://crashes.example.org"`, "", drain, "5s"},
		{`trusted_proxies = "10.0.0.5"`, "", drain, "5s"},
		{`trusted_proxies = ""`, "", drain, "0s"},
		{`drain_seconds = 7`, "", drain, "7s"},
		{"drain_seconds = 0\ntrusted_proxies = \"::1\"", "", drain, "0s"},

		{"", "", traces, " 1"},
		{"traces_url = \"http://c:4318/\"\ntraces_ratio = 0.25", standard, traces, "http://c:4318/v1/traces 0.25"},
		{"traces_ratio = 0", standard, traces, "http://a:4318/v1/traces 0"},
		{"", standard + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b/v1/traces", traces, "http://b/v1/traces 1"},
		{"", standard + " OTEL_SDK_DISABLED=true", traces, " 1"},
		{`traces_url = ""`, standard, traces, "http://a:4318/v1/traces 1"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", traces, "OTEL_EXPORTER_OTLP_ENDPOINT: expected an address"},
		{"traces_ratio = 1.5", "", traces, "traces_ratio: expected a number from 0 to 1"},
		{"traces_ratio = nan", "", traces, "traces_ratio: expected a number from 0 to 1"},
	} {
		c, err := Load(writeFile(t, tt.doc+"\n"), true, strings.Fields(tt.environ))
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %q: got %v, want %q", tt.doc, tt.environ, err, tt.want)
			}
		} else if got := tt.value(&c); got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.doc, tt.environ, got, tt.want)
		}
	}
}

// TestDropIns checks that files in config.d are read in the order of their names, below the file itself and
// the environment, and that mistakes and exports name and contain what comes from them.
func TestDropIns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "config.d"), filepath.Join(dir, "config.toml")
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write("config.toml", "base_url = 'https://ours.example.com'\n")
	first := write("config.d/10-package.toml", "data_dir = '/srv/first'\nbase_url = 'https://theirs.example.com'\n"+
		"debuginfod_urls = [\"http://a.example.com\", \"http://b.example.com\"]\ntracker_target = 'debian'\n")
	second := write("config.d/20-site.toml", "data_dir = '/srv/second'\ncores_key = '"+strings.Repeat("k", 32)+"'\n")
	write("config.d/30-saved.toml.dpkg-old", "data_dir = '/srv/third'\n")
	c, err := Load(file, true, []string{"MISHAP_TRACKER_TARGET=fedora"})
	if err != nil {
		t.Fatal(err)
	}
	if c.DataDir != "/srv/second" || c.BaseURL != "https://ours.example.com" || c.TrackerTarget != "fedora" {
		t.Errorf("got %q, %q, %q", c.DataDir, c.BaseURL, c.TrackerTarget)
	}
	if got := c.Exposed(); got != second {
		t.Errorf("exposed: got %q, want %q", got, second)
	}
	doc, err := c.Export(false)
	if err != nil {
		t.Fatal(err)
	}
	want := "base_url = 'https://ours.example.com'\n" + hiddenLine("cores_key") +
		"\ndebuginfod_urls = \"http://a.example.com http://b.example.com\"\ndata_dir = \"/srv/second\"\n" +
		"tracker_target = \"fedora\"\n"
	if string(doc) != want {
		t.Errorf("export: got\n%s\nwant\n%s", doc, want)
	}
	if err := WriteTokens(c.File, "token", "s3cret"); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(file, true, nil); err != nil || c.TrackerOAuthToken != "token" {
		t.Errorf("tokens: got %v, %v", c.TrackerOAuthToken, err)
	}

	write("config.d/10-package.toml", "data_dir = '/srv/first'\nlisen = ':80'\n")
	write("config.d/20-site.toml", "cores_keep_days = 'seven'\n")
	_, err = Load(file, true, nil)
	wanted := first + ":2: lisen: unknown key; did you mean listen?\n" +
		second + ":1: cores_keep_days: expected a number of days, or 0 for ever, got \"seven\""
	if err == nil || err.Error() != wanted {
		t.Errorf("mistakes: got %v\nwant %s", err, wanted)
	}
}

// TestSecretStaysHidden checks that no way of printing a configuration reveals a secret.
func TestSecretStaysHidden(t *testing.T) {
	t.Parallel()
	const hush = "hush-never-printed" // not a number: times and ports may contain short numbers
	c := Default()
	c.DatabaseURL, c.TrackerOAuthToken, c.TrackerOAuthSecret = hush, hush, hush
	c.Trackers = []Tracker{{Name: "gnome", Token: hush, WebhookSecret: hush}}
	loaded, err := Load(writeFile(t, "tracker_oauth_token = '"+hush+"'\ntracker_oauth_secret = '"+hush+"'\n"+gnome+
		"token = '"+hush+"'\nwebhook_secret = '"+hush+"'\n"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, v := range []any{c, &c, c.Trackers, loaded, &loaded, struct{ C Config }{loaded}, c.TrackerOAuthSecret,
		&c.TrackerOAuthSecret, []crash.Secret{c.DatabaseURL},
		map[string]crash.Secret{"k": c.DatabaseURL}} {
		for _, verb := range "vsqxXdtfcUTeEgbo" {
			for _, flags := range []string{"", "+", "#", "-20", "20", " "} {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
		fmt.Fprintln(&out, v)
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(doc)
		for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
			slog.New(h).Info("config", "v", v, slog.Group("g", "v", v))
			slog.New(h).With("v", v).Error("config", "err", errors.Join(fmt.Errorf("%v", v)))
		}
	}
	fmt.Fprintf(&out, "%s %#v", c.TrackerOAuthSecret, c.TrackerOAuthSecret)
	hex := fmt.Sprintf("%x", hush)
	for _, leak := range []string{hush, "never-printed", hex, strings.ToUpper(hex)} {
		if strings.Contains(out.String(), leak) {
			at := strings.Index(out.String(), leak)
			t.Errorf("printed configuration: got %q in %q", leak, out.String()[max(0, at-60):at+len(leak)])
		}
	}
	if !strings.Contains(out.String(), "[secret]") {
		t.Errorf("printed configuration: got no %s", "[secret]")
	}
}

func TestWriteTokens(t *testing.T) {
	t.Parallel()
	const added = "tracker_oauth_token = \"new\"\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\n"
	shipped, err := os.ReadFile("../../../local_config.default.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, before, after string }{
		{"shipped file", string(shipped), strings.NewReplacer(`tracker_oauth_token = ""`, `tracker_oauth_token = "new"`,
			`tracker_oauth_secret = ""`, `tracker_oauth_secret = "s\"\\3\u007f"`).Replace(string(shipped))},
		{"empty", "", added},
		{"in place", "# mine\n\n  tracker_oauth_secret   =  'old'  # keep\nlisten = " +
			"\"[::1]:0\"\n\ntracker_oauth_token=\"\"\n# end",
			"# mine\n\n  tracker_oauth_secret   =  \"s\\\"\\\\3\\u007f\"  # keep\nlisten = " +
				"\"[::1]:0\"\n\ntracker_oauth_token=\"new\"\n# end"},
		{"only commented", "# tracker_oauth_token = \"\"\n", "# tracker_oauth_token = \"\"\n" + added},
		{"no line end", "listen = \"[::1]:0\"", "listen = \"[::1]:0\"\n" + added},
		{"carriage returns", "\ufeffdata_dir = 'd'\r\ntracker_oauth_token = \"a\"\r\n",
			"\ufeffdata_dir = 'd'\r\ntracker_oauth_token = \"new\"\r\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\r\n"},
		{"before tables", "# ours\ndata_dir = 'd'\n\n\n# GNOME's\n  # tracker\n[[tracker]] # first\nname = 'a'\n\n" +
			"[[tracker]]\n",
			"# ours\ndata_dir = 'd'\n" + added +
				"\n\n# GNOME's\n  # tracker\n[[tracker]] # first\nname = 'a'\n\n[[tracker]]\n"},
		{"directly before a table", "data_dir = 'd' # d\n[[tracker]]\ntracker_oauth_token = 'x'\n",
			"data_dir = 'd' # d\n" + added + "\n[[tracker]]\ntracker_oauth_token = 'x'\n"},
		{"before a comment", "data_dir = \"\"\"\n# d\"\"\"\n# GNOME\n[[tracker]]", "data_dir = \"\"\"\n# d\"\"\"\n" + added +
			"\n# GNOME\n[[tracker]]"},
		{"only tables", "\ufeff# GNOME\n[[tracker]]\n", "\ufeff" + added + "\n# GNOME\n[[tracker]]\n"},
		{"a comment and tables", "# ours\n\n[[tracker]]\n", "# ours\n" + added + "\n[[tracker]]\n"},
		{"in place above tables", "tracker_oauth_secret = ''\ntracker_oauth_token = ''\n[[tracker]]\ntoken = 't'\n",
			"tracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\ntracker_oauth_token = \"new\"\n[[tracker]]\ntoken = 't'\n"},
		{"several lines", "tracker_oauth_token = \"\"\"\nold\"\"\"\ntracker_oauth_secret = ''''''\n",
			"tracker_oauth_token = \"new\"\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, tt.before)
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := WriteTokens(file, "new", "s\"\\3\x7f"); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.after {
				t.Errorf("file: got %q, want %q", got, tt.after)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode: got %o, want 600", info.Mode().Perm())
			}
			entries, err := os.ReadDir(filepath.Dir(file))
			if err != nil || len(entries) != 1 {
				t.Errorf("folder: got %v, %v, want only the file", entries, err)
			}
		})
	}
}

func TestWriteTokensThroughLinks(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{true, false} {
		folder := t.TempDir()
		target := filepath.Join(folder, "real.toml")
		if exists {
			if err := os.WriteFile(target, []byte("# mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(folder, "local_config.toml")
		if err := os.Symlink("real.toml", link); err != nil {
			t.Fatal(err)
		}
		if err := WriteTokens(link, "tok", "sec"); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != "real.toml" {
			t.Errorf("link with existing target %t: got %q, %v, want it unchanged", exists, to, err)
		}
		if got, err := os.ReadFile(target); err != nil || !strings.Contains(string(got), `"tok"`) {
			t.Errorf("target (existed: %t): got %q, %v, want the token in it", exists, got, err)
		}
	}
}

func TestWriteTokensRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, doc, want string }{
		{"not TOML", "listen\ndata_dir = 'x'\n", "line 1 is not TOML; correct it first"},
		{"array", "tracker_oauth_token = [1]\n", "line 1: tracker_oauth_token is not a text; correct it first"},
		{"inline table", "tracker_oauth_token = {a = 1}\n", "line 1: tracker_oauth_token is not a text; correct it first"},
	} {
		file := writeFile(t, tt.doc)
		err := WriteTokens(file, "tok-hidden", "sec-hidden")
		if err == nil || err.Error() != file+": "+tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != tt.doc {
			t.Errorf("%s: got %q, %v, want an unchanged file", tt.name, got, err)
		}
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "missing", "local_config.toml"), t.TempDir()} {
		err := WriteTokens(file, "tok-hidden", "sec-hidden")
		if err == nil || !strings.HasPrefix(err.Error(), file+" cannot be ") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, want an error that names the file and no token", file, err)
		}
	}
}

// TestWriteTokensForGroup writes into a file as packages install it: mishap's group may read it.
func TestWriteTokensForGroup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another group")
	}
	for before, after := range map[os.FileMode]os.FileMode{0o640: 0o640, 0o644: 0o640, 0o600: 0o600} {
		file := writeFile(t, "")
		if err := os.Chown(file, 0, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, before); err != nil {
			t.Fatal(err)
		}
		if err := WriteTokens(file, "new", "secret"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != after {
			t.Errorf("%o: got mode %o, want %o", before, got, after)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Gid != 65534 {
			t.Errorf("%o: got group %d, want 65534", before, st.Gid)
		}
	}
}
