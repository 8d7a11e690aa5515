package secondfactor

// MatchingStep is tested with the vectors of RFC 6238.
var MatchingStep = matchingStep
