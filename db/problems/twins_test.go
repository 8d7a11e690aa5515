package problems_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/db"
	"mishap/db/dbtest"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// quayBugs is the number of bugs of the program.
const quayBugs = 21

// quayRuns are the builds of the program, and the depths of recursion with which they ran. The first is what
// distributions publish.
var quayRuns = [...]struct{ build, depth, version string }{
	{"O2", "3", "1.0-3"}, {"O0", "3", "1.0-1"}, {"O1", "5", "1.0-2"}, {"O3", "7", "1.0-4"}, {"clang", "5", "1.0-5"},
	{"O2", "5", "1.0-3"},
}

// quayKind says what compilers do to a bug.
func quayKind(bug int) string {
	switch {
	case bug <= 4:
		return "calls through null"
	case bug <= 9:
		return "exceptions"
	case bug <= 13:
		return "recursion"
	case bug <= 17:
		return "lambdas, inlining"
	case bug <= 19:
		return "tail calls"
	}
	return "folded code"
}

// quayReport is one crash of the program.
type quayReport struct {
	bug, run int
	problem  crash.BucketID
}

// pairs counts pairs of reports that are in different problems, or in one.
type pairs struct{ of, split, merged int }

// countPairs counts, for pairs of reports that count, those of one bug that are apart and those of different
// bugs that are together.
func countPairs(all []quayReport, counts func(a, b quayReport) bool, together func(a, b crash.BucketID) bool) (
	same, different pairs,
) {
	for i, a := range all {
		for _, b := range all[:i] {
			if !counts(a, b) {
				continue
			}
			one := a.problem == b.problem || together(a.problem, b.problem)
			if a.bug == b.bug {
				same.of++
				if !one {
					same.split++
				}
			} else {
				different.of++
				if one {
					different.merged++
				}
			}
		}
	}
	return same, different
}

// TestMoreTwins builds a program with 21 bugs in five ways with Debian's compilers, has it crash, stores and
// symbolises the reports as a server does, and counts the pairs of crashes of one bug that are apart, and of
// different bugs that are together: by signatures, and with twins.
func TestMoreTwins(t *testing.T) {
	t.Parallel()
	began := time.Now()
	dir := symboltest.Quay(t)
	t.Logf("built and run: %s", time.Since(began).Round(time.Second))
	f := start(t)
	all := f.storeQuay(dir)
	t.Logf("symbolised and stored: %s", time.Since(began).Round(time.Second))

	// Published against each other build, and two depths of one build.
	published := func(a, b quayReport) bool { return a.bug == b.bug && min(a.run, b.run) == 0 }
	oneBuild := func(a, b quayReport) bool { return a.run == b.run && a.run < 5 }
	everyPair := func(_, _ quayReport) bool { return true }
	apart := func(_, _ crash.BucketID) bool { return false }

	family := map[crash.BucketID][]crash.BucketID{}
	began = time.Now()
	for _, r := range all {
		if _, known := family[r.problem]; known {
			continue
		}
		b := dbtest.Must(f.Bucket(t.Context(), r.problem))(t)
		twins := dbtest.Must(f.Twins(t.Context(), b))(t)
		family[r.problem] = []crash.BucketID{}
		for _, twin := range twins {
			family[r.problem] = append(family[r.problem], twin.ID)
			if twin.Reason == "" || twin.Like == (crash.BucketID{}) {
				t.Errorf("twin %s of %s has no reason", twin.Signature, b.Signature)
			}
		}
	}
	t.Logf("%d problems, %s for the twins of each", len(family), time.Since(began)/time.Duration(len(family)))
	together := func(a, b crash.BucketID) bool { return slices.Contains(family[a], b) }
	for a, twins := range family {
		for _, b := range twins {
			checktest.Equal(t, "twins are mutual", together(b, a), true)
		}
	}

	t.Log("kind                 pairs  split by signatures  with twins")
	for bug := 1; bug <= quayBugs; bug++ {
		if bug > 1 && quayKind(bug) == quayKind(bug-1) {
			continue
		}
		of := func(a, b quayReport) bool { return published(a, b) && quayKind(a.bug) == quayKind(bug) }
		before, _ := countPairs(all, of, apart)
		after, _ := countPairs(all, of, together)
		t.Logf("%-20s %5d %20d %11d", quayKind(bug), before.of, before.split, after.split)
	}
	before, _ := countPairs(all, published, apart)
	after, _ := countPairs(all, published, together)
	_, wrongBefore := countPairs(all, oneBuild, apart)
	_, wrong := countPairs(all, oneBuild, together)
	t.Logf("%-20s %5d %20d %11d", "all", before.of, before.split, after.split)
	t.Logf("different bugs: %d pairs, %d merged by signatures, %d with twins", wrong.of, wrongBefore.merged, wrong.merged)
	allBefore, _ := countPairs(all, everyPair, apart)
	allAfter, allWrong := countPairs(all, everyPair, together)
	t.Logf("all builds against each other: %d pairs of one bug, %d split by signatures, %d with twins; %d pairs of "+
		"different bugs, %d merged with twins", allBefore.of, allBefore.split, allAfter.split, allWrong.of, allWrong.merged)

	checktest.Equal(t, "pairs of one bug", before.of, 105)
	checktest.Equal(t, "pairs of different bugs", wrong.of, 1050)
	if before.split < 30 {
		t.Errorf("got %d pairs split by signatures, want at least 30: the program is too easy", before.split)
	}
	if after.split > 5 {
		t.Errorf("got %d pairs of 105 split, want at most 5", after.split)
	}
	checktest.Equal(t, "different bugs merged", wrong.merged, 0)
	checktest.Equal(t, "different bugs merged, of all builds", allWrong.merged, 0)

	// A rule merges them all.
	for i := range all {
		checktest.NoError(t, f.MergeTwins(t.Context(), all[i].problem, "family"))
	}
	for i := range all {
		all[i].problem = dbtest.Must(f.Bucket(t.Context(), all[i].problem))(t).ID
	}
	byRule, _ := countPairs(all, published, apart)
	_, wrongByRule := countPairs(all, everyPair, apart)
	t.Logf("merged by a rule: %d of %d pairs split, %d of %d merged wrongly", byRule.split, byRule.of, wrongByRule.merged,
		wrongByRule.of)
	if byRule.split > 5 {
		t.Errorf("got %d pairs of 105 split after the merges of a rule, want at most 5", byRule.split)
	}
	checktest.Equal(t, "different bugs merged by a rule", wrongByRule.merged, 0)
}

