package text

import (
	"mishap/crash"
)

// Texts of the account page.
const (
	TokenChooseDays    = "Choose when the token expires."
	TokenRevoked       = "Token revoked."
	AccountHeading     = "Your account"
	AccountProfile     = "Profile"
	AccountRole        = "Role"
	AccountSaved       = "Saved."
	Save               = "Save"
	Tokens             = "API tokens"
	TokensMean         = "Scripts send a token instead of a name and password, in the header"
	TokensLimit        = "A token can never do more than you can."
	AboutAPI           = "About the API"
	TokenMade          = "Your new token. Copy it now: it will not be shown again."
	TokenKnown         = "The part of the token that is known"
	TokenScope         = "Scope"
	TokenExpires       = "Expires"
	TokenLastUsed      = "Last used"
	TokenRevoke        = "Revoke"
	TokenExpired       = "expired"
	TokenExpiresSoon   = "expires soon"
	Never              = "never"
	TokenCreateHeading = "Create a token"
	TokenPurpose       = "Purpose"
	TokenMay           = "It may"
	TokenExpiresAfter  = "Expires after"
	TokenCreate        = "Create token"
)

// TokenScopeName names a scope of API tokens in a list.
func TokenScopeName(s crash.Scope) string {
	return map[crash.Scope]string{
		crash.ScopeRead: "read", crash.ScopeReadPrivate: "read private data", crash.ScopeTriage: "triage",
		crash.ScopeFile: "create bugs", crash.ScopeUpload: "upload symbols", crash.ScopeAdmin: "read as an administrator, " +
			"erase machines",
	}[s]
}

// ScopeMeans says what a scope of API tokens allows.
func ScopeMeans(s crash.Scope) string {
	return map[crash.Scope]string{
		crash.ScopeRead:        "read reports and traces",
		crash.ScopeReadPrivate: "read private data, core dumps and histories of machines",
		crash.ScopeTriage:      "change the status, assignee and tags of problems",
		crash.ScopeFile:        "create bugs",
		crash.ScopeUpload:      "upload symbols",
		crash.ScopeAdmin:       "read what administrators see, and erase machines",
	}[s]
}

// NameAt labels the name of a person at the tracker.
func NameAt(tracker string) string { return "Your name on " + tracker }

// NameHint says what that name is for.
func NameHint(tracker string) string {
	return "You will be subscribed to bugs that you create here, so " + tracker +
		" sends you mail about them. Leave this empty to receive none."
}

// RevokeToken labels the button that revokes a token.
func RevokeToken(name string) string { return "Revoke " + name }

// Days returns "1 day" or "90 days".
func Days(n int64) string { return Counted(n, "day", "days") }

// Texts about where a person is signed in.
const (
	SessionsHeading   = "Where you are signed in"
	SessionFrom       = "Address and browser"
	SessionBegan      = "Since"
	SessionCurrent    = "this browser"
	SessionEnd        = "Sign out"
	SessionEndOthers  = "Sign out everywhere else"
	SessionEndedThere = "Signed out there."
	SessionsEnded     = "Signed out everywhere else."
)

// SessionPlace says from where and how a person signed in.
func SessionPlace(s crash.Session) string {
	place := s.Address
	if place == "" {
		place = "unknown address"
	}
	if s.Source != "" {
		place += ", " + SourceName(s.Source)
	}
	return place
}

// EndSession labels the button that ends a session.
func EndSession(s crash.Session) string { return "Sign out at " + SessionPlace(s) }

// Texts about a person's own account at the tracker.
const (
	OwnLevel = "Choose “Change Anything” if mishap may file private bugs under your name, else “Change Non-Private " +
		"Data”. With a read-only level, mishap’s account files your bugs."
	OwnUnread       = "Not checked"
	OwnUnreadMeans  = "The tracker did not say whose account this is. Test the connection to use it."
	OwnPrefer       = "File my bugs under my own name, unless I choose otherwise"
	OwnDisconnected = "Disconnected. Your access token has been deleted."

	FileAs            = "Filed by"
	FileAsApplication = "mishap’s account"
	FileAsOnly        = "mishap’s account files the bug."
	FileAsConnect     = "File under your own name"
)

// OwnHeading is the heading of the part about a person's own account.
func OwnHeading(tracker string) string { return "Your account at " + tracker }

// OwnMeans explains what connecting an own account does.
func OwnMeans(tracker string) string {
	return "Connect it, and the bugs that you create are reported by you, and " + tracker + " subscribes you to them. " +
		"Bugs that mishap files by itself, and updates of bugs, come from mishap’s account."
}

// OwnConnectedAs confirms that the connection works.
func OwnConnectedAs(tracker, account string) string {
	return "Your bugs can be filed as ~" + account + " at " + tracker + "."
}

// OwnRejectedMeans explains that the tracker rejects a person's own account.
func OwnRejectedMeans(tracker string) string {
	return tracker + " no longer accepts it, so mishap’s account files your bugs. Reconnect, or test the connection."
}

// OwnRevoke precedes the address at which a person revokes access tokens.
func OwnRevoke(tracker string) string {
	return "Disconnecting deletes the access token here. To revoke it at " + tracker + " too, use"
}

// OwnDisconnectedRevoke confirms disconnecting and says where to revoke the token.
func OwnDisconnectedRevoke(address string) string {
	return "Disconnected. Your access token has been deleted here. You can revoke it at " + address + "."
}

// FileAsOwn is the choice of a person's own account.
func FileAsOwn(account string) string { return "me (~" + account + ")" }

// FileAsBroken says why a person's own account cannot be chosen.
func FileAsBroken(tracker string) string {
	return "mishap’s account files the bug, because " + tracker + " no longer accepts your own account."
}

// BannerOwnRejected tells a person on every page that their own account is rejected.
func BannerOwnRejected(tracker string) string {
	return tracker + " no longer accepts your own account: mishap’s account files your bugs."
}

// BannerReconnect is the link beside it.
const BannerReconnect = "Reconnect"

// Texts about ways to sign in and the password.
const (
	WaysHeading = "Ways to sign in"
	WayPassword = "Name and password"
	WaysFresh   = "This needs a sign-in within the last 15 minutes."
	Linked      = "Connected: from now on you can sign in this way, too."
	Unlinked    = "Disconnected. Browsers that were signed in this way are signed out."

	PasswordHeading  = "Change password"
	PasswordOld      = "Current password"
	PasswordNew      = "New password"
	PasswordAgain    = "Repeat the new password"
	PasswordChange   = "Change password"
	PasswordMeans    = "You will be signed out everywhere else. API tokens keep working."
	PasswordDiffers  = "The two new passwords differ."
	PasswordIsChange = "Password changed. You are signed out everywhere else."
)

// ConnectIdentity labels the button that connects a way to sign in.
func ConnectIdentity(name string) string { return "Connect " + name }

// DisconnectIdentity labels the button that disconnects a way to sign in.
func DisconnectIdentity(i crash.Identity) string {
	return "Disconnect " + i.Name + " (" + SourceName(i.Source) + ")"
}
