package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// AddressSignature says by places in files, not names, where a native program crashed. It is the report's own
// StacktraceAddressSignature, else what apport's crash_signature_addresses() makes of Stacktrace and ProcMaps:
// "path:signal:elf+offset:elf+offset…", at most 15 of them. An offset counts from the start of the mapping that the
// address lies in. Empty: none; also where apport itself stumbles over the report, and for hexadecimal numbers that only
// Python reads, with underscores or digits of other scripts.
func AddressSignature(f crash.Fields) string {
	if own := f["StacktraceAddressSignature"]; own != "" {
		return own
	}
	return computeAddressSignature(f)
}

// Limits of apport's rule: so many frames are taken; there must be a few more when some could not be placed, and at
// least four placed for each that could not. From these follows how many failures make any further frame pointless.
const (
	mostPlaced          = 15
	leastPlaced         = 3
	leastPlacedOnFail   = 6
	leastPlacedForFail  = 4
	lowestAddress       = 0x1000 // below: gdb's artefacts
	pointlessAtFailures = mostPlaced/leastPlacedForFail + 1
)

func computeAddressSignature(f crash.Fields) string {
	path, hasPath := f["ExecutablePath"]
	signal, hasSignal := f["Signal"]
	stack, hasStack := f["Stacktrace"]
	if !hasPath || !hasSignal || !hasStack || f["ProcMaps"] == "" || strings.HasPrefix(f["ProcMaps"], "Error: ") {
		return ""
	}
	maps, ok := parseMaps(f["ProcMaps"])
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(path + ":" + signal)
	placed, failed := 0, 0
	for line := range pytext.Lines(stack) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		word := pytext.FirstWord(line[len(pytext.FirstWord(line)):])
		if word == "" {
			return "" // apport stumbles here
		}
		hex, found := strings.CutPrefix(word, "0x")
		if !found {
			continue
		}
		address, place, ok := findPlace(maps, hex)
		switch {
		case !ok:
			return "" // and here
		case place != "":
			b.WriteString(":" + strings.ReplaceAll(place, ":", ".."))
			placed++
		case address >= lowestAddress:
			failed++
		}
		if placed == mostPlaced || failed == pointlessAtFailures {
			break
		}
	}
	if failed == 0 && placed < leastPlaced || failed > 0 && (placed < leastPlacedOnFail || placed < leastPlacedForFail*failed) {
		return ""
	}
	return b.String()
}

// findPlace turns an address into "elf+offset". Empty: too low, or in no file. False: not a hexadecimal number.
func findPlace(maps []mapping, hex string) (address uint64, place string, ok bool) {
	digits := strings.TrimLeft(hex, "0")
	if pytext.Run(hex, isHex) != hex || hex == "" {
		return 0, "", false
	}
	if len(digits) > 16 {
		return lowestAddress, "", true // beyond any mapping
	}
	address, _ = strconv.ParseUint("0"+digits, 16, 64)
	if address < lowestAddress {
		return address, "", true
	}
	for _, m := range maps {
		if m.start <= address && address <= m.end {
			return address, m.name + "+" + strconv.FormatUint(address-m.start, 16), true
		}
	}
	return address, "", true
}

func isHex(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F'
}

// mapping is a named line of /proc/PID/maps. The end belongs to it, as apport has it.
type mapping struct {
	start, end uint64
	name       string
}

// parseMaps reads ProcMaps. Lines without a name are left out. False: a line is none of /proc/PID/maps.
func parseMaps(text string) ([]mapping, bool) {
	var maps []mapping
	for line := range pytext.Lines(text) {
		if strings.TrimFunc(line, pytext.IsSpace) == "" {
			continue
		}
		from := pytext.Run(line, isHex)
		rest, found := strings.CutPrefix(line[len(from):], "-")
		to := pytext.Run(rest, isHex)
		rest = rest[len(to):]
		if from == "" || to == "" || !found {
			return nil, false
		}
		name := mappedName(rest)
		if name == "" {
			if pytext.Run(rest, pytext.IsNoSpace) != "" || rest == "" {
				return nil, false // no blank after the addresses
			}
			continue
		}
		start, _ := strconv.ParseUint(from, 16, 64) // too large a number becomes the largest
		end, _ := strconv.ParseUint(to, 16, 64)
		maps = append(maps, mapping{start, end, name})
	}
	return maps, true
}

// mappedName is what follows the last run of two or more blanks: names may hold single blanks, and the columns before
// them are parted by single ones.
func mappedName(s string) string {
	name, blanks := -1, 0
	for i, r := range s {
		if pytext.IsSpace(r) {
			blanks++
			continue
		}
		if blanks >= 2 {
			name = i
		}
		blanks = 0
	}
	if name < 0 {
		return ""
	}
	return s[name:]
}
