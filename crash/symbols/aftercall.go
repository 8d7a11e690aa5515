package symbols

import (
	"debug/elf"
	"encoding/binary"
)

// AfterCall reports whether the place is behind an instruction that calls a function. known is false if
// that cannot be told: without the program, or on an architecture that mishap does not know.
func (n gdbNamed) AfterCall(machine elf.Machine) (after, known bool) {
	if n.Code == nil {
		return false, false
	}
	switch machine { //nolint:exhaustive // others are not known here
	case elf.EM_X86_64, elf.EM_386:
		return isCallX86(n.Code), true
	case elf.EM_AARCH64:
		instruction := binary.LittleEndian.Uint32(n.Code[codeBefore-4:])
		const bl, blr, blraa = 0b100101, 0xd63f0000, 0xd63f0800 // the last one checks the address
		return instruction>>26 == bl || instruction&0xfffffc1f == blr || instruction&0xfefff800 == blraa&^0x01000000, true
	}
	return false, false
}

// isCallX86 reports whether instructions end in a call: with an offset, or indirect with any operand.
func isCallX86(b []byte) bool {
	n := len(b)
	if b[n-5] == 0xe8 {
		return true
	}
	// FF /2: the byte behind FF says how long the operand is. In it, 2 stands for a call.
	for length := 2; length <= n; length++ {
		if b[n-length] != 0xff || b[n-length+1]>>3&7 != 2 {
			continue
		}
		mode, register := b[n-length+1]>>6, b[n-length+1]&7
		want := 2
		if mode != 3 && register == 4 {
			want++ // a byte with base and index
		}
		switch {
		case mode == 1:
			want++
		case mode == 2, mode == 0 && register == 5:
			want += 4
		case mode == 0 && register == 4 && length > 2 && b[n-length+2]&7 == 5:
			want += 4
		}
		if want == length {
			return true
		}
	}
	return false
}
