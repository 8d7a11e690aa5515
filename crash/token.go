package crash

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Scope is a purpose for which an API token may be used.
type Scope string

// The scopes. A token never grants more than the rights of its owner.
const (
	ScopeRead        Scope = "read"         // reports and traces, without private data
	ScopeReadPrivate Scope = "read-private" // private data: core dumps, histories of machines
	ScopeTriage      Scope = "triage"       // change the status, assignee and tags of problems
	ScopeFile        Scope = "file"         // create bugs
	ScopeAdmin       Scope = "admin"        // read what administrators see, and erase machines
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeRead, ScopeReadPrivate, ScopeTriage, ScopeFile, ScopeAdmin}

// oldScopes maps scopes to the ones that included them in tokens of the old form. Such tokens keep
// what they could do until they expire.
var oldScopes = map[Scope]Scope{ScopeReadPrivate: ScopeRead, ScopeAdmin: ScopeRead, ScopeTriage: ScopeFile}

// MayScope reports whether the person may create tokens with a scope.
func (u User) MayScope(s Scope) bool {
	switch s {
	case ScopeRead:
		return u.Role.Allows(RoleViewer)
	case ScopeReadPrivate:
		return u.Private.Some()
	case ScopeTriage, ScopeFile:
		return u.MayTriageSome()
	case ScopeAdmin:
		return u.Role.Allows(RoleAdmin)
	}
	return false
}

// ParseScope parses the name of a scope. It returns an error of kind Invalid for any other text.
func ParseScope(s string) (Scope, error) {
	if slices.Contains(Scopes, Scope(s)) {
		return Scope(s), nil
	}
	return "", Errorf(Invalid, "unknown_scope",
		"%.40q is not a scope; the scopes are read, read-private, triage, file and admin.", s)
}

// The form of the text of a token: the prefix, 32 random bytes in base62, and the CRC-32 (IEEE) of these
// digits in base62, both padded with zeros to a fixed width. Scanners for leaked secrets can recognise it
// without asking the server. Tokens of the old form have another prefix and no checksum.
const (
	tokenPrefix    = "mshp_"
	oldTokenPrefix = "mishap_"
	tokenBytes     = 32
	tokenDigits    = 43 // 62^43 > 2^256
	checkDigits    = 6  // 62^6 > 2^32
	maxOldToken    = 100
	tokenHint      = 8 // characters of a token that lists show
)

// NewTokenText returns the text of a new API token, and its last characters.
func NewTokenText() (token, hint string) {
	secret := make([]byte, tokenBytes)
	_, _ = rand.Read(secret) // never fails
	digits := base62(new(big.Int).SetBytes(secret), tokenDigits)
	token = tokenPrefix + digits + tokenChecksum(digits)
	return token, token[len(token)-tokenHint:]
}

func tokenChecksum(digits string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(digits)))), checkDigits)
}

// base62 returns n with the digits 0-9, a-z and A-Z, padded with zeros to a width.
func base62(n *big.Int, width int) string {
	digits := n.Text(62)
	return strings.Repeat("0", width-len(digits)) + digits
}

// The errors of API tokens.
var (
	ErrBadToken = Errorf(Unauthenticated, "bad_token",
		"Unauthorized: this API token is unknown, revoked or expired. Create a new one on the page of your account.")
	errMistypedToken = Errorf(Unauthenticated, "mistyped_token",
		"Unauthorized: this API token contains a typing error, since its checksum does not match. Copy it again, completely.")
	errNoToken = Errorf(Unauthenticated, "bad_token",
		"Unauthorized: this is not an API token of mishap, which begins with %s.", tokenPrefix)
)

// CheckTokenText checks the form of a token. It returns Unauthenticated if no token has this text.
func CheckTokenText(token string) error {
	if strings.HasPrefix(token, oldTokenPrefix) && len(token) <= maxOldToken {
		return nil
	}
	digits, isToken := strings.CutPrefix(token, tokenPrefix)
	switch {
	case !isToken:
		return errNoToken
	case len(digits) != tokenDigits+checkDigits, tokenChecksum(digits[:tokenDigits]) != digits[tokenDigits:]:
		return errMistypedToken
	}
	return nil
}

