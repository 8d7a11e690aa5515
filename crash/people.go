package crash

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Role determines what a signed-in person may do. Each role includes the rights of the roles below
// it.
type Role string

// The roles, lowest first. RoleNone is a visitor who has not signed in.
const (
	RoleNone    Role = ""
	RoleViewer  Role = "viewer"  // sees reports and traces
	RoleTriager Role = "triager" // files and links bugs
	RoleAdmin   Role = "admin"   // connects the tracker, sees /admin

	// RolePrivate is the right to read private data. Grants give it beside a role, so it has no rank and
	// is never the role of a person.
	RolePrivate Role = "private"
)

var roleRank = map[Role]int{RoleNone: 0, RoleViewer: 1, RoleTriager: 2, RoleAdmin: 3}

// Allows reports whether role r includes the rights of role need.
func (r Role) Allows(need Role) bool {
	have, ok := roleRank[r]
	return ok && have >= roleRank[need]
}

// Higher returns the one of r and other that includes more rights.
func (r Role) Higher(other Role) Role {
	if other.Allows(r) {
		return other
	}
	return r
}

// ParseRole parses viewer, triager or admin. It returns an error of kind Invalid for any other
// text.
func ParseRole(s string) (Role, error) {
	return ParseWord(s, []Role{RoleViewer, RoleTriager, RoleAdmin}, "role")
}

