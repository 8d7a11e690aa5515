package mcp

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

var compareVersions = definition{
	name: "compare_versions", title: "Compare two versions of a package",
	description: "Compare two versions of a package: rates of reports per active machine, and which problems are new in " +
		"the newer version or gone from it. Without versions, it compares the newest with the one before. Use it to see " +
		"what an update changed; for a verdict whether the update made things worse, use gate.",
	full: limits{items: 40, line: 200, text: 200},
	bounds: func(in map[string]*jsonschema.Schema) {
		for _, p := range in {
			longest(p, maxName)
		}
	},
}

type compareQuestion struct {
	Package string `json:"package" jsonschema:"binary package; comparisons are of binary packages"`
	Version string `json:"version,omitempty" jsonschema:"the version to look at; empty: the newest"`
	Against string `json:"against,omitempty" jsonschema:"the version to compare with; empty: the one before"`
	Release string `json:"release,omitempty" jsonschema:"such as Ubuntu 24.04; empty: the newest with the versions"`
}

// ratio compares two rates.
type ratio struct {
	Value  *float64 `json:"value,omitempty" jsonschema:"missing: unknown, or unlimited"`
	Low    *float64 `json:"low,omitempty" jsonschema:"95% interval"`
	High   *float64 `json:"high,omitempty" jsonschema:"missing: unlimited"`
	Differ string   `json:"difference" jsonschema:"more or fewer: beyond chance; unclear: chance may explain it; unknown"`
}

func newRatio(r stats.RateRatio) ratio {
	out := ratio{Value: finite(r.Ratio), Low: finite(r.Low), High: finite(r.High), Differ: "unclear"}
	switch {
	case !r.Known():
		out = ratio{Differ: "unknown"}
	case r.Worse():
		out.Differ = "more"
	case r.Better():
		out.Differ = "fewer"
	}
	return out
}

// finite returns a number, or nil if JSON has none for it.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return new(rounded(x))
}

// rounded returns a number with four significant digits.
func rounded(x float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return short
}

func newRate(r stats.MachineRate) *rate {
	if !r.Known() {
		return nil
	}
	return &rate{rounded(r.Per1000), rounded(r.Low), rounded(r.High)}
}

type comparedVersion struct {
	Reports int64  `json:"reports"`
	Rate    *rate  `json:"rate,omitempty" jsonschema:"from the first to the last day"`
	First   string `json:"first_day"`
	Last    string `json:"last_day"`

	Untrusted occurrence `json:"untrusted"`
}

func (p *pen) version(v *view.PackageVersion) *comparedVersion {
	if v == nil {
		return nil
	}
	return &comparedVersion{Reports: v.Reports, Rate: newRate(v.Rate), First: v.First.UTC().Format(time.DateOnly),
		Last: v.Last.UTC().Format(time.DateOnly), Untrusted: occurrence{p.line(v.Version), p.line(string(v.Release))}}
}

type comparedProblem struct {
	Problem string `json:"problem" jsonschema:"id"`
	Link    string `json:"link"`
	Reports int64  `json:"reports" jsonschema:"from the version that has it"`

	Untrusted struct {
		Title string `json:"title"`
	} `json:"untrusted"`
}

func (s *Server) comparedProblems(p *pen, rows []view.ListRow, name string) []comparedProblem {
	all := []comparedProblem{}
	for _, row := range shown(p, rows, name) {
		one := comparedProblem{Problem: row.ID.String(), Link: s.problemLink(row.ID), Reports: row.Count}
		one.Untrusted.Title = p.line(view.DocumentTitle(*row.Bucket))
		all = append(all, one)
	}
	return all
}

type comparedVersions struct {
	answer
	Link    string            `json:"link" jsonschema:"the page of the package"`
	Days    int               `json:"days" jsonschema:"days that the comparison covers, up to today"`
	A       *comparedVersion  `json:"version,omitempty" jsonschema:"missing: fewer than two versions are known"`
	B       *comparedVersion  `json:"against,omitempty"`
	Ratio   *ratio            `json:"ratio,omitempty" jsonschema:"rate of version divided by the rate of against"`
	Newer   string            `json:"newer,omitempty" jsonschema:"version or against; missing: their releases differ"`
	NewHere []comparedProblem `json:"new_problems,omitempty" jsonschema:"in the newer version, most reports first"`
	NewAll  int               `json:"new_problems_count"`
	Gone    []comparedProblem `json:"gone_problems,omitempty" jsonschema:"no longer in the newer version"`
	GoneAll int               `json:"gone_problems_count"`

	Untrusted struct {
		Versions []occurrence `json:"known_versions,omitempty" jsonschema:"that can be compared, newest first"`
	} `json:"untrusted"`
}

