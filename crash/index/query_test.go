package index_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
	"mishap/crash/version"
	"mishap/db/dbtest"
)

// seenOn are the reports of the sample problem.
var seenOn = crash.SeenSpan{
	First: crash.Occurrence{At: time.Date(2026, 9, 2, 5, 0, 0, 0, time.UTC), Version: "1.4-2",
		Release: "Ubuntu 22.04"},
	Last: crash.Occurrence{At: time.Date(2026, 11, 20, 5, 0, 0, 0, time.UTC), Version: "1.4-3",
		Release: "Ubuntu 24.04"},
	Versions: version.Range{Lowest: "1.4-1", Highest: "2:1.5~rc1-2"},
}

// problem returns a changed copy of the sample problem, in an index of its own.
func problem(t testing.TB, seen crash.SeenSpan, change func(*index.Problem)) *index.Problem {
	t.Helper()
	ix, id := index.New(), crash.BucketIDOf("x")
	ix.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{
			ID: id, Head: id, Signature: "/usr/bin/tidewatch:11:tide_parse_row:std::vector<int>::push_back:main",
			Rule: crash.RuleStacktrace,
			Type: "Crash", Title: "tidewatch crashed with SIGSEGV in tide_parse_row()", Executable: "/usr/bin/tidewatch",
			Package: "tidewatch-bin", Source: "tidewatch",
			Reports: 120, Systems: 40,
		}, seen)
	})
	p, ok := ix.Problem(id)
	if !ok {
		t.Fatal("the index does not have the problem")
	}
	p.State, p.Bug = crash.StateRegression, 2101233
	if change != nil {
		change(p)
	}
	return p
}

