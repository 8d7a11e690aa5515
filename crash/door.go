package crash

import "time"

// Door is a kind of client that sends reports, by its protocol.
type Door string

// The doors. The database and metrics contain the names.
const (
	DoorWhoopsie Door = "whoopsie" // and mishap send, which uses its protocol
	DoorABRT     Door = "abrt"
	DoorSentry   Door = "sentry"
	DoorMinidump Door = "minidump"
)

// Doors are all doors.
var Doors = []Door{DoorWhoopsie, DoorABRT, DoorSentry, DoorMinidump}

// Project is a program whose reports come with a key.
type Project struct {
	Number    int64
	Name      string
	Source    string // source package
	Listed    bool   // its key is in the public list that DrKonqi reads
	Created   time.Time
	CreatedBy string
	Keys      []ProjectKey // the newest first
}

// Key returns the newest key that is valid, or "".
func (p Project) Key() string {
	for _, k := range p.Keys {
		if k.Revoked.IsZero() {
			return k.Key
		}
	}
	return ""
}

// ProjectKey is a key with which a program reports. It permits nothing else, so it is not secret.
type ProjectKey struct {
	Key       string // 32 hex digits
	Created   time.Time
	CreatedBy string
	Revoked   time.Time // zero: it is valid
	LastUsed  time.Time // zero: never
}

// ClosedDoor is a door through which nothing is accepted.
type ClosedDoor struct {
	Door   Door
	Closed time.Time
	By     string
}

// DoorCount is what came through a door on some days.
type DoorCount struct {
	Door     Door
	Project  int64  // 0: none, or it is not known
	Outcome  string // stored, repeated, dropped, refused, failed, lost
	Reason   string // of a refusal
	Requests int64
	LastSeen time.Time
}

// Ping is what a machine says once a day if it may: that it is there. It names nothing that tells machines apart.
type Ping struct {
	Release      Release `json:"release"`
	Architecture string  `json:"architecture"`
}

// PingCount is how many machines of a release said on a day that they are there.
type PingCount struct {
	Release  Release // empty: those that are not counted by release
	Machines int64
}
