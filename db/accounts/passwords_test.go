package accounts_test

import (
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"

	"mishap/db/accounts"
)

// TestHashCost checks the cost of hashes that the program stores, and that a sign-in with an unknown name
// takes as long as one with a known name.
func TestHashCost(t *testing.T) {
	t.Parallel()
	const leastMemory, leastIterations = 19 << 10, 2 // kB; OWASP's password storage cheat sheet
	if got := accounts.RealHash; got.Memory < leastMemory || got.Iterations < leastIterations {
		t.Errorf("got %+v, want at least %d kB and %d passes", got, leastMemory, leastIterations)
	}
	hash, err := argon2id.CreateHash(goodPassword, &accounts.RealHash)
	if err != nil {
		t.Fatal(err)
	}
	stored, _, _, err := argon2id.DecodeHash(hash)
	if err != nil {
		t.Fatal(err)
	}
	absent, _, _, err := argon2id.DecodeHash(accounts.AbsentHash)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, absent); diff != "" {
		t.Errorf("parameters of the hash for unknown names (-want +got):\n%s", diff)
	}
}
