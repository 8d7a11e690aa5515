package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/dpkg"
)

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
		return nil, crash.Errorf(crash.UnsupportedMedia, "media_type", "Send the question as application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, errNotJSON
	}
	if len(body) > maxBody {
		return nil, crash.Errorf(crash.TooLarge, "too_large", "The question is larger than %d KiB.", maxBody>>10)
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
	return crash.Errorf(crash.Invalid, "bad_question", "The question has another shape than %s.", shape)
}

// The shapes of questions, for the texts of refusals.
const (
	recentShape  = `{"packages": [{"package": "…", "last_seen": "…"}], "release": "…"}`
	pocketsShape = `{"packages_data": [{"package": "…", "seen": "…", "release": "…"}]}`
	stateShape   = `{"reports": ["2100001"], "release": "…"}`
)

func tooManyQuestions(n int) error {
	if n > maxQuestions {
		return crash.Errorf(crash.Invalid, "too_many", "One question may be about at most %d things.", maxQuestions)
	}
	return nil
}

// seriesOf returns the codename of a release in a question: "Ubuntu 24.04" or "24.04", or "" for
// the newest.
func (a *answers) seriesOf(release string) string {
	if release == "" {
		return a.releases.Codename(a.releases.Latest("Ubuntu", a.today()))
	}
	return a.releases.Codename(crash.Release("Ubuntu " + strings.TrimPrefix(release, "Ubuntu ")))
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
		isNewest := len(versions) == 0 || dpkg.Compare(p.LastSeen, versions[len(versions)-1]) >= 0
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
	return a.bugs.ArchiveFacts(ctx, wants)
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
	facts, err := a.bugs.ArchiveFacts(ctx, []crash.ArchiveWant{
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
