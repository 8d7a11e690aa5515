package embedded

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// supervisor runs the server and restarts it after a crash. It has one goroutine with its own
// thread. The kernel stops the server when that thread ends, at the latest with the process.
type supervisor struct {
	home      home
	programs  programs
	throwaway bool
	socket    string
	log       *slog.Logger

	running chan *postmaster // passes the server to stop; nil if it is not running
	ended   chan struct{}
}

func newSupervisor(h home, p programs, c Config, socket string) *supervisor {
	return &supervisor{
		home: h, programs: p, throwaway: c.Throwaway, socket: socket, log: c.Log,
		running: make(chan *postmaster), ended: make(chan struct{}),
	}
}

// start waits until the server is ready, or returns the error.
func (k *supervisor) start(ctx context.Context) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		pm, err := k.launch(ctx)
		started <- err
		if err == nil {
			k.supervise(context.WithoutCancel(ctx), pm)
			close(k.ended)
		}
	}()
	return <-started
}

// stop stops the server. It must be called exactly once, after a successful start.
func (k *supervisor) stop(ctx context.Context) error {
	if pm := <-k.running; pm != nil {
		if err := pm.shutdown(ctx); err != nil {
			return err
		}
	}
	<-k.ended
	return nil
}

// launch starts the server and waits until it is ready.
func (k *supervisor) launch(ctx context.Context) (*postmaster, error) {
	if err := k.home.removeStale(k.socket); err != nil {
		return nil, err
	}
	pm, err := launch(ctx, k.home, k.programs, k.socket, k.throwaway)
	if err != nil {
		return nil, err
	}
	if err := pm.awaitReady(ctx); err != nil {
		_ = pm.shutdown(ctx)
		return nil, err
	}
	return pm, nil
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

// supervise restarts the server when it dies, until stop has received it and it has ended.
func (k *supervisor) supervise(ctx context.Context, pm *postmaster) {
	for {
		select {
		case k.running <- pm:
			<-pm.exited
			return
		case <-pm.exited:
		}
		k.log.Error("PostgreSQL died; restarting it", "reason", pm.lastMessages())
		wait := firstPause
		for pm = nil; pm == nil; wait = min(2*wait, maxPause) {
			select {
			case k.running <- nil:
				return
			case <-time.After(wait):
			}
			var err error
			if pm, err = k.revive(ctx); err != nil {
				k.log.Error("restart PostgreSQL", "error", err)
			}
		}
		k.log.Info("PostgreSQL is running again")
	}
}

func (k *supervisor) revive(ctx context.Context) (*postmaster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := k.home.endOrphans(ctx, k.log); err != nil {
		return nil, err
	}
	return k.launch(ctx)
}