// ParseWord returns s if it is one of some words. Otherwise it returns an error of kind Invalid that names the
// words. The thing, such as "state of tokens", says what they are; its first word is in the code of the error.
func ParseWord[T ~string](s string, words []T, thing string) (T, error) {
	if slices.Contains(words, T(s)) {
		return T(s), nil
	}
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	first, _, _ := strings.Cut(thing, " ")
	return "", Errorf(Invalid, "unknown_"+first, "%.40q is not a %s. Use %s.", s, thing,
		strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
}

// Packages are the source packages for which a person has a right.
type Packages struct {
	All   bool
	Names []string // names and patterns such as linux-*, sorted; without effect if All
}

const patternRunes = `*?[\`

// Include reports whether a source package is among p. An unknown source package is only among all.
func (p Packages) Include(source string) bool {
	if p.All || source == "" {
		return p.All
	}
	if _, found := slices.BinarySearch(p.Names, source); found {
		return true
	}
	return slices.ContainsFunc(p.Names, func(name string) bool {
		if !strings.ContainsAny(name, patternRunes) {
			return false
		}
		ok, err := path.Match(name, source)
		return ok && err == nil
	})
}

// Some reports whether p can include any package.
func (p Packages) Some() bool { return p.All || len(p.Names) > 0 }

// Add returns p with the packages of a grant.
func (p Packages) Add(scope GrantScope, members []string) Packages {
	switch scope.Kind {
	case GrantAll:
		p.All = true
	case GrantPackage:
		members = []string{scope.Name}
		fallthrough
	case GrantSet, GrantTeam:
		p.Names = append(slices.Clone(p.Names), members...)
		slices.Sort(p.Names)
		p.Names = slices.Compact(p.Names)
	}
	return p
}

// ReservedNames are words that stand for people in searches, forms and the API, in place of a name. No new
// account gets one of them as its name.
var ReservedNames = []string{"any", "everyone", "me", "nobody", "none"}

// ReservedName reports whether a name is one of ReservedNames, whatever the case.
func ReservedName(name string) bool {
	return slices.ContainsFunc(ReservedNames, func(word string) bool { return strings.EqualFold(word, name) })
}

// User is the account of a person.
type User struct {
	ID        int64
	Name      string
	Role      Role // the highest role for all packages; viewer if the person has rights for some packages only
	Manual    Role // given by hand
	Disabled  bool
	Created   time.Time
	LastLogin time.Time // zero: never

	HasPassword bool // can sign in with a password
	HasApp      bool // signing in with the password needs a code of an authenticator app
	Team        Team // that owns the service account; zero: the account of a person

	TrackerName string // name of the person's account at the tracker; empty: unknown

	GroupsExpired bool // signing in again where the person has groups may give rights that have expired

	Triage  Packages // for whose problems the person may decide and file bugs; all if Role allows that
	Private Packages // whose private data the person may read
	// Embargoed are those of Private whose embargoed problems the person may see, too: all except those
	// of grants that an upgrade gave and nobody has confirmed.
	Embargoed Packages
}

// Service reports whether the account is a service account: nobody can sign in to it, and its
// tokens are managed by its team.
func (u User) Service() bool { return u.Team.Name != "" }

// MayTriage reports whether the person may decide about problems of a source package and file bugs
// for them.
func (u User) MayTriage(source string) bool {
	return u.Role.Allows(RoleTriager) || u.Triage.Include(source)
}

// MayTriageSome reports whether the person may decide about problems of at least one package.
func (u User) MayTriageSome() bool { return u.Role.Allows(RoleTriager) || u.Triage.Some() }

// MayReadCore reports whether the person may read core dumps of a source package. They hold the
// memory of programs, so that needs both rights.
func (u User) MayReadCore(source string) bool {
	return u.Private.Include(source) && u.MayTriage(source)
}

// CheckTriage returns Forbidden, with whom to ask, if the person may not decide about problems of a
// source package, or ErrGroupsExpired if signing in again may change that.
func (u User) CheckTriage(source string) error {
	if u.MayTriage(source) {
		return nil
	}
	if u.GroupsExpired {
		return ErrGroupsExpired
	}
	return Errorf(Forbidden, "role_of_package", "Deciding about problems of %s needs the role triager for this package. "+
		"Ask an administrator for it.", packageOrAll(source))
}

// HiddenField is the field of a report in files and answers that lists the names of hidden fields.
const HiddenField = "MishapHidden"

// The fields of stored reports in which mishap lists the names of removed fields, one a line.
const (
	DroppedField = "MishapDropped" // secret fields, which were never stored or are stored no longer
	ExpiredField = "MishapExpired" // private fields that were removed because of their age
)

// HiddenSystem stands for a machine that a person may not know.
const HiddenSystem SystemID = "(private)"

// VisibleSystem returns the machine of a report if the person may know it.
func (u User) VisibleSystem(system SystemID, source string) SystemID {
	if system == "" || u.Private.Include(source) {
		return system
	}
	return HiddenSystem
}

// CheckPrivate returns Forbidden, with whom to ask, if the person may not read private data of a
// source package.
func (u User) CheckPrivate(source string) error {
	if u.Private.Include(source) {
		return nil
	}
	return Errorf(Forbidden, "private", "This needs the right to private data of %s. Ask an administrator for it.",
		packageOrAll(source))
}

func packageOrAll(source string) string {
	if source == "" {
		return "all packages"
	}
	return source
}

// Names returns the names by which problems are assigned to the person: that of the account and, if
// it is known, that at the tracker. mishap does not know the teams of a person.
func (u User) Names() []string {
	if u.Name == "" {
		return nil
	}
	names := []string{u.Name}
	if u.TrackerName != "" {
		names = append(names, "~"+u.TrackerName)
	}
	return names
}

// Source is a way of signing in other than a name and password.
type Source string

// The sources.
const (
	SourceLaunchpad Source = "launchpad" // OpenID 2.0 with teams
	SourceOIDC      Source = "oidc"      // OpenID Connect
	SourceProxy     Source = "proxy"     // a header that a reverse proxy sets
)

// SourceAccount stands for one account in place of a group of a source. It is no way of signing in.
const SourceAccount Source = "account"

// Sources lists all sources.
var Sources = []Source{SourceLaunchpad, SourceOIDC, SourceProxy}

// ParseSource parses launchpad, oidc or proxy. It returns an error of kind Invalid for any other text.
func ParseSource(s string) (Source, error) {
	return ParseWord(s, Sources, "way of signing in")
}

// OpenIDConfig configures signing in with OpenID 2.0.
type OpenIDConfig struct {
	URL  string // of the provider, without a slash at the end; empty: off
	Name string // for people
}

// OIDCConfig configures signing in with OpenID Connect.
type OIDCConfig struct {
	Issuer       string // empty: off
	Name         string // for people
	ClientID     string
	ClientSecret Secret
	GroupsClaim  string // claim that holds the groups
}

// ErrSignInCancelled means that a person chose at another site not to sign in.
var ErrSignInCancelled = Errorf(Unauthenticated, "sign_in_cancelled", "You have cancelled signing in.")

// Identity is a person as a source identifies them. Source, Issuer and Subject together never change.
type Identity struct {
	Source  Source
	Issuer  string   // address of the site; empty for a proxy
	Subject string   // identifier at that site
	Name    string   // nickname at that site, for people to read; it may change and is not unique
	Groups  []string // all groups that the source states
	Session string   // session at that site (sid of OpenID Connect); empty: unknown
	Refresh Secret   // refresh token, by which the site states the groups again; empty: none
	Offline bool     // Refresh stays valid when the person signs out there
}

// RightsConfig configures what people may do without a role that an administrator has given to them.
type RightsConfig struct {
	Everyone     Role          // role of people who have no other
	GroupsMaxAge time.Duration // how long groups count after a source has stated them; 0: GroupsMaxAge
}

// GroupsMaxAge is how long groups count unless configured otherwise.
const GroupsMaxAge = 30 * 24 * time.Hour

// ErrGroupsExpired means that a right is missing which groups may give once the person signs in again.
var ErrGroupsExpired = Errorf(Unauthenticated, "groups_expired", "Your rights have expired, because your groups "+
	"were last checked too long ago. Sign in again where you have these groups; this also renews your API tokens.")

// The limits of an identity.
const (
	MaxSubject = 500 // bytes of a subject
	MaxGroups  = 1000
	MaxGroup   = 200 // bytes of the name of a group
)

// GrantScopeKind is the kind of packages for which a grant gives a right.
type GrantScopeKind string

// The kinds of scopes, as in rules.
const (
	GrantAll     GrantScopeKind = "everything"
	GrantPackage GrantScopeKind = "package" // a source package, or a pattern such as linux-*
	GrantSet     GrantScopeKind = "set"     // the source packages of a package set of the tracker
	GrantTeam    GrantScopeKind = "team"    // to whose bugs a person or team is subscribed at the tracker
)

// GrantScopeKinds lists all kinds of scopes.
var GrantScopeKinds = []GrantScopeKind{GrantAll, GrantPackage, GrantSet, GrantTeam}

// GrantScope says for which source packages a grant gives a right.
type GrantScope struct {
	Kind GrantScopeKind
	Name string // empty for all packages
}

var archiveName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`)

