package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/version"
)

const maxBugNumber = 999_999_999

// createBugReport is the name of the resource that creates bugs.
const createBugReport = "create-bug-report"

func (a *answers) bugResources() []resource {
	return []resource{
		{
			name: "crash-signatures-for-bug", method: http.MethodGet, access: public,
			summary: "The signatures of the problems linked to a bug.",
			params: []param{
				{
					name: "bug", kind: kindNumber, required: true, min: 1, max: maxBugNumber,
					doc:     "Number of a bug.",
					example: "2100001",
				},
				{name: "limit", kind: kindNumber, max: 1 << 30, doc: "Maximum number of signatures. Default: all.", example: "10"},
			},
			object: bugSignatures{}, list: a.bugSignatures,
		},
		{
			name: "reports-state", method: http.MethodPost, access: public,
			summary: "The states of bugs in the tracker.",
			doc: "Two values for each bug: whether it is fixed (null: private or unknown), and the bug that it " +
				"duplicates. With a release, the task for its series applies.",
			body: stateQuestion{}, object: stateAnswer{}, post: a.reportsState,
		},
		{
			name: "problem-people", method: http.MethodPost, access: triager, external: true,
			summary: "Assigns a problem, and adds or removes tags.",
			doc: "Missing fields change nothing. 409: the assignee of the problem's bug applies, or there are too many " +
				"tags.",
			body: peopleQuestion{}, object: peopleAnswer{},
			outcomes: map[string]string{"200": "Assigned and tagged."}, refused: []string{"409"},
		},
		{
			name: createBugReport, method: http.MethodPost, access: triager, external: true,
			summary: "Creates a bug for a problem.",
			doc:     "201: created by this request. 200: the bug existed already. 202: the tracker has not answered yet.",
			body:    createQuestion{}, object: createAnswer{},
			outcomes: map[string]string{
				"200": "There is a bug already.", "201": "Created.", "202": "Not answered yet.",
			},
			refused: []string{"422", "502"},
		},
	}
}

type bugSignatures struct {
	Signatures []string `json:"signatures" doc:"Redacted for visitors; /bug/<number>.json has the ids."`
}

func (a *answers) bugSignatures(ctx context.Context, in input) ([]any, error) {
	signatures, err := a.Bugs.SignaturesOfBug(ctx, int64(in.number("bug")), in.number("limit"))
	if err != nil {
		return nil, err
	}
	out := bugSignatures{Signatures: make([]string, len(signatures))}
	for i, signature := range signatures {
		out.Signatures[i] = visibleSignature(in, signature)
	}
	return []any{out}, nil
}

// bugNumber is the number of a bug, which clients send as a number or as text.
type bugNumber string

// UnmarshalJSON accepts a number or a string.
func (n *bugNumber) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		var number json.Number
		if err := json.Unmarshal(b, &number); err != nil {
			return err
		}
		s = number.String()
	}
	*n = bugNumber(s)
	return nil
}

type stateQuestion struct {
	Release string      `json:"release,omitempty"`
	Reports []bugNumber `json:"reports" doc:"Numbers of bugs, as texts or numbers."`
}

type stateAnswer struct {
	Reports map[string][2]any `json:"reports" doc:"By number: fixed (true, false, null), and the duplicated bug (text, null)."`
}

