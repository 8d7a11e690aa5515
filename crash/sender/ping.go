package sender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mishap/crash"
)

const (
	pingFile    = "ping" // the UTC day of the last ping
	maxPingWait = time.Hour
)

// Ping returns what the machine says once a day.
func (m Machine) Ping() crash.Ping {
	return crash.Ping{Release: m.Release, Architecture: m.Architecture}
}

// pings is when to say that the machine is there.
type pings struct {
	done     string // last day on which that was done
	day      string // the day of due
	due      time.Time
	failures int // in a row, on that day
}

// sendPings says once a day that the machine is there.
func (s *Sender) sendPings(ctx context.Context) error {
	p, err := s.openPings()
	if err != nil {
		return err
	}
	for {
		wait := s.pingRound(ctx, p)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(wait, time.Second)):
		}
	}
}

func (s *Sender) openPings() (*pings, error) {
	content, err := os.ReadFile(filepath.Join(s.config.State, pingFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &pings{done: strings.TrimSpace(string(content))}, nil
}

// pingRound sends the ping of the day if it is due, and returns when to call it again. That is within an hour, because
// the clock may be changed, and waits do not count the time in which the machine sleeps.
func (s *Sender) pingRound(ctx context.Context, p *pings) time.Duration {
	now := s.config.Now().UTC()
	midnight, day := crash.Midnight(now), now.Format(time.DateOnly)
	if p.done == day {
		return min(midnight.AddDate(0, 0, 1).Sub(now), maxPingWait)
	}
	if p.day != day {
		// Any time of the day, so that machines do not come all at once. If it has passed, then now: the machine may
		// not run for long.
		p.day, p.failures = day, 0
		p.due = midnight.Add(rand.N(24 * time.Hour)) //nolint:gosec // not a secret
	}
	if wait := p.due.Sub(now); wait > 0 {
		return min(wait, maxPingWait)
	}
	o := s.client.ping(ctx, s.config.Machine.Ping())
	switch {
	case ctx.Err() != nil:
		return 0
	case !o.done:
		p.failures++
		pause := max(s.pause(p.failures), o.after)
		p.due = now.Add(pause)
		s.config.Log.Warn("the server does not take a ping now; it is sent again", "answer", o.text)
		return min(pause, maxPingWait)
	case o.refuse:
		s.config.Log.Warn("the server refuses the ping of this day", "answer", o.text)
	default:
		s.config.Log.Info("the server has the ping of this day", "answer", o.text)
	}
	p.done = day
	if err := writeFile(filepath.Join(s.config.State, pingFile), []byte(day+"\n")); err != nil {
		s.config.Log.Error("cannot store that the ping is sent; after a restart, it is sent again", "error", err)
	}
	return 0
}

// ping sends a ping.
func (c client) ping(ctx context.Context, p crash.Ping) outcome {
	body, err := json.Marshal(p)
	if err != nil {
		return outcome{text: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+"/ping", bytes.NewReader(body))
	if err != nil {
		return outcome{text: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	return c.do(c.http, req)
}
