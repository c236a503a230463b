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

// Ports lie below the range from which systems take the ports of outgoing connections: while a
// server is down, a client that dials its port again and again would sooner or later be given that
// port for itself, and be connected to itself.
const (
	firstPort = 11000
	lastPort  = 21999
)

// ports holds the ports in use by this process, also those of servers that are down for a while.
var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// Take reserves, within this process, a port that is free together with that of the cluster bus.
// Another process may still come first, so the caller tries again if binding fails.
func Take() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if !ports.taken[port] && free(port) && free(port+BusDistance) {
			ports.taken[port] = true
			return port, nil
		}
	}
	return 0, errors.New("no free port")
}

// Give ends the reservation of a port.
func Give(port int) {
	ports.Lock()
	defer ports.Unlock()
	delete(ports.taken, port)
}

func free(port int) bool {
	l, err := net.Listen("tcp", Addr(port))
	return err == nil && l.Close() == nil
}

// Addr returns the address of a port.
func Addr(port int) string { return net.JoinHostPort(Host, strconv.Itoa(port)) }
