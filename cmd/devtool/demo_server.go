package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
)

// readyWithin is how long the server may take to start. The first start creates a database cluster.
const readyWithin = 2 * time.Minute

// server is the process of mishap.
type server struct {
	command *exec.Cmd
	log     *os.File
	banner  *banner
	last    *lastLines
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
	s := &server{log: log, banner: newBanner(), last: &lastLines{}, ended: make(chan struct{})}
	s.command = exec.CommandContext(context.WithoutCancel(ctx), d.program, "serve", "--config", d.configFile())
	s.command.Env = d.environ
	s.command.Stdout = log
	s.command.Stderr = io.MultiWriter(log, s.last, s.banner)
	s.command.SysProcAttr = ownGroup()
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

// failure returns the reason why the server ended, from its output.
func (s *server) failure() error {
	<-s.ended
	if words := s.last.said(); words != "" {
		return errors.New(words)
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
	for team, role := range practiceRoles {
		if words, err := d.command(ctx, "", "access", "grant", "launchpad", team, string(role)); err != nil {
			return fmt.Errorf("give a role to the team %s: %s", team, words)
		}
	}
	// Viewers of the practice provider show what is hidden without this right.
	if words, err := d.command(ctx, "", "access", "grant", "launchpad", "practice-bugcontrol",
		string(crash.RolePrivate)); err != nil {
		return fmt.Errorf("let triagers read private data: %s", words)
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
