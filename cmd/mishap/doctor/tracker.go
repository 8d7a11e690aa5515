package doctor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// tracker checks that the tracker answers and accepts the access token, and compares its clock.
func (d *doctor) tracker(ctx context.Context, known facts) []Finding {
	var out []Finding
	began := d.Now()
	resp, _, err := d.get(ctx, d.http, d.Config.TrackerAPIURL) //nolint:bodyclose // get closes it
	ended := d.Now()
	name := d.Config.TrackerName()
	if err != nil {
		return []Finding{failed("tracker", name+" cannot be reached at "+d.Config.TrackerAPIURL+": "+explain(err),
			"correct tracker_api_url, or allow connections to it")}
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out = append(out, clock(name, at, began, ended, time.Second))
	}
	if resp.StatusCode >= 500 {
		return append(out, warned("tracker", name+" answers "+resp.Status, "wait until it works again"))
	}
	c := d.Tracker
	c.Timeout = d.Timeout
	saved := &readOnlyCredentials{known.token}
	account, err := tracker.NewClient(c, tracker.NewCredentials(c, saved)).Check(ctx)
	connected := !c.Token.IsZero() || !known.token.IsZero()
	switch {
	case err == nil:
		return append(out, good("tracker", name+" accepts the access token of "+account))
	case connected && refused(err):
		return append(out, failed("tracker", name+" no longer accepts the access token",
			"connect again at "+d.Config.BaseURL+"/admin/tracker"))
	case connected:
		return append(out, failed("tracker", explain(err), "try again later; see docs/filing.md"))
	case !known.read:
		return append(out, warned("tracker", name+" answers; the access token could not be read from the database",
			"run mishap doctor again while the database runs"))
	case d.Config.AllowBugFiling:
		return append(out, warned("tracker", name+" answers, but mishap is not connected to it, so it files no bugs",
			"connect it at "+d.Config.BaseURL+"/admin/tracker, or set allow_bug_filing to false"))
	}
	return append(out, good("tracker", name+" answers; filing bugs is off"))
}

// refused reports whether the tracker no longer accepts the access token.
func refused(err error) bool {
	known, ok := errors.AsType[*crash.Error](err)
	return ok && known.Code == "tracker_credentials"
}

// readOnlyCredentials holds the access token from the database. It saves nothing.
type readOnlyCredentials struct{ token crash.SavedToken }

// SavedToken implements [tracker.CredentialStore].
func (r *readOnlyCredentials) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	return r.token, nil
}

// SaveToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveToken(context.Context, crash.TrackerKey, crash.AccessToken, string) error {
	return nil
}

// SaveConfiguredToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

// ForgetToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) ForgetToken(context.Context, crash.TrackerKey, string) error { return nil }

// TokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) TokenHealth(context.Context, crash.TrackerKey, string) (crash.TokenHealth, error) {
	return crash.TokenHealth{}, nil
}

// TrackerAccounts implements [tracker.CredentialStore].
func (*readOnlyCredentials) TrackerAccounts(context.Context, crash.TrackerKey) ([]string, error) {
	return nil, nil
}

// SaveTokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveTokenHealth(context.Context, crash.TrackerKey, string, crash.TokenHealth) error {
	return nil
}
