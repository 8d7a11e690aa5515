package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"mishap/crash"
)

// Where is a problem concentrated? A trait is listed if it is more frequent among the machines with the
// problem than among machines with other problems of the package, beyond chance and by a size that
// matters. docs/triage.md explains the method, and a simulation tests how often it is wrong.

// Member is one machine in a comparison, by one of its reports.
type Member struct {
	Traits

	Here    bool           // it has the problem
	Problem crash.BucketID // of the report
	Release crash.Release
	Period  int  // see Sampling
	Unknown bool // the report does not name its machine
}

// Concentration is a trait that is more frequent among the machines here than elsewhere.
type Concentration struct {
	Trait

	Here, HereOf   int      // machines with the trait, of those that tell
	There, ThereOf int      // the same elsewhere
	Odds           Interval // odds ratio within each release and period
	Confidence     float64  // of that interval: 95% for all comparisons together
	P              float64  // one-sided
	Same           []Trait  // traits of the same machines
	Also           []Trait  // traits that stand out, too, but not any more among machines with this one, or without
}

// Concentrations are the result of a comparison.
type Concentrations struct {
	Found        []Concentration
	Here, There  int // machines compared
	Unknown      int // how many of them are reports without a machine
	Problems     int // other problems
	Since, Until time.Time
	Comparisons  int
	TooFew       bool // too few machines or other problems for any evidence
	Update       bool // of a version with lower versions, instead of a problem with others
}

const (
	minDifference     = 0.3 // smallest difference of shares that matters
	minHolders        = 3   // least number of machines here, so that a value does not describe a single one
	maxConcentrations = 6
	maxAlso           = 12
)

// The probabilities with which chance may make any of the comparisons wrong. The versions of packages
// have a share of their own, because they are many, and would hide everything else. Together they leave
// half of the 5%: the other half is for the upper ends of the intervals.
const (
	packageRisk = (1 - Confidence) / 2 / 5
	fieldRisk   = (1-Confidence)/2 - packageRisk
)

// changesWithTime reports whether an update of the system changes the values of a field.
func (f FacetField) changesWithTime() bool {
	return f.Package() != "" || f == FacetVersion || f == FacetKernel || f == FacetSeries
}

// Concentrate compares the machines of a problem with others of the package. Those that report several
// problems must be here only.
func Concentrate(members []Member) Concentrations {
	return concentrate(members, TraitFields, true)
}

// ConcentrateUpdate compares machines that crashed with an update with those that crashed with lower
// versions. They did so on other days, so traits that change with time are left out.
func ConcentrateUpdate(members []Member) Concentrations {
	fields := slices.DeleteFunc(slices.Clone(TraitFields), FacetField.changesWithTime)
	c := concentrate(members, fields, false)
	c.Update = true
	return c
}

func concentrate(members []Member, fields []FacetField, packages bool) Concentrations {
	c := &concentrating{members: members, update: !packages}
	out := Concentrations{}
	others := map[crash.BucketID]bool{}
	for _, m := range members {
		if m.Here {
			out.Here++
		} else {
			out.There++
			others[m.Problem] = true
		}
		if m.Unknown {
			out.Unknown++
		}
	}
	out.Problems = len(others)
	n := float64(out.Here)
	out.TooFew = packages && len(others) < 2 || out.Here < minHolders ||
		MoreFrequent(n, n, 0, float64(out.There)) > level(1, fieldRisk)
	if out.TooFew {
		return out
	}
	c.collect(fields, packages)
	c.compare()
	out.Found, out.Comparisons = c.found, c.comparisons
	return out
}

// concentrating is a comparison at work.
type concentrating struct {
	members     []Member
	update      bool
	columns     []*column
	comparisons int
	splits      [][]int // what the strata differ in, besides the release: the period, and traits that are found
	releases    []int
	alsoHere    map[int]bool // releases with machines here
	found       []Concentration
}

// column says which members have a trait. Traits that tell the same members apart share one.
type column struct {
	traits     []Trait
	order      int // place of the first trait's field among all
	has, tells []bool
	risk       float64
	level      float64 // highest p that is significant
	cells      []Stratum
	p          float64
}

