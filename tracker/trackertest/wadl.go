package trackertest

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
	"strings"
	"text/template"

	"mishap/crash"
)

const wadlMedia = "application/vnd.sun.wadl+xml"

// wadlType is a type of entry in the description of the API.
type wadlType struct {
	ID         string
	Fields     []string // none: it is a collection of Collection
	Collection string
	Operations []wadlOperation
}

// wadlOperation is a named operation: ws.op. A parameter whose name ends in "!" is required.
type wadlOperation struct {
	Name, Params string
	Post         bool
	Gives        string // representation that it returns
	Makes        string // type of the entry at the answer's Location
}

// vocabularies are the parameters with a fixed set of values. They are sent as plain text, not as
// JSON.
var vocabularies = map[string][]string{
	"information_type": informationTypes,
	"level":            {"Discussion", "Details", "Lifecycle"},
}

// linked maps attributes to the types of the entries to which they lead.
var linked = map[string]string{
	"me_link": "person", "owner_link": "person", "assignee_link": "person", "person_link": "person",
	"subscribed_by_link": "person", "bug_link": "bug", "duplicate_of_link": "bug", "parent_link": "message",
	"target_link": "bug_target", "distribution_link": "distribution", "main_archive_link": "archive",
	"bugs_collection_link": "bugs", "people_collection_link": "people", "distributions_collection_link": "distributions",
	"bug_tasks_collection_link": "bug_task-page-resource", "messages_collection_link": "message-page-resource",
	"subscriptions_collection_link": "bug_subscription-page-resource",
}

// serviceRoot returns the description of the API, or the root resource with links to the
// collections.
func (s *Server) serviceRoot(c *call) response {
	if strings.Contains(strings.Join(c.r.Header.Values("Accept"), ","), wadlMedia) {
		return text(200, c.wadl()).with("Content-Type", wadlMedia)
	}
	return bare(c.rootEntry())
}

func (c *call) rootEntry() map[string]any {
	return map[string]any{
		"resource_type_link": c.root() + "/#service-root", "me_link": c.root() + "/people/+me",
		"bugs_collection_link": c.root() + "/bugs", "people_collection_link": c.root() + "/people",
		"distributions_collection_link": c.root() + "/distros",
	}
}

// wadl describes the API to clients that read descriptions, such as launchpadlib. The attributes of
// entries are those of examples.
func (c *call) wadl() string {
	search := wadlOperation{Name: "searchTasks", Gives: "bug_task-page", Params: "status bug_reporter created_since " +
		"modified_since omit_duplicates search_text order_by"}
	packages := wadlOperation{Name: "getBugSubscriberPackages", Gives: "distribution_source_package-page"}
	entry := func(example map[string]any, operations ...wadlOperation) wadlType {
		_, id, _ := strings.Cut(example["resource_type_link"].(string), "#")
		if id != "service-root" {
			example["http_etag"] = ""
		}
		return wadlType{ID: id, Fields: slices.Sorted(maps.Keys(example)), Operations: operations}
	}
	bug := &Bug{Distribution: distribution}
	// The client names these types itself. The answer names the actual type.
	target, team := entry(c.target([]string{distribution}), search), entry(c.personEntry(""), packages)
	target.ID, team.ID = "bug_target", "team"
	types := []wadlType{
		entry(c.rootEntry()),
		{ID: "bugs", Collection: "bug_task", Operations: []wadlOperation{search, {Name: "createBug", Post: true, Makes: "bug",
			Params: "title! description! target! tags information_type"}}},
		{ID: "people", Collection: "person"},
		{ID: "distributions", Collection: "distribution"},
		entry(bug.json(c), wadlOperation{Name: "newMessage", Params: "content! subject", Post: true, Makes: "message"},
			wadlOperation{Name: "subscribe", Params: "person! level", Post: true, Gives: "bug_subscription-full"}),
		entry(bug.task(c, 0)), entry(bug.message(c, 0)), entry(bug.subscription(c, "", "")),
		entry(c.personEntry(""), packages),
		entry(c.target([]string{distribution}), search, wadlOperation{Name: "getSourcePackage", Params: "name!",
			Gives: "distribution_source_package-full"}),
		entry(c.target([]string{distribution, "+source", ""}), search), target, team,
		entry(c.archiveEntry(), wadlOperation{Name: "getPublishedSources", Params: "source_name version status exact_match",
			Gives: "source_package_publishing_history-page"},
			wadlOperation{Name: "getPublishedBinaries", Params: "binary_name version status exact_match",
				Gives: "binary_package_publishing_history-page"}),
		entry(c.publishedSource("", crash.Publication{})), entry(c.publishedBinary("", crash.Publication{})),
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if err := wadlTemplate.Execute(&b, map[string]any{"Root": c.root(), "Types": types}); err != nil {
		panic(err) // the input is constant
	}
	return b.String()
}

var wadlTemplate = template.Must(template.New("wadl").Funcs(template.FuncMap{
	"link": func(field string) string { return linked[field] }, "options": func(param string) []string {
		return vocabularies[param]
	},
	"words": strings.Fields, "name": func(param string) string { return strings.TrimSuffix(param, "!") },
}).Parse(`<application xmlns="http://research.sun.com/wadl/2006/10">
{{$root := .Root}}<resources base="{{$root}}/"><resource path="" type="{{$root}}/#service-root"/></resources>
{{define "params"}}<param name="ws.op" style="query" required="true" fixed="{{.Name}}"/>
{{range words .Params}}<param name="{{name .}}" style="query" required="{{ne . (name .)}}">
{{range options .}}<option value="{{.}}"/>{{end}}</param>
{{end}}{{end}}{{range $type := .Types}}<resource_type id="{{.ID}}">
<method name="GET" id="{{.ID}}-get"><response>
<representation href="#{{if .Fields}}{{.ID}}-full{{else}}{{.Collection}}-page{{end}}"/></response></method>
{{range .Operations}}<method name="{{if .Post}}POST{{else}}GET{{end}}" id="{{$type.ID}}-{{.Name}}"><request>
{{if .Post}}<representation mediaType="application/x-www-form-urlencoded">{{template "params" .}}</representation>
{{else}}{{template "params" .}}{{end}}</request><response>
{{with .Gives}}<representation href="{{$root}}/#{{.}}"/>{{end}}
{{with .Makes}}<param name="Location" style="header"><link resource_type="{{$root}}/#{{.}}"/></param>{{end}}
</response></method>
{{end}}</resource_type>
{{if .Fields}}<representation id="{{.ID}}-full" mediaType="application/json">
{{range .Fields}}<param name="{{.}}" style="plain" path="$['{{.}}']">
{{with link .}}<link resource_type="{{$root}}/#{{.}}"/>{{end}}</param>
{{end}}</representation>
<resource_type id="{{.ID}}-page-resource"><method name="GET" id="{{.ID}}-page-get"><response>
<representation href="#{{.ID}}-page"/></response></method></resource_type>
<representation id="{{.ID}}-page" mediaType="application/json">
<param name="start" style="plain" path="$['start']"/><param name="total_size" style="plain" path="$['total_size']"/>
<param name="total_size_link" style="plain" path="$['total_size_link']">
<link resource_type="{{$root}}/#ScalarValue"/></param>
<param name="next_collection_link" style="plain" path="$['next_collection_link']">
<link resource_type="{{$root}}/#{{.ID}}-page-resource"/></param>
<param name="entries" style="plain" path="$['entries']"/></representation>
{{end}}{{end}}<resource_type id="ScalarValue"><method name="GET" id="size-get"><response>
<representation mediaType="application/json" id="size-json"/></response></method></resource_type>
</application>
`))
