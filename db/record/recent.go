package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"mishap/crash/audit"
)

const (
	maxRecent = 20_000 // keys that a Recent holds
	// MaxOfVisitors limits the records of visitors together, an hour and instance.
	MaxOfVisitors = 1000
)

// Recent holds the keys of recent records, so that a repeated view needs no query. It is safe for
// concurrent use. The zero value is ready to use.
type Recent struct {
	mu       sync.Mutex
	keys     map[string]bool
	hour     time.Time
	visitors int // records of visitors in this hour
}

// InsertOnce inserts a record of an event unless there is one of the same actor, object and reason in
// this period.
func (r *Recent) InsertOnce(ctx context.Context, conn Conn, now time.Time, e Event, period time.Duration) error {
	a := actorOf(ctx, e)
	key := strings.Join([]string{string(a.Kind), a.Person, a.Via, a.Address, e.Action, e.Subject, e.Refused,
		strconv.FormatInt(now.UnixNano()/int64(period), 10)}, "\x1f")
	sum := sha256.Sum256([]byte(key))
	once := hex.EncodeToString(sum[:16])
	if !r.wants(once, a.Kind == audit.Visitor, now) {
		if actor := audit.ActorOf(ctx); actor != nil {
			actor.MarkRecorded()
		}
		return nil
	}
	if err := Insert(ctx, conn, now, e, once); err != nil {
		return err
	}
	r.add(once)
	return nil
}

// wants reports whether a record should be inserted.
func (r *Recent) wants(key string, visitor bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(r.hour) || len(r.keys) >= maxRecent {
		if !hour.Equal(r.hour) {
			r.visitors = 0
		}
		r.keys, r.hour = map[string]bool{}, hour
	}
	if r.keys[key] || visitor && r.visitors >= MaxOfVisitors {
		return false
	}
	if visitor {
		r.visitors++
	}
	return true
}

func (r *Recent) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[key] = true
}
