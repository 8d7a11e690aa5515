package privacy

import (
	"sync"

	"mishap/crash"
)

// RedactionCache caches the public form of texts that lists show repeatedly. It holds at most two
// generations of generationBytes each. It is safe for concurrent use.
type RedactionCache struct {
	mu       sync.Mutex
	current  map[Texts]Texts
	previous map[Texts]Texts
	bytes    int // of the current generation
}

const generationBytes = 4 << 20

// Public returns the result of [Texts.Public], cached.
func (c *RedactionCache) Public(t Texts) Texts {
	if public, ok := c.find(t); ok {
		return public
	}
	public := t.Public()
	c.add(t, public)
	return public
}

// Bucket returns b as visitors see it.
func (c *RedactionCache) Bucket(b crash.Bucket) crash.Bucket {
	t := c.Public(Texts{Title: b.Title, Signature: b.Signature, Executable: b.Executable, Name: b.Name, Rule: b.Rule})
	b.Title, b.Signature, b.Executable, b.Name = t.Title, t.Signature, t.Executable, t.Name
	for _, label := range []*string{&b.ProblemType, &b.Package, &b.SourcePackage, &b.LowestVersion, &b.HighestVersion,
		&b.FirstSeenVersion, &b.LastSeenVersion} {
		*label = RedactLabel(*label)
	}
	for _, release := range []*crash.Release{&b.LowestRelease, &b.HighestRelease, &b.LowestVersionRelease,
		&b.HighestVersionRelease, &b.FirstSeenRelease, &b.LastSeenRelease} {
		*release = RedactLabel(*release)
	}
	b.Status = RedactStatus(b.Status)
	return b
}

// Signature returns a signature as visitors see it.
func (c *RedactionCache) Signature(s string) string { return c.Public(Texts{Signature: s}).Signature }

func (c *RedactionCache) find(t Texts) (Texts, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	public, ok := c.current[t]
	if !ok {
		if public, ok = c.previous[t]; ok {
			c.put(t, public)
		}
	}
	return public, ok
}

func (c *RedactionCache) add(t, public Texts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(t, public)
}

// put adds an entry to the current generation. A full generation becomes the previous one. The
// caller holds mu.
func (c *RedactionCache) put(t, public Texts) {
	size := 2 * (len(t.Title) + len(t.Signature) + len(t.Executable) + len(t.Name) + 64)
	if c.bytes += size; c.current == nil || c.bytes > generationBytes {
		c.previous, c.current, c.bytes = c.current, map[Texts]Texts{}, size
	}
	c.current[t] = public
}
