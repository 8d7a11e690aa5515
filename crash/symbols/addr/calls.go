package addr

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"time"
)

// call is a call of a function, or a jump to one at the end of another (a tail call).
type call struct {
	after  uint64 // the return address
	target uint64 // start of the function; 0: unknown
}

// addCalls finds the functions that are called. The caller holds the lock.
func (c *unitCode) addCalls(u *unit, calls []rawCall, until time.Time) error {
	starts := map[reference]uint64{}
	for _, b := range c.blocks {
		if !b.inlined {
			starts[b.function] = b.start
		}
	}
	for _, raw := range calls {
		target, ok := starts[raw.target]
		if !ok && raw.target.at != 0 {
			if time.Now().After(until) {
				return errTime
			}
			target = u.startOf(raw.target, until)
			starts[raw.target] = target
		}
		one := call{raw.after, target}
		c.calls = append(c.calls, one)
		if raw.tail {
			if c.tails == nil {
				c.tails = map[uint64][]call{}
			}
			start := c.blocks[raw.caller].start
			c.tails[start] = append(c.tails[start], one)
		}
	}
	slices.SortStableFunc(c.calls, func(a, b call) int { return cmp.Compare(a.after, b.after) })
	c.calls = slices.Clip(c.calls)
	return nil
}

// startOf returns the start of a function that is only declared in the unit, or 0.
func (u *unit) startOf(function reference, until time.Time) uint64 {
	s, _ := u.scopeOf(function, until)
	if s.tag != dwarf.TagSubprogram || !s.declared {
		return 0
	}
	return u.info.byName(cmp.Or(s.linkage, s.name))
}

// maxChains limits the search for tail calls.
const maxChains = 1000

// TailCalls returns where functions between a caller and a function that it seems to have called were
// left by a jump: the addresses behind the jumps, innermost first. As in gdb, the result is empty
// unless there is only one way, and only the parts that all ways share if there are several. after is
// the return address in the caller, callee an address in the function.
func (m *Module) TailCalls(after, callee uint64) []uint64 {
	d := m.dwarf
	if d == nil {
		return nil
	}
	from, to := d.codeAt(after-1), d.codeAt(callee)
	if from == nil || to == nil {
		return nil
	}
	function := to.functionAt(callee)
	i, found := slices.BinarySearchFunc(from.calls, after, func(c call, after uint64) int {
		return cmp.Compare(c.after, after)
	})
	if function == nil || !found || from.calls[i].target == function.start || from.calls[i].target == 0 {
		return nil
	}
	s := chainSearch{info: d, callee: function.start, visited: map[uint64]bool{}}
	if !s.follow(from.calls[i].target) || !s.found {
		return nil
	}
	var chain []uint64
	for i := range s.inner {
		chain = append(chain, s.first[len(s.first)-1-i])
	}
	for i := range s.outer {
		chain = append(chain, s.first[s.outer-1-i])
	}
	return chain
}

// chainSearch searches all ways from a function to the callee by tail calls.
type chainSearch struct {
	info    *debugInfo
	callee  uint64
	chain   []uint64 // behind the jumps, outermost first
	visited map[uint64]bool
	steps   int

	found        bool
	first        []uint64 // the first way
	outer, inner int      // how many jumps at its start and its end all ways share
}

// follow continues with the tail calls of a function. It returns false if the search is pointless.
func (s *chainSearch) follow(function uint64) bool {
	if function == s.callee {
		return s.add()
	}
	c := s.info.codeAt(function)
	if c == nil {
		return false
	}
	if b := c.functionAt(function); b == nil || b.start != function {
		return false
	}
	for _, jump := range c.tails[function] {
		if s.steps++; s.steps > maxChains || jump.target == 0 {
			return false
		}
		if s.visited[jump.after] {
			continue
		}
		s.visited[jump.after] = true
		s.chain = append(s.chain, jump.after)
		if !s.follow(jump.target) {
			return false
		}
		s.chain = s.chain[:len(s.chain)-1]
		delete(s.visited, jump.after)
	}
	return true
}

// add adds a way. It returns false if the ways share nothing.
func (s *chainSearch) add() bool {
	if !s.found {
		s.found, s.first = true, slices.Clone(s.chain)
		s.outer, s.inner = len(s.first), 0
		return true
	}
	if s.inner == 0 {
		s.inner = len(s.first) // until now there was one way
	}
	outer, inner, n := 0, 0, min(len(s.first), len(s.chain))
	for outer < n && s.first[outer] == s.chain[outer] {
		outer++
	}
	for inner < n && s.first[len(s.first)-1-inner] == s.chain[len(s.chain)-1-inner] {
		inner++
	}
	s.outer, s.inner = min(s.outer, outer), min(s.inner, inner)
	if s.outer+s.inner > len(s.first) {
		s.inner = len(s.first) - s.outer
	}
	return s.outer+s.inner > 0
}
