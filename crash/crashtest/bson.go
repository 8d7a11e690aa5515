package crashtest

import (
	"encoding/binary"
	"maps"
	"slices"
)

// notSent lists fields that whoopsie does not send.
var notSent = []string{"CoreDump", "CrashCounter", "Title", "UnreportableReason", "_MarkForUpload"}

// BSON returns the document that whoopsie posts for the report: flat, with text values only.
func (r Report) BSON() []byte {
	document := make([]byte, 4, 4096)
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if slices.Contains(notSent, name) {
			continue
		}
		document = append(document, 0x02) // a text
		document = append(append(document, name...), 0)
		document = binary.LittleEndian.AppendUint32(document, uint32(len(r[name])+1)) //nolint:gosec // reports are small
		document = append(append(document, r[name]...), 0)
	}
	document = append(document, 0)
	binary.LittleEndian.PutUint32(document, uint32(len(document))) //nolint:gosec // reports are small
	return document
}
