package board

import (
	"sync"
	"unsafe"

	held "mishap/crash/cache"
)

// cache holds the lists that were asked for since the last change, and what else was worked out.
type cache struct {
	mu     sync.Mutex
	change uint64
	lists  *held.Cache[Filter, *list]
	others *held.Cache[any, *other]
}

// other is what else was worked out since the last change.
type other struct {
	made  sync.Once
	value any
}

// How much memory lists, and all else, may hold. A row takes 32 bytes, and 32 more where the whole list was given out.
const (
	maxListBytes  = 96 << 20
	maxOtherBytes = 32 << 20
)

// get finds a list, which may not be made yet. weigh has to be called once it is.
func (c *cache) get(change uint64, f Filter) *list {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter(change)
	if l, ok := c.lists.Get(f); ok {
		return l
	}
	l := &list{change: change}
	c.lists.Put(f, l, l.bytes())
	return l
}

// enter forgets what was worked out before a change.
func (c *cache) enter(change uint64) {
	if c.change != change || c.lists == nil {
		c.change, c.lists, c.others = change, held.New[Filter, *list](maxListBytes), held.New[any, *other](maxOtherBytes)
	}
}

// weigh notes how much a list holds that was made, or given out, meanwhile.
func (c *cache) weigh(f Filter, l *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil || c.change != l.change {
		return
	}
	if now, ok := c.lists.Get(f); ok && now == l {
		c.lists.Put(f, l, l.bytes())
	}
}

// bytes returns how much memory the list holds. It is called by the one that made it or gave it out.
func (l *list) bytes() int64 {
	const bare, wide, past, row = unsafe.Sizeof(list{}), unsafe.Sizeof(found{}), unsafe.Sizeof(int64(0)), unsafe.Sizeof(Row{})
	return int64(bare) + int64(cap(l.found))*int64(wide) + int64(cap(l.past))*int64(past) + int64(cap(l.rows))*int64(row)
}

// remember returns what make made since the last change, or has it made. Whoever asks for what is being made waits for it.
// What it returns is not to be changed. The board is held still.
func remember[K comparable, V any](b *Board, key K, make func() V) V {
	c := &b.cache
	c.mu.Lock()
	c.enter(b.change)
	change := c.change
	o, ok := c.others.Get(key)
	if !ok {
		o = &other{}
		c.others.Put(key, o, held.SizeOf(o))
	}
	c.mu.Unlock()
	o.made.Do(func() {
		o.value = make()
		size := held.SizeOf(o.value)
		c.mu.Lock()
		defer c.mu.Unlock()
		if now, ok := c.others.Get(key); ok && now == o && c.change == change {
			c.others.Put(key, o, size)
		}
	})
	value, _ := o.value.(V)
	return value
}
