package grouping

import "mishap/crash"

// CrashSignature is apport's crash_signature(), without our own rules.
func CrashSignature(f crash.Fields) string {
	signature, _ := crashSignature(f, nil)
	return signature
}
