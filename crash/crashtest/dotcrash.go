package crashtest

import (
	"bytes"

	"mishap/crash/apport"
)

// Crash is the file that apport leaves in /var/crash, without the core dump. Fields whose names such a file cannot hold
// are left out.
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