// TokenWarning is how long before its expiry the owner of a token is warned.
const TokenWarning = 7 * 24 * time.Hour

// APIToken describes a key for scripts. It does not contain the key itself, which only its person
// has.
type APIToken struct {
	ID          int64
	Name        string // name that its person chose
	Hint        string // last characters of the key, or first characters of one of the old form
	Scopes      []Scope
	Created     time.Time
	Expires     time.Time
	LastUsed    time.Time // to the minute; zero: never
	LastAddress string    // of the client at that time; empty: unknown
}

// old reports whether the token has the old form.
func (t APIToken) old() bool { return strings.HasPrefix(t.Hint, oldTokenPrefix) }

// Label returns the known part of the key, as lists, logs and the audit log show it.
func (t APIToken) Label() string {
	if t.old() {
		return t.Hint + "…"
	}
	return "…" + t.Hint
}

// Allows reports whether the token has the scope.
func (t APIToken) Allows(s Scope) bool {
	return slices.Contains(t.Scopes, s) || t.old() && slices.Contains(t.Scopes, oldScopes[s])
}

// Need returns Forbidden if t is a token without the scope. A nil token is a request without token.
func (t *APIToken) Need(s Scope) error {
	if t == nil || t.Allows(s) {
		return nil
	}
	return Errorf(Forbidden, "scope", "This API token does not have the scope %s.", s)
}

// Expired reports whether the token no longer works.
func (t APIToken) Expired(now time.Time) bool { return !t.Expires.After(now) }

// ExpiresSoon reports whether the token works, but expires within TokenWarning.
func (t APIToken) ExpiresSoon(now time.Time) bool {
	return !t.Expired(now) && !t.Expires.After(now.Add(TokenWarning))
}

// PersonToken is an API token with its owner.
type PersonToken struct {
	APIToken
	Person   string    // name of the account
	Team     Team      // that owns the service account; zero: the account of a person
	Disabled bool      // the account is disabled, so that the token does not work
	Revoked  time.Time // zero: not revoked
}

// TokenUnused is how long a token that was not used at all counts as unused.
const TokenUnused = 90 * 24 * time.Hour

// Unused reports whether the token was not used within TokenUnused, although it existed.
func (t APIToken) Unused(now time.Time) bool {
	last := t.Created
	if t.LastUsed.After(last) {
		last = t.LastUsed
	}
	return now.Sub(last) > TokenUnused
}

// TokenState selects tokens in lists.
type TokenState string

// The states. Tokens that expire soon are valid, too, and unused ones are valid or expired.
const (
	TokensNotRevoked TokenState = ""
	TokensValid      TokenState = "valid"
	TokensSoon       TokenState = "soon"
	TokensExpired    TokenState = "expired"
	TokensUnused     TokenState = "unused"
	TokensRevoked    TokenState = "revoked"
	TokensAll        TokenState = "all"
)

// TokenStates lists all states.
var TokenStates = []TokenState{TokensNotRevoked, TokensValid, TokensSoon, TokensExpired, TokensUnused, TokensRevoked,
	TokensAll}

// ParseTokenState parses the name of a state. It returns an error of kind Invalid for any other
// text.
func ParseTokenState(s string) (TokenState, error) {
	if slices.Contains(TokenStates, TokenState(s)) {
		return TokenState(s), nil
	}
	return "", Errorf(Invalid, "unknown_state",
		"%.40q is not a state of tokens; the states are valid, soon, expired, unused, revoked and all.", s)
}

// TokenFilter selects tokens. Zero fields select all.
type TokenFilter struct {
	Person string // name of the account
	Text   string // part of the name of the account, its team or the token
	Scope  Scope
	State  TokenState
	Limit  int
}
