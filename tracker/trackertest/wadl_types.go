package trackertest

// wadlEntry describes a type of entry, as far as the practice tracker imitates it.
type wadlEntry struct {
	id         string
	fields     string // each "name" or "name_link:type"
	collection string // entry type, if this is a collection without own fields
	pages      bool   // whether collections of it exist
	operations []wadlOperation
}

// wadlOperation is a named operation: ws.op.
type wadlOperation struct {
	name, params string // a parameter that ends in "!" is required
	write        bool   // by POST
	gives        string // representation that it returns
	makes        string // type of the entry at the answer's Location
}

// vocabularies are the parameters with a fixed set of values. They are sent as plain text, not as
// JSON.
var vocabularies = map[string][]string{
	"information_type": informationTypes,
	"tags_combinator":  {"Any", "All"},
	"level":            {"Discussion", "Details", "Lifecycle"},
}

const searchParams = "status bug_reporter created_since modified_since omit_duplicates tags tags_combinator " +
	"search_text order_by"

var searchTasks = wadlOperation{name: "searchTasks", params: searchParams, gives: "bug_task-page"}

var wadlTypes = []wadlEntry{
	{id: "service-root", fields: "resource_type_link me_link:person bugs_collection_link:bugs " +
		"distributions_collection_link:distributions " +
		"people_collection_link:people"},
	{id: "bugs", collection: "bug_task", operations: []wadlOperation{
		{name: "createBug", params: "title! description! target! tags information_type private security_related", write: true,
			makes: "bug"},
		searchTasks,
	}},
	{id: "distributions", collection: "distribution"},
	{id: "people", collection: "person"},
	{id: "bug", pages: true, fields: "self_link web_link resource_type_link http_etag id title description tags name " +
		"owner_link:person " +
		"information_type private security_related duplicate_of_link:bug date_created date_last_updated " +
		"date_last_message heat " +
		"message_count users_affected_count bug_tasks_collection_link:bug_task-page-resource " +
		"messages_collection_link:message-page-resource " +
		"subscriptions_collection_link:bug_subscription-page-resource duplicates_collection_link:bug-page-resource",
		operations: []wadlOperation{
			{name: "newMessage", params: "content! subject send_notifications", write: true, makes: "message"},
			{name: "subscribe", params: "person! level", write: true, gives: "bug_subscription-full"},
		}},
	{id: "bug_task", pages: true, fields: "self_link web_link resource_type_link http_etag bug_link:bug " +
		"target_link:bug_target bug_target_name " +
		"bug_target_display_name status importance is_complete owner_link:person bug_watch_link assignee_link:person " +
		"milestone_link " +
		"date_closed date_fix_released title date_created"},
	{id: "message", pages: true, fields: "self_link web_link resource_type_link http_etag owner_link:person subject " +
		"content date_created parent_link:message"},
	{id: "bug_subscription", pages: true, fields: "self_link resource_type_link http_etag bug_link:bug date_created " +
		"person_link:person " +
		"subscribed_by_link:person bug_notification_level"},
	{id: "person", pages: true, fields: personFields, operations: personOperations},
	{id: "team", pages: true, fields: personFields, operations: personOperations},
	{id: "distribution", pages: true, fields: "self_link web_link resource_type_link http_etag name display_name title " +
		"main_archive_link:archive",
		operations: []wadlOperation{searchTasks, {name: "getSourcePackage", params: "name!",
			gives: "distribution_source_package-full"}}},
	{id: "distribution_source_package", pages: true, fields: "self_link web_link resource_type_link http_etag name " +
		"display_name title " +
		"distribution_link:distribution", operations: []wadlOperation{searchTasks}},
	// bug_target stands for any target of a task. The answer names the actual type.
	{id: "bug_target", fields: "self_link web_link resource_type_link http_etag name display_name title",
		operations: []wadlOperation{searchTasks}},
	{id: "archive", fields: "self_link web_link resource_type_link http_etag name displayname " +
		"distribution_link:distribution",
		operations: []wadlOperation{
			{name: "getPublishedSources", params: "source_name version status exact_match",
				gives: "source_package_publishing_history-page"},
			{name: "getPublishedBinaries", params: "binary_name version status exact_match",
				gives: "binary_package_publishing_history-page"},
		}},
	{id: "source_package_publishing_history", pages: true,
		fields: "self_link resource_type_link http_etag source_package_name source_package_version pocket " +
			"distro_series_link"},
	{id: "binary_package_publishing_history", pages: true,
		fields: "self_link resource_type_link http_etag status binary_package_name binary_package_version pocket " +
			"source_package_name " +
			"distro_arch_series_link"},
}

const personFields = "self_link web_link resource_type_link http_etag name display_name is_team is_valid"

var personOperations = []wadlOperation{
	{name: "getBugSubscriberPackages", gives: "distribution_source_package-page"},
}
