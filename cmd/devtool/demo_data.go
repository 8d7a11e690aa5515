package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/people/openidtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// consumerKey is the consumer key of the demonstration, mishap's default.
const consumerKey = "mishap"

// practicePeople are the people of the demonstration's sign-in provider. Their teams have roles in
// mishap, except those of the last one.
var practicePeople = []openidtest.Person{
	{ID: "ada0001", Nickname: "ada", Teams: []string{"practice-admins"}},
	{ID: "tess002", Nickname: "tess", Teams: []string{"practice-bugcontrol"}},
	{ID: "vera003", Nickname: "vera", Teams: []string{"practice-readers"}},
	{ID: "noel004", Nickname: "noel"},
}

// practiceGrants are the rights of the teams of practicePeople. Viewers show what is hidden without the right to
// private data.
var practiceGrants = []struct {
	team string
	role crash.Role
}{
	{"practice-admins", crash.RoleAdmin}, {"practice-bugcontrol", crash.RoleTriager},
	{"practice-bugcontrol", crash.RolePrivate}, {"practice-readers", crash.RoleViewer},
}

// practice is a practice tracker, with a practice provider to sign in at, that runs in this process.
type practice struct {
	*trackertest.Server
	url  string
	http *http.Server
	done chan struct{}
}

// startPractice starts a practice tracker on the first of some addresses that is not in use.
func startPractice(ctx context.Context, o trackertest.Options, addresses ...string) (*practice, error) {
	s, err := trackertest.NewServer(o)
	if err != nil {
		return nil, err
	}
	var l net.Listener
	for _, address := range addresses {
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("practice tracker: %w", err)
	}
	p := &practice{Server: s, url: "http://" + l.Addr().String(), done: make(chan struct{})}
	provider := openidtest.New(p.url, practicePeople...)
	p.http = &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if openidtest.Handles(r.URL.Path) {
				provider.ServeHTTP(w, r)
				return
			}
			s.ServeHTTP(w, r)
		})}
	go func() {
		defer close(p.done)
		_ = p.http.Serve(l) // ends with close
	}()
	return p, nil
}

func (p *practice) close() {
	p.Close()
	_ = p.http.Close()
	<-p.done
}

// configure writes the configuration file of the demonstration if it is missing. With a token,
// mishap is connected to the practice tracker from the start; otherwise a person connects it.
func (d *demo) configure(p *practice, token crash.AccessToken) error {
	file := d.configFile()
	old, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(file, []byte(demoConfig(d.folder, p.url, token)), 0o600)
	}
	if err != nil {
		return err
	}
	// The practice tracker may have a new port, which commands in a terminal need, too.
	if now := practiceAddress.ReplaceAll(old, []byte("${1}"+p.url+"${2}")); !bytes.Equal(now, old) {
		return os.WriteFile(file, now, 0o600)
	}
	return nil
}

var practiceAddress = regexp.MustCompile(`(?m)^(tracker_(?:api_)?url = ")http://127\.0\.0\.1:\d+((?:/devel)?")$`)

func (d *demo) configFile() string { return d.path("local_config.toml") }

func demoConfig(folder, trackerURL string, token crash.AccessToken) string {
	return fmt.Sprintf(
		`# Configuration of the demonstration ("make run"), made on its first run. The addresses of its practice tracker are
# brought up to date on each run; local_config.default.toml lists all keys.

data_dir = %q
tracker_url = %q
tracker_api_url = %q
tracker_consumer_key = %q
tracker_oauth_token = %q
tracker_oauth_secret = %q
tracker_timeout_seconds = 20
tracker_settle_seconds = 5
`, folder, trackerURL, trackerURL+"/devel", consumerKey, token.Token, string(token.Secret))
}

