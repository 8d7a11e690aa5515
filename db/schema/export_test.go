package schema

// These names are for tests.
const (
	BaselineVersion     = baselineVersion
	BaselineFingerprint = baselineFingerprint
)

// Fingerprint is for tests.
var Fingerprint = schemaFingerprint
