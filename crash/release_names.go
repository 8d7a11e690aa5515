package crash

import (
	"strings"
	"unicode"
)

// Distribution is the distribution of a release in lower case: "ubuntu" for "Ubuntu 24.04". A derivative is one of its own:
// "ubuntu kylin" for "Ubuntu Kylin 24.04". Versions of packages mean something only within one distribution.
func (r Release) Distribution() string {
	if strings.HasPrefix(string(r), "Debian GNU/Linux ") {
		return "debian"
	}
	words := strings.Fields(strings.ToLower(string(r)))
	named := words[:0:0]
	for _, w := range words {
		if w != "lts" && !strings.ContainsFunc(w, unicode.IsDigit) {
			named = append(named, w)
		}
	}
	if n := len(named); n > 1 && n == len(words) {
		named = named[:n-1] // a release with a name instead of a number, as "Debian sid"
	}
	return strings.Join(named, " ")
}

// Short names a release without the distribution where that is clear: "24.04" for "Ubuntu 24.04", "sid" for "Debian sid",
// and "Debian 13" in full.
func (r Release) Short() string {
	switch {
	case r == "":
		return "an unknown release"
	case r == "Debian sid" || r == "Debian experimental":
		return strings.TrimPrefix(string(r), "Debian ")
	case r.Distribution() == "ubuntu":
		return strings.TrimPrefix(string(r), "Ubuntu ")
	}
	return string(r)
}

// Named finds the release of a distribution ("ubuntu") by its codename; empty: there is none. Debian's changelogs call sid
// "unstable".
func (t *ReleaseTable) Named(distribution, codename string) Release {
	if distribution == "debian" && codename == "unstable" {
		codename = "sid"
	}
	if codename == "" {
		return ""
	}
	for r, s := range t.series {
		if s.codename == codename && r.Distribution() == distribution {
			return r
		}
	}
	return ""
}

// Predecessor returns the release of the same distribution that came before, of those given; empty when there is none.
// Releases without a number ("Debian sid") have no place in the order of time, and neither follow nor precede.
func (r Release) Predecessor(of []Release) Release {
	family, numbered := r.distribution()
	if !numbered {
		return ""
	}
	var before Release
	for _, other := range of {
		if name, ok := other.distribution(); ok && name == family && other.Key() < r.Key() && (before == "" || other.Key() > before.Key()) {
			before = other
		}
	}
	return before
}

// SameDistribution reports whether two releases are of one distribution: "Debian 13" and "Debian sid" are, "Ubuntu 24.04" and
// "Kubuntu 24.04" are not.
func (r Release) SameDistribution(other Release) bool {
	return r.distributionName() == other.distributionName()
}

// distributionName is the name without its number or, where it has none, without its last word.
func (r Release) distributionName() string {
	name, numbered := r.distribution()
	if numbered {
		return strings.TrimSpace(name)
	}
	return name[:max(strings.LastIndexByte(name, ' '), 0)]
}

// distribution is what stands before the first number of the name, and whether there is one.
func (r Release) distribution() (name string, numbered bool) {
	for i, c := range r {
		if '0' <= c && c <= '9' {
			return string(r[:i]), true
		}
	}
	return string(r), false
}