const maxScopeName = 100

// Check returns an error of kind Invalid if there cannot be such a scope.
func (s GrantScope) Check() error {
	if s.Kind == GrantAll && s.Name == "" {
		return nil
	}
	bad := len(s.Name) > maxScopeName
	switch s.Kind {
	case GrantPackage:
		_, err := path.Match(s.Name, "x")
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune(patternRunes+"]^", r) {
				return 'x'
			}
			return r
		}, s.Name)
		bad = bad || err != nil || !archiveName.MatchString(plain)
	case GrantSet, GrantTeam:
		bad = !validArchiveName(s.Name)
	case GrantAll:
		bad = true
	default:
		return Errorf(Invalid, "unknown_scope", "%q is not a kind of packages; they are everything, package, set and team.",
			string(s.Kind))
	}
	if bad {
		return Errorf(Invalid, "bad_scope", "%q is not the name of a package, a pattern such as linux-*, "+
			"a package set or a team.", s.Name)
	}
	return nil
}

// Grant gives a role to the members of a group or to one account.
type Grant struct {
	ID      int64
	Source  Source // SourceAccount: the grant is to one account
	Group   string // with SourceAccount: name of the account
	Role    Role   // a role, or RolePrivate
	Scope   GrantScope
	By      string // account that added it; empty: the command line
	Created time.Time
	// Unconfirmed grants of RolePrivate come from an upgrade, and do not show embargoed problems.
	Unconfirmed bool
}

