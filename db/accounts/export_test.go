package accounts

import "context"

// CountAttempt counts a sign-in attempt by an unknown browser, without checking the password.
func CountAttempt(ctx context.Context, a *Store, in SignIn) error {
	return a.countAttempt(ctx, attempts(in, ""))
}
