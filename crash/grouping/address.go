package grouping

import (
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// AddressSignature returns the address signature of a native crash, made of offsets in files
// instead of function names. It is the report's own StacktraceAddressSignature, else the result of
// apport's crash_signature_addresses() for Stacktrace and ProcMaps:
// "path:signal:elf+offset:elf+offset…", with at most 15 offsets. An offset counts from the start of
// the mapping that contains the address.
//
// The result is empty if apport's function returns none or fails, and for hexadecimal numbers that
// only Python accepts, with underscores or digits of other scripts.
func AddressSignature(f crash.Fields) string {
	if own := f["StacktraceAddressSignature"]; own != "" {
		return own
	}
	return computeAddressSignature(f)
}

// Limits of apport's crash_signature_addresses(). It uses 15 frames. If some frames cannot be
// placed in a file, it needs at least 3 placed ones, and four placed ones for each other. The
// remaining limits follow from these.
const (
	maxPlaced           = 15
	minPlaced           = 3
	leastPlacedOnFail   = 6
	leastPlacedForFail  = 4
	lowestAddress       = 0x1000 // lower addresses are artefacts of gdb
	pointlessAtFailures = maxPlaced/leastPlacedForFail + 1
)

// KindOf tells native crashes apart that have no signature: program, signal, and what is known of the
// stack, as names and as offsets in files.
func KindOf(f crash.Fields) string {
	maps, _ := parseMaps(f["ProcMaps"])
	kind := []string{f["ExecutablePath"], f["Signal"]}
	frames := Frames(f)
	for _, frame := range frames[:min(len(frames), maxPlaced)] {
		name := cleanSymbol(frame.Function)
		if name == "" {
			_, name, _ = findPlace(maps, strings.TrimPrefix(frame.Address, "0x"))
		}
		if name != "" {
			kind = append(kind, name)
		}
	}
	return strings.Join(kind, ":")
}

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
			return "" // apport raises an exception here
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
		if placed == maxPlaced || failed == pointlessAtFailures {
			break
		}
	}
	if failed == 0 && placed < minPlaced || failed > 0 && (placed < leastPlacedOnFail ||
		placed < leastPlacedForFail*failed) {
		return ""
	}
	return b.String()
}

// findPlace converts an address to "elf+offset", or to "" if it is too low or in no file. It
// returns false if hex is not a hexadecimal number.
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

// mapping is a named line of /proc/PID/maps. As in apport, it includes its end address.
type mapping struct {
	start, end uint64
	name       string
}

// parseMaps parses ProcMaps, without unnamed mappings. It returns false if any line is malformed.
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
		start, _ := strconv.ParseUint(from, 16, 64) // a number that is too large becomes the largest one
		end, _ := strconv.ParseUint(to, 16, 64)
		maps = append(maps, mapping{start, end, name})
	}
	return maps, true
}

// mappedName returns the text after the last run of two or more blanks. Names may contain single
// blanks, and single blanks separate the columns before the name.
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
