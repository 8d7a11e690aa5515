package crash

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Secret is text that is never printed: every way of formatting it gives a placeholder. string(s) is the text itself.
type Secret string

const hiddenSecret = "[secret]"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hiddenSecret
}

// Format covers every verb of package fmt, also those that would print the text of any string.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString is what %#v shows.
func (s Secret) GoString() string { return s.String() }

// LogValue is what slog shows.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON keeps the text out of anything that is written as JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// AccessToken is what lets mishap act for an account of the tracker.
type AccessToken struct {
	Token   string // its public half
	Secret  Secret
	Context string // what it is limited to, as the tracker said ("None": nothing)
}

// IsZero reports whether there is no token.
func (t AccessToken) IsZero() bool { return t.Token == "" }

// Connection is how this installation stands with the tracker.
type Connection struct {
	Source  ConnectionSource
	Token   string    // public half of the access token
	Context string    // what the token is limited to; "None": nothing; empty: not known
	Person  string    // who connected; empty: it came from a configuration
	Since   time.Time // when; zero: not known
	TokenHealth
}

// ConnectionSource says where the access token in use comes from.
type ConnectionSource string

// The sources, in the order in which they are looked at.
const (
	FromConfiguration ConnectionSource = "configuration" // the file or the environment of this unit
	FromDatabase      ConnectionSource = "database"      // remembered for all units
	NotConnected      ConnectionSource = ""
)

// TrackerKey names credentials: those of one consumer at one tracker.
type TrackerKey struct {
	URL, ConsumerKey string
}

// SavedToken is an access token that is remembered for all units. Its Token is empty when none is.
type SavedToken struct {
	AccessToken
	Person    string // who connected; empty: it came from a configuration
	Connected time.Time
}

// TokenHealth is how an access token has fared with the tracker.
type TokenHealth struct {
	Account     string    // the tracker's name of the account; empty: not asked yet
	LastSuccess time.Time // zero: never
	LastError   string
	LastErrorAt time.Time
	Dead        bool // the tracker has said that the token is no longer good
}