// storeQuay stores and symbolises the crashes of the program.
func (f fixture) storeQuay(dir string) []quayReport {
	f.Helper()
	added := dbtest.Must(debuginfo.OpenFolder(filepath.Join(dir, "added"), 0))(f)
	for _, r := range quayRuns {
		checktest.NoError(f, added.Add(f.Context(), filepath.Join(dir, r.build, "quay"), func(a debuginfo.Added) {
			if a.Refused != nil {
				f.Errorf("add %s: %v", a.Name, a.Refused)
			}
		}))
	}
	cache := dbtest.Must(debuginfo.OpenFolder(filepath.Join(dir, "cache"), 1<<30))(f)
	s := dbtest.Must(symbols.New(symbols.Config{
		Finder:  debuginfo.NewFinder(debuginfo.Config{Added: added, Cache: cache, Machine: true, UserAgent: "test"}),
		WorkDir: filepath.Join(dir, "jobs"), Core: 1 << 30, Memory: 4 << 30, Time: 5 * time.Minute}))(f)
	ids := map[crash.OopsID]quayReport{}
	for bug := 1; bug <= quayBugs; bug++ {
		for run, r := range quayRuns {
			core := filepath.Join(dir, "cores", fmt.Sprintf("%s-%s-%d", r.build, r.depth, bug))
			ids[f.storeCore(s, core, bug, run)] = quayReport{bug: bug, run: run}
		}
	}
	dbtest.Counted(f.T, f.Store.Store)
	var all []quayReport
	for id, r := range ids {
		report := dbtest.Must(f.Report(f.Context(), id))(f)
		if report.Bucket == nil {
			f.Fatalf("the report of bug %d, %s, is in no problem", r.bug, quayRuns[r.run].build)
		}
		r.problem = dbtest.Must(f.Bucket(f.Context(), *report.Bucket))(f).ID
		all = append(all, r)
	}
	return all
}

