package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/tracker/kinds"
)

// gnome is the beginning of a valid table, of three keys on four lines.
const gnome = "[[tracker]]\nname = 'gnome'\nkind = 'gitlab'\nurl = 'https://gitlab.gnome.org'\n"

// TestTrackerMistakes checks every rule for tables. Beside the file F there is a folder with a token that has two
// lines.
func TestTrackerMistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		env       []string
		want      []string
	}{
		{"nothing", "[[tracker]]\n", nil, []string{
			`F:1: tracker: name: expected a name such as gnome of a-z, 0-9 and "-", at most 31 characters, and not ` +
				`launchpad or oauth, got none`,
			`F:1: tracker: kind: expected ` + kindNames() + `, got none`,
			`F:1: tracker: url: expected an address such as https://gitlab.gnome.org, got none`,
		}},
		{"kind", "[[tracker]]\nname = 'gnome'\nkind = 'jira'\nurl = 'https://x'\n", nil, []string{
			`F:3: tracker "gnome": kind: expected ` + kindNames() + `, got "jira"`,
		}},
		{"the name comes last", "[[tracker]]\nkind = 7\nurl = 'https://x'\nname = 'gnome'\n", nil, []string{
			`F:2: tracker "gnome": kind: expected ` + kindNames() + `, got 7`,
		}},
		{"one name for two", gnome + gnome + "token = 1\n" + gnome, nil, []string{
			`F:6: tracker "gnome": name: given twice, first at F:2`,
			`F:9: tracker "gnome": token: expected an access token on one line, or nothing, got something else (not shown)`,
			`F:11: tracker "gnome": name: given twice, first at F:2`,
		}},
		{"a key twice", gnome + "target = 'a'\ntarget = 'b'\n", nil, []string{
			`F:6: tracker "gnome": target: given twice, first on line 5`,
		}},
		{"unknown keys", gnome + "tokken = 'x'\nproduct = 'x'\nlisten = ':80'\n", nil, []string{
			`F:5: tracker "gnome": tokken: unknown key; did you mean token?`,
			`F:6: tracker "gnome": product: unknown key; expected one of name, kind, url, api_url, target, account, token, ` +
				`token_file, variant, group, upstream, review, per_minute, per_day, webhook_secret, webhook_secret_file, ` +
				`timeout_seconds, settle_seconds`,
			`F:7: tracker "gnome": listen: expected no key of the top level in a table; move it above the first [[tracker]]`,
		}},
		{"token twice", gnome + "token_file = 'lines'\ntoken = 'x'\nwebhook_secret = 'y'\n" +
			"webhook_secret_file = 'lines'\n", nil,
			[]string{
				`F:6: tracker "gnome": token_file: expected one of token and token_file, got both`,
				`F:8: tracker "gnome": webhook_secret_file: expected one of webhook_secret and webhook_secret_file, got both`,
			}},
		{"token files", gnome + "token_file = 'none'\nwebhook_secret_file = 'lines'\n", nil, []string{
			`F:5: tracker "gnome": token_file: D/none cannot be read: no such file or directory`,
			`F:6: tracker "gnome": webhook_secret_file: D/lines: expected the secret of a webhook on one line, or nothing, ` +
				`got something else (not shown)`,
		}},
		{"other tables", gnome + "[trackers]\nname = 1\n[[x.y]]\nname = 1\n[tracker]\nname = 1\n" + gnome, nil, []string{
			`F:5: [trackers]: expected only [[tracker]] tables`,
			`F:7: [[x.y]]: expected only [[tracker]] tables`,
			`F:9: [tracker]: expected only [[tracker]] tables`,
			`F:12: tracker "gnome": name: given twice, first at F:2`,
		}},
		{"not TOML", gnome + "token = hush1\ntarget = hush\n:::\n[[tracker]\nname = 'x'\n", nil, []string{
			`F:5: tracker "gnome": token: expected an access token on one line, or nothing, in quotes`,
			`F:6: tracker "gnome": target: expected where bugs go, such as GNOME/{source}, with no other placeholders than ` +
				`{source}, {release} and {version}, or nothing, got what is not TOML: unexpected character ` +
				`U+0068 'h' at start of value`,
			`F:7: tracker "gnome": not TOML: invalid character at start of key: U+003A ':'`,
			`F:8: tracker "gnome": not TOML: expected ']]' to close array table name`,
		}},
		{"variables", gnome, []string{"MISHAP_TRACKER_GNOME_TOKEN=a\nb", "MISHAP_TRACKER_GNOM_TOKEN=hush2",
			"MISHAP_TRACKER_KDE_BUGS_WEBHOOK_SECRET_FILE=/x", "MISHAP_TRACKER_GNOME_WEBHOOK_SECRET=a",
			"MISHAP_TRACKER_GNOME_WEBHOOK_SECRET_FILE=/x"}, []string{
			`MISHAP_TRACKER_GNOME_TOKEN: expected an access token on one line, or nothing, got something else (not shown)`,
			`MISHAP_TRACKER_GNOME_WEBHOOK_SECRET: expected one of MISHAP_TRACKER_GNOME_WEBHOOK_SECRET and ` +
				`MISHAP_TRACKER_GNOME_WEBHOOK_SECRET_FILE, got both`,
			`MISHAP_TRACKER_GNOM_TOKEN: expected a [[tracker]] table with the name "gnom", got none`,
			`MISHAP_TRACKER_KDE_BUGS_WEBHOOK_SECRET_FILE: expected a [[tracker]] table with the name "kde-bugs", got none`,
		}},
		{"no tracker at all", "\ntracker_url = 'none'\n", nil, []string{
			`F:2: tracker_url: expected a [[tracker]] table without upstream = true beside "none", got none`,
		}},
		{"only upstream's", gnome + "upstream = true\n", []string{"MISHAP_TRACKER_URL=none"}, []string{
			`MISHAP_TRACKER_URL: tracker_url: expected a [[tracker]] table without upstream = true beside "none", got none`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, tt.doc)
			dir := filepath.Dir(file)
			if err := os.WriteFile(filepath.Join(dir, "lines"), []byte("hush3\nhush4\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(file, true, tt.env)
			if err == nil {
				t.Fatal("got no error")
			}
			got := strings.Split(strings.NewReplacer(file, "F", dir, "D").Replace(err.Error()), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func kindNames() string {
	var names []string
	for _, k := range kinds.All {
		names = append(names, `"`+k.Name+`"`)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func TestTrackerImpossibleValues(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"name": {`""`, `"Gnome"`, `"1x"`, `"-x"`, `"a_b"`, `"a.b"`, `"launchpad"`, `"oauth"`, `7`,
			`"` + strings.Repeat("x", 32) + `"`},
		"kind": {`""`, `"GitLab"`, `["gitlab"]`},
		"url": {`""`, `"gitlab.gnome.org"`, `"ftp://x"`, `"https://x?a=b"`, `"https://u:p@x"`,
			`"https://x#a"`},
		"api_url":             {`"x/api"`, `"https://u:p@x"`},
		"target":              {`" x"`, `"GNOME/{package}"`, `"{"`, "\"a\\nb\"", `"` + strings.Repeat("x", 201) + `"`},
		"account":             {`"a\nb"`, `7`},
		"token":               {`"a\nb"`, `7`},
		"token_file":          {`"nowhere"`, `"."`, `7`},
		"variant":             {`" x"`, `true`},
		"group":               {`"x "`, `[]`},
		"upstream":            {`"true"`, `1`},
		"review":              {`"no"`},
		"per_minute":          {`-1`, `1.5`, `"5"`},
		"per_day":             {`-1`, `99999999999999999999`},
		"webhook_secret":      {`"a\nb"`, `{ a = 1 }`},
		"webhook_secret_file": {`"nowhere"`},
		"timeout_seconds":     {`-1`, `3601`},
		"settle_seconds":      {`-1`, `86401`},
	} {
		for _, value := range values {
			doc := regexp.MustCompile(`(?m)^`+name+` = .*\n`).ReplaceAllString(gnome, "") + name + " = " + value + "\n"
			_, err := Load(writeFile(t, doc), true, nil)
			if err == nil || !regexp.MustCompile(`^\S+:[45]: tracker( "gnome")?: `+name+`: \S+ `).MatchString(err.Error()) {
				t.Errorf("%s = %s: got %v, want a mistake", name, value, err)
			}
		}
	}
}

// TestTrackers reads tables from two files, a token of a file, and variables.
func TestTrackers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, second := filepath.Join(dir, "local_config.toml"), filepath.Join(dir, "config.d", "10-kde.toml")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "config.d", "kde.token"), "from-file\r\n")
	write(second, `# ours
[[tracker]]
name = "kde-bugs"
kind = "bugzilla"
url = "https://bugs.kde.org/"
target = "{source}/general"
token_file = "kde.token"
per_day = 0x10
`)
	write(file, `tracker_url = "none"
trusted_proxies = [
  "127.0.0.1", # ours
]

# GNOME's
[[tracker]] # first
token = "hush" # bot's
name = "gnome"
kind = "gitlab"
url = "http://localhost:8080/gitlab"
api_url = "https://api.example.com/"
target = "GNOME/{source}"
account = "mishap"
variant = "ee"
group = "security"
upstream = true
review = true
per_minute = 5
per_day = 50
webhook_secret = "hush-too"
timeout_seconds = 9
settle_seconds = 8
`)
	environ := []string{"MISHAP_TRACKER_GNOME_TOKEN=from-variable", "MISHAP_TRUSTED_PROXIES=::1",
		"MISHAP_TRACKER_KDE_BUGS_WEBHOOK_SECRET_FILE=" + filepath.Join(dir, "config.d", "kde.token")}
	c, err := Load(file, true, environ)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tracker{
		{Name: "kde-bugs", Kind: "bugzilla", URL: "https://bugs.kde.org", Target: "{source}/general", Token: "from-file",
			PerDay: 16, WebhookSecret: "from-file"},
		{Name: "gnome", Kind: "gitlab", URL: "http://localhost:8080/gitlab", APIURL: "https://api.example.com",
			Target: "GNOME/{source}", Account: "mishap", Token: "from-variable", Variant: "ee", Group: "security",
			Upstream: true, Review: true, PerMinute: 5, PerDay: 50, WebhookSecret: "hush-too", Timeout: 9, Settle: 8},
	}
	if diff := cmp.Diff(want, c.Trackers); diff != "" {
		t.Errorf("trackers (-want +got):\n%s", diff)
	}
	if c.HasLaunchpad() || c.TrackerName() != "kde-bugs" {
		t.Errorf("got Launchpad: %t, and the name %q", c.HasLaunchpad(), c.TrackerName())
	}
	if got := StrayVariables(environ); got != nil {
		t.Errorf("stray variables: got %q", got)
	}
	if got := c.Exposed(); got != file {
		t.Errorf("exposed: got %q, want %q", got, file)
	}
	for _, part := range []string{"tracker.gnome=[name=gnome kind=gitlab", "token=[secret]", "webhook_secret=[secret]"} {
		if text := fmt.Sprint(c); !strings.Contains(text, part) {
			t.Errorf("printed: got %s, want it with %s", text, part)
		}
	}

	// An export without secrets, then one with them, which has the same values in another folder.
	doc, err := c.Export(false)
	if err != nil {
		t.Fatal(err)
	}
	wanted := `tracker_url = "none"
# trusted_proxies was set by the environment; see below
trusted_proxies = "::1"

# GNOME's
[[tracker]] # first
# token: a secret, which is not in the backup; set it again
# token was set by the environment; see above # bot's
name = "gnome"
`
	if !strings.HasPrefix(string(doc), wanted) || strings.Contains(string(doc), "hush") ||
		strings.Contains(string(doc), "from-") || strings.Count(string(doc), HiddenSecret) != 4 {
		t.Errorf("export without secrets: got\n%s\nwant\n%s…", doc, wanted)
	}
	if doc, err = c.Export(true); err != nil {
		t.Fatal(err)
	}
	again, err := Load(writeFile(t, string(doc)), true, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	want[0], want[1] = want[1], want[0] // those of other files come last
	if diff := cmp.Diff(want, again.Trackers); diff != "" || again.TrustedProxies != "::1" {
		t.Errorf("exported and read again (-want +got):\n%s\nproxies: %s", diff, again.TrustedProxies)
	}

	write(second, strings.ReplaceAll(gnome, "gitlab.", "other."))
	_, err = Load(file, true, nil)
	twice := file + `:9: tracker "gnome": name: given twice, first at ` + second + ":2"
	if err == nil || err.Error() != twice {
		t.Errorf("one name in two files: got %v, want %s", err, twice)
	}
}

// TestTrackerDefaults checks what tables have that say only what they must.
func TestTrackerDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(writeFile(t, gnome), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tracker{{Name: "gnome", Kind: "gitlab", URL: "https://gitlab.gnome.org"}}
	if diff := cmp.Diff(want, c.Trackers); diff != "" || !c.HasLaunchpad() || c.Exposed() != "" {
		t.Errorf("trackers (-want +got):\n%s\nLaunchpad: %t, exposed: %q", diff, c.HasLaunchpad(), c.Exposed())
	}
	one, zero := given{line: 1}, given{line: 2}
	for _, tt := range []struct {
		table table
		want  Tracker
	}{
		{table{Tracker: Tracker{Kind: "debian"}}, Tracker{Kind: "debian", Review: true, PerDay: 10}},
		{table{Tracker: Tracker{Kind: "debian"}, given: map[string]given{"review": one, "per_day": zero}},
			Tracker{Kind: "debian"}},
	} {
		c := Config{tables: []*table{&tt.table}}
		c.takeTables()
		if diff := cmp.Diff([]Tracker{tt.want}, c.Trackers); diff != "" {
			t.Errorf("defaults (-want +got):\n%s", diff)
		}
	}
}

// TestTrackerExamples checks that the example tables of the default file are valid.
func TestTrackerExamples(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../local_config.default.toml")
	if err != nil {
		t.Fatal(err)
	}
	commented := regexp.MustCompile(`(?m)^#(\[\[tracker\]\]|[a-z_]+ = )`)
	_, err = Load(writeFile(t, commented.ReplaceAllString(string(doc), "$1")), true, nil)
	if err != nil {
		t.Error(err)
	}
}