// collect makes the columns.
func (c *concentrating) collect(fields []FacetField, packages bool) {
	places := map[FacetField]int{}
	for i, f := range fields {
		places[f] = i
	}
	columns := map[Trait]*column{}
	var order []*column
	for i, m := range c.members {
		for _, t := range m.All {
			place, ok := places[t.Field]
			if isPackage := t.Field.Package() != ""; isPackage && packages {
				place = len(fields)
			} else if !ok {
				continue
			}
			col := columns[t]
			if col == nil {
				col = &column{traits: []Trait{t}, order: place, has: make([]bool, len(c.members)), risk: fieldRisk}
				if place == len(fields) {
					col.risk = packageRisk
				}
				columns[t], order = col, append(order, col)
			}
			col.has[i] = true
		}
	}
	tells := c.telling()
	same := map[string]*column{}
	for _, col := range order {
		col.tells = tells(col.traits[0])
		key := make([]byte, len(c.members), len(c.members)+1)
		for i := range key {
			col.has[i] = col.has[i] && col.tells[i]
			key[i] = byte(index(col.has[i]) + index(col.tells[i])) //nolint:gosec // at most 2
		}
		if f := col.traits[0].Field; f == FacetRelease || f == FacetVersion {
			key = append(key, f[0]) // they explain others, and are tested in other strata
		}
		if known := same[string(key)]; known != nil {
			known.join(col)
		} else {
			same[string(key)] = col
			c.columns = append(c.columns, col)
		}
	}
}

// join adds the traits of a column that tells the same members apart. The first trait names them all: of
// nvidia and nvidia-550, the longer one.
func (col *column) join(other *column) {
	first, o := col.traits[0].Value, other.traits[0].Value
	if cmp.Or(cmp.Compare(other.order, col.order), cmp.Compare(len(first), len(o)), cmp.Compare(o, first)) < 0 {
		col.traits, col.order = append(other.traits, col.traits...), other.order
		col.risk = max(col.risk, other.risk)
		return
	}
	col.traits = append(col.traits, other.traits...)
}

// telling returns a function that says which members tell a trait.
func (c *concentrating) telling() func(Trait) []bool {
	known := map[FacetField][]bool{}
	return func(t Trait) []bool {
		key := t.Field
		if key.Package() != "" {
			key = facetPackage
		}
		if tells, ok := known[key]; ok && key != FacetGraphics {
			return tells
		}
		tells := make([]bool, len(c.members))
		for i := range c.members {
			tells[i] = c.members[i].tells(t)
		}
		known[key] = tells
		return tells
	}
}

// compare finds the columns that stand out, and those of them that others explain.
func (c *concentrating) compare() {
	periods := make([]int, len(c.members))
	codes := map[crash.Release]int{}
	c.releases = make([]int, len(c.members))
	for i, m := range c.members {
		if _, ok := codes[m.Release]; !ok {
			codes[m.Release] = len(codes)
		}
		periods[i], c.releases[i] = m.Period, codes[m.Release]
	}
	c.splits, c.alsoHere = [][]int{periods}, map[int]bool{}
	for i, m := range c.members {
		c.alsoHere[c.releases[i]] = c.alsoHere[c.releases[i]] || m.Here
	}
	least := map[float64][]float64{} // by risk
	strata := [2][]int{c.strata(false), c.strata(true)}
	for _, col := range c.columns {
		col.cells = c.cells(col, strata[index(!col.isRelease())])
		least[col.risk] = append(least[col.risk], lowestP(col.cells))
	}
	levels := map[float64]float64{}
	for risk, all := range least {
		n := possible(all, risk)
		c.comparisons += n
		levels[risk] = level(n, risk)
	}
	candidates := crash.Pick(c.columns, func(col *column) bool {
		col.level = levels[col.risk]
		return c.standsOut(col)
	})
	for len(candidates) > 0 && len(c.found) < maxConcentrations {
		best := slices.MinFunc(candidates, (*column).compare)
		next := c.describe(best)
		c.splits = append(c.splits, best.codes())
		strata = [2][]int{c.strata(false), c.strata(true)}
		var rest []*column
		for _, col := range candidates {
			if col == best {
				continue
			}
			col.cells = c.cells(col, strata[index(!col.isRelease())])
			if c.standsOut(col) {
				rest = append(rest, col)
			} else {
				next.Also = append(next.Also, col.traits...)
			}
		}
		next.Also = sortedTraits(next.Also)
		c.found, candidates = append(c.found, next), rest
	}
}

// sortedTraits returns the first traits in the order of TraitFields, with versions of packages last.
func sortedTraits(traits []Trait) []Trait {
	place := func(t Trait) int {
		if t.Field.Package() != "" {
			return len(TraitFields)
		}
		return slices.Index(TraitFields, t.Field)
	}
	traits = slices.SortedFunc(slices.Values(traits), func(a, b Trait) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Field, b.Field), cmp.Compare(b.Value, a.Value))
	})
	return traits[:min(len(traits), maxAlso)]
}

