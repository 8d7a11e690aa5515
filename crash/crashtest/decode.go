package crashtest

import (
	"mishap/crash"
	"mishap/crash/whoopsie"
)

// Decode returns the fields of a report that whoopsie sent, decompressed. Its errors are those of
// [whoopsie.Open].
func Decode(body []byte) (crash.Fields, error) {
	d, err := whoopsie.Open(body)
	if err != nil {
		return nil, err
	}
	fields, _, _ := d.Fields(whoopsie.MaxDecompressed)
	return fields, nil
}
