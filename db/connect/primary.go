package connect

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
)

var errNoPrimary = crash.Errorf(crash.Unavailable, "no_primary", "No PostgreSQL server that takes writes can "+
	"be reached.")

const sqlInRecovery = `select pg_is_in_recovery()`

// CheckPrimary connects to the database at url once, and checks that the server accepts writes. It
// returns Unavailable if there is no such server at the moment: none answers, it is starting, or
// there is only a standby. It returns Invalid if waiting does not help: the URL is invalid, or the
// server refuses the user, the password or the database.
func CheckPrimary(ctx context.Context, url string) error {
	pc, err := ParseURL(url)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, pc.ConnConfig)
	if err != nil {
		if refused := Refusal(err); refused != nil {
			return refused.Because(err)
		}
		return errNoPrimary.Because(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var standby bool
	if err := conn.QueryRow(ctx, sqlInRecovery).Scan(&standby); err != nil {
		return errNoPrimary.Because(err)
	}
	if standby {
		return errNoPrimary.Because(fmt.Errorf("%s:%d is a standby", pc.ConnConfig.Host, pc.ConnConfig.Port))
	}
	return nil
}

// refusals are the errors of a server that do not go away by waiting.
var refusals = map[string]*crash.Error{
	"28P01": crash.Errorf(crash.Invalid, "database_password", "The database refuses the password in database_url."),
	"28000": crash.Errorf(crash.Invalid, "database_user", "The database refuses the user in database_url, or connections "+
		"from this machine."),
	"3D000": crash.Errorf(crash.Invalid, "no_database", "There is no database of the name in database_url; create it on "+
		"the server first."),
	"42501": crash.Errorf(crash.Invalid, "database_privilege", "The user in database_url may not connect to "+
		"the database."),
}

// Refusal returns the refusal by any of the hosts that were tried, or nil if there is none.
func Refusal(err error) *crash.Error {
	if pg, ok := err.(*pgconn.PgError); ok { //nolint:errorlint // this walks the tree of errors itself
		return refusals[pg.Code]
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return Refusal(next)
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := Refusal(one); found != nil {
				return found
			}
		}
	}
	return nil
}
