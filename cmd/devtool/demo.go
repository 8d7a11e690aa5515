package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/people/openidtest"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

// demoCommand returns the command that `make run` runs.
func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Runs mishap with sample reports and practice bug trackers",
		Long: `Runs mishap with everything needed to try it: a private PostgreSQL, a practice Launchpad that is not
connected yet, a practice Bugzilla and GitLab, an account, and sample reports and bugs, which the first
run loads. All data is in one folder; remove it to start again. MISHAP_… variables are passed to the server.`,
		Example: "  devtool demo\n  MISHAP_LISTEN=127.0.0.1:9000 devtool demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.out, d.err, d.environ, d.symbolsAfter = cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Environ(), symbolsAfter
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&d.folder, "folder", "data/demo", "the `folder` for all data")
	cmd.Flags().StringVar(&d.tracker, "tracker", "127.0.0.1:8085",
		"`address` of the practice tracker; another one if it is in use")
	cmd.Flags().StringVar(&d.program, "mishap", besideMe("mishap"), "the mishap `program`")
	cmd.Flags().IntVar(&d.reports, "reports", 1500, "number of sample reports that the first run loads")
	return cmd
}

// besideMe returns the path of a program in the same folder as this one.
func besideMe(name string) string {
	me, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(me), name)
}

// demo is one run of the demonstration.
type demo struct {
	folder, tracker, program string
	reports                  int
	out, err                 io.Writer
	environ                  []string
	memory                   *memory
	further                  []*furtherTracker
	symbolsAfter             time.Duration // time from the greeting to the debug files
}

const demoAccount = "demo"

