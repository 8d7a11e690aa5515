// Command mishap collects crash reports, groups them into problems, shows the problems, and files
// bugs for them. This package parses the command line and wires the other packages together; it
// holds no rules of its own.
package main

import (
	"context"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of people, for machines without tzdata

	"mishap/crash/symbols/sandbox"
)

// program is the environment of a command, which tests replace.
type program struct {
	in       io.Reader
	out, err io.Writer
	environ  []string // as from os.Environ
	listen   func(ctx context.Context, key, address string) (net.Listener, error)
	became   string // the user that root has become, see becomeOwner
}

func main() {
	sandbox.Child() // does not return in the process that becomes gdb
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(), listen: listenOn}
	os.Exit(p.run(ctx, os.Args[1:]))
}
