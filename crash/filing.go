package crash

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
)

// FilingStep is the next step of a filing.
type FilingStep string

// The steps of a filing.
const (
	StepNone   FilingStep = ""       // nothing to do now: it is final, not due yet, or claimed by another worker
	StepCreate FilingStep = "create" // send it to the tracker
	StepSearch FilingStep = "search" // search the tracker for it
)

// FilingTerms are the times after which the tracker can no longer be processing a request.
type FilingTerms struct {
	Sending time.Duration // from the claim until the request is fully written, at most
	Answer  time.Duration // largest wait for an answer
	Settle  time.Duration // from the last possible moment of sending until the tracker is searched
}

// FilingClaim is a filing with the step that only the caller may now do.
type FilingClaim struct {
	Filing
	Step     FilingStep
	Entry    int64     // the ledger entry that receives the outcome
	SentFrom time.Time // earliest time at which a request may have been sent: where a search starts
	Senders  []string  // with StepSearch: the own accounts of people that have sent it
}

// FilingResult is the outcome of a claimed step.
type FilingResult struct {
	Claim   FilingClaim
	State   FilingState   // the new state
	Bug     Bug           // with FilingFiled
	Delay   time.Duration // with FilingQueued: time until the retry
	Problem string        // as in Filing
	Reason  string
	Answer  TrackerAnswer
	Pause   time.Duration // after sending: pause before the next filing in the queue is sent

	Own       OwnAccount // the person's own account that did the step; zero: the application's
	Fallback  string     // why the application's account takes over, because the tracker rejected Own; empty: it does not
	Unsettled bool       // with FilingRefused: the outcome is unknown, and the tracker is searched before a retry
}

// TrackerAnswer is what the ledger stores about one call to the tracker.
type TrackerAnswer struct {
	Outcome   string // one word for the outcome: "created", "refused", "unknown"
	Status    int    // HTTP status; 0: no answer
	RequestID string // the tracker's id of an error, to quote to its administrators
	Message   string // message of the tracker or the network, cleaned and truncated
}

// FilingTotals counts filings, for monitoring.
type FilingTotals struct {
	States map[FilingState]int64
	Oldest time.Time // when the oldest open filing was requested; zero: none is open
	Parked int64     // open filings that wait until the tracker accepts our credentials

	OwnAccounts int64 // people who file with their own accounts at the tracker
	OwnBroken   int64 // those of them whose accounts the tracker rejects
}

// NextFiling is the filing at the head of the queue.
type NextFiling struct {
	Filing int64         // 0: none is queued, or one is being sent
	In     time.Duration // pause before it may be sent
}

// NoFiling says, in a sentence, why no bug can be filed for the bucket. It returns "" if one can.
// It does not check whether the bucket already has a bug.
func (b Bucket) NoFiling() string {
	switch {
	case strings.HasPrefix(b.Signature, "failed:"):
		return "This crash could not be retraced, so a bug would not say what went wrong."
	case b.SourcePackage == "":
		return "The source package of this problem is not known, so there is nothing to file the bug against."
	}
	return ""
}

// Subscription is a pending request to subscribe a person to a bug that they filed.
type Subscription struct {
	Filing  int64
	Bug     int64
	Account string // the person's name at the tracker
	Entry   int64  // the ledger entry that receives the outcome
	User    int64  // the person's id
	As      string // name of the person's own account that made the call; empty: the application's account
	Private bool   // the bug is private, so that only the account that filed it may see it
}

// Restored describes a database that was restored from a backup and not compared with the tracker
// since. The zero value stands for any other database.
type Restored struct {
	At          time.Time
	BackupTaken time.Time
}

// Problem returns the error that says why nothing is sent.
func (r Restored) Problem() *Error {
	return Errorf(Unavailable, "restored", "The database was restored from a backup of %s. What was sent after that "+
		"would be sent again, so mishap files no bugs and sends no comments, mails and webhooks until an administrator "+
		"has run: mishap filings reconcile --apply", r.BackupTaken.UTC().Format("2006-01-02 15:04 UTC"))
}

