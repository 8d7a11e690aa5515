package tracker

import (
	"context"
	"time"

	"mishap/crash"
)

// Store stores filings and reads problems. All methods may return Unavailable.
type Store interface {
	Problems
	Ledger
	OwnAccounts
}

// Problems reads the problem that a bug describes.
type Problems interface {
	// Bucket returns NotFound for an id that no bucket has. Bug and Filing are filled in.
	Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error)
	// BucketVersions returns the versions × releases table, newest version first.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	// BucketArchitectures returns how often the bucket was seen by architecture, the most first.
	BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error)
	// RepresentativeReport returns the report that says most about the bucket, or NotFound if it
	// has none.
	RepresentativeReport(ctx context.Context, id crash.BucketID) (crash.StoredReport, error)
	// BugTemplate returns the template for bugs of a source package and a problem type. Its body is
	// empty if there is none, and DefaultTemplate applies.
	BugTemplate(ctx context.Context, source, problemType string) (crash.BugTemplate, error)
	// UpdateRules returns what mishap writes to bugs by itself.
	UpdateRules(ctx context.Context) (crash.UpdateRules, error)
	// Judge adds the status to problems.
	Judge(ctx context.Context, buckets ...*crash.Bucket) error
}

// Ledger stores filings. Its times are the database's, one clock for all instances.
type Ledger interface {
	// RequestFiling stores the intent and the job that files it in one transaction. A bucket has only one
	// filing. If one exists, RequestFiling returns it, and stored is false. It renews a filing that was
	// refused or waits for a retry with this intent, if it still equals seen. Then stored is true.
	RequestFiling(ctx context.Context, in crash.Intent, seen crash.Filing) (f crash.Filing, stored bool, err error)
	// Filing returns NotFound for an unknown id.
	Filing(ctx context.Context, id int64) (crash.Filing, error)
	// ClaimFiling claims the next step of a filing for this instance, which does it with a person's own
	// account or, if own is zero, with that of the application. Step is StepNone if nothing is due, the
	// filing is to be sent with another account, another instance works on it, or another filing must
	// be sent first.
	ClaimFiling(ctx context.Context, id int64, own crash.OwnAccount) (crash.FilingClaim, error)
	// FinishFiling records the outcome of a claimed step and returns the filing. It always records
	// a filed bug, and another outcome only while the filing waits for this step.
	FinishFiling(ctx context.Context, r crash.FilingResult, terms crash.FilingTerms) (crash.Filing, error)
	// HastenFiling makes a waiting filing due at once, or as soon as a search can tell. It returns
	// other filings unchanged, and NotFound for an unknown one.
	HastenFiling(ctx context.Context, id int64, person string) (crash.Filing, error)
	// GiveUpFiling ends a filing that has not led to a bug. It returns Conflict when it is being
	// sent or is final, and NotFound for an unknown one.
	GiveUpFiling(ctx context.Context, id int64, person, reason string) (crash.Filing, error)
	// PostponeFilings postpones a due filing, and all others that need the application's account, for a
	// reason that applies to all of them.
	PostponeFilings(ctx context.Context, id int64, problem, reason string, delay time.Duration) error
	// NextFiling returns which filing is sent next, and in how long.
	NextFiling(ctx context.Context) (crash.NextFiling, error)
	// DueFilings lists filings with a due step: those to search for, and the next one to send. First
	// it marks filings as uncertain if their instance died, or if their claim is older than terms
	// allow.
	DueFilings(ctx context.Context, terms crash.FilingTerms, limit int) ([]int64, error)
	// ClaimSubscription claims a pending subscription. Its Filing is 0 if there is none.
	ClaimSubscription(ctx context.Context) (crash.Subscription, error)
	// FinishSubscription records the outcome of a subscription.
	FinishSubscription(ctx context.Context, sub crash.Subscription, a crash.TrackerAnswer, done bool) error
	// Restored tells whether the database was restored from a backup and not compared with the tracker
	// since. ClaimFiling sends nothing meanwhile.
	Restored(ctx context.Context) (crash.Restored, error)
	// FiledBugs lists the numbers of the bugs that were filed for any bucket since a time.
	FiledBugs(ctx context.Context, since time.Time) ([]int64, error)
	// FilingTotals counts filings for the monitor.
	FilingTotals(ctx context.Context) (crash.FilingTotals, error)
}

// OwnAccounts stores the access tokens of the accounts that people have at the tracker.
type OwnAccounts interface {
	// OwnAccount returns the zero value if the person has not connected an account.
	OwnAccount(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, error)
	// OwnToken is like OwnAccount, and returns the token too.
	OwnToken(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, crash.AccessToken, error)
	// SaveOwnToken stores the token of an account whose name is not known yet.
	SaveOwnToken(ctx context.Context, key crash.TrackerKey, u crash.User, token crash.AccessToken) error
	// ConfirmOwnAccount records the name of the account, which makes it usable.
	ConfirmOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, token, account string) error
	// RemoveOwnAccount deletes the token.
	RemoveOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User) error
	// PreferOwnAccount sets whether the person's bugs are filed with it by default.
	PreferOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, preferred bool) error
	// SaveOwnHealth stores the last success and error of a token.
	SaveOwnHealth(ctx context.Context, key crash.TrackerKey, user int64, token string, h crash.TokenHealth) error
	// FallBack has the application's account file a queued bug instead of the person's own one.
	FallBack(ctx context.Context, filing int64, reason string) error
}

// CredentialStore stores access tokens for all instances.
type CredentialStore interface {
	// SavedToken returns the saved token, or zero if there is none or it cannot be decrypted.
	SavedToken(ctx context.Context, key crash.TrackerKey) (crash.SavedToken, error)
	// SaveToken saves a token and makes filings that wait for one due.
	SaveToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken, person string) error
	// SaveConfiguredToken stores the token of an instance's configuration, for instances without one.
	// It does not replace a token that a person connected, and does not restore a deleted one.
	SaveConfiguredToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken) error
	// ForgetToken deletes the saved token.
	ForgetToken(ctx context.Context, key crash.TrackerKey, person string) error
	// TokenHealth returns the health of a token, or zero if nothing is known.
	TokenHealth(ctx context.Context, key crash.TrackerKey, token string) (crash.TokenHealth, error)
	// TrackerAccounts lists the tracker's accounts that tokens act for or have acted for.
	TrackerAccounts(ctx context.Context, key crash.TrackerKey) ([]string, error)
	// SaveTokenHealth saves the health of a token.
	SaveTokenHealth(ctx context.Context, key crash.TrackerKey, token string, h crash.TokenHealth) error
}