// storeCore stores a report as a machine without function names sends it, and the names of its core.
func (f fixture) storeCore(s *symbols.Symboliser, core string, bug, run int) crash.OopsID {
	f.Helper()
	f.pass(time.Second)
	signal := "11"
	if quayKind(bug) == "exceptions" {
		signal = "6"
	}
	fields := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/quay", "Package": "quay " + quayRuns[run].version,
		"SourcePackage": "quay", "DistroRelease": "Debian 12", "Architecture": "amd64", "Signal": signal,
		"Date": f.Now().Format(time.ANSIC), "ProcStatus": fmt.Sprint("Pid: ", bug*100+run),
		"StacktraceAddressSignature": fmt.Sprintf("/usr/bin/quay:%s:/usr/bin/quay+%x:/usr/bin/quay+%x", signal, 4096*bug+run,
			8192+run),
	}
	rec := dbtest.Must(intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(crash.Report{ID: crash.NewOopsID(f.Now()),
		System: crash.NewSystemID(fmt.Sprint("machine ", bug, run)), Fields: fields}))(f)
	if _, _, err := f.SaveReport(f.Context(), rec); err != nil {
		f.Fatal(err)
	}
	job := dbtest.Must(s.NewJob())(f)
	dbtest.Must(job.Core().Write(dbtest.Must(os.ReadFile(core))(f)))(f)
	found, err := job.Run(f.Context(), fields)
	checktest.NoError(f, err)
	checktest.NoError(f, job.Close())
	found.Fields[crash.SymbolisedBy] = "mishap"
	checktest.NoError(f, db.NewDecisions(f.Store.Store).NameReport(f.Context(), rec.ID, found.Fields,
		found.State == symbols.Done, func(_ context.Context, _ pgx.Tx, _ bool, _ string) error { return nil }))
	return rec.ID
}

// stackReport stores a report with a stack of functions and lines, "walk@12", and returns its bucket.
func (f fixture) stackReport(functions, version string, options ...crashtest.Option) crash.BucketID {
	f.Helper()
	f.pass(time.Second)
	var stack, top strings.Builder
	for i, word := range strings.Fields(functions) {
		name, line, _ := strings.Cut(word, "@")
		frame := fmt.Sprintf("%s (n=...) at quay.cc:%s\n", name, line)
		fmt.Fprintf(&stack, "#%-2d 0x%016x in %s", i, 0x401000+16*i, frame)
		if i < 5 {
			top.WriteString(frame)
		}
	}
	fields := crashtest.Native(append([]crashtest.Option{
		crashtest.On("Ubuntu 24.04"), crashtest.Version(version), crashtest.Set("Stacktrace", stack.String()),
		crashtest.Set("StacktraceTop", top.String()), crashtest.Set("ThreadStacktrace", ""),
		crashtest.Process(int(f.Now().Unix() % 100_000)), crashtest.At(f.Now())}, options...)...).Fields()
	rec := dbtest.Must(intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(crash.Report{ID: crash.NewOopsID(f.Now()),
		System: crash.NewSystemID(fmt.Sprint("machine ", functions)), Fields: fields}))(f)
	if _, _, err := f.SaveReport(f.Context(), rec); err != nil {
		f.Fatal(err)
	}
	dbtest.Counted(f.T, f.Store.Store)
	return crash.BucketIDOf(rec.Grouping.Signature)
}

const (
	deep  = "weigh@130 walk@137 walk@136 walk@136 walk@136 walk@136 stow@138 main@289"
	plain = "weigh@130 walk@137 walk@136 stow@138 main@289"
)