// Check returns an error of kind Invalid if there cannot be such a grant.
func (g Grant) Check() error {
	if g.Source != SourceAccount {
		if _, err := ParseSource(string(g.Source)); err != nil {
			return err
		}
	}
	if g.Role != RolePrivate {
		if _, err := ParseRole(string(g.Role)); err != nil {
			return Errorf(Invalid, "unknown_role", "%q is not a role; groups and accounts can get viewer, triager, admin and "+
				"private.", string(g.Role))
		}
	}
	if err := g.Scope.Check(); err != nil {
		return err
	}
	if g.Scope.Kind != GrantAll && g.Role != RoleTriager && g.Role != RolePrivate {
		return Errorf(Invalid, "role_for_all", "The role %s applies to all packages. For some packages there are triager "+
			"and private.", g.Role)
	}
	return nil
}

// StoredIdentity is an identity as of its last sign-in. It has no groups if they have expired.
type StoredIdentity struct {
	ID     int64
	UserID int64
	Identity
	LastSignIn time.Time
	GroupsRead time.Time // when the source stated the groups last; zero: it has refused to state them again
	Expired    bool      // the groups are too old to count
}

// RoleReason is a reason why a person has a role, or the right to private data.
type RoleReason struct {
	Role   Role
	Source Source // empty: given by hand, or to everyone
	Group  string // empty: as Source
	ByHand bool
	Scope  GrantScope
}

// RoleReasons returns why a person has the role, the highest first. everyone is the role of people who
// have no other.
func RoleReasons(u User, identities []StoredIdentity, grants []Grant, everyone Role) []RoleReason {
	var reasons []RoleReason
	if u.Manual != RoleNone {
		reasons = append(reasons, RoleReason{Role: u.Manual, ByHand: true, Scope: GrantScope{Kind: GrantAll}})
	}
	for _, g := range grants {
		if g.Source == SourceAccount && g.Group == u.Name {
			reasons = append(reasons, RoleReason{Role: g.Role, ByHand: true, Scope: g.Scope})
		}
	}
	for _, identity := range identities {
		for _, group := range identity.Groups {
			for _, g := range grants {
				if g.Source == identity.Source && g.Group == group {
					reasons = append(reasons, RoleReason{Role: g.Role, Source: g.Source, Group: g.Group, Scope: g.Scope})
				}
			}
		}
	}
	if everyone != RoleNone && !u.Service() {
		reasons = append(reasons, RoleReason{Role: everyone, Scope: GrantScope{Kind: GrantAll}})
	}
	slices.SortStableFunc(reasons, func(a, b RoleReason) int { return roleRank[b.Role] - roleRank[a.Role] })
	return reasons
}

// PersonAccess is an account with the reasons for its role.
type PersonAccess struct {
	User       User
	Identities []StoredIdentity
	Reasons    []RoleReason
}

// AccessOf returns the accounts with the reasons for their roles, in the order of users.
func AccessOf(users []User, identities []StoredIdentity, grants []Grant, everyone Role) []PersonAccess {
	byUser := map[int64][]StoredIdentity{}
	for _, i := range identities {
		byUser[i.UserID] = append(byUser[i.UserID], i)
	}
	people := make([]PersonAccess, len(users))
	for i, u := range users {
		people[i] = PersonAccess{u, byUser[u.ID], RoleReasons(u, byUser[u.ID], grants, everyone)}
	}
	return people
}

// Team is a group of a source that owns service accounts. Its members are those of their last
// sign-in.
type Team struct {
	Source Source
	Name   string // empty: no team
}

// ParseTeam parses text such as oidc:crash-team. It returns an error of kind Invalid for any other
// text.
func ParseTeam(s string) (Team, error) {
	word, name, _ := strings.Cut(s, ":")
	team := Team{Source(word), strings.TrimPrefix(strings.TrimSpace(name), "~")}
	return team, team.Check()
}

// Check returns an error of kind Invalid if there cannot be such a team.
func (t Team) Check() error {
	if _, err := ParseSource(string(t.Source)); err != nil {
		return err
	}
	if t.Name == "" || len(t.Name) > MaxGroup || strings.ToValidUTF8(t.Name, "") != t.Name ||
		strings.ContainsFunc(t.Name, unicode.IsControl) {
		return Errorf(Invalid, "bad_team", "A team needs the name of a group, of at most %d bytes on one line.", MaxGroup)
	}
	return nil
}

