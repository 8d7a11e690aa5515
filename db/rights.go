package db

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// CurrentGroups selects the groups of people that count: identity_id, user_id, source and group_name.
// Statements that contain it need the arguments of RightsArgs.
const CurrentGroups = `
	select i.id as identity_id, i.user_id, i.source, m.group_name
	from identities as i join user_groups as m on m.identity_id = i.id
	where i.groups_read > @groups_since::timestamptz`

// GroupsSince returns the time since which groups must have been stated to count.
func (h *Handle) GroupsSince() time.Time { return h.Now().Add(-h.Rights.GroupsMaxAge) }

// RightsArgs adds the arguments that CurrentGroups, Readers and Administrators need.
func (h *Handle) RightsArgs(args pgx.NamedArgs) pgx.NamedArgs {
	args["groups_since"], args["everyone"] = h.GroupsSince(), h.Rights.Everyone
	return args
}

// Readers selects the ids of the accounts that may read reports: those that have a role, or a right for
// some packages, and are not disabled.
const Readers = `
	select id from users where not disabled and (
		role <> '' or @everyone::text <> '' and team = '' or id in (
			select user_id from account_grants
			union all
			select m.user_id from (` + CurrentGroups + `) as m
				join group_grants as g on g.source = m.source and g.group_name = m.group_name))`

// Administrators selects the ids of the accounts with the role admin, given by hand or by a group.
const Administrators = `
	select id from users where role = 'admin'
	union
	select m.user_id from (` + CurrentGroups + `) as m
		join group_grants as g on g.source = m.source and g.group_name = m.group_name and g.role = 'admin'`
