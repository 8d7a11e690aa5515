package db

import "time"

// CurrentGroups selects the groups of people that count: identity_id, user_id, source and group_name.
// Statements that contain it need the argument @groups_since, which is GroupsSince.
const CurrentGroups = `
	select i.id as identity_id, i.user_id, i.source, m.group_name
	from identities as i join user_groups as m on m.identity_id = i.id
	where i.groups_read > @groups_since::timestamptz`

// GroupsSince returns the time since which groups must have been stated to count.
func (h *Handle) GroupsSince() time.Time { return h.Now().Add(-h.Rights.GroupsMaxAge) }

// Administrators selects the ids of the accounts with the role admin, given by hand or by a group. It
// needs the argument of CurrentGroups.
const Administrators = `
	select id from users where role = 'admin'
	union
	select m.user_id from (` + CurrentGroups + `) as m
		join group_grants as g on g.source = m.source and g.group_name = m.group_name and g.role = 'admin'`