// String returns the team in the form that ParseTeam parses, or an empty string for no team.
func (t Team) String() string {
	if t.Name == "" {
		return ""
	}
	return string(t.Source) + ":" + t.Name
}

// Has reports whether one of the identities is a member of the team.
func (t Team) Has(identities []StoredIdentity) bool {
	return t.Name != "" && slices.ContainsFunc(identities, func(i StoredIdentity) bool {
		return i.Source == t.Source && slices.Contains(i.Groups, t.Name)
	})
}

// ServiceAccount is a service account with numbers about it.
type ServiceAccount struct {
	Name     string
	Team     Team
	Disabled bool
	Created  time.Time
	Members  int       // people of the team, as of their last sign-in, whose accounts are not disabled
	Tokens   int       // that are valid
	Expires  time.Time // the next of them; zero: none
	LastUsed time.Time // of any token; zero: never
}

// Session is a browser in which a person is signed in.
type Session struct {
	ID      string
	Created time.Time // sign-in; year 1970: unknown
	Used    time.Time // last request, to within five minutes; year 1970: unknown
	Address string    // from which the person signed in; empty: unknown
	Browser string    // as it describes itself; empty: unknown
	Source  Source    // empty: a name and password
}

// SecondFactor is the authenticator app of an account with a password.
type SecondFactor struct {
	HasPassword   bool      // only accounts with a password can have an app
	Since         time.Time // when it was switched on; zero: it is off
	Secret        Secret    // of an app that is not confirmed yet; empty: none
	RecoveryCodes int       // that have not been used
}

// On reports whether signing in needs a code of the app.
func (f SecondFactor) On() bool { return !f.Since.IsZero() }

// AppPolicy says which people must have an authenticator app to sign in with a password.
type AppPolicy string

// The policies. AppForEveryone applies to everyone with a role.
const (
	AppOptional    AppPolicy = "none"
	AppForAdmins   AppPolicy = "admins"
	AppForEveryone AppPolicy = "everyone"
)

// Requires reports whether a person must set up an app before anything else.
func (p AppPolicy) Requires(u User) bool {
	switch {
	case !u.HasPassword || u.HasApp:
		return false
	case p == AppForAdmins:
		return u.Role.Allows(RoleAdmin)
	}
	return p == AppForEveryone && u.Role != RoleNone
}

// LocalSignIn says whether people can sign in with a name and password.
type LocalSignIn string

// The values. With LocalHidden, the form is folded if there is another way to sign in.
const (
	LocalShown  LocalSignIn = "shown"
	LocalHidden LocalSignIn = "hidden"
	LocalOff    LocalSignIn = "off"
)

// CodeSignInAgain is the code of the error that ends the second step of signing in.
const CodeSignInAgain = "sign_in_again"

// Scope is a purpose for which an API token may be used.
type Scope string

// The scopes. A token never grants more than the rights of its owner.
const (
	ScopeRead        Scope = "read"         // reports and traces, without private data
	ScopeReadPrivate Scope = "read-private" // private data: core dumps, histories of machines
	ScopeTriage      Scope = "triage"       // change the status, assignee and tags of problems
	ScopeFile        Scope = "file"         // create bugs
	ScopeAssist      Scope = "assist"       // by MCP: write notes, assign problems, propose bugs
	ScopeAdmin       Scope = "admin"        // read what administrators see, and erase machines
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeRead, ScopeReadPrivate, ScopeTriage, ScopeFile, ScopeAssist, ScopeAdmin}

// oldScopes maps scopes to the ones that included them in tokens of the old form. Such tokens keep
// what they could do until they expire.
var oldScopes = map[Scope]Scope{ScopeReadPrivate: ScopeRead, ScopeAdmin: ScopeRead, ScopeTriage: ScopeFile}

// MayScope reports whether the person may create tokens with a scope.
func (u User) MayScope(s Scope) bool {
	switch s {
	case ScopeRead, ScopeAssist:
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
	return ParseWord(s, Scopes, "scope")
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
		"Unauthorized: this API token is mistyped; its checksum does not match. Copy it again.")
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
	return now.Sub(Later(t.Created, t.LastUsed)) > TokenUnused
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
	return ParseWord(s, TokenStates, "state of tokens")
}

