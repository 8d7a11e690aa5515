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

	stopping chan context.Context // carries how long the stop may take
	stopped  chan error
}

func newKeeper(h home, p programs, c Config, socket string) *keeper {
	return &keeper{
		home: h, programs: p, throwaway: c.Throwaway, socket: socket, log: c.Log,
		stopping: make(chan context.Context), stopped: make(chan error, 1),
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
			k.stopped <- k.keep(pm)
		}
	}()
	return <-started
}

// stop stops the server. It must be called once, after a successful start.
func (k *keeper) stop(ctx context.Context) error {
	k.stopping <- ctx
	return <-k.stopped
}

// launch starts the server and waits until it is ready.
func (k *keeper) launch(ctx context.Context) (*postmaster, error) {
	if err := k.home.removeStale(k.socket); err != nil {
		return nil, err
	}
	pm, err := launch(k.home, k.programs, k.socket, k.throwaway)
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

// keep watches over the server until it is told to stop.
func (k *keeper) keep(pm *postmaster) error {
	for {
		select {
		case ctx := <-k.stopping:
			return pm.shutdown(ctx)
		case <-pm.exited:
		}
		k.log.Error("PostgreSQL has died and is started again", "reason", pm.lastWords())
		pause := firstPause
		for pm = nil; pm == nil; pause = min(2*pause, maxPause) {
			select {
			case <-k.stopping:
				return nil
			case <-time.After(pause):
			}
			var err error
			if pm, err = k.revive(); err != nil {
				k.log.Error("PostgreSQL could not be started", "error", err)
			}
		}
		k.log.Info("PostgreSQL runs again")
	}
}

func (k *keeper) revive() (*postmaster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	if err := k.home.endOrphans(k.log); err != nil {
		return nil, err
	}
	return k.launch(ctx)
}
