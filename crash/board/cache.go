package board

import "sync"

// cache keeps the lists that were asked for since the last change.
type cache struct {
	mu     sync.Mutex
	change uint64
	lists  map[Filter]*list
	rows   int // of the lists that are made
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
		c.change, c.lists, c.rows = change, map[Filter]*list{}, 0
	}
	l = &list{}
	c.lists[f] = l
	return l
}

// weigh counts a list that was made.
func (c *cache) weigh(l *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += len(l.found)
}
