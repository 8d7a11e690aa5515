package crash

import (
	"strings"
	"unicode"
)

// Distribution returns the distribution of a release in lower case: "ubuntu" for "Ubuntu 24.04". A
// derivative is a distribution of its own: "ubuntu kylin" for "Ubuntu Kylin 24.04". Package
// versions are comparable only within one distribution.
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
		named = named[:n-1] // a release with a name instead of a number, such as "Debian sid"
	}
	return strings.Join(named, " ")
}

// Short returns the name without the distribution if it is still clear: "24.04" for "Ubuntu 24.04",
// "sid" for "Debian sid", but "Debian 13" in full.
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

// Named returns the release of a distribution ("ubuntu") with this codename, or "" if there is
// none. It accepts "unstable" for sid, as Debian's changelogs do.
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

// Predecessor returns the release among candidates that immediately precedes r in its distribution,
// or "" if there is none. Releases without a number ("Debian sid") neither precede nor follow
// others.
func (r Release) Predecessor(candidates []Release) Release {
	family, numbered := r.distribution()
	if !numbered {
		return ""
	}
	var before Release
	for _, other := range candidates {
		if name, ok := other.distribution(); ok && name == family && other.Key() < r.Key() &&
			(before == "" || other.Key() > before.Key()) {
			before = other
		}
	}
	return before
}

// SameDistribution reports whether two releases belong to one distribution: "Debian 13" and "Debian
// sid" do, "Ubuntu 24.04" and "Kubuntu 24.04" do not.
func (r Release) SameDistribution(other Release) bool {
	return r.distributionName() == other.distributionName()
}

// distributionName returns the name without its number or, if it has none, without its last word.
func (r Release) distributionName() string {
	name, numbered := r.distribution()
	if numbered {
		return strings.TrimSpace(name)
	}
	return name[:max(strings.LastIndexByte(name, ' '), 0)]
}

// distribution returns the part of the name before its first digit, and whether there is a digit.
func (r Release) distribution() (name string, numbered bool) {
	for i, c := range r {
		if '0' <= c && c <= '9' {
			return string(r[:i]), true
		}
	}
	return string(r), false
}
