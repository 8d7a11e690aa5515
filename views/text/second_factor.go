package text

// Texts about authenticator apps and recovery codes.
const (
	SecondFactorHeading = "Authenticator app"
	SecondFactorMeans   = "With an authenticator app, signing in with your password also needs a code that the " +
		"app shows."
	SecondFactorNoPassword = "Your account has no password. The site where you sign in may ask for a code."
	SecondFactorOn         = "on"
	SecondFactorIsOff      = "The authenticator app is switched off."
	SecondFactorSetUp      = "Set up an app"
	SecondFactorChange     = "Recovery codes, switch off"
	SecondFactorSwitchOff  = "Switch off"
	SecondFactorScan       = "Scan this with the app"
	SecondFactorQR         = "QR code with the secret of the app"
	SecondFactorType       = "Or type the secret into the app:"
	SecondFactorConfirm    = "Switch on"

	RecoveryHeading  = "Your recovery codes"
	RecoveryMeans    = "Each works once if you do not have the app. Copy them now: they will not be shown again."
	RecoveryNew      = "New recovery codes"
	RecoveryNewMeans = "The current codes stop working."

	CodeHeading = "Enter a code"
	CodeMeans   = "Your password is correct. Enter the code that your authenticator app shows."
	CodeLabel   = "Code"
	CodeHint    = "Six digits, or a recovery code."
	CodeLost    = "Neither the app nor a recovery code? An administrator can remove the app:"

	AppRequired = "Accounts like yours need an authenticator app here. Set it up to continue; until then, nothing else " +
		"works."
	AppContinue = "Continue"
	AppReset    = "Remove app"
	AppOfPerson = "app"

	CommandTOTPReset = "mishap user totp-reset NAME"
)

// SecondFactorBegin labels the button that makes a secret for an app.
func SecondFactorBegin(again bool) string {
	if again {
		return "Make another secret"
	}
	return SecondFactorSetUp
}

// ResetApp labels the button that removes the authenticator app of a person.
func ResetApp(name string) string { return AppReset + ": " + name }

// AppWasReset confirms that the app of a person was removed.
func AppWasReset(name string) string {
	return "The authenticator app of " + name + " is removed, and " + name + " is signed out everywhere."
}

// RecoveryLeft says how many recovery codes have not been used.
func RecoveryLeft(n int) string {
	return Counted(int64(n), "recovery code left", "recovery codes left")
}

// Texts of the sign-in page.
const (
	SignInName     = "Name"
	SignInPassword = "Password"
	SignInWithout  = "Browse problems without signing in"
	SignInAccounts = "No account yet? Ask an administrator to run:"

	SignInIsOld   = "You signed in more than 15 minutes ago. Sign in again, then change how you sign in."
	ResumeHeading = "Send again?"
	ResumeMeans   = "Your session had ended when you sent this, so nothing was changed. You are signed in again."
	ResumeTo      = "To"
	ResumeSend    = "Send again"
	ResumeLeave   = "Do not send it"

	SignInLocalOff  = "Signing in with a name and password is switched off here."
	SignInLocal     = "With a name and password"
	SignInOtherwise = "Sign in in another way"
)

// SignInWith labels the button that begins to sign in at another site.
func SignInWith(site string) string { return "Sign in with " + site }

// Leaving says that the browser goes to another site.
func Leaving(site string) string {
	return "You are being taken to " + site + ", which asks who you are and sends you back here."
}

// ContinueAt labels the link to another site, for browsers that do not go there by themselves.
func ContinueAt(site string) string { return "Continue at " + site }