func (d *demo) run(ctx context.Context) (err error) {
	if err := d.remember(); err != nil {
		return err
	}
	practice, err := startPractice(ctx, trackertest.Options{StateFile: d.path("tracker.json")}, d.tracker, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer practice.close()
	stopFurther, err := d.startFurther(ctx)
	defer stopFurther()
	if err != nil {
		return err
	}
	server, at, err := d.serve(ctx, practice, crash.AccessToken{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := d.grant(ctx); err != nil {
		return err
	}
	if err := d.seed(ctx, at.ingest); err != nil {
		return err
	}
	if err := d.seedBugs(ctx, practice); err != nil {
		return err
	}
	if err := d.seedRoutes(ctx); err != nil {
		return err
	}
	sample := d.path("sample.bson")
	if err := os.WriteFile(sample, freshReport(d.reports, d.memory.SeedTime, time.Now()).BSON(), 0o644); err != nil {
		return err
	}
	if !d.memory.Named {
		if err := d.sendCrash(ctx, at.ingest); err != nil {
			return err
		}
	}
	d.greet(at, practice, sample)
	var naming sync.WaitGroup
	serving, stop := context.WithCancel(ctx)
	defer naming.Wait()
	defer stop()
	naming.Go(func() {
		if err := d.nameCrash(serving); err != nil && serving.Err() == nil {
			d.printf("The native crash stays without names: %v", err)
		}
	})
	select {
	case <-ctx.Done():
		d.printf("\nStopping.")
		return nil
	case <-server.ended:
		return server.failure()
	}
}

// remember creates the folder and reads the state of earlier runs.
func (d *demo) remember() (err error) {
	if d.folder, err = filepath.Abs(d.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(d.folder, 0o755); err != nil { // the database's user needs access to subfolders
		return err
	}
	d.memory, err = readMemory(d.path("demo.json"))
	return err
}

func (d *demo) path(name string) string { return filepath.Join(d.folder, name) }

func (d *demo) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format+"\n", args...) }

// greet prints the addresses and what to try.
func (d *demo) greet(at addresses, practice *practice, sample string) {
	var further strings.Builder
	for _, f := range d.further {
		further.WriteString(f.describe())
	}
	d.printf(`
mishap is running, with sample reports and practice bug trackers.

  open              %s
  sign in as        %s, password %s
  or with           Practice SSO, as one of four people
  practice tracker  %s
%s  machines post to  %s
  database          %s
  log               %s

To create bugs, first connect mishap to the practice tracker:

  1. Sign in, open  %s/admin/tracker  and press "Connect to Practice Launchpad".
  2. Follow the link to the practice tracker and press "Change Non-Private Data".
  3. Come back and press "I've authorised it – finish". Now Create works.

Bugs of some packages go to the other trackers, as /admin/routes says, and need no connection.

%sPost a report as a machine would, then reload the page:

  curl --data-binary @%s %s/machine-1

(The same report from the same machine counts only once; use machine-2 for a second one.)
Ctrl-C stops everything; the data stays in %s.`,
		at.base, demoAccount, d.memory.Password, practice.url, further.String(), at.ingest, at.database,
		d.path("mishap.log"), at.base, d.watch(at), sample, at.ingest, d.places(at))
}

// places returns the folders that hold the data: that of the demonstration and, if it is elsewhere, that of
// the database.
func (d *demo) places(at addresses) string {
	if at.database == "" || strings.HasPrefix(at.database, d.folder+"/") {
		return d.folder
	}
	return d.folder + " and " + at.database
}

// watch says where to watch the native crash get its names, before it has them.
func (d *demo) watch(at addresses) string {
	_, path, err := nativeCrash(time.Now())
	if err != nil || d.memory.Named {
		return ""
	}
	if _, err := exec.LookPath("gdb"); err != nil {
		return fmt.Sprintf("A native crash has arrived as addresses. Install gdb, start again, and it gets names:\n\n"+
			"  %s%s\n\n", at.base, path)
	}
	return fmt.Sprintf(
		`Watch a native crash get its function names. It has arrived as addresses, and its debug files follow in
%.0f seconds. Sign in, then open this page:

  %s%s

`, d.symbolsAfter.Seconds(), at.base, path)
}

// addresses are the addresses of a running server and the location of its database.
type addresses struct{ base, ingest, database string }

// banner reads the addresses that the server logs when it is ready.
type banner struct {
	text []byte         // of a line that is not complete
	read chan addresses // gets one value
	done bool
}

func newBanner() *banner { return &banner{read: make(chan addresses, 1)} }

// Write is called by one goroutine.
func (b *banner) Write(p []byte) (int, error) {
	b.text = append(b.text, p...)
	for !b.done {
		line, rest, complete := bytes.Cut(b.text, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		b.text = rest
		var l struct {
			Message        string `json:"msg"`
			Pages, Reports string
			Database       string `json:"private_postgresql"`
		}
		if json.Unmarshal(line, &l) == nil && l.Message == "ready" {
			b.done = true
			b.read <- addresses{base: l.Pages, ingest: l.Reports,
				database: cmp.Or(l.Database, "the database of database_url")}
		}
	}
	b.text = nil
	return len(p), nil
}

// readyWithin is how long the server may take to start. The first start creates a database cluster.
const readyWithin = 2 * time.Minute

// server is the process of mishap.
type server struct {
	command *exec.Cmd
	log     *os.File
	logged  int64 // size of the log before this start
	banner  *banner
	ended   chan struct{}
	err     error // after ended: how it ended
}

// serve starts mishap with an account. With a token, it is connected to the practice tracker.
func (d *demo) serve(
	ctx context.Context, p *practice, token crash.AccessToken,
) (s *server, at addresses, err error) {
	if err := d.configure(p, token); err != nil {
		return nil, at, err
	}
	d.environ = d.childEnvironment(p)
	if s, err = d.start(ctx); err != nil {
		return nil, at, err
	}
	if at, err = s.awaitReady(ctx); err == nil {
		err = d.account(ctx)
	}
	if err != nil {
		err = errors.Join(err, s.stop())
	}
	return s, at, err
}

// start runs `mishap serve`. Its output goes to a file, so that the terminal stays readable.
func (d *demo) start(ctx context.Context) (*server, error) {
	log, err := os.OpenFile(d.path("mishap.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s := &server{log: log, logged: logged, banner: newBanner(), ended: make(chan struct{})}
	s.command = exec.CommandContext(context.WithoutCancel(ctx), d.program, "serve", "--config", d.configFile())
	s.command.Env = d.environ
	s.command.Stdout = log
	s.command.Stderr = io.MultiWriter(log, s.banner)
	// In a process group of its own, Ctrl-C does not reach it, and this process can stop it gracefully. If this
	// process is killed, the kernel stops it.
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error, 1)
	go func() {
		defer close(s.ended)
		runtime.LockOSThread() // the kernel stops the child when this thread ends
		defer runtime.UnlockOSThread()
		err := s.command.Start()
		started <- err
		if err == nil {
			s.err = s.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%w; \"make build\" builds it", err)
	}
	return s, nil
}

// awaitReady waits until the server is ready and returns its addresses.
func (s *server) awaitReady(ctx context.Context) (addresses, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case d := <-s.banner.read:
		return d, nil
	case <-s.ended:
		return addresses{}, s.failure()
	case <-ctx.Done():
		return addresses{}, fmt.Errorf("waiting for mishap: %w", ctx.Err())
	}
}

// failure returns the reason why the server ended: the lines of its log that are no records.
func (s *server) failure() error {
	<-s.ended
	text, _ := os.ReadFile(s.log.Name()) // without a log, the status of the process says enough
	var lines []string
	for line := range strings.Lines(string(text[min(s.logged, int64(len(text))):])) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "mishap: "))
		}
	}
	if len(lines) > 0 {
		return errors.New(strings.Join(lines, "\n"))
	}
	if s.err == nil {
		return errors.New("another process stopped mishap")
	}
	return fmt.Errorf("mishap ended: %w; its log is %s", s.err, s.log.Name())
}