// childEnvironment returns the environment of the server: the addresses of the practice tracker,
// overridden by the present environment.
func (d *demo) childEnvironment(p *practice) []string {
	environ := append([]string{}, d.environ...)
	variables := map[string]string{"MISHAP_TRACKER_URL": p.url, "MISHAP_TRACKER_API_URL": p.url + "/devel"}
	if variable(d.environ, "MISHAP_TRACKER_URL") == "" {
		variables["MISHAP_TRACKER_NAME"] = "Practice Launchpad"
	}
	if variable(d.environ, "MISHAP_OPENID_URL") == "" {
		variables["MISHAP_OPENID_URL"], variables["MISHAP_OPENID_NAME"] = p.url, "Practice SSO"
	}
	for name, value := range variables {
		if variable(d.environ, name) == "" && variable(d.environ, name+"_FILE") == "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// seedConsumer is the consumer key that reads sample bugs. It differs from mishap's, so that mishap
// is not connected yet.
const seedConsumer = "mishap sample bugs"

// seedBugs creates the bugs of the stories on the first run: in the practice tracker, and with
// their states in the database. It continues an interrupted run.
func (d *demo) seedBugs(ctx context.Context, p *practice) (err error) {
	if d.memory.BugsSeeded {
		return nil
	}
	store, closeStore, err := d.openStore(ctx)
	if err != nil {
		return fmt.Errorf("link the sample bugs: %w", err)
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if err := store.WaitCounted(ctx); err != nil {
		return fmt.Errorf("link the sample bugs: %w", err)
	}
	token := p.TokenOf(seedConsumer, "READ_PRIVATE")
	settings := tracker.Config{URL: p.url, APIURL: p.url + "/devel", ConsumerKey: seedConsumer, Token: token,
		Target: "ubuntu", Log: slog.New(slog.DiscardHandler)}
	client := tracker.NewClient(settings, tracker.NewCredentials(settings, bugs.New(store)))
	for _, s := range stories(d.memory.SeedTime) {
		for i := range s.bugs {
			if err := d.seedBug(ctx, p, store, client, s, i); err != nil {
				return fmt.Errorf("sample bug of %s: %w", s.name, err)
			}
		}
	}
	p.Revoke(token.Token)
	if err := bugs.New(store).ForgetToken(ctx, crash.TrackerKey{URL: p.url, ConsumerKey: seedConsumer},
		demoAccount); err != nil {
		return err
	}
	d.memory.BugsSeeded = true
	return d.memory.write()
}

// seedBug files one bug of a story, links it, and stores its state.
func (d *demo) seedBug(ctx context.Context, p *practice, store *db.Store, client *tracker.Client, s story,
	i int) error {
	bug := s.bugs[i]
	bug.Title, bug.Package, bug.Tags = s.title(), s.name, []string{"noble"}
	bug.Description = fmt.Sprintf("Bug %d of %d that the demonstration has for %s.\n\nIt crashes in %s_%s().", i+1,
		len(s.bugs), s.name, s.name, s.function)
	number := int64(0)
	for _, b := range p.Bugs() {
		if b.Description == bug.Description {
			number = b.Number
		}
	}
	if number == 0 {
		number = p.Add(bug)
	}
	link := crash.Bug{Number: number, Title: bug.Title, URL: client.BugURL(number), By: demoAccount}
	if bug.InformationType != "" && bug.InformationType != "Public" {
		link.Title = ""
	}
	if _, err := bugs.New(store).LinkBug(ctx, s.bucket(), link); err != nil {
		return err
	}
	reading, err := client.ReadState(ctx, number)
	if err != nil {
		return err
	}
	return bugs.New(store).SaveBugReading(ctx, reading, "", 6*time.Hour)
}

// openStore opens the database of the running server.
func (d *demo) openStore(ctx context.Context) (*db.Store, func() error, error) {
	url, err := d.databaseURL()
	if err != nil {
		return nil, nil, err
	}
	url, stop, err := databaseAt(ctx, url, cmp.Or(variable(d.environ, "MISHAP_DATA_DIR"), d.folder))
	if err != nil {
		return nil, nil, err
	}
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return store, func() error { store.Close(); return stop() }, nil
}

// databaseURL returns the database_url of the server, which is empty for a private PostgreSQL.
func (d *demo) databaseURL() (string, error) {
	if url := variable(d.environ, "MISHAP_DATABASE_URL"); url != "" {
		return url, nil
	}
	if file := variable(d.environ, "MISHAP_DATABASE_URL_FILE"); file != "" {
		url, err := os.ReadFile(file)
		return strings.TrimRight(string(url), "\r\n"), err
	}
	config, err := os.ReadFile(d.configFile())
	if m := configuredDatabase.FindSubmatch(config); m != nil {
		return string(m[1]), nil
	}
	return "", err
}

var configuredDatabase = regexp.MustCompile(`(?m)^database_url *= *["'](.+)["']`)

// quaymaster holds the native crash of the demonstration: its report, its core dump, and the packages
// with its program and debug file. testdata/quaymaster/make.sh made them.
//
//go:embed testdata/quaymaster/*.crash testdata/quaymaster/*.gz testdata/quaymaster/*.deb testdata/quaymaster/*.ddeb
var quaymaster embed.FS

const (
	crashMachines = 5                // number of machines that send the crash, until one is asked for its core
	symbolsAfter  = 20 * time.Second // time from the greeting to the debug files, so that one can watch
)

// nativeCrash returns the report of the native crash, and the address of its problem.
func nativeCrash(now time.Time) (report crashtest.Report, path string, err error) {
	text, err := quaymaster.ReadFile("testdata/quaymaster/quaymaster.crash")
	if err != nil {
		return nil, "", err
	}
	fields, _, err := apport.Read(bytes.NewReader(text), apport.Limits{})
	if err != nil {
		return nil, "", err
	}
	report = crashtest.Report(fields)
	crashtest.At(now)(report)
	return report, crash.BucketIDOf(grouping.SignatureOf(fields).Signature).Path(), nil
}

// sendCrash posts the native crash from several machines until one is asked for its core, and sends the
// core. If none is asked, this machine has no debugger, and mishap names the addresses without a core.
func (d *demo) sendCrash(ctx context.Context, ingest string) error {
	report, _, err := nativeCrash(d.memory.SeedTime)
	if err != nil {
		return err
	}
	for n := 1; n <= crashMachines; n++ {
		machine := fmt.Sprint("quay-machine-", n)
		said, err := answer(ctx, http.DefaultClient, ingest+"/"+machine, report.BSON())
		if err != nil {
			return err
		}
		if id, wanted := strings.CutSuffix(said, " CORE"); wanted {
			core, err := quaymaster.ReadFile("testdata/quaymaster/quaymaster.core.gz")
			if err != nil {
				return err
			}
			_, err = answer(ctx, http.DefaultClient, ingest+"/"+id+"/submit-core/amd64/"+machine, asSent(core))
			return err
		}
		if err := crash.Sleep(ctx, time.Second); err != nil { // the server finds out what its debugger can do
			return err
		}
	}
	return nil
}

// asSent returns a core in apport's form: base64, the header of gzip on a line of its own.
func asSent(core []byte) []byte {
	const header = 10
	text := base64.StdEncoding.EncodeToString(core[:header]) + "\n" + base64.StdEncoding.EncodeToString(core[header:])
	return []byte(text)
}

// addSymbols adds the packages with the program that crashed and its debug file.
func (d *demo) addSymbols(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "mishap-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	entries, err := quaymaster.ReadDir("testdata/quaymaster")
	if err != nil {
		return err
	}
	args := []string{"symbols", "add"}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "deb") {
			continue
		}
		content, err := quaymaster.ReadFile("testdata/quaymaster/" + e.Name())
		if err != nil {
			return err
		}
		name := filepath.Join(dir, e.Name())
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
		args = append(args, name)
	}
	if words, err := d.command(ctx, "", args...); err != nil {
		return fmt.Errorf("add symbols: %w: %s", err, words)
	}
	return nil
}

// nameCrash adds the debug files of the native crash some time after the greeting, once.
func (d *demo) nameCrash(ctx context.Context) error {
	if d.memory.Named {
		return nil
	}
	if err := crash.Sleep(ctx, d.symbolsAfter); err != nil {
		return err
	}
	if err := d.addSymbols(ctx); err != nil {
		return err
	}
	d.memory.Named = true
	return d.memory.write()
}

// trackerCommand returns the command that serves the practice tracker.
func trackerCommand() *cobra.Command {
	var listen string
	var o trackertest.Options
	cmd := &cobra.Command{
		Use:   "tracker",
		Short: "Serves a practice tracker, in which mishap can file bugs",
		Long: `Serves a practice tracker that speaks Launchpad's protocol, with pages to authorise mishap and to read bugs.

Point mishap at it with tracker_url = "http://ADDRESS" and tracker_api_url = "http://ADDRESS/devel".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := startPractice(cmd.Context(), o, listen)
			if err != nil {
				return err
			}
			defer p.close()
			fmt.Fprintf(cmd.OutOrStdout(), "practice tracker: %s\n", p.url)
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "`address` to listen on")
	cmd.Flags().StringVar(&o.StateFile, "state", "", "`file` that stores bugs and tokens; empty: only in memory")
	cmd.Flags().StringVar(&o.Person, "person", "", "`name` of the person who is signed in (default practice-person)")
	return cmd
}