// TokenFilter selects tokens. Zero fields select all.
type TokenFilter struct {
	Person string // name of the account
	Text   string // part of the name of the account, its team or the token
	Scope  Scope
	State  TokenState
	Limit  int
}

// FollowKind is the kind of object that a person follows.
type FollowKind string

// The kinds of objects to follow.
const (
	FollowPackage FollowKind = "package" // a binary or source package
	FollowPerson  FollowKind = "person"  // the packages of a person or team at the tracker
	FollowSet     FollowKind = "set"     // the packages of a package set
	FollowProblem FollowKind = "problem" // a problem, by its id
	FollowSearch  FollowKind = "search"  // a saved search, by its number
)

// Follow is one object that a person follows.
type Follow struct {
	Kind  FollowKind
	Name  string // of a problem, its id in hexadecimal digits; of a search, its number
	Since time.Time
}

// String returns the kind and the name: "package:zsh".
func (f Follow) String() string { return string(f.Kind) + ":" + f.Name }

// Number returns the number of a followed search, or 0.
func (f Follow) Number() int64 {
	n, err := strconv.ParseInt(f.Name, 10, 64)
	if f.Kind != FollowSearch || err != nil || n < 1 || strconv.FormatInt(n, 10) != f.Name {
		return 0
	}
	return n
}

const maxFollowName = 200

// NewFollow validates a kind and a name. It removes the leading tilde from names of people, which
// addresses at the tracker contain. Its errors have the kind Invalid.
func NewFollow(kind, name string) (Follow, error) {
	f := Follow{Kind: FollowKind(kind), Name: strings.TrimSpace(name)}
	switch f.Kind {
	case FollowPackage, FollowSet:
	case FollowPerson:
		f.Name = strings.TrimPrefix(f.Name, "~")
	case FollowProblem:
		id, err := ParseBucketID(f.Name)
		if err != nil {
			return f, err
		}
		f.Name = id.String()
	case FollowSearch:
		if f.Number() == 0 {
			return f, Errorf(Invalid, "bad_name", "%.40q is not the number of a saved search.", f.Name)
		}
	default:
		return f, Errorf(Invalid, "unknown_kind",
			"%.40q cannot be followed; packages, people or teams, package sets, problems and saved searches can.", kind)
	}
	bad := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	switch {
	case f.Name == "":
		return f, Errorf(Invalid, "empty_name", "Enter the name of what you want to follow.")
	case !utf8.ValidString(f.Name) || utf8.RuneCountInString(f.Name) > maxFollowName || strings.ContainsFunc(f.Name, bad):
		return f, Errorf(Invalid, "bad_name", "A name has at most %d characters and no spaces.",
			maxFollowName)
	}
	return f, nil
}

// FollowMark is what a person has seen of a problem that they follow, or of one that matches a
// search that they follow.
type FollowMark struct {
	Kind   FollowKind // FollowProblem or FollowSearch
	Name   string     // of the follow
	Bucket BucketID   // the problem
	Mark   string     // of a followed problem: its state, bug, versions and releases
	News   string     // what changed last, for people; empty: nothing yet
	At     time.Time  // when it changed or matched; zero: it was so when following began
}

// Visit is one visit of a person to the page of what they follow.
type Visit struct {
	Seen time.Time // time of the previous visit: later events are new; zero: first visit
	Last time.Time // time of this visit
}

// SavedSearch is a name for the address of a list of problems.
type SavedSearch struct {
	ID      int64
	Name    string
	Path    string // path and query of the list
	Shared  bool   // everyone who is signed in sees it
	Owner   string // name of the person who saved it
	OwnerID int64
	Created time.Time
}

// MayChange reports whether a person may rename, share or delete the search: the owner may, and
// admins may change shared ones.
func (s SavedSearch) MayChange(u User) bool {
	return u.ID == s.OwnerID || s.Shared && u.Role.Allows(RoleAdmin)
}

const maxSearchName = 60

// SearchName returns the name of a search without outer spaces. Its error has the kind Invalid.
func SearchName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxSearchName ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return "", Errorf(Invalid, "bad_search_name", "Give the search a name of 1 to %d characters.", maxSearchName)
	}
	return name, nil
}
