package index

// Numbers numbers distinct values from 0, in the order in which they were added. Facts that refer to
// values by number have no pointers, which the garbage collector would follow.
type Numbers[T comparable] struct {
	of     map[T]uint32
	values []T
}

// NewNumbers returns Numbers without values.
func NewNumbers[T comparable]() Numbers[T] { return Numbers[T]{of: map[T]uint32{}} }

// Number returns the number of a value. It adds the value if it is new.
func (n *Numbers[T]) Number(value T) uint32 {
	if at, ok := n.of[value]; ok {
		return at
	}
	return n.add(value)
}

// Value returns the value with a number that Number returned.
func (n *Numbers[T]) Value(number uint32) T { return n.values[number] }

// add stores a new value and returns its number.
func (n *Numbers[T]) add(value T) uint32 {
	at := uint32(len(n.values)) //nolint:gosec // as many do not fit into memory
	n.of[value] = at
	n.values = append(n.values, value)
	return at
}
