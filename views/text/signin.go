package text

// Texts of the sign-in page.
const (
	SignInName     = "Name"
	SignInPassword = "Password"
	SignInWithout  = "Browse problems without signing in"
	SignInAccounts = "No account yet? Ask an administrator to run:"
)
