package crashtest

import (
	"bytes"

	"mishap/crash/apport"
)

// Crash returns the file that apport writes to /var/crash, without the core dump. It omits fields
// whose names the format does not allow.
func (r Report) Crash() []byte {
	fields := r.Fields()
	for name := range fields {
		if !apport.ValidKey(name) {
			delete(fields, name)
		}
	}
	var b bytes.Buffer
	_ = apport.Write(&b, fields) // neither a name nor a buffer can fail
	return b.Bytes()
}
