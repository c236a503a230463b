package httplimit

import (
	"net/http"
	"net/netip"

	"github.com/hasp-go/hasp/integration/internal/limited"
)

// RemoteIP is a Key: the IP address of the connection's other end. Of an IPv6 address it has the first 64 bits, since
// a client often has all addresses that begin with them. Behind a proxy it is the proxy's address: take the
// client's address from the header field that your proxy sets, and that clients cannot set.
func RemoteIP(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := from.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.WithZone("").Prefix(64) // An IPv6 address has 128 bits.
	return network.Addr().String()
}

// limiterName returns the name of a key's limiter.
func (p *policy) limiterName(key string) string {
	if p.Key == nil {
		return p.Name
	}
	return limited.Name(p.Name, key)
}
