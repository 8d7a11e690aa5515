package crash

import "time"

// SymbolisedBy is the field that marks a report whose stack mishap has worked out.
const SymbolisedBy = "SymbolisedBy"

// CoreRequest describes the core dump that a report could be symbolised with.
type CoreRequest struct {
	Report       OopsID
	System       SystemID
	Problem      BucketID // bucket that the report arrives in, or see intake.Receipt
	Version      string   // of the package
	Architecture string   // of the machine
	Executable   string
	Packages     []string // binary and source package; empty ones are unknown
}

// ReceivedCore describes a core dump that has arrived.
type ReceivedCore struct {
	Report       OopsID
	Architecture string
	Store        string // identity of the store that holds it
	Bytes        int64
}

// SymbolState says how far a report is symbolised. The names are stored in the database.
type SymbolState string

// The states.
const (
	SymbolsAsked   SymbolState = "asked" // a machine was asked for its core; not in the database
	SymbolsQueued  SymbolState = "queued"
	SymbolsRunning SymbolState = "running"
	SymbolsDone    SymbolState = "done"    // the frames that the signature needs have names
	SymbolsPartial SymbolState = "partial" // some of them have none
	SymbolsWaiting SymbolState = "waiting" // none has, a server did not answer, or a build is unknown
	SymbolsFailed  SymbolState = "failed"
	SymbolsExpired SymbolState = "expired" // the core was removed first
)

// SymbolClaim is a job that this instance works on.
type SymbolClaim struct {
	Report       OopsID
	Architecture string
	Addresses    bool // there is no core, only an address signature
	Attempt      int  // number of the claim; a result counts only if it is the latest
	Tries        int  // earlier tries that ended as partial or waiting
}

// SymbolCursor is a position in the changes of problems. The zero value is the beginning.
type SymbolCursor struct {
	Round   int64
	Problem BucketID
}

// SymbolOutcome is the result of one try to symbolise a report.
type SymbolOutcome struct {
	State   SymbolState // never queued or running
	Reason  string      // why the state is not done, as a sentence; may be empty
	Fields  Fields      // apport's fields of the stacks; empty: none were found
	Modules []SymbolModule
	Missing []string       // files that would help, as BUILD-ID/executable or BUILD-ID/debuginfo
	Unknown []UnknownBuild // builds that would help
	Again   time.Duration  // after which the next try begins; 0: none by itself
	Engine  string         // the debugger with its version; empty: it did not run
	Seconds float64
	CPU     time.Duration
	Memory  int64 // bytes
}

// UnknownBuild is a program or library of a report whose build is not known.
type UnknownBuild struct {
	Path         string // with /usr, as packages name it
	Package      string // the binary package that holds it; empty: unknown
	Version      string // of this package on the machine; empty: unknown
	Architecture string
}

// SymbolModule is a program or library of a process that crashed, with the search for its files.
type SymbolModule struct {
	Path       string        `json:"path"`
	BuildID    string        `json:"build_id,omitempty"` // empty: unknown
	Frames     int           `json:"frames"`             // of the thread that crashed
	Executable *SymbolSearch `json:"executable,omitempty"`
	Debuginfo  *SymbolSearch `json:"debuginfo,omitempty"` // nil: in the program, or not looked for
	Shared     *SymbolSearch `json:"shared_debuginfo,omitempty"`
	SharedID   string        `json:"shared_build_id,omitempty"` // of debug information shared with other files
}

// SymbolSearch is the search for one file.
type SymbolSearch struct {
	Found    bool            `json:"found"`
	Origin   string          `json:"origin,omitempty"`
	Size     int64           `json:"size,omitempty"`
	Retry    bool            `json:"retry,omitempty"` // a later try may find it
	Searched []SymbolAttempt `json:"searched"`
}

// SymbolAttempt is the answer of one source of files.
type SymbolAttempt struct {
	Source  string `json:"source"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
}

// SymbolJob is what pages show about symbolising a report.
type SymbolJob struct {
	Report    OopsID
	State     SymbolState
	Reason    string
	Created   time.Time
	Ended     time.Time // zero: no try has ended
	NotBefore time.Time // zero: not tried again by itself
	Addresses bool      // there is no core, only an address signature
	CoreGone  bool
	Engine    string
	Modules   []SymbolModule
}

// SymbolWorker is an instance that symbolises, or says why it cannot.
type SymbolWorker struct {
	Store         string
	Architectures []string
	Problem       string // why it has no architectures; empty: no cores are wanted either
	Seen          time.Time
}