// TestMergeTwins checks which twins a rule merges, and that it respects what people have decided.
func TestMergeTwins(t *testing.T) {
	t.Parallel()
	d := func(f fixture) *db.Decisions { return db.NewDecisions(f.Store.Store) }
	nine := crash.MuteUntil{Reports: 9}
	undoMerge := func(f fixture, a, b crash.BucketID) {
		dbtest.Must(d(f).Merge(f.Context(), a, []crash.BucketID{b}, "ada", ""))(f)
		last := dbtest.Must(d(f).Decisions(f.Context(), a, 1))(f)
		dbtest.Must(d(f).Undo(f.Context(), last[0].ID, "ada"))(f)
	}
	mark := func(kind crash.MarkKind) func(f fixture, a, b crash.BucketID) {
		return func(f fixture, a, _ crash.BucketID) {
			dbtest.Must(f.Set(f.Context(), crash.Mark{Bucket: a, Kind: kind, Person: "ada", Reason: "why"}))(f)
		}
	}
	for name, test := range map[string]struct {
		before func(f fixture, a, b crash.BucketID)
		want   bool
	}{
		"nothing decided":             {func(fixture, crash.BucketID, crash.BucketID) {}, true},
		"merge undone":                {undoMerge, false},
		"merge undone, the other way": {func(f fixture, a, b crash.BucketID) { undoMerge(f, b, a) }, false},
		"embargoed":                   {mark(crash.MarkEmbargo), false},
		"held":                        {mark(crash.MarkHold), false},
		"won’t fix":                   {mark(crash.MarkWontFix), true},
		"the larger one is muted":     {func(f fixture, a, _ crash.BucketID) { f.mute(a, nine) }, true},
		"the smaller one is muted":    {func(f fixture, _, b crash.BucketID) { f.mute(b, nine) }, false},
		"split": {func(f fixture, a, _ crash.BucketID) {
			dbtest.Must(d(f).Split(f.Context(), a, crash.Condition{Terms: []crash.Term{{Field: "architecture",
				Value: "arm64"}}}, "ada", ""))(f)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			a := f.stackReport(plain, "1.4-2")
			f.stackReport(plain, "1.4-2")
			b := f.stackReport(deep, "1.4-2")
			test.before(f, a, b)
			checktest.NoError(t, f.MergeTwins(t.Context(), b, "calm"))
			head := dbtest.Must(f.Bucket(t.Context(), b))(t).ID
			checktest.Equal(t, "merged", head == a, test.want)
			if !test.want {
				checktest.Equal(t, "head", head, b)
				return
			}
			last := dbtest.Must(d(f).Decisions(t.Context(), a, 1))(t)[0]
			checktest.Equal(t, "person", last.Person, "rule: calm")
			checktest.Equal(t, "reason", last.Reason, "Twins: walk recurs 2 and 5 times.")

			// After an undo, the rule does not merge them again, but another twin that nobody has separated.
			dbtest.Must(d(f).Undo(t.Context(), last.ID, "ada"))(t)
			checktest.NoError(t, f.MergeTwins(t.Context(), b, "calm"))
			checktest.Equal(t, "head after the undo", dbtest.Must(f.Bucket(t.Context(), b))(t).ID, b)
		})
	}
}

// TestTwinsOfBuilds checks that the versions in which problems were seen count.
func TestTwinsOfBuilds(t *testing.T) {
	t.Parallel()
	f := start(t)
	const whole, jumped = "read_row@4 load@5 open_it@6 run@7 main@9", "read_row@4 load@5 run@7 main@9"
	a := f.stackReport(whole, "1.4-2")
	b := f.stackReport(jumped, "1.4-3")
	twins := func(want int) {
		t.Helper()
		for _, id := range []crash.BucketID{a, b} {
			found := dbtest.Must(f.Twins(t.Context(), dbtest.Must(f.Bucket(t.Context(), id))(t)))(t)
			checktest.Equal(t, "twins", len(found), want)
		}
	}
	twins(1)
	f.stackReport(jumped, "1.4-2") // one build has crashed with both
	twins(0)

	// A problem that may be of two faults is of none.
	g := start(t)
	x := g.stackReport("load@5 run@7 main@9", "1.4-2", crashtest.Set("Signal", "11"))
	y := g.stackReport("read_row@4 load@5 run@7 main@9", "1.4-3")
	of := func(id crash.BucketID) int {
		return len(dbtest.Must(g.Twins(t.Context(), dbtest.Must(g.Bucket(t.Context(), id))(t)))(t))
	}
	checktest.Equal(t, "twins of the one without a name", of(x), 1)
	checktest.Equal(t, "twins of the other", of(y), 1)
	z := g.stackReport("write_row@8 load@5 run@7 main@9", "1.4-4")
	for _, id := range []crash.BucketID{x, y, z} {
		checktest.Equal(t, "twins when two are possible", of(id), 0)
	}
}
