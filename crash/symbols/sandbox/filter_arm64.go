package sandbox

import "golang.org/x/sys/unix"

const auditArch uint32 = unix.AUDIT_ARCH_AARCH64

// forbiddenHere lists system calls that amd64 does not have, or has under another name.
var forbiddenHere = []uint32{unix.SYS_RENAMEAT, unix.SYS_KEXEC_FILE_LOAD}