// stop stops the server and waits until it has ended.
func (s *server) stop() error {
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-s.ended
	return s.log.Close()
}

// command runs a command of mishap on the database of the demonstration. It returns what the command
// prints or, if it fails, its error messages.
func (d *demo) command(ctx context.Context, in string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, d.program, append(args, "--config", d.configFile())...)
	command.Env, command.Stdin = d.environ, strings.NewReader(in)
	var printed, said bytes.Buffer
	command.Stdout, command.Stderr = &printed, &said
	if err := command.Run(); err != nil {
		return strings.TrimSpace(said.String()), err
	}
	return strings.TrimSpace(printed.String()), nil
}

// grant gives roles to the teams of the practice provider on the first run.
func (d *demo) grant(ctx context.Context) error {
	if d.memory.Granted {
		return nil
	}
	for _, g := range practiceGrants {
		if words, err := d.command(ctx, "", "access", "grant", "launchpad", g.team, string(g.role)); err != nil {
			return fmt.Errorf("give a right to the team %s: %s", g.team, words)
		}
	}
	d.memory.Granted = true
	return d.memory.write()
}

// account creates the demo account on the first run.
func (d *demo) account(ctx context.Context) error {
	if d.memory.Password != "" {
		return nil
	}
	text := strings.ToLower(rand.Text())
	password := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:16]}, "-")
	run := func(args ...string) (string, error) {
		return d.command(ctx, password, append(args, "--password-stdin")...)
	}
	words, err := run("user", "add", demoAccount, "--role", "admin")
	if err != nil && strings.Contains(words, "already") {
		words, err = run("user", "password", demoAccount)
	}
	if err != nil {
		return fmt.Errorf("create the demo account: %s", words)
	}
	d.memory.Password = password
	return d.memory.write()
}

// memory is the stored state of the demonstration.
type memory struct {
	Password string    // of the demo account; empty: not created yet
	SeedTime time.Time // the day on which the sample reports are based
	Seeded   bool      // all sample reports are stored

	BugsSeeded bool // the sample bugs are filed and linked
	Named      bool // the native crash has its function names
	Granted    bool // the teams of the practice provider have roles
	Routed     bool // sample routes are saved

	file string
}

func readMemory(file string) (*memory, error) {
	m := &memory{file: file}
	doc, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(doc, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to start again", file, err)
	}
	return m, nil
}

func (m *memory) write() error {
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(m.file, append(doc, '\n'), 0o600)
}

// variable returns the value of an environment variable, the last one if it is set twice.
func variable(environ []string, name string) string {
	value := ""
	for _, v := range environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}

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
		return os.WriteFile(file, []byte(d.addTables(demoConfig(d.folder, p.url, token))), 0o600)
	}
	if err != nil {
		return err
	}
	// The practice trackers may have new ports, which commands in a terminal need, too.
	now := d.addTables(practiceAddress.ReplaceAllString(string(old), "${1}"+p.url+"${2}"))
	if now != string(old) {
		return os.WriteFile(file, []byte(now), 0o600)
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
	client := launchpad.New(settings, tracker.NewCredentials(settings, bugs.New(store)))
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
func (d *demo) seedBug(ctx context.Context, p *practice, store *db.Store, client *launchpad.Client, s story,
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
	c, err := config.Load(d.configFile(), true, d.environ)
	if err != nil {
		return nil, nil, err
	}
	url, stop, err := databaseAt(ctx, string(c.DatabaseURL), c.DataDir)
	if err != nil {
		return nil, nil, err
	}
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return store, func() error { store.Close(); return stop() }, nil
}

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
