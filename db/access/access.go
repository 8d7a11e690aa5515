// Package access stores who may do what because of how they sign in: identities at other sites, the
// groups that they have there, and the roles that groups give. It also stores which answers of
// providers were used, and ends sessions when a provider says so. Accounts are in package accounts.
package access

import "mishap/db"

// Store stores identities and grants. It is safe for concurrent use.
type Store struct{ store *db.Store }

// New returns a Store for the identities in store.
func New(store *db.Store) *Store { return &Store{store} }