func index(second bool) int {
	if second {
		return 1
	}
	return 0
}

// compare orders columns that stand out: the release first, then the version, because they explain the
// versions of everything else. Then the one that chance explains least comes first.
func (col *column) compare(other *column) int {
	stage := func(col *column) int {
		return 2 - 2*index(col.isRelease()) - index(col.traits[0].Field == FacetVersion)
	}
	return cmp.Or(cmp.Compare(stage(col), stage(other)), cmp.Compare(col.p, other.p),
		cmp.Compare(col.order, other.order), cmp.Compare(col.traits[0].Value, other.traits[0].Value))
}

func (col *column) isRelease() bool { return col.traits[0].Field == FacetRelease }

// codes splits the members by a trait.
func (col *column) codes() []int {
	codes := make([]int, len(col.has))
	for i := range codes {
		codes[i] = index(col.has[i]) - index(!col.tells[i])
	}
	return codes
}

// strata returns the stratum of each member. Only members of one stratum are compared with each other.
func (c *concentrating) strata(byRelease bool) []int {
	splits := c.splits
	if byRelease {
		splits = append(slices.Clip(splits), c.releases)
	}
	known := map[string]int{}
	strata := make([]int, len(c.members))
	for i := range strata {
		var key []byte
		for _, split := range splits {
			key = binary.AppendVarint(key, int64(split[i]))
		}
		if _, ok := known[string(key)]; !ok {
			known[string(key)] = len(known)
		}
		strata[i] = known[string(key)]
	}
	return strata
}

// Stratum counts the machines of a stratum that tell a trait: A of N here, and B of M elsewhere have it.
type Stratum struct{ A, N, B, M int }

func (c *concentrating) cells(col *column, strata []int) []Stratum {
	cells := make([]Stratum, len(c.members))
	used := 0
	for i, m := range c.members {
		cl := &cells[strata[i]]
		used = max(used, strata[i]+1)
		switch {
		case !col.tells[i]:
		case m.Here:
			cl.N++
			cl.A += index(col.has[i])
		default:
			cl.M++
			cl.B += index(col.has[i])
		}
	}
	return slices.DeleteFunc(cells[:used], func(c Stratum) bool { return c.N == 0 || c.M == 0 })
}

// standsOut reports whether a column is a finding, in the strata of its cells. It sets p.
func (c *concentrating) standsOut(col *column) bool {
	if adjusted(col.cells) < minDifference || lowestP(col.cells) > col.level {
		return false
	}
	if here, of, there, ofThere := c.count(col, nil); here < minHolders || !differs(here, of, there, ofThere) {
		return false
	}
	if !c.update && !c.withoutAny(col) {
		return false
	}
	col.p = newConditional(col.cells).atLeast(0)
	return col.p <= col.level
}

func differs(here, of, there, ofThere int) bool {
	return ofThere > 0 && float64(here)/float64(of)-float64(there)/float64(ofThere) >= minDifference
}

// count returns how many members have the trait, and how many tell, here and elsewhere, leaving out one
// problem. Of elsewhere, only releases count that are also here, unless the trait is a release.
func (c *concentrating) count(col *column, leaveOut *crash.BucketID) (here, of, there, ofThere int) {
	for i, m := range c.members {
		switch {
		case !col.tells[i]:
		case m.Here:
			of++
			here += index(col.has[i])
		case (c.alsoHere[c.releases[i]] || col.isRelease()) && (leaveOut == nil || m.Problem != *leaveOut):
			ofThere++
			there += index(col.has[i])
		}
	}
	return here, of, there, ofThere
}

// withoutAny reports whether the difference remains if any one of the other problems is left out. Else it
// may say more about that one than about this one.
func (c *concentrating) withoutAny(col *column) bool {
	seen := map[crash.BucketID]bool{}
	for _, m := range c.members {
		if m.Here || seen[m.Problem] {
			continue
		}
		seen[m.Problem] = true
		if !differs(c.count(col, &m.Problem)) {
			return false
		}
	}
	return true
}

// adjusted returns the difference of the shares here and elsewhere, if elsewhere had as many machines in
// each stratum as here.
func adjusted(cells []Stratum) float64 {
	var sum, of float64
	for _, c := range cells {
		n := float64(c.N)
		sum += n * (float64(c.A)/n - float64(c.B)/float64(c.M))
		of += n
	}
	return sum / max(of, 1)
}

