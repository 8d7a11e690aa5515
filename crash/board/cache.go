package board

import "sync"

// cache keeps the lists that were asked for since the last change.
type cache struct {
	mu     sync.Mutex
	change uint64
	lists  map[Filter]*list
	rows   int // of the lists that are made
	others map[any]*other
}

// other is what else was worked out since the last change.
type other struct {
	made  sync.Once
	value any
}

// Of whatever is asked, the cache keeps about 100 MB: a row takes 32 bytes, and 40 more where the whole list was given out.
const (
	mostLists = 256
	mostRows  = 1_500_000
)

// get finds a list, which may not be made yet.
func (c *cache) get(change uint64, f Filter) *list {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lists[f]
	if c.change == change && l != nil {
		return l
	}
	if c.change != change || len(c.lists) >= mostLists || c.rows >= mostRows {
		c.forget(change)
	}
	l = &list{}
	c.lists[f] = l
	return l
}

func (c *cache) forget(change uint64) {
	c.change, c.lists, c.rows, c.others = change, map[Filter]*list{}, 0, map[any]*other{}
}

// remember returns what make made since the last change, or has it made. Whoever asks for what is being made waits for it.
// What it returns is not to be changed. The board is held still.
func remember[K comparable, V any](b *Board, key K, make func() V) V {
	c := &b.cache
	c.mu.Lock()
	if c.change != b.change || len(c.others) >= mostLists {
		c.forget(b.change)
	}
	o := c.others[key]
	if o == nil {
		o = &other{}
		c.others[key] = o
	}
	c.mu.Unlock()
	o.made.Do(func() { o.value = make() })
	value, _ := o.value.(V)
	return value
}

// weigh counts a list that was made.
func (c *cache) weigh(l *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += len(l.found)
}
