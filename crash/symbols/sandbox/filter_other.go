//go:build !amd64 && !arm64

package sandbox

// auditArch is 0 on architectures without a filter.
const auditArch uint32 = 0

var forbiddenHere []uint32
