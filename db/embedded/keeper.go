package embedded

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// keeper runs the server and starts it again whenever it dies. It has one goroutine, on a thread of its own: the kernel
// stops the server when that thread ends, which it does with the process at the latest.
type keeper struct {
	home      home
	programs  programs
	throwaway bool
	socket    string
	log       *slog.Logger

	running chan *postmaster // gives the server away to be stopped; nil when it is down just then
	ended   chan struct{}
}

func newKeeper(h home, p programs, c Config, socket string) *keeper {
	return &keeper{
		home: h, programs: p, throwaway: c.Throwaway, socket: socket, log: c.Log,
		running: make(chan *postmaster), ended: make(chan struct{}),
	}
}

// start returns when the server is ready, or why it is not.
func (k *keeper) start(ctx context.Context) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		pm, err := k.launch(ctx)
		started <- err
		if err == nil {
			k.keep(context.WithoutCancel(ctx), pm)
			close(k.ended)
		}
	}()
	return <-started
}

// stop stops the server. It must be called once, after a successful start.
func (k *keeper) stop(ctx context.Context) error {
	if pm := <-k.running; pm != nil {
		if err := pm.shutdown(ctx); err != nil {
			return err
		}
	}
	<-k.ended
	return nil
}

// launch starts the server and waits until it is ready.
func (k *keeper) launch(ctx context.Context) (*postmaster, error) {
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

// keep watches over the server until it has been taken over to be stopped, and has ended.
func (k *keeper) keep(ctx context.Context, pm *postmaster) {
	for {
		select {
		case k.running <- pm:
			<-pm.exited
			return
		case <-pm.exited:
		}
		k.log.Error("PostgreSQL has died and is started again", "reason", pm.lastWords())
		wait := firstPause
		for pm = nil; pm == nil; wait = min(2*wait, maxPause) {
			select {
			case k.running <- nil:
				return
			case <-time.After(wait):
			}
			var err error
			if pm, err = k.revive(ctx); err != nil {
				k.log.Error("PostgreSQL could not be started", "error", err)
			}
		}
		k.log.Info("PostgreSQL runs again")
	}
}

func (k *keeper) revive(ctx context.Context) (*postmaster, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := k.home.endOrphans(ctx, k.log); err != nil {
		return nil, err
	}
	return k.launch(ctx)
}
