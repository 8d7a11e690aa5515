package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"mishap/crash"
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
			doc: "Each bug has two values: whether it is fixed (null: private or unknown), and the number of the " +
				"bug that it duplicates. With a release, the task for its series decides if there is one.",
			body: stateQuestion{}, object: stateAnswer{}, post: a.reportsState,
		},
		{
			name: "problem-people", method: http.MethodPost, access: triager, external: true,
			summary: "Assigns a problem, and adds or removes tags.",
			doc: "Fields that are missing change nothing. 409: the assignee of the problem's bug counts, or there are " +
				"too many tags. A session must send the CSRF token of the cookie csrftoken in the header " +
				"X-CSRFToken; an API token with the scope triage needs none.",
			body: peopleQuestion{}, object: peopleAnswer{},
			outcomes: map[string]string{"200": "Assigned and tagged."}, refused: []string{"409"},
		},
		{
			name: createBugReport, method: http.MethodPost, access: triager, external: true,
			summary: "Creates a bug for a problem.",
			doc: "201: created by this request. 200: the bug existed already. 202: the tracker has not answered " +
				"yet. A session must send the CSRF token of the cookie csrftoken in the header X-CSRFToken; an " +
				"API token with the scope file needs none.",
			body: createQuestion{}, object: createAnswer{},
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
	signatures, err := a.bugs.SignaturesOfBug(ctx, int64(in.number("bug")), in.number("limit"))
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
	states, err := a.bugs.BugStates(ctx, numbers)
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
			state[1] = strconv.FormatInt(s.DuplicateOf, 10)
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
	Assignee string   `json:"assignee" doc:"Who takes care of it now; empty: nobody."`
	Bug      *string  `json:"bug" doc:"Number of the bug whose assignee it is; null: it was assigned in mishap."`
	Tags     []string `json:"tags" doc:"Its tags, sorted."`
}

type createAnswer struct {
	Report    *string `json:"report" doc:"Number of the bug; null until the tracker has answered."`
	Signature string  `json:"signature"`
	State     string  `json:"state" doc:"filed, or filing."`
	URL       *string `json:"url"`
}
