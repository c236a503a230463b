// Package loopback gives out ports on loopback.
package loopback

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Host is the address that all listen on.
const Host = "127.0.0.1"

// BusDistance is how far from a node's port the port of its cluster bus is, by default.
const BusDistance = 10000

// Ports lie below the range from which systems take the ports of outgoing connections: while a server is down, a client
// that dials its port again and again would sooner or later be given that port for itself, and be connected to itself.
const (
	firstPort = 11000
	lastPort  = 21999
)

// blockSize is how many ports a process claims at once. It listens on the first for as long as it lives,
// which keeps other processes off the others, even while nothing listens there: a server that is down for
// a while gets its port again.
const blockSize = 100

// pool gives out the ports of one process.
type pool struct {
	mu     sync.Mutex
	claims []net.Listener // on the first port of each block
	ports  []int          // of the blocks
	taken  map[int]bool
}

// own is the pool of this process.
var own = pool{taken: map[int]bool{}}

// Take reserves a port that is free together with that of the cluster bus. A process that claims no blocks
// may still come first, so the caller tries again if binding fails.
func Take() (int, error) { return own.take() }

// Give ends the reservation of a port.
func Give(port int) {
	own.mu.Lock()
	defer own.mu.Unlock()
	delete(own.taken, port)
}

func (p *pool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for _, i := range rand.Perm(len(p.ports)) {
			port := p.ports[i]
			if !p.taken[port] && free(port) && free(port+BusDistance) {
				p.taken[port] = true
				return port, nil
			}
		}
		if !p.claim() {
			return 0, errors.New("no free port")
		}
	}
}

// claim claims another block. It reports false if there is none. The caller holds mu.
func (p *pool) claim() bool {
	const blocks = (lastPort - firstPort + 1) / blockSize
	for _, i := range rand.Perm(blocks) {
		first := firstPort + i*blockSize
		claim, err := net.Listen("tcp", Addr(first))
		if err != nil {
			continue
		}
		p.claims = append(p.claims, claim)
		for port := first + 1; port < first+blockSize; port++ {
			p.ports = append(p.ports, port)
		}
		return true
	}
	return false
}

func free(port int) bool {
	l, err := net.Listen("tcp", Addr(port))
	return err == nil && l.Close() == nil
}

// Addr returns the address of a port.
func Addr(port int) string { return net.JoinHostPort(Host, strconv.Itoa(port)) }