func TestMatch(t *testing.T) {
	t.Parallel()
	p := problem(t, seenOn, nil)
	versionless := crash.SeenSpan{First: crash.Occurrence{At: seenOn.First.At}, Last: crash.Occurrence{At: seenOn.Last.At}}
	unfiled := problem(t, versionless, func(p *index.Problem) {
		p.Triage = &index.Triage{Muted: true, WontFix: true, Fixes: []crash.Mark{{Kind: crash.MarkFixed}}}
		p.Bug, p.State, p.Provisional = 0, "", true
	})
	for text, want := range map[string][2]bool{ // results for p and for unfiled
		"":                                   {true, true},
		"tidewatch":                          {true, true},
		"TIDE_parse":                         {true, true},
		`"crashed with SIGSEGV"`:             {true, true},
		"nothing":                            {false, false},
		"is:muted":                           {false, true},
		"-is:muted":                          {true, false},
		"is:wontfix":                         {false, true},
		"is:fixed-by-hand":                   {false, true},
		"-nothing":                           {true, true},
		"package:tidewatch":                  {true, true}, // matches the source package
		"package:tide*":                      {true, true},
		"package:*watch*":                    {true, true},
		"package:tide":                       {false, false},
		"source:TIDEWATCH":                   {true, true},
		"program:tidewatch":                  {true, true},
		"program:/usr/bin/*":                 {true, true},
		"frame:parse_row":                    {true, true},
		"frame:push_back":                    {true, true},
		"frame:std::vector<int>::push_back":  {true, true},
		"frame:tide*":                        {true, true},
		"frame:/usr/bin":                     {false, false},
		"signature::11:":                     {true, true},
		"type:crash":                         {true, true},
		"rule:stacktrace":                    {true, true},
		"state:regression":                   {true, false},
		"-state:regression":                  {false, true},
		"state:none":                         {false, true},
		"is:unfiled":                         {false, true},
		"is:regression":                      {true, false},
		"is:gone":                            {false, false},
		"is:filed is:symbolised":             {true, false},
		"is:provisional OR bug:2101233":      {true, true},
		"bug:#2101233":                       {true, false},
		"bug:none":                           {false, true},
		"bug:any":                            {true, false},
		"seen:>=1.5":                         {true, false},
		"seen:>=2:1.5":                       {false, false},
		"seen:<1.4":                          {false, false},
		"seen:1.4.9":                         {true, false},
		"first:1.4-2":                        {true, false},
		"first:1.4-1":                        {false, false},
		"last:>1.4-2":                        {true, false},
		"last:>1.4-3":                        {false, false},
		"lowest:1.4-1":                       {true, false},
		"highest:>1.4-3":                     {true, false},
		"reports:>100":                       {true, true},
		"reports:<=119":                      {false, false},
		"machines:40":                        {true, true},
		"new:>=2026-09-02":                   {true, true},
		"new:<2026-09-02":                    {false, false},
		"gone:2026-11-20":                    {true, true},
		"id:" + p.ID.String()[:7]:            {true, true},
		"id:" + p.ID.String():                {true, true},
		"id:0000000":                         {false, false},
		"(nothing OR tidewatch) reports:>5":  {true, true},
		"(nothing OR tidewatch) -reports:>5": {false, false},
		"-(nothing OR other)":                {true, true},
		`release:"Ubuntu 24.04" version:1`:   {true, true}, // restricts the counted reports
		"std::vector":                        {true, true}, // not a field
		`"OR"`:                               {true, true}, // occurs in "vector"
	} {
		q, err := index.ParseQuery(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		checktest.Equal(t, text, [2]bool{q.Match(p), q.Match(unfiled)}, want)
		again, err := index.ParseQuery(q.String())
		if err != nil || again.String() != q.String() || again.Match(p) != want[0] || again.Match(unfiled) != want[1] {
			t.Errorf("%q: printed as %q and parsed again: got %v, or another query", text, q, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	q, err := index.ParseQuery(`release:"Ubuntu 24.04" arch:arm64 version:5.9-4 since:2026-11-01 until:2026-11-20 zsh`)
	checktest.NoError(t, err)
	day := func(n int) index.Day { return index.DayOf(time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)) }
	got := q.Narrow(index.Filter{Since: day(3), Until: day(30), Package: "kept"})
	want := index.Filter{Since: day(1), Until: day(20), Package: "kept", Release: "Ubuntu 24.04", Architecture: "arm64",
		Version: "5.9-4", Query: q.String()}
	if got != want || !q.HasDays() {
		t.Errorf("got %+v, want %+v", got, want)
	}
	plain, err := index.ParseQuery("zsh")
	checktest.NoError(t, err)
	if want.Query = "zsh"; plain.HasDays() || plain.Narrow(got) != want {
		t.Errorf("a query without such terms: got %+v, want %+v", plain.Narrow(got), want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		at   int
		says string
	}{
		`a "b`:                              {2, "not closed"},
		"(a":                                {0, "not closed"},
		"a)":                                {1, "too many"},
		"()":                                {1, "nothing between"},
		"OR a":                              {0, "in front of OR"},
		"a OR":                              {4, "missing at the end"},
		"package:":                          {0, "needs a value"},
		"package:>5":                        {8, "cannot be compared"},
		"state:broken":                      {6, "none of regression, open"},
		"a is:nice":                         {5, "none of filed"},
		"bug:x":                             {4, "neither the number"},
		"seen:>=not a version":              {7, "not a version"},
		"reports:many":                      {8, "not a number"},
		"since:yesterday":                   {6, "not a day"},
		"since:2026-02-30":                  {6, "not a day"},
		"id:xyz":                            {3, "not the beginning"},
		"-release:x":                        {1, "cannot be combined"},
		"a OR release:x":                    {5, "cannot be combined"},
		"release:x release:y":               {10, "once"},
		"since:2026-02-02 until:2026-02-01": {0, "nothing can be found"},
		"--a":                               {0, "follow the minus"},
		"a (-b c) OR":                       {11, "missing at the end"},
		strings.Repeat("(", 30):             {20, "too deeply"},
		strings.Repeat("a ", 65):            {128, "at most 64"},
		strings.Repeat("a", 2001):           {2000, "at most 2000"},
		"a\xff":                             {0, "UTF-8"},
	} {
		_, err := index.ParseQuery(text)
		e, ok := errors.AsType[*index.QueryError](err)
		if !ok {
			t.Errorf("%.40q: got %v, want an error with a position", text, err)
			continue
		}
		if e.At != want.at || !strings.Contains(e.Message, want.says) || !strings.HasSuffix(e.Message, ".") {
			t.Errorf("%.40q: got %q at %d, want %q at %d", text, e.Message, e.At, want.says, want.at)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	some := func(all ...string) func(string) []string {
		return func(begins string) (found []string) {
			for _, s := range all {
				if strings.HasPrefix(strings.ToLower(s), strings.ToLower(begins)) {
					found = append(found, s)
				}
			}
			return found
		}
	}
	known := index.Known{
		Packages: some("zsh", "zsh-common", "mesa"), Releases: some("Ubuntu 24.04", "Debian 13"),
		Architectures: some("amd64"), Types: some("Crash"),
		Programs: some("zsh5"), Frames: some("zsh_main"),
		Versions: func(begins, pkg string) []string {
			return map[string][]string{"": {"7.1-1"}, "zsh": {"1:5.9-4"}}[pkg]
		},
	}
	for text, want := range map[string]string{
		"version:":              "version:7.1-1",
		"package:zsh version:1": `package:zsh version:"1:5.9-4"`,
		"package:zsh seen:>=":   `package:zsh seen:>="1:5.9-4"`,
		"-package:zsh first:<":  "-package:zsh first:<7.1-1",
		"frame:zs":              "frame:zsh_main",
		"program:zs":            "program:zsh5",
		"pa":                    "package:",
		"zsh -sta":              "zsh -state:",
		"a state:re":            "a state:regression",
		"package:zs":            "package:zsh",
		"(a OR package:m":       "(a OR package:mesa",
		`release:"Ubu`:          `release:"Ubuntu 24.04"`,
		"release:ubu":           `release:"Ubuntu 24.04"`,
		"type:":                 "type:Crash",
		"reports:":              "reports:>100",
		"zs":                    "package:zsh",
		"a -mes":                "a -package:mesa",
		"zsh_m":                 "frame:zsh_main",
		"m":                     "machines:",
		`"package:zs`:           "",
		"frame::x unknown:val":  "",
	} {
		found := index.Complete(text, known)
		if want == "" {
			if len(found) > 0 {
				t.Errorf("%q: got %v, want nothing", text, found)
			}
			continue
		}
		if len(found) == 0 || found[0].Text != want {
			t.Errorf("%q: got %v, want %q first", text, found, want)
		}
	}
	got := index.Complete("is:new zs", known)
	wantNames := []index.Completion{
		{Text: "is:new package:zsh", Means: "is:new zsh (package)"},
		{Text: "is:new package:zsh-common", Means: "is:new zsh-common (package)"},
		{Text: "is:new frame:zsh_main", Means: "is:new zsh_main (function)"},
	}
	checktest.Diff(t, "names for a word", got, wantNames)
	if got := index.Complete("", known); len(got) != 10 || got[0].Means == "" {
		t.Errorf("empty query: got %v, want the first ten fields with explanations", got)
	}
}

func TestNotFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pkg:zsh package:mesa": "pkg", "-ver:1 (foo:bar OR a)": "ver foo", "ns::f": "", "https://x/y": "", `"a b:c"`: "",
		"/usr/bin/a:11:f": "", "(pkg:x": "pkg",
	} {
		checktest.Equal(t, text, strings.Join(index.NotFields(text), " "), want)
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, f := range index.Fields() {
		if _, err := index.ParseQuery(f.Name + ":" + f.Example); err != nil || f.Means == "" {
			t.Errorf("%s:%s: got %v, want a valid example and an explanation", f.Name, f.Example, err)
		}
	}
}

// FuzzParse checks that any text either gives a query, which stays the same when it is printed and
// parsed again, or an error with a position inside the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`package:zsh release:"Ubuntu 24.04" frame:parse_row seen:>=5.9 -state:fixed`,
		`(a OR "b c") -(d e) f::g()`, `"\\\"":x`, "OR ) ( - -a", "new:<2026-01-01"} {
		f.Add(s)
	}
	p := problem(f, seenOn, nil)
	none := func(string) []string { return nil }
	f.Fuzz(func(t *testing.T, text string) {
		index.Complete(text, index.Known{Packages: none, Frames: none})
		q, err := index.ParseQuery(text)
		if err != nil {
			e, ok := errors.AsType[*index.QueryError](err)
			if !ok || e.At < 0 || e.At > len(text) || e.At+e.Length > len(text)+1 || e.Message == "" {
				t.Errorf("%q: got %#v", text, err)
			}
			return
		}
		again, err := index.ParseQuery(q.String())
		if err != nil {
			if e, ok := errors.AsType[*index.QueryError](err); ok && e.At >= index.MaxQueryLength {
				return // quotation marks made it too long
			}
			t.Fatalf("%q is printed as %q: %v", text, q, err)
		}
		if again.String() != q.String() || again.Match(p) != q.Match(p) {
			t.Errorf("%q: printed as %q, then as %q", text, q, again)
		}
	})
}

// TestNarrowMuted checks that lists hide muted problems, unless the query itself is about them.
func TestNarrowMuted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]index.MutedChoice{
		"": index.MutedHidden, "tidewatch": index.MutedHidden, "is:wontfix": index.MutedHidden,
		"is:muted": index.MutedShown, "tidewatch (is:open OR -is:MUTED)": index.MutedShown,
	} {
		q, err := index.ParseQuery(text)
		checktest.NoError(t, err)
		checktest.Equal(t, text, q.Narrow(index.Filter{Muted: index.MutedHidden}).Muted, want)
		if got := q.Narrow(index.Filter{Muted: index.MutedOnly}).Muted; got != index.MutedOnly {
			t.Errorf("%q: got %q, want only muted problems", text, got)
		}
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	is := func(name, tags string) *index.Problem {
		return problem(t, seenOn, func(p *index.Problem) {
			p.People = &index.People{Assigned: crash.Assigned{Name: name}, TagList: tags}
		})
	}
	anna, team, nobody := is("anna", "sru c++"), is("~desktop-packages", ""), problem(t, seenOn, nil)
	for text, want := range map[string][3]bool{ // results for anna, team and nobody
		"assignee:anna":                {true, false, false},
		"assignee:ANNA":                {true, false, false},
		"assignee:ann":                 {false, false, false},
		"assignee:an*":                 {true, false, false},
		"assignee:desktop-packages":    {false, true, false},
		"assignee:~desktop-packages":   {false, true, false},
		"assignee:~anna":               {false, false, false},
		"assignee:none":                {false, false, true},
		"assignee:any":                 {true, true, false},
		"-assignee:any":                {false, false, true},
		"assignee:me":                  {true, false, false},
		"-assignee:me":                 {false, true, true},
		"tidewatch (assignee:me OR x)": {true, false, false},
		"tag:sru":                      {true, false, false},
		"tag:s*":                       {true, false, false},
		"tag:none":                     {false, true, true},
		"tag:any":                      {true, false, false},
		"tag:c++ tag:sru":              {true, false, false},
		"tag:sr":                       {false, false, false},
	} {
		q, err := index.ParseQuery(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		mine := q.For([]string{"Anna", "~anna-lp"})
		for i, p := range []*index.Problem{anna, team, nobody} {
			checktest.Equal(t, fmt.Sprintf("%s, problem %d", text, i), mine.Match(p), want[i])
		}
		if q.String() != mine.String() {
			t.Errorf("%s: the query of a person is %q", text, mine)
		}
	}
	// Visitors see no assignees and no tags.
	for _, text := range []string{"assignee:any", "tag:any", "assignee:anna"} {
		if q, err := index.ParseQuery(text); err != nil || q.Match(anna.Public()) {
			t.Errorf("%s matches for a visitor (%v)", text, err)
		}
	}
}

// TestMeIsAPerson checks that two people do not share a cached list.
func TestMeIsAPerson(t *testing.T) {
	t.Parallel()
	q, err := index.ParseQuery("assignee:me")
	checktest.NoError(t, err)
	anna, bob := q.For([]string{"anna"}).Narrow(index.Filter{}), q.For([]string{"bob"}).Narrow(index.Filter{})
	if !q.Personal() || anna.Query == bob.Query {
		t.Errorf("both lists have the key %q", anna.Query)
	}
	q = dbtest.Must(index.ParseQuery("tidewatch"))(t)
	if q.Personal() || q.For([]string{"anna"}).Narrow(index.Filter{}) != q.Narrow(index.Filter{}) {
		t.Error("a list that is the same for everyone depends on the person")
	}
}

func TestFolded(t *testing.T) {
	t.Parallel()
	b := index.New()
	l := index.Bucket{ID: id(1), Head: id(1), Signature: "/Bin/Ä:11:Main", Title: "Crash", Name: "Given", Package: "Pkg",
		Source: "src", Executable: "/Bin/Ä"}
	b.Update(func(u *index.Updater) {
		u.SetBucket(l, crash.SeenSpan{Versions: version.Range{Lowest: "1A", Highest: "2"}})
	})
	p, _ := b.Problem(id(1))
	for name, c := range map[string]struct {
		problem  *index.Problem
		versions string
	}{"of the index": {p, "1a\x002"}, "of its own, never seen": {&index.Problem{Bucket: &l}, "\x00"}} {
		want := "/bin/ä:11:main\x00given\x00pkg\x00src\x00/bin/ä\x00" + c.versions + "\x00crash"
		if c.problem.Folded() != want || c.problem.FoldedSignature() != "/bin/ä:11:main" {
			t.Errorf("%s: got %q and %q", name, c.problem.Folded(), c.problem.FoldedSignature())
		}
	}
}

// TestSetTriage checks that lists follow the manual status, and that it stays when counts change.
func TestSetTriage(t *testing.T) {
	t.Parallel()
	b := index.New()
	count := func(n byte, reports int64) {
		b.Update(func(u *index.Updater) {
			u.SetBucket(index.Bucket{ID: id(n), Head: id(n), Package: "reef", Reports: reports})
			u.SetCell(id(n), 9000, []byte("24.04"), []byte("1"), []byte("amd64"), []byte("amd64"), reports)
		})
	}
	for n := range byte(4) {
		count(n, int64(n)+1)
	}
	count(4, 0) // not in the list
	want := func(when string, muted index.MutedChoice, problems, hidden int64) {
		t.Helper()
		f := index.Filter{Since: 9000, Until: 9000, Muted: muted}
		for _, f.Package = range []string{"", "reef"} { // with and without a look at each problem
			rows, totals := b.All(f, nil)
			if totals.Problems != problems || totals.Hidden != hidden || int64(len(rows)) != problems {
				t.Errorf("%s, %q: got %d rows, %+v; want %d problems and %d hidden", when, muted, len(rows), totals, problems,
					hidden)
			}
		}
	}
	want("at first", index.MutedHidden, 4, 0)
	muted, marked := &index.Triage{Muted: true}, &index.Triage{WontFix: true}
	b.SetTriage(map[crash.BucketID]*index.Triage{id(1): muted, id(2): muted, id(3): marked, id(4): muted, id(99): muted})
	want("muted", index.MutedHidden, 2, 2)
	want("muted", index.MutedShown, 4, 0)
	want("muted", index.MutedOnly, 2, 0)
	count(1, 7)
	count(5, 1)
	want("after counting", index.MutedHidden, 3, 2)
	rows, _ := b.All(index.Filter{Since: 9000, Until: 9000, Muted: index.MutedOnly}, nil)
	b.SetTriage(map[crash.BucketID]*index.Triage{id(2): muted})
	want("unmuted", index.MutedHidden, 4, 1)
	if len(rows) != 2 || !rows[0].Muted() || !rows[1].Muted() {
		t.Errorf("rows returned earlier have changed: %v", rows)
	}
}

// TestPublicFacts checks that visitors see no address in versions and releases: neither in the facts
// of a problem nor in those of one release.
func TestPublicFacts(t *testing.T) {
	t.Parallel()
	const private = "1.0@joe@example.org"
	day := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	b := index.New()
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(1), Head: id(1)}, seen("Ubuntu 24.04", private, day, day),
			seen("Ubuntu 22.04", "1.0", day, day.Add(time.Hour)))
		u.SetBucket(index.Bucket{ID: id(2), Head: id(2)}, seen("Ubuntu 24.04", "1.0", day, day))
	})
	for n, changes := range map[byte]bool{1: true, 2: false} {
		p, _ := b.Problem(id(n))
		public := p.Public()
		if (public != p) != changes {
			t.Errorf("problem %d: got another problem for visitors: %t, want %t", n, public != p, changes)
		}
		for _, release := range []crash.Release{"", "Ubuntu 24.04"} {
			own, seen := p.In(release), public.In(release)
			if changed := seen.First().Version != own.First().Version; changed != changes {
				t.Errorf("problem %d, %q: got first version %q of %q", n, release, seen.First().Version, own.First().Version)
			}
			for _, version := range []string{seen.First().Version, seen.Last().Version, seen.LowestVersion(),
				seen.HighestVersion()} {
				if version == private {
					t.Errorf("problem %d, %q: visitors see %q", n, release, version)
				}
			}
			if !seen.First().At.Equal(own.First().At) || seen.First().Release != own.First().Release {
				t.Errorf("problem %d, %q: got %+v of %+v, want the same time and release", n, release, seen.First(), own.First())
			}
		}
	}
}

