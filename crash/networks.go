package crash

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseNetworks parses networks and single addresses separated by spaces or commas, such as "10.1.0.0/16, fd00::7".
// It refuses IPv4 networks that are written as IPv6.
func ParseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		network, err := netip.ParsePrefix(word)
		if address, wrong := netip.ParseAddr(word); wrong == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a network nor an address", word)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("%q is an IPv4 network written as IPv6: write it as IPv4", word)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}
