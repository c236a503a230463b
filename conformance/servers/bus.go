package servers

import (
	"errors"
	"io"
	"net"
	"sync"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// A packet of the cluster bus begins with a header, of which the sender's id is the end.
const (
	busHeader = 80
	busSender = 40 // where the id begins
)

// bus stands before the bus ports of a cluster's nodes, so a node can be cut off from the
// others and not from clients. Its connections end with the nodes.
type bus struct {
	work sync.WaitGroup

	mu        sync.Mutex
	alone     string // the id of the node that is cut off; empty: none
	listeners []net.Listener
	links     map[*busLink]struct{}
}

// busLink is a connection between the nodes with these ids.
type busLink struct {
	from, to       string
	client, server net.Conn
}

// open returns a listener instead of the bus port of a node that is still to be started.
func (b *bus) open() (net.Listener, error) {
	listener, err := net.Listen("tcp", loopback.Addr(0))
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.listeners = append(b.listeners, listener)
	}
	return listener, err
}

// serve leads the connections of a listener to the node with an id, whose bus port has the address target.
func (b *bus) serve(listener net.Listener, id, target string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		b.work.Go(func() { b.carry(client, id, target) })
	}
}

// carry carries one connection until it ends.
func (b *bus) carry(client net.Conn, to, target string) {
	defer func() { _ = client.Close() }()
	header := make([]byte, busHeader)
	if _, err := io.ReadFull(client, header); err != nil {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	l := &busLink{from: string(header[busSender:]), to: to, client: client, server: server}
	defer l.close()
	defer b.remove(l)
	if !b.add(l) {
		return
	}
	if _, err := server.Write(header); err != nil {
		return
	}
	b.work.Go(func() {
		_, _ = io.Copy(client, server)
		l.close()
	})
	_, _ = io.Copy(server, client)
}

// close ends both sides.
func (l *busLink) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// add notes a connection, and reports whether it may go on.
func (b *bus) add(l *busLink) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links[l] = struct{}{}
	return !b.cuts(l)
}

func (b *bus) remove(l *busLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.links, l)
}

// cuts reports whether a connection leads to or from the node that is alone. The caller holds mu.
func (b *bus) cuts(l *busLink) bool { return b.alone != "" && (l.from == b.alone) != (l.to == b.alone) }

// isolate cuts a node off; no node if id is empty.
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

// close ends the bus, after its nodes.
func (b *bus) close() (err error) {
	b.mu.Lock()
	for _, listener := range b.listeners {
		err = errors.Join(err, listener.Close())
	}
	b.mu.Unlock()
	b.work.Wait()
	return err
}