// TestRising checks which days and problems are compared, and that everyone gets the same answer.
func TestRising(t *testing.T) {
	t.Parallel()
	const today = index.Day(9000)
	ix := index.New()
	id := func(name string) crash.BucketID { return crash.BucketIDOf(name) }
	ix.Update(func(u *index.Updater) {
		for name, days := range map[string]map[index.Day]int64{
			"rises":           {today: 20, today - 6: 20, today - 7: 5, today - 13: 5, today - 14: 900},
			"rose last week":  {today - 7: 20, today - 13: 20, today - 14: 10},
			"new":             {today: 20, today - 6: 20},
			"steady":          {today: 20, today - 7: 20},
			"merged, rises":   {today - 7: 5},
			"and its member":  {today: 30},
			"seen a year ago": {today - 300: 1, today: 40},
		} {
			b := index.Bucket{ID: id(name), Head: id(name), Reports: 100}
			if name == "and its member" {
				b.Head = id("merged, rises")
			}
			u.SetBucket(b)
			for day, n := range days {
				u.SetCell(b.ID, day, []byte("Ubuntu 24.04"), []byte("1"), nil, nil, n)
			}
		}
	})
	for _, ix := range []*index.Index{ix, ix.Without([]crash.BucketID{id("steady"), id("rises")})} {
		rising := ix.Rising(today)
		for name, week := range map[string]int64{"rises": 40, "merged, rises": 30, "seen a year ago": 40} {
			if rising[id(name)].Week != week {
				t.Errorf("%s: got %+v, want %d this week", name, rising[id(name)], week)
			}
		}
		if len(rising) != 3 {
			t.Errorf("got %d rising problems, want 3: %v", len(rising), rising)
		}
		if before := ix.Rising(today - 7); len(before) != 1 || before[id("rose last week")].Week != 40 {
			t.Errorf("a week ago: got %v", before)
		}
	}
}