// describe returns the finding of a column.
func (c *concentrating) describe(col *column) Concentration {
	out := Concentration{Trait: col.traits[0], P: col.p, Confidence: 1 - 2*col.level}
	out.Here, out.HereOf, out.There, out.ThereOf = c.count(col, nil)
	out.Odds = newConditional(col.cells).odds(col.level)
	out.Same = sortedTraits(col.traits[1:])
	return out
}

// conditional is the distribution of the number of machines here that have a trait, given how many have
// it in each stratum: a sum of hypergeometric ones. It is that of Fisher's exact test if there is one
// stratum, and of Zelen's and Gart's for a common odds ratio.
type conditional struct {
	logs  []float64 // of the probabilities of least, least+1, … if the odds ratio is 1
	least int
	at    int // the observed number, minus least
}

func newConditional(cells []Stratum) conditional {
	d := conditional{}
	probabilities := []float64{1}
	for _, c := range cells {
		low, p := c.hypergeometric()
		d.least, d.at = d.least+low, d.at+c.A-low
		sum := make([]float64, len(probabilities)+len(p)-1)
		for i, x := range probabilities {
			for j, y := range p {
				sum[i+j] += x * y
			}
		}
		probabilities = sum
	}
	d.logs = make([]float64, len(probabilities))
	for i, p := range probabilities {
		d.logs[i] = math.Log(p)
	}
	return d
}

// hypergeometric returns the probabilities of the numbers here, from the lowest possible one.
func (c Stratum) hypergeometric() (low int, probabilities []float64) {
	with := c.A + c.B
	low = max(0, with-c.M)
	for x := low; x <= min(c.N, with); x++ {
		probabilities = append(probabilities, math.Exp(c.log(x)))
	}
	return low, probabilities
}

// log returns the logarithm of the probability that x of the machines with the trait are here.
func (c Stratum) log(x int) float64 {
	n, m, with := float64(c.N), float64(c.M), float64(c.A+c.B)
	return choose(n, float64(x)) + choose(m, with-float64(x)) - choose(n+m, with)
}

// lowestP returns the lowest p that the sums of the cells permit: as many as possible are here.
func lowestP(cells []Stratum) float64 {
	log := 0.
	for _, c := range cells {
		log += c.log(min(c.N, c.A+c.B))
	}
	return math.Exp(log)
}

// weights returns the relative probabilities for an odds ratio, given by its logarithm, the sum of those
// from the observed number on, and the sum of those up to it.
func (d conditional) weights(logOdds float64) (mean, from, upTo float64) {
	most := math.Inf(-1)
	for i, l := range d.logs {
		most = max(most, l+float64(i)*logOdds)
	}
	var all float64
	for i, l := range d.logs {
		w := math.Exp(l + float64(i)*logOdds - most)
		all += w
		mean += float64(i) * w
		if i >= d.at {
			from += w
		}
		if i <= d.at {
			upTo += w
		}
	}
	return mean / all, from / all, upTo / all
}

// atLeast returns the probability of at least the observed number, for an odds ratio.
func (d conditional) atLeast(logOdds float64) float64 {
	_, from, _ := d.weights(logOdds)
	return min(from, 1)
}

// odds returns the maximum of the likelihood of the odds ratio, and the interval that leaves out tail at
// either end.
func (d conditional) odds(tail float64) Interval {
	last := len(d.logs) - 1
	out := Interval{Value: math.Inf(1), High: math.Inf(1)}
	switch {
	case last == 0:
		return Interval{Value: math.NaN(), High: math.Inf(1)}
	case d.at == 0:
		out.Value = 0
	case d.at < last:
		out.Value = rootOf(func(x float64) bool { mean, _, _ := d.weights(x); return mean >= float64(d.at) })
	}
	if d.at > 0 {
		out.Low = rootOf(func(x float64) bool { return d.atLeast(x) >= tail })
	}
	if d.at < last {
		out.High = rootOf(func(x float64) bool { _, _, upTo := d.weights(x); return upTo <= tail })
	}
	return out
}

