package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// These statements make a foreign server, which stands for an archive, and move a partition there.
const (
	sqlMakeArchive = `
		create extension if not exists postgres_fdw;
		create server archive_old foreign data wrapper postgres_fdw options (%s);
		create user mapping for public server archive_old options (%s)`
	sqlArchiveColumns = `
		select string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
			case when a.attnotnull then ' not null' else '' end), ', ' order by a.attnum)
		from pg_attribute as a where a.attrelid = 'reports'::regclass and a.attnum > 0 and not a.attisdropped`
	sqlArchiveIndexes = `
		select coalesce(string_agg(regexp_replace(pg_get_indexdef(indexrelid), 'INDEX \S+ ON (ONLY )?\S+', 'INDEX ON '
			|| $1::text), '; '), '')
		from pg_index where indrelid = 'reports'::regclass`
	sqlArchiveMonth = `
		create table if not exists %[1]s (%[2]s); -- no report has arrived in this month
		do $$ begin
			if exists (select from pg_inherits where inhrelid = '%[1]s'::regclass) then
				alter table reports detach partition %[1]s;
			end if;
		end $$;
		alter table %[1]s rename to moving;
		create foreign table %[1]s (%[2]s) server archive_old options (schema_name 'public', table_name '%[1]s');
		insert into %[1]s select * from moving;
		alter table reports attach partition %[1]s for values from ('%[3]s') to ('%[4]s');
		drop table moving;
		analyze %[1]s`
)

// WithArchive moves months of the reports in the database at address to an archive called old, which is a
// database of its own on the same server. It returns the address of that. [Refuse] makes it unreachable.
func WithArchive(t testing.TB, address string, months ...time.Time) (archive string) {
	t.Helper()
	archive = Empty(t)
	t.Cleanup(func() { // the sessions of address are connected to the archive
		_, _ = Must(theHost())(t).admin.Exec(context.WithoutCancel(t.Context()), sqlDisconnect,
			strings.TrimPrefix(Must(url.Parse(archive))(t).Path, "/"))
	})
	to := Must(pgx.ParseConfig(archive))(t)
	option := func(name, value string) string { return name + " '" + strings.ReplaceAll(value, "'", "''") + "'" }
	Exec(t, address, fmt.Sprintf(sqlMakeArchive,
		strings.Join([]string{option("host", to.Host), option("port", fmt.Sprint(to.Port)), option("dbname", to.Database),
			option("connect_timeout", "2")}, ", "),
		strings.Join([]string{option("user", to.User), option("password", to.Password)}, ", ")))
	beside(t, address, func(conn *pgx.Conn) {
		var columns string
		if err := conn.QueryRow(t.Context(), sqlArchiveColumns).Scan(&columns); err != nil {
			t.Fatal(err)
		}
		for _, month := range months {
			from := time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
			table := from.Format("reports_2006_01")
			var indexes string
			if err := conn.QueryRow(t.Context(), sqlArchiveIndexes, table).Scan(&indexes); err != nil {
				t.Fatal(err)
			}
			Exec(t, archive, fmt.Sprintf("create table %s (%s, primary key (received, id)); %s", table, columns, indexes))
			const form = "2006-01-02Z"
			sql := fmt.Sprintf(sqlArchiveMonth, table, columns, from.Format(form), from.AddDate(0, 1, 0).Format(form))
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatalf("archive %s: %v", table, err)
			}
		}
	})
	return archive
}
