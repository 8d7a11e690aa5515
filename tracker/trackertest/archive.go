package trackertest

import (
	"encoding/json"
	"slices"
	"strings"

	"mishap/crash"
)

// Archive is what the distribution has published, with package sets and subscriptions.
type Archive struct {
	Sources       map[string][]crash.Publication // by source package: what is published now
	Superseded    map[string][]crash.Publication // what was published in the past
	Binaries      map[string][]crash.Publication // by binary package
	Sets          map[string][]string            // by codename, slash, name: source packages
	Subscriptions map[string][]string            // by person or team: source packages
}

// SetArchive replaces the archive.
func (s *Server) SetArchive(a Archive) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Archive = &a
}

// archive answers operations on the archive, package sets and subscriptions, which are public.
func (s *Server) archive(c *call, op string) response {
	a := s.opts.Archive
	name := func(param string) string { text, _ := textParam(c.query, param); return text }
	switch p := c.parts; {
	case op == "getSourcesIncluded" && len(p) == 4 && p[0] == "package-sets" && p[1] == s.opts.Distribution:
		if a == nil || a.Sets[p[2]+"/"+p[3]] == nil {
			return notFound(p[3])
		}
		return bare(a.Sets[p[2]+"/"+p[3]])
	case op == "getBugSubscriberPackages" && len(p) == 1 && strings.HasPrefix(p[0], "~"):
		person := p[0][1:]
		if a == nil || a.Subscriptions[person] == nil {
			return notFound(p[0])
		}
		var list []any
		for _, pkg := range a.Subscriptions[person] {
			list = append(list, s.thingJSON(c, []string{s.opts.Distribution, "+source", pkg}))
		}
		return s.list(c, "distribution_source_package", list)
	case !slices.Equal(p, []string{s.opts.Distribution, "+archive", "primary"}):
		return notFound(p[len(p)-1])
	case op == "getPublishedSources":
		return s.list(c, "source_package_publishing_history", s.sources(c, name("source_name"), name("version")))
	case op == "getPublishedBinaries":
		var list []any
		if a != nil {
			for _, pub := range a.Binaries[name("binary_name")] {
				list = append(list, map[string]any{
					"resource_type_link":  c.root() + "/#binary_package_publishing_history",
					"self_link":           c.root() + "/" + s.opts.Distribution + "/+archive/primary/+binarypub/1",
					"status":              "Published",
					"binary_package_name": name("binary_name"), "binary_package_version": pub.Version, "pocket": pub.Pocket,
					"source_package_name": pub.Source, "distro_arch_series_link": c.root() + "/" + s.opts.Distribution + "/" +
						pub.Series + "/" + pub.Architecture,
				})
			}
		}
		return s.list(c, "binary_package_publishing_history", list)
	}
	return notFound(c.parts[0])
}

// archiveJSON returns the main archive as JSON.
func (s *Server) archiveJSON(c *call) map[string]any {
	path := "/" + s.opts.Distribution + "/+archive/primary"
	return map[string]any{
		"self_link": c.root() + path, "web_link": c.origin + path, "resource_type_link": c.root() + "/#archive",
		"name": "primary", "displayname": "Primary Archive for " + displayName(s.opts.Distribution),
		"distribution_link": c.root() + "/" + s.opts.Distribution,
	}
}

// bare returns a list of strings.
func bare(names []string) response {
	b, err := json.Marshal(names)
	if err != nil {
		return text(500, "TypeError")
	}
	return text(200, string(b)).with("Content-Type", "application/json")
}

func (s *Server) sources(c *call, name, version string) []any {
	published := []crash.Publication{}
	switch a := s.opts.Archive; {
	case a == nil && version != "":
		published = append(published, crash.Publication{Series: "noble", Pocket: "Updates", Version: version})
	case a != nil:
		published = append(published, a.Sources[name]...)
		if c.query.Get("status") == "" {
			published = append(published, a.Superseded[name]...)
		}
	}
	var list []any
	for _, pub := range published {
		if version == "" || pub.Version == version {
			list = append(list, map[string]any{
				"resource_type_link":     c.root() + "/#source_package_publishing_history",
				"self_link":              c.root() + "/" + s.opts.Distribution + "/+archive/primary/+sourcepub/1",
				"source_package_name":    name,
				"source_package_version": pub.Version, "pocket": pub.Pocket, "distro_series_link": c.root() + "/" +
					s.opts.Distribution + "/" + pub.Series,
			})
		}
	}
	return list
}
