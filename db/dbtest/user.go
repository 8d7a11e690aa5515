package dbtest

import (
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// cheapHash costs microseconds. The parameters of real passwords cost 35 ms for each hash, and most tests sign in.
var cheapHash = argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const sqlAddUser = `
	insert into users (name, role, password_hash, created) values (@name, @role, @hash, now())
	on conflict do nothing`

// AddUser makes an account like accounts.Store.Add, unless there is one of that name, but with a hash that is cheap to check.
// Hashes name their own cost, so signing in works as always. The store must come from this package.
func AddUser(t testing.TB, s *db.Store, name string, role crash.Role, password string) {
	t.Helper()
	address, ok := addresses.Load(s)
	if !ok {
		t.Fatal("the store was not opened by dbtest")
	}
	hash, err := argon2id.CreateHash(password, &cheapHash)
	if err != nil {
		t.Fatalf("hash password: %v", err)
	}
	Exec(t, address.(string), sqlAddUser, pgx.NamedArgs{"name": name, "role": role, "hash": hash})
}
