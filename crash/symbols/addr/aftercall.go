package addr

import (
	"debug/elf"
	"encoding/binary"
)

// AfterCall reports whether an address is behind an instruction that calls a function. known is false
// if it cannot tell: without the program, or on an architecture that it does not know.
func (m *Module) AfterCall(address uint64) (after, known bool) {
	const longest = 7 // bytes of a call
	b, ok := m.codeBefore(address, longest)
	if !ok {
		return false, false
	}
	switch m.Machine { //nolint:exhaustive // others are not known here
	case elf.EM_X86_64, elf.EM_386:
		return isCallX86(b), true
	case elf.EM_AARCH64:
		instruction := binary.LittleEndian.Uint32(b[longest-4:])
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

// codeBefore returns n bytes of the code before an address.
func (m *Module) codeBefore(address uint64, n uint64) ([]byte, bool) {
	if m.text == nil {
		return nil, false
	}
	for _, s := range m.code {
		if address-s.Addr >= n && address-s.Addr <= s.FileSize && address >= s.Addr {
			b := make([]byte, n)
			_, err := m.text.ReadAt(b, int64(s.Offset+(address-n-s.Addr))) //nolint:gosec // inside the file
			return b, err == nil
		}
	}
	return nil, false
}
