package db_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

// TestPooler starts mishap behind pgbouncer in each of its modes.
func TestPooler(t *testing.T) {
	t.Parallel()
	direct := dbtest.Empty(t)
	if pooled, err := db.CheckPooler(t.Context(), direct); pooled || err != nil {
		t.Errorf("without a pooler: got %v, %v", pooled, err)
	}
	for _, test := range []struct{ mode, settings, code string }{
		{"transaction", "", "pooler"},
		{"transaction", "default_pool_size = 1", "pooler"},
		{"transaction", "server_round_robin = 1\nmin_pool_size = 5", "pooler"},
		{"transaction", "ignore_startup_parameters = statement_timeout,lock_timeout", "pooler"},
		{"statement", "", "pooler"},
		{"session", "default_pool_size = 1", "pooler_full"},
		{"session", "", ""},
	} {
		address := dbtest.Pooler(t, direct, test.mode, test.settings)
		pooled, err := db.CheckPooler(t.Context(), address)
		if !pooled || codeOf(err) != test.code {
			t.Errorf("%s, %q: got %v, %v, want %q", test.mode, test.settings, pooled, err, test.code)
		}
		if test.code == "pooler_full" {
			continue
		}
		err = db.Migrate(t.Context(), address, dbtest.Log(t))
		if codeOf(err) != test.code {
			t.Errorf("%s, %q: migrate: got %v, want %q", test.mode, test.settings, err, test.code)
		}
		if test.code == "pooler" && (crash.KindOf(err) != crash.Invalid || !strings.Contains(err.Error(),
			"set pool_mode = session")) {
			t.Errorf("%s, %q: got %v, want what to do", test.mode, test.settings, err)
		}
	}

	// In session mode, the settings of sessions are made, and the lock of an instance lasts.
	address := dbtest.Pooler(t, direct, "session", "default_pool_size = 40")
	one, two := dbtest.Open(t, address), dbtest.Open(t, address)
	var set string
	checktest.NoError(t, one.Pool.QueryRow(t.Context(), `select concat_ws(' ', current_setting('statement_timeout'),
		current_setting('idle_in_transaction_session_timeout'), current_setting('timezone'))`).Scan(&set))
	checktest.Equal(t, "settings", set, "30s 1min UTC")
	f := asked(t, one)
	dbtest.Must(bugs.New(one).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}))(t)
	due(t, two)
	checktest.Equal(t, "while the instance lives", stateOf(t, two, f.ID), crash.FilingSending)
	one.Close()
	waitFor(t, "the instance counts as dead", func() bool {
		due(t, two)
		return stateOf(t, two, f.ID) == crash.FilingUncertain
	})
}