var errNoVersion = crash.Errorf(crash.NotFound, "unknown_version",
	"The package page has no such version. Ask without versions to see which ones are known.")

// versionKey returns the key of a version, as CompareVersions takes it. It returns NotFound for a version that the page
// does not have.
func versionKey(page view.PackagePage, version, release string) (string, error) {
	if version == "" && release == "" {
		return "", nil
	}
	for _, v := range page.Versions {
		if (version == "" || v.Version == version) && (release == "" || string(v.Release) == release) {
			return string(v.Release) + "/" + v.Version, nil
		}
	}
	return "", errNoVersion
}

func (s *Server) compareVersions(r *http.Request, in compareQuestion) (func(*pen) comparedVersions, error) {
	name := strings.TrimSpace(in.Package)
	if name == "" || web.SeenLabel(r, name) != name {
		return nil, crash.Errorf(crash.NotFound, "unknown_package", "No recent reports of a package of this name.")
	}
	page, err := s.Lists.PackageFacts(r, name)
	if err != nil {
		return nil, err
	}
	a, err := versionKey(page, in.Version, in.Release)
	if err != nil {
		return nil, err
	}
	b := ""
	if in.Against != "" {
		release, _, _ := strings.Cut(a, "/")
		if b, err = versionKey(page, in.Against, release); err != nil && in.Release == "" {
			b, err = versionKey(page, in.Against, "")
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.Lists.CompareVersions(r, &page, a, b); err != nil {
		return nil, err
	}
	return func(p *pen) comparedVersions {
		c := page.Comparison
		out := comparedVersions{Link: s.base + view.PackagePath(name) + "#compare", Days: page.Days, A: p.version(c.A),
			B: p.version(c.B), NewAll: len(c.New), GoneAll: len(c.Gone)}
		if c.A != nil {
			out.Ratio = new(newRatio(c.Ratio))
		}
		switch c.Newer {
		case nil:
		case c.A:
			out.Newer = "version"
		default:
			out.Newer = "against"
		}
		out.NewHere = s.comparedProblems(p, c.New, "new problems")
		out.Gone = s.comparedProblems(p, c.Gone, "gone problems")
		for _, v := range shown(p, page.Versions, "versions") {
			out.Untrusted.Versions = append(out.Untrusted.Versions, occurrence{p.line(v.Version), p.line(string(v.Release))})
		}
		out.answer = p.answer("The page has everything.")
		return out
	}, nil
}

var updateGate = definition{
	name: "gate", title: "Did an update make things worse?",
	description: "The verdict of the update gate about one version of a binary package: worse, pass or not enough data, " +
		"for each release, with the reasons and the problems that are new or more frequent. Use it before an update is " +
		"released to everyone.",
	full: limits{items: 25, line: 400, text: 400},
	bounds: func(in map[string]*jsonschema.Schema) {
		for _, p := range in {
			longest(p, maxName)
		}
	},
}

type gateQuestion struct {
	Package string `json:"package" jsonschema:"binary package"`
	Version string `json:"version" jsonschema:"the version to check"`
	Against string `json:"against,omitempty" jsonschema:"a lower version to compare with; empty: the gate chooses one"`
	Release string `json:"release,omitempty" jsonschema:"such as Ubuntu 24.04; empty: every release with the version"`
}

type gateProblem struct {
	Problem  string `json:"problem" jsonschema:"id"`
	Link     string `json:"link"`
	Before   int64  `json:"reports_before"`
	After    int64  `json:"reports_after"`
	Machines int64  `json:"machines" jsonschema:"that reported it with the version"`
	Beyond   bool   `json:"significant" jsonschema:"more than chance explains"`

	Untrusted struct {
		Title string `json:"title"`
	} `json:"untrusted"`
}

type gateSide struct {
	Days        int     `json:"days"`
	MachineDays float64 `json:"machine_days"`
	Reports     int64   `json:"reports" jsonschema:"of all versions"`
}

type gateRelease struct {
	Verdict   string        `json:"verdict"`
	Increased bool          `json:"increased" jsonschema:"the rate of reports rose by more than chance explains"`
	Ratio     *float64      `json:"ratio,omitempty" jsonschema:"rate after the update divided by the rate before"`
	Low       *float64      `json:"ratio_low,omitempty" jsonschema:"95% interval"`
	High      *float64      `json:"ratio_high,omitempty"`
	Before    gateSide      `json:"before"`
	After     gateSide      `json:"after"`
	New       []gateProblem `json:"new_problems,omitempty"`
	NewAll    int           `json:"new_problems_count"`
	Increases []gateProblem `json:"increased_problems,omitempty"`

	Untrusted struct {
		Release  string   `json:"release"`
		Against  string   `json:"against,omitempty" jsonschema:"the version that it was compared with"`
		Reasons  []string `json:"reasons"`
		Replaced string   `json:"replaced_by,omitempty"`
	} `json:"untrusted"`
}

type gateAnswer struct {
	answer
	Link     string        `json:"link"`
	Verdict  string        `json:"verdict" jsonschema:"pass, worse or not enough data: the worst of the releases"`
	Caveat   string        `json:"caveat"`
	Releases []gateRelease `json:"releases" jsonschema:"newest first; empty: none has reports of the version"`

	Untrusted struct {
		Summary string   `json:"summary"`
		Known   []string `json:"known_versions,omitempty"`
	} `json:"untrusted"`
}

func (s *Server) gate(r *http.Request, in gateQuestion) (func(*pen) gateAnswer, error) {
	q := stats.GateQuestion{Package: web.SeenLabel(r, strings.TrimSpace(in.Package)),
		Version: web.SeenLabel(r, strings.TrimSpace(in.Version)), Against: web.SeenLabel(r, strings.TrimSpace(in.Against)),
		Release: crash.Release(web.SeenLabel(r, strings.TrimSpace(in.Release)))}
	found, err := s.Lists.GateAnswer(r, q)
	if err != nil {
		return nil, err
	}
	return func(p *pen) gateAnswer {
		out := gateAnswer{Link: s.base + q.Path(), Verdict: string(found.Verdict), Caveat: stats.GateUnknown,
			Releases: []gateRelease{}}
		for _, result := range shown(p, found.Results, "releases") {
			out.Releases = append(out.Releases, s.gateRelease(p, found, result))
		}
		out.Untrusted.Summary = p.line(found.Headline())
		for _, v := range shown(p, found.Known, "versions") {
			out.Untrusted.Known = append(out.Untrusted.Known, p.line(v))
		}
		out.answer = p.answer("Ask about one release, or see the page.")
		return out
	}, nil
}

func (s *Server) gateRelease(p *pen, found stats.GateAnswer, r stats.GateResult) gateRelease {
	side := func(w stats.Window, c stats.Compared) gateSide {
		return gateSide{Days: w.Days(), MachineDays: rounded(c.MachineDays), Reports: c.Reports}
	}
	problems := func(findings []stats.GateFinding, name string) (all []gateProblem) {
		for _, f := range shown(p, stats.ListedFindings(findings), name) {
			one := gateProblem{Problem: f.ID.String(), Link: s.problemLink(f.ID), Before: f.Before, After: f.After,
				Machines: f.Machines, Beyond: f.Significant}
			if b, known := found.Buckets[f.ID]; known {
				one.Untrusted.Title = p.line(view.DocumentTitle(b))
			}
			all = append(all, one)
		}
		return all
	}
	interval := r.Ratio()
	out := gateRelease{Verdict: string(r.Verdict), Increased: r.Increased, Ratio: finite(interval.Value),
		Low: finite(interval.Low), High: finite(interval.High), Before: side(r.GatePlan.Before, r.Before),
		After: side(r.GatePlan.After, r.After), New: problems(r.Appeared, "new problems"), NewAll: len(r.Appeared),
		Increases: problems(r.Increases, "increased problems")}
	out.Untrusted.Release, out.Untrusted.Against = p.line(string(r.Release)), p.line(r.Against)
	out.Untrusted.Replaced = p.line(r.Replaced)
	for _, reason := range r.Reasons() {
		out.Untrusted.Reasons = append(out.Untrusted.Reasons, p.line(reason))
	}
	return out
}
