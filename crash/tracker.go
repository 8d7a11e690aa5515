package crash

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Secret is text that is never printed: every format shows a placeholder. string(s) returns the
// text itself.
type Secret string

const hiddenSecret = "[secret]"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hiddenSecret
}

// Format writes the placeholder for every verb of package fmt, including %x and %q.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString returns the placeholder, for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue returns the placeholder, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes the placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// AccessToken allows mishap to act for an account of the tracker.
type AccessToken struct {
	Token   string // its public part
	Secret  Secret
	Context string // what it is limited to, as the tracker said ("None": unlimited)
}

// IsZero reports whether there is no token.
func (t AccessToken) IsZero() bool { return t.Token == "" }

// Connection is the state of this installation's connection to the tracker.
type Connection struct {
	Source  ConnectionSource
	Token   string    // public half of the access token
	Context string    // what the token is limited to; "None": unlimited; empty: unknown
	Person  string    // who connected; empty: it came from the configuration
	Since   time.Time // when; zero: unknown
	TokenHealth
}

// ConnectionSource says where the access token in use comes from.
type ConnectionSource string

// The sources, in order of precedence.
const (
	FromConfiguration ConnectionSource = "configuration" // the file or the environment of this instance
	FromDatabase      ConnectionSource = "database"      // cached for all instances
	NotConnected      ConnectionSource = ""
)

// TrackerKey identifies credentials: those of one consumer at one tracker.
type TrackerKey struct {
	URL, ConsumerKey string
}

// SavedToken is an access token that the database caches for all instances. Its Token is empty if
// there is none.
type SavedToken struct {
	AccessToken
	Person    string // who connected; empty: it came from the configuration
	Connected time.Time
}

// OwnAccount is the connection of a person to their own account of the tracker, without its secret.
type OwnAccount struct {
	User      int64 // id of the person; 0: not connected
	Token     string
	Context   string // what the token is limited to; "None": unlimited; empty: unknown
	Connected time.Time
	Preferred bool // the person's bugs are filed with it unless they choose otherwise
	Enabled   bool // the person may sign in to mishap
	TokenHealth
}

// Unusable returns why bugs cannot be filed with the account, or an empty string if they can.
func (a OwnAccount) Unusable() string {
	switch {
	case a.User == 0:
		return "The person's own account is not connected."
	case !a.Enabled:
		return "The person's account at mishap is disabled."
	case a.Dead:
		return "The tracker rejected the person's own account (" + a.LastError + ")."
	case a.Account == "":
		return "The name of the person's own account could not be read from the tracker."
	}
	return ""
}

// TokenHealth records whether the tracker accepts an access token.
type TokenHealth struct {
	Account     string    // name of the account at the tracker; empty: unknown
	LastSuccess time.Time // zero: never
	LastError   string
	LastErrorAt time.Time
	Dead        bool // the tracker rejected the token
}

// TrackerState says what of the tracker matters on every page to people who file bugs.
type TrackerState struct {
	Restored    Restored
	OwnRejected bool  // the tracker rejected the person's own account
	Connected   bool  // this instance has an access token
	Rejected    bool  // the tracker rejected it
	Waiting     int64 // bugs that wait to be filed
}
