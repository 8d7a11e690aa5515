package dbtest

import (
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// cheapHash makes hashing take microseconds. The parameters for real passwords take 35 ms, and most
// tests sign in.
var cheapHash = argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const sqlAddUser = `
	with added as (
		insert into users (name, role, password_hash, created) values (@name, @role, @hash, now())
		on conflict do nothing returning id
	)
	insert into account_grants (user_id, role, scope, scope_name, person, created)
	select id, 'private', 'everything', '', '', now() from added where @private::boolean`

// AddUser adds an account like [accounts.Store.Add], unless it exists, but with a hash that is fast
// to check. A hash contains its parameters, so signing in works as usual. The account may read
// private data of all packages.
func AddUser(t testing.TB, s *db.Store, name string, role crash.Role, password string) {
	t.Helper()
	addUser(t, s, name, role, password, role != crash.RoleAdmin) // administrators may do so anyway
}

// AddUserWithoutPrivate adds an account like [AddUser], without the right to read private data.
func AddUserWithoutPrivate(t testing.TB, s *db.Store, name string, role crash.Role, password string) {
	t.Helper()
	addUser(t, s, name, role, password, false)
}

func addUser(t testing.TB, s *db.Store, name string, role crash.Role, password string, private bool) {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &cheapHash)
	if err != nil {
		t.Fatalf("hash password: %v", err)
	}
	// A connection of the store, because PostgreSQL spends about 25 ms on each new one.
	args := pgx.NamedArgs{"name": name, "role": role, "hash": hash, "private": private}
	if _, err := s.Pool.Exec(t.Context(), sqlAddUser, args); err != nil {
		t.Fatalf("add user %s: %v", name, err)
	}
}
