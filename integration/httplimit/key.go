package httplimit

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/hasp-go/hasp/integration/internal/limited"
)

// RemoteIP is a Key: the IP address of the connection's other end. Of an IPv6 address it has the first 64 bits, since
// a client often has all addresses that begin with them. An IPv4 address in an IPv6 one, as a NAT64 of 64:ff9b::/96 makes
// it, is the IPv4 address. Behind a proxy it is the proxy's address: take the client's address from the header field that
// your proxy sets, and that clients cannot set. A middleware may set r.RemoteAddr to it, with or without a port.
func RemoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = strings.Trim(r.RemoteAddr, "[]")
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return r.RemoteAddr
	}
	if ip = ip.Unmap().WithZone(""); nat64.Contains(ip) {
		ip, _ = netip.AddrFromSlice(ip.AsSlice()[nat64.Bits()/8:])
	}
	if ip.Is6() {
		ip = netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip.String()
}

// nat64 has the addresses of IPv4 clients behind a NAT64.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func (p *policy) limiterName(key string) string {
	if p.Key == nil {
		return p.Name
	}
	return limited.Name(p.Name, key)
}