// HeldItem is something that waits in a restored database.
type HeldItem struct {
	Kind      string // mail, notice (that may become a mail), delivery or filing
	ID        string
	Recipient string // person or endpoint; of a filing, who asked for it
	About     string
	Since     time.Time
	InBackup  bool // the backup contains it, so that it was probably sent before the restore
}

// InformationType says who can see a bug in the tracker.
type InformationType string

// The information types that people can choose when they file a bug.
const (
	InformationDefault InformationType = ""                 // the tracker's default; for a distribution, Public
	InformationPublic  InformationType = "Public"           // visible to everyone
	InformationPrivate InformationType = "Private Security" // visible to the security team and subscribers
)

// Private reports whether the bug is hidden from the public.
func (t InformationType) Private() bool { return t == InformationPrivate }

// Draft is a bug that a person edits before filing it.
type Draft struct {
	Title          string
	Description    string
	Tags           []string
	Package        string // source package to file against
	OnDistribution bool   // file against the distribution as a whole; Package stays, in case the person changes their mind
	Information    InformationType
	Subscribe      bool // the person wants mail from the tracker about it
}

// DraftField is the name of a draft's field in forms.
type DraftField string

// The fields of a draft.
const (
	DraftTitle       DraftField = "title"
	DraftDescription DraftField = "description"
	DraftTags        DraftField = "tags"
	DraftTarget      DraftField = "target"
	DraftPackage     DraftField = "package"
	DraftInformation DraftField = "information_type"
	DraftSubscribe   DraftField = "subscribe"
)

// DraftProblems maps each invalid field of a draft to a sentence that says why.
type DraftProblems map[DraftField]string

// ReadTags parses tags separated by blanks or commas, without duplicates.
func ReadTags(s string) []string {
	var tags []string
	for _, tag := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// NoDraft says, in a sentence, why no bug can be filed for the bucket even if a person chooses the
// source package. It returns "" if one can.
func (b Bucket) NoDraft() string {
	b.SourcePackage = "any"
	return b.NoFiling()
}

// BugTemplate is the text of bugs for a source package, a problem type, or both. The most specific
// template applies: for a package and a type, then for a package, for a type, for all.
type BugTemplate struct {
	Package     string // source package; empty: all
	ProblemType string // empty: all
	Body        string // empty: the shipped text
	By          string // who changed it last
	Changed     time.Time
}

// LedgerFilter selects filings of the ledger, which lists the latest intent first.
type LedgerFilter struct {
	State  FilingState  // empty: all
	Bucket BucketID     // zero: all
	ID     int64        // 0: all
	After  LedgerCursor // zero: from the beginning
	Limit  int
}

// LedgerCursor is a position in the ledger: after the filing that was requested at this time.
type LedgerCursor struct {
	Created time.Time
	ID      int64
}

// LedgerEntry is a filing with its complete history.
type LedgerEntry struct {
	Filing
	Heading string // title of the bucket, or its signature
	Package string
	Linked  int64 // the bug that the bucket has now, however it was linked; 0: none
	Lines   []LedgerLine
	Left    int // number of older lines that are omitted
}

// LedgerLine is one event of a filing: a call to the tracker, or an action of a person or mishap.
type LedgerLine struct {
	At        time.Time
	Ended     time.Time     // of a call; zero: it is in progress, or its instance has died
	Call      string        // "create", "search", "subscribe"; empty: not a call
	Action    string        // of any other event: "bug.create", "bug.filed", "bug.give-up"
	Person    string        // who did it; empty: mishap
	Account   string        // of a call: name at the tracker of the person's own account; empty: the application's
	Outcome   string        // of a call; see TrackerAnswer
	Status    int           // HTTP status; 0: no answer
	RequestID string        // the tracker's id of an error
	Text      string        // message of the tracker, or a person's reason
	Bug       int64         // number of the bug that the line is about; 0: none
	Took      time.Duration // of a call that has ended
}

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

// Format writes the placeholder for every verb of package fmt, including %x, %q and %#v.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

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
