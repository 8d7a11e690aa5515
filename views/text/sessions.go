package text

import "mishap/crash"

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
