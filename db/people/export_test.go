package people

import (
	"context"
)

// RealHash has the cost of the hashes that the program stores. Tests of this package use a cheaper
// hash, because the race detector makes a real one take ten times as long.
var RealHash = hashParams

// AbsentHash is the hash of accounts that do not exist.
const AbsentHash = absentHash

func init() { hashParams.Memory, hashParams.Iterations = 8, 1 }

// CountAttempt counts a sign-in attempt by an unknown browser, without checking the password.
func CountAttempt(ctx context.Context, a *Store, in SignIn) error {
	return a.countAttempt(ctx, attempts(in, ""), tooManyPasswords)
}

// MatchingStep is tested with the vectors of RFC 6238.
var MatchingStep = matchingStep
