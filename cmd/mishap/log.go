package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"mishap/crash"
	"mishap/db"
)

// newLog returns a logger that writes text to a terminal, and JSON elsewhere.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// isTerminal reports whether a stream, an io.Reader or io.Writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// outage logs the first message about a database that is unavailable or full, and leaves out further
// ones until it works again.
type outage struct {
	mu          sync.Mutex
	since, last time.Time // of the messages; zero: the database works
	quiet       time.Duration
	leftOut     int
}

// How long there must be no further message before an outage is over. A full disk fails only what
// writes.
const (
	quietAway = 3 * time.Second
	quietFull = 10 * time.Minute
)

// logger returns a logger without repeated messages.
func (o *outage) logger(log *slog.Logger) *slog.Logger {
	return slog.New(outageHandler{Handler: log.Handler(), outage: o})
}

// queueLogger returns a logger for the job queue. What the queue reports as information is of use only to
// those who debug it, and its errors are errors of the database, as text.
func (o *outage) queueLogger(log *slog.Logger) *slog.Logger {
	return slog.New(outageHandler{Handler: log.Handler(), outage: o, queue: true})
}

// check logs the end of an outage if the database answers to ping.
func (o *outage) check(ctx context.Context, log *slog.Logger, now time.Time, ping func(context.Context) error) {
	o.mu.Lock()
	over := !o.since.IsZero() && now.Sub(o.last) >= o.quiet
	o.mu.Unlock()
	if !over || ping(ctx) != nil {
		return
	}
	o.mu.Lock()
	since, last, leftOut := o.since, o.last, o.leftOut
	o.since, o.leftOut = time.Time{}, 0
	o.mu.Unlock()
	log.InfoContext(ctx, "the database works again", "seconds", last.Sub(since).Seconds(), "messages_left_out", leftOut)
}

type outageHandler struct {
	slog.Handler
	*outage

	queue bool
}

// Enabled implements [slog.Handler].
func (h outageHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if h.queue && level == slog.LevelInfo {
		level = slog.LevelDebug
	}
	return h.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h outageHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.queue && r.Level == slog.LevelInfo {
		r.Level = slog.LevelDebug
	}
	about, full := h.about(r)
	if !about {
		return h.Handler.Handle(ctx, r)
	}
	h.mu.Lock()
	first := h.since.IsZero()
	if first {
		h.since, h.quiet = r.Time, quietAway
	} else {
		h.leftOut++
	}
	if h.last = r.Time; full {
		h.quiet = quietFull
	}
	h.mu.Unlock()
	if !first {
		return nil
	}
	r = r.Clone()
	r.AddAttrs(slog.String("note", "further messages about the database are left out until it works again"))
	if full {
		r.AddAttrs(slog.String("remedy", "make space on the disk of the database; it continues by itself"))
	}
	return h.Handler.Handle(ctx, r)
}

// about reports whether a record is about a database that is unavailable, and whether it is full.
func (h outageHandler) about(r slog.Record) (about, full bool) {
	if r.Level < slog.LevelWarn {
		return false, false
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "error" && a.Key != "err" {
			return true
		}
		err, isError := a.Value.Any().(error)
		about = h.queue || isError && db.IsOutage(err)
		full = isError && db.IsFull(err)
		return false
	})
	return about, full
}

// WithAttrs implements [slog.Handler].
func (h outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h outageHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// machineProblems logs what is wrong with this machine once, when it begins, and its end.
type machineProblems struct {
	log *slog.Logger
	now map[string]string // the problem of each check
}

// update compares the checks with the previous ones.
func (p *machineProblems) update(ctx context.Context, checks []crash.HealthCheck) {
	for _, c := range checks {
		before := p.now[c.Name]
		p.now[c.Name] = c.Problem // also if only a number in it has changed
		switch {
		case (c.Problem == "") == (before == ""):
		case c.Problem != "":
			p.log.WarnContext(ctx, c.Problem, "detail", c.Detail, "remedy", c.Remedy)
		default:
			p.log.InfoContext(ctx, "this is over: "+before)
		}
	}
}
