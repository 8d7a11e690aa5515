package accounts

import "context"

// CountAttempt counts an attempt to sign in by a browser that is not known, and looks at no password.
func CountAttempt(ctx context.Context, a *Store, in SignIn) error {
	return a.countAttempt(ctx, attempts(in, ""))
}
