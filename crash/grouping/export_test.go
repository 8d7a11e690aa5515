package grouping

import "mishap/crash"

// CrashSignature is apport's crash_signature(), without the rules of our own.
func CrashSignature(f crash.Fields) string {
	signature, _ := crashSignature(f, nil)
	return signature
}