func (a *answers) reportsState(ctx context.Context, _ input, body []byte) (any, error) {
	var q stateQuestion
	if err := readQuestion(body, &q, stateShape); err != nil {
		return nil, err
	}
	if q.Reports == nil {
		return nil, badQuestion(stateShape)
	}
	if err := tooManyQuestions(len(q.Reports)); err != nil {
		return nil, err
	}
	out := stateAnswer{Reports: map[string][2]any{}}
	var numbers []int64
	for _, text := range q.Reports {
		out.Reports[string(text)] = [2]any{nil, nil}
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	states, err := a.Bugs.BugStates(ctx, numbers)
	if err != nil {
		return nil, err
	}
	series := a.seriesOf(q.Release)
	if q.Release == "" {
		series = ""
	}
	for _, s := range states {
		var state [2]any
		if !s.Private && !s.Hidden {
			state[0] = isFixed(s.BugReading, series)
		}
		if s.DuplicateOf != 0 {
			state[1] = crash.BugText(s.DuplicateOf)
		}
		out.Reports[strconv.FormatInt(s.Number, 10)] = state
	}
	return out, nil
}

// isFixed reports whether a bug is complete: in the task of the series if there is one, or else
// as a whole.
func isFixed(r crash.BugReading, series string) bool {
	if series != "" {
		for _, t := range r.Tasks {
			if strings.Contains(t.Target, "/"+series+"/") || strings.HasSuffix(t.Target, "/"+series) {
				return t.Complete
			}
		}
	}
	return r.Closed()
}

type createQuestion struct {
	Signature string `json:"signature" doc:"Signature of the problem, which may be percent-encoded once, or its SHA-1."`
}

type peopleQuestion struct {
	Problem  string   `json:"problem" doc:"SHA-1 of the signature of the problem, or its signature."`
	Assignee *string  `json:"assignee,omitempty" doc:"An account, ~ and a name at the tracker, me, or empty."`
	Add      []string `json:"add_tags,omitempty" doc:"Tags to add: a–z, 0–9 and .+-"`
	Remove   []string `json:"remove_tags,omitempty" doc:"Tags to remove."`
}

type peopleAnswer struct {
	Problem  string   `json:"problem" doc:"SHA-1 of the signature of the problem, after merges."`
	Assignee string   `json:"assignee" doc:"The new assignee; empty: nobody."`
	Bug      *string  `json:"bug" doc:"Number of the bug whose assignee it is; null: it was assigned in mishap."`
	Tags     []string `json:"tags" doc:"Its tags, sorted."`
}

type createAnswer struct {
	Report    *string `json:"report" doc:"Number of the bug; null until the tracker has answered."`
	Signature string  `json:"signature"`
	State     string  `json:"state" doc:"filed, or filing."`
	URL       *string `json:"url"`
	Tracker   string  `json:"tracker,omitempty" doc:"Name of the tracker that has the bug; missing for Launchpad."`
	Project   string  `json:"project,omitempty" doc:"Project of the bug, if its number is one in a project."`
}

// maxQuestions is the maximum number of items in one question.
const maxQuestions = 1000

func (a *answers) archiveResources() []resource {
	return []resource{
		{
			name: "package-version-is-most-recent", method: http.MethodPost, access: public,
			summary: "Whether versions of binary packages are the newest in the archive of a release.",
			doc: "An unknown package, or one not yet read from the archive, counts as up to date. Without a " +
				"release, the newest release is used.",
			body: recentQuestion{}, object: recentAnswer{}, post: a.mostRecent,
		},
		{
			name: "release-package-version-pockets", method: http.MethodPost, access: public,
			summary: "The archive pockets that contain versions of binary packages.",
			doc: "Empty: unknown, or not yet read from the archive. Not Found: package, seen or release is " +
				"missing.",
			body: pocketsQuestion{}, object: pocketsAnswer{}, post: a.pockets,
		},
		{
			name: "binary-package-versions", method: http.MethodGet, access: public,
			summary: "The versions of a binary package in the archive of a release, in dpkg's order.",
			doc:     "Empty until the archive has been read.",
			params: []param{
				{name: "binary_package", kind: kindText, required: true, doc: packageParam.doc, example: packageParam.example},
				{
					name: "release", kind: kindText,
					doc:     "A release, with or without the word Ubuntu. Default: the newest release.",
					example: "24.04",
				},
			},
			object: packageVersions{}, list: a.binaryVersions,
		},
		{
			name: "system-image-versions", method: http.MethodGet, access: signedIn,
			summary: "Versions of phone images, which no longer exist.",
			params:  []param{{name: "image_type", kind: kindText, doc: "Kind of image.", example: "device_image"}},
			object:  packageVersions{},
			list: func(context.Context, input) ([]any, error) {
				return []any{packageVersions{Versions: []string{}}}, nil
			},
		},
	}
}

// readBody reads the JSON of a question. It returns UnsupportedMedia for another media type, and
// TooLarge above maxBody.
func readBody(r *http.Request) ([]byte, error) {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return nil, crash.Errorf(crash.UnsupportedMedia, "media_type", "Send the request as application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, errNotJSON
	}
	if len(body) > maxBody {
		return nil, crash.Errorf(crash.TooLarge, "too_large", "The request is larger than %d KiB.", maxBody>>10)
	}
	return body, nil
}

// readQuestion decodes the body of a question. JSON of another shape is Invalid.
func readQuestion(body []byte, v any, shape string) error {
	if !json.Valid(body) {
		return errNotJSON
	}
	if err := json.Unmarshal(body, v); err != nil {
		return badQuestion(shape)
	}
	return nil
}

func badQuestion(shape string) error {
	return crash.Errorf(crash.Invalid, "bad_question", "The request must look like %s.", shape)
}

// The shapes of questions, for the texts of refusals.
const (
	recentShape  = `{"packages": [{"package": "…", "last_seen": "…"}], "release": "…"}`
	pocketsShape = `{"packages_data": [{"package": "…", "seen": "…", "release": "…"}]}`
	stateShape   = `{"reports": ["2100001"], "release": "…"}`
)

func tooManyQuestions(n int) error {
	if n > maxQuestions {
		return crash.Errorf(crash.Invalid, "too_many", "A request can name at most %d things.", maxQuestions)
	}
	return nil
}

// seriesOf returns the codename of a release in a question: "Ubuntu 24.04" or "24.04", or "" for
// the newest.
func (a *answers) seriesOf(release string) string {
	if release == "" {
		return crash.Releases().Latest("Ubuntu", a.today()).Codename()
	}
	return crash.Release("Ubuntu " + strings.TrimPrefix(release, "Ubuntu ")).Codename()
}

type seenPackage struct {
	LastSeen string `json:"last_seen"`
	Package  string `json:"package"`
}

type recentQuestion struct {
	Packages []seenPackage `json:"packages"`
	Release  string        `json:"release,omitempty"`
}

type recentAnswer struct {
	Packages map[string]bool `json:"packages" doc:"Keys are package and version, separated by a space."`
}

func (a *answers) mostRecent(ctx context.Context, _ input, body []byte) (any, error) {
	var q recentQuestion
	if err := readQuestion(body, &q, recentShape); err != nil {
		return nil, err
	}
	if q.Packages == nil {
		return nil, badQuestion(recentShape)
	}
	facts, err := binaryFacts(ctx, a, q.Packages, func(p seenPackage) string { return p.Package })
	if err != nil {
		return nil, err
	}
	out := recentAnswer{Packages: map[string]bool{}}
	series := a.seriesOf(q.Release)
	for i, p := range q.Packages {
		versions := crash.Versions(facts[i].In(series, "Release", "Security", "Updates"))
		isNewest := len(versions) == 0 || version.Dpkg.Compare(p.LastSeen, versions[len(versions)-1]) >= 0
		out.Packages[p.Package+" "+p.LastSeen] = isNewest
	}
	return out, nil
}

// binaryFacts returns the archive facts of the binary packages in a question.
func binaryFacts[Q any](ctx context.Context, a *answers, questions []Q,
	name func(Q) string,
) ([]crash.ArchiveFact, error) {
	if err := tooManyQuestions(len(questions)); err != nil {
		return nil, err
	}
	wants := make([]crash.ArchiveWant, len(questions))
	for i, q := range questions {
		wants[i] = crash.ArchiveWant{Kind: crash.ArchiveBinary, Key: name(q)}
	}
	return a.Bugs.ArchiveFacts(ctx, wants)
}

type seenInRelease struct {
	Package string `json:"package,omitempty"`
	Release string `json:"release,omitempty"`
	Seen    string `json:"seen,omitempty" doc:"The version."`
}

type pocketsQuestion struct {
	Packages []seenInRelease `json:"packages_data"`
}

type pocketsAnswer struct {
	Packages map[string]string `json:"packages_data" doc:"Keys are package, version and release, separated by spaces."`
}

func (a *answers) pockets(ctx context.Context, _ input, body []byte) (any, error) {
	var q pocketsQuestion
	if err := readQuestion(body, &q, pocketsShape); err != nil {
		return nil, err
	}
	if q.Packages == nil {
		return nil, badQuestion(pocketsShape)
	}
	facts, err := binaryFacts(ctx, a, q.Packages, func(p seenInRelease) string { return p.Package })
	if err != nil {
		return nil, err
	}
	out := pocketsAnswer{Packages: map[string]string{}}
	for i, p := range q.Packages {
		pocket := "Not Found"
		if p.Package != "" && p.Seen != "" && p.Release != "" {
			pocket = pocketOr(facts[i], a.seriesOf(p.Release), p.Seen, "")
		}
		out.Packages[p.Package+" "+p.Seen+" "+p.Release] = pocket
	}
	return out, nil
}

type packageVersions struct {
	Versions []string `json:"versions"`
}

func (a *answers) binaryVersions(ctx context.Context, in input) ([]any, error) {
	facts, err := a.Bugs.ArchiveFacts(ctx, []crash.ArchiveWant{
		{Kind: crash.ArchiveBinary, Key: in.text("binary_package")},
	})
	if err != nil {
		return nil, err
	}
	versions := crash.Versions(facts[0].In(a.seriesOf(in.text("release"))))
	if versions == nil {
		versions = []string{}
	}
	return []any{packageVersions{Versions: slices.Clip(versions)}}, nil
}
