package servers

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	host = "127.0.0.1"

	// Ports lie below the range from which systems take the ports of outgoing connections: while a
	// server is down, a client that dials its port again and again would sooner or later be given
	// that port for itself, and be connected to itself.
	firstPort = 11000
	lastPort  = 21999

	// busDistance is how far from a node's port the port of its cluster bus is, by default.
	busDistance = 10000
)

var errNoPort = errors.New("no free port")

// ports holds the ports in use by this process, also those of servers that are down for a while.
var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// takePort reserves, within this process, a port that is free together with that of the cluster
// bus. Another process may still come first, so the caller tries again if binding fails.
func takePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if !ports.taken[port] && free(port) && free(port+busDistance) {
			ports.taken[port] = true
			return port, nil
		}
	}
	return 0, errNoPort
}

func givePort(port int) {
	ports.Lock()
	defer ports.Unlock()
	delete(ports.taken, port)
}

func free(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
