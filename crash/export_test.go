package crash

// CrashSignature is apport's crash_signature(), without the rules of our own.
func CrashSignature(f Fields) string {
	signature, _ := crashSignature(f, nil)
	return signature
}
