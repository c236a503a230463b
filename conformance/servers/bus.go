package servers

import (
	"errors"
	"io"
	"net"
	"sync"
)

// A packet of the cluster bus begins with a header, of which the sender's id is the end.
const (
	busHeader = 80
	busSender = 40 // where the id begins
)

// bus stands before the bus ports of a cluster's nodes, so that a node can be cut off from the
// others and not from clients.
type bus struct {
	work sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	alone     string // the id of the node that is cut off; empty: none
	listeners []net.Listener
	links     map[*busLink]struct{}
}

// busLink is a connection from one node to another.
type busLink struct {
	from           string // an id
	to             *busNode
	client, server net.Conn
}

// busNode is a node; [bus.mu] guards it.
type busNode struct{ id, target string }

func newBus() *bus { return &bus{links: map[*busLink]struct{}{}} }

// open opens a port before the bus port of a node that is still to be started.
func (b *bus) open() (node *busNode, port int, err error) {
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return nil, 0, err
	}
	node = &busNode{}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, listener)
	b.work.Go(func() { b.serve(listener, node) })
	return node, listener.Addr().(*net.TCPAddr).Port, nil
}

// started notes what a node is called and where it listens.
func (b *bus) started(node *busNode, id string, port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	node.id, node.target = id, address(port+busDistance)
}

func (b *bus) serve(listener net.Listener, to *busNode) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		b.work.Go(func() { b.carry(&busLink{to: to, client: client}) })
	}
}

// carry carries one connection until it ends.
func (b *bus) carry(l *busLink) {
	defer l.close()
	target, ok := b.add(l)
	if !ok {
		return
	}
	defer b.remove(l)
	header := make([]byte, busHeader)
	if _, err := io.ReadFull(l.client, header); err != nil {
		return
	}
	server, err := net.DialTimeout("tcp", target, dialTimeout)
	if err != nil || !b.connect(l, string(header[busSender:]), server) {
		return
	}
	if _, err := server.Write(header); err != nil {
		return
	}
	b.work.Go(func() {
		_, _ = io.Copy(l.client, server)
		l.close()
	})
	_, _ = io.Copy(server, l.client)
}

// close ends both sides.
func (l *busLink) close() {
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// add notes a connection, unless the bus was closed, and returns where it is to lead to.
func (b *bus) add(l *busLink) (target string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return "", false
	}
	b.links[l] = struct{}{}
	return l.to.target, true
}

func (b *bus) remove(l *busLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.links, l)
}

// connect notes where a connection comes from, and reports whether it may go on.
func (b *bus) connect(l *busLink, from string, server net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.from, l.server = from, server
	return !b.closed && !b.cuts(l)
}

// cuts reports whether a connection leads to or from the node that is alone. The caller holds mu.
func (b *bus) cuts(l *busLink) bool {
	return b.alone != "" && l.server != nil && (l.from == b.alone) != (l.to.id == b.alone)
}

// isolate cuts a node off; nobody if id is empty.
func (b *bus) isolate(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alone = id
	for l := range b.links {
		if b.cuts(l) {
			l.close()
		}
	}
}

// Close ends all connections.
func (b *bus) Close() error {
	b.mu.Lock()
	b.closed = true
	var err error
	for _, listener := range b.listeners {
		err = errors.Join(err, listener.Close())
	}
	b.listeners = nil
	for l := range b.links {
		l.close()
	}
	b.mu.Unlock()
	b.work.Wait()
	return err
}
