package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"time"

	"mishap/crash"
	"mishap/handlers/people/openidtest"
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

// practiceRoles are the roles of the teams of practicePeople.
var practiceRoles = map[string]crash.Role{
	"practice-admins": crash.RoleAdmin, "practice-bugcontrol": crash.RoleTriager, "practice-readers": crash.RoleViewer,
}

// practice is a practice tracker, with a practice provider to sign in at, that runs in this process.
type practice struct {
	*trackertest.Server
	url  string
	http *http.Server
	done chan struct{}
}

// startPractice starts a practice tracker on the address, or on another port if it is in use.
func startPractice(ctx context.Context, address, state string) (*practice, error) {
	s, err := trackertest.NewServer(trackertest.Options{StateFile: state})
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		l, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("practice tracker: %w", err)
	}
	p := &practice{
		Server: s, url: "http://" + l.Addr().String(), done: make(chan struct{}),
	}
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