// rootOf returns the odds ratio from whose logarithm on a condition holds.
func rootOf(holds func(logOdds float64) bool) float64 {
	low, high := -60., 60.
	for range 60 {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp((low + high) / 2)
}

// Sentence says what stands out: "14 of 15 machines have nvidia-550 (2 of 10 elsewhere)".
func (c Concentration) Sentence() string { return c.Lead() + " " + c.Noun() + " " + c.Elsewhere() }

// Lead returns the beginning of the sentence: "14 of 15 machines have".
func (c Concentration) Lead() string {
	verb, _ := c.phrase()
	return share(c.Here, c.HereOf) + " machines " + verb
}

// Elsewhere returns the end of the sentence: "(2 of 10 elsewhere)".
func (c Concentration) Elsewhere() string { return "(" + share(c.There, c.ThereOf) + " elsewhere)" }

func share(n, of int) string { return crash.Count(int64(n)) + " of " + crash.Count(int64(of)) }

// Noun names a trait: "nvidia-550".
func (t Trait) Noun() string {
	_, noun := t.phrase()
	return noun
}

func (t Trait) phrase() (verb, noun string) {
	if name := t.Field.Package(); name != "" {
		return "have", name + " " + t.Value
	}
	switch t.Field {
	case FacetRelease:
		return "run", t.Value
	case FacetVersion:
		return "have", "version " + t.Value
	case FacetArchitecture:
		return "have", "architecture " + t.Value
	case FacetOrigin:
		return "have", "packages from " + originName(t.Value)
	case FacetThirdParty:
		return "have", t.Value + " from a third party"
	case FacetGraphics:
		return "have", t.Value
	case FacetModel:
		return "are of", "model " + t.Value
	case FacetVirtual:
		return "run in", "a virtual machine of kind " + t.Value
	case FacetSeries:
		return "run", "a kernel " + t.Value
	case FacetKernel:
		return "run", "kernel " + t.Value
	case FacetFlavour:
		return "run", "a kernel of flavour " + t.Value
	case FacetDesktop:
		return "use", "desktop " + t.Value
	case FacetSession:
		return "use", "session " + t.Value
	case FacetLocale:
		return "use", "locale " + t.Value
	case FacetCPU:
		return "have", "processor " + t.Value
	}
	return "have", string(t.Field) + " " + t.Value
}

// originName returns where packages are from. apport writes unknown if no archive has them.
func originName(origin string) string {
	if origin == "unknown" {
		return "an unknown place"
	}
	return origin
}

// Only returns the concentrations on fields that are permitted.
func (c Concentrations) Only(permits func(FacetField) bool) Concentrations {
	trait := func(t Trait) bool { return permits(t.Field) }
	found := c.Found
	c.Found = nil
	for _, f := range found {
		if trait(f.Trait) {
			f.Same, f.Also = crash.Pick(f.Same, trait), crash.Pick(f.Also, trait)
			c.Found = append(c.Found, f)
		}
	}
	return c
}

// Sentences returns what stands out.
func (c Concentrations) Sentences() (sentences []string) {
	for _, f := range c.Found {
		sentences = append(sentences, f.Sentence())
	}
	return sentences
}

// On reports whether something is concentrated on a value of a field that matches a pattern such as nvidia-*. An
// empty field is any, and an empty pattern any value.
func (c Concentrations) On(field FacetField, pattern string) bool {
	return slices.ContainsFunc(c.Found, func(f Concentration) bool {
		return slices.ContainsFunc(append([]Trait{f.Trait}, f.Same...), func(t Trait) bool {
			if field != "" && t.Field != field {
				return false
			}
			ok, err := path.Match(pattern, t.Value)
			return pattern == "" || ok && err == nil
		})
	})
}

// Basis says what was compared: "15 machines with this problem and 10 with 2 other problems of tidewatch".
func (c Concentrations) Basis(pkg string) string {
	here := crash.Counted(int64(c.Here), "machine", "machines")
	if c.Update {
		return here + " that crashed with this version and " + crash.Count(int64(c.There)) + " with lower ones"
	}
	others := crash.Counted(int64(c.Problems), "other problem", "other problems")
	if pkg != "" {
		others += " of " + pkg
	}
	return here + " with this problem and " + crash.Count(int64(c.There)) + " with " + others
}

// Nameless says how many machines are only reports; empty: none.
func (c Concentrations) Nameless() string {
	if c.Unknown == 0 {
		return ""
	}
	return crash.Counted(int64(c.Unknown), "report does", "reports do") + " not name a machine, and " +
		crash.Plural(int64(c.Unknown), "counts as one.", "count as one each.")
}

// Confidence says what the intervals are.
func (c Concentrations) Confidence() string {
	if c.Comparisons < 2 {
		return "95% interval"
	}
	return fmt.Sprintf("95%% interval, for all %d comparisons together", c.Comparisons)
}
