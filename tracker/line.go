package tracker

import (
	"errors"
	"time"
)

// line keeps a unit that has sent a bug at it until nobody stands in line any more, or another unit sends.
type line struct {
	moving bool // somebody goes along the line
	again  bool // something has changed since he looked
}

// maxRest is how many times the shortest rest the longest is.
const maxRest = 20

// rest is how long those who stand in line wait after one was sent: as long as the tracker took, so that it has half of the
// time for others, and much longer when it is away, busy, or no longer accepts us.
func (f *Filer) rest(took time.Duration, err error) time.Duration {
	if e, ok := errors.AsType[*CallError](err); ok {
		switch e.Outcome {
		case OutcomeBusy, OutcomeNotSent, OutcomeCredentials:
			return maxRest * f.cfg.Rest
		case OutcomeDone, OutcomeRefused, OutcomeUnknown:
		}
	}
	return min(max(took, f.cfg.Rest), maxRest*f.cfg.Rest)
}

// advance sends those in line one after the other, until none is left for this unit. A unit does so once at a time.
func (f *Filer) advance() {
	f.mu.Lock()
	if f.line.again = true; f.line.moving {
		f.mu.Unlock()
		return
	}
	f.line.moving = true
	f.mu.Unlock()
	for f.look() {
		for last := int64(0); ; {
			if last = f.nextInLine(last); last == 0 {
				break
			}
		}
	}
}

// look notes that the line is looked at now; false: nothing has changed since the last time, and this unit leaves it.
func (f *Filer) look() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.line.moving = f.line.again && !f.closed
	f.line.again = false
	return f.line.moving
}

// nextInLine has the next in line sent and returns which it was; 0: there is none for this unit. One that stays where it is
// though it was its turn is left to the sweep.
func (f *Filer) nextInLine(last int64) int64 {
	turn, err := f.store.NextTurn(f.ctx)
	if err != nil {
		f.log.WarnContext(f.ctx, "cannot look who is next in line", "error", err)
		return 0
	}
	if turn.Filing == 0 || turn.Filing == last && turn.In == 0 {
		return 0
	}
	timer := time.NewTimer(turn.In)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.closing:
		return 0
	}
	<-f.start(turn.Filing)
	return turn.Filing
}
