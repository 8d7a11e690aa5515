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
)

// readyWithin is how long the server may take to start; a first start makes a database cluster.
const readyWithin = 2 * time.Minute

// server is the running mishap, a process of its own.
type server struct {
	command *exec.Cmd
	log     *os.File
	banner  *banner
	last    *lastLines
	ended   chan struct{}
	err     error // after ended: how it ended
}

// start runs `mishap serve`. Its output goes to a file, so that the terminal stays readable.
func (d *demo) start(ctx context.Context, environ []string) (*server, error) {
	log, err := os.OpenFile(d.path("mishap.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s := &server{log: log, banner: newBanner(), last: &lastLines{}, ended: make(chan struct{})}
	s.command = exec.CommandContext(context.WithoutCancel(ctx), d.program, "serve", "--config", d.configFile())
	s.command.Env = environ
	s.command.Stdout = io.MultiWriter(log, s.banner)
	s.command.Stderr = io.MultiWriter(log, s.last)
	s.command.SysProcAttr = ownGroup()
	started := make(chan error, 1)
	go func() {
		defer close(s.ended)
		runtime.LockOSThread() // the kernel takes the end of this thread for the end of the parent
		defer runtime.UnlockOSThread()
		err := s.command.Start()
		started <- err
		if err == nil {
			s.err = s.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%w; \"make build\" makes it", err)
	}
	return s, nil
}

// awaitReady waits until the server says that it runs, and returns where.
func (s *server) awaitReady(ctx context.Context) (doors, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case d := <-s.banner.read:
		return d, nil
	case <-s.ended:
		return doors{}, s.failure()
	case <-ctx.Done():
		return doors{}, fmt.Errorf("waiting for mishap: %w", ctx.Err())
	}
}

// failure says why the server has ended by itself: in its own words.
func (s *server) failure() error {
	<-s.ended
	if words := s.last.said(); words != "" {
		return errors.New(words)
	}
	if s.err == nil {
		return errors.New("mishap was stopped by somebody else")
	}
	return fmt.Errorf("mishap ended: %w; its log is %s", s.err, s.log.Name())
}

// stop asks the server to stop and waits until it has.
func (s *server) stop() error {
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-s.ended
	return s.log.Close()
}

// account makes the demo account on the first run.
func (d *demo) account(ctx context.Context, environ []string) error {
	if d.memory.Password != "" {
		return nil
	}
	text := strings.ToLower(rand.Text())
	password := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:16]}, "-")
	run := func(args ...string) (string, error) {
		args = append(args, "--password-stdin", "--config", d.configFile())
		command := exec.CommandContext(ctx, d.program, args...)
		command.Env, command.Stdin = environ, strings.NewReader(password)
		var said bytes.Buffer
		command.Stderr = &said
		err := command.Run()
		return strings.TrimSpace(said.String()), err
	}
	words, err := run("user", "add", demoAccount, "--role", "admin")
	if err != nil && strings.Contains(words, "already") {
		words, err = run("user", "password", demoAccount)
	}
	if err != nil {
		return fmt.Errorf("make the demo account: %s", words)
	}
	d.memory.Password = password
	return d.memory.write()
}
