package webhook

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Networks lists private networks to which mishap may send.
type Networks []netip.Prefix

// refused lists the networks that are not part of the public internet, or that lead to others (IANA's
// special-purpose registries). Of IPv6 only 2000::/3 is public.
var refused = func() []netip.Prefix {
	var list []netip.Prefix
	for word := range strings.FieldsSeq(`
		0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
		2001::/23 2001:db8::/32 2002::/16 3fff::/20`) {
		list = append(list, netip.MustParsePrefix(word))
	}
	return list
}()

var publicIPv6 = netip.MustParsePrefix("2000::/3")

// RefusedError says that mishap does not send to an address.
type RefusedError struct{ Address netip.Addr }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("mishap does not send to %s, which is not a public address. If this is intended, add its network "+
		"to webhook_allow_networks in the configuration.", e.Address)
}

// check returns a RefusedError if mishap must not send to an address. It does not look behind
// addresses that contain others (NAT64, 6to4, Teredo): they are refused as such.
func (n Networks) check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, network := range n {
		if network.Contains(address) {
			return nil
		}
	}
	for _, network := range refused {
		if network.Contains(address) {
			return &RefusedError{address}
		}
	}
	if !address.IsValid() || address.Is6() && !publicIPv6.Contains(address) {
		return &RefusedError{address}
	}
	return nil
}

// control is the Control function of a net.Dialer. The dialer calls it with the address that it is
// about to connect to, after the name was resolved, so that a name cannot resolve to another address
// in between.
func (n Networks) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address: %w", address, err)
	}
	return n.check(to.Addr())
}
