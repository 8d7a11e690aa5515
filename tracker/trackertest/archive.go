package trackertest

import (
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

// archivePath is the path of the main archive.
const archivePath = "/" + distribution + "/+archive/primary"

func (c *call) isArchive() bool { return "/"+strings.Join(c.parts, "/") == archivePath }

// archive answers operations on the archive, package sets and subscriptions, which are public.
func (s *Server) archive(c *call) response {
	var a Archive
	if s.opts.Archive != nil {
		a = *s.opts.Archive
	}
	p, path := &params{Values: c.query}, strings.Join(c.parts, "/")
	list := []any{}
	switch {
	case c.name == "getSourcesIncluded":
		set, ok := a.Sets[strings.TrimPrefix(path, "package-sets/"+distribution+"/")]
		if !ok {
			return notFound(path)
		}
		return bare(set)
	case c.name == "getBugSubscriberPackages":
		packages, ok := a.Subscriptions[strings.TrimPrefix(path, "~")]
		if !ok {
			return notFound(path)
		}
		for _, pkg := range packages {
			list = append(list, c.target([]string{distribution, "+source", pkg}))
		}
		return s.list(c, "", list)
	case !c.isArchive():
		return notFound(path)
	case c.name == "getPublishedBinaries":
		name := p.text("binary_name")
		for _, pub := range a.Binaries[name] {
			list = append(list, c.publishedBinary(name, pub))
		}
	default:
		name, version := p.text("source_name"), ""
		if p.Has("version") {
			version = p.text("version")
		}
		published := a.Sources[name]
		if !p.Has("status") {
			published = slices.Concat(published, a.Superseded[name])
		}
		if s.opts.Archive == nil && version != "" {
			published = []crash.Publication{{Series: "noble", Pocket: "Updates", Version: version}}
		}
		for _, pub := range published {
			if version == "" || pub.Version == version {
				list = append(list, c.publishedSource(name, pub))
			}
		}
	}
	if p.wrong != nil {
		return p.refusal()
	}
	return s.list(c, "", list)
}

func (c *call) archiveEntry() map[string]any {
	e := c.entry("archive", archivePath)
	e["name"], e["displayname"] = "primary", "Primary Archive for "+displayName(distribution)
	e["distribution_link"] = c.root() + "/" + distribution
	return e
}

func (c *call) publishedSource(name string, pub crash.Publication) map[string]any {
	e := c.entry("source_package_publishing_history", archivePath+"/+sourcepub/1")
	e["source_package_name"], e["source_package_version"], e["pocket"] = name, pub.Version, pub.Pocket
	e["distro_series_link"] = c.root() + "/" + distribution + "/" + pub.Series
	return e
}

func (c *call) publishedBinary(name string, pub crash.Publication) map[string]any {
	e := c.entry("binary_package_publishing_history", archivePath+"/+binarypub/1")
	e["binary_package_name"], e["binary_package_version"], e["pocket"] = name, pub.Version, pub.Pocket
	e["source_package_name"], e["status"] = pub.Source, "Published"
	e["distro_arch_series_link"] = c.root() + "/" + distribution + "/" + pub.Series + "/" + pub.Architecture
	return e
}
