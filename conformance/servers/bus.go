package servers

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// A packet of the cluster bus begins with a header, of which the sender's id is the end.
const (
	busHeader = 80
	busSender = 40 // where the id begins

	busTimeout = 5 * time.Second
)

// bus stands before the bus ports of a cluster's nodes, so that a node can be cut off from the
// others and not from clients. Its connections end with the nodes.
type bus struct {
	work sync.WaitGroup

	mu    sync.Mutex
	alone string // the id of the node that is cut off; empty: none
	nodes []*busNode
	links map[*busLink]struct{}
}

// busNode is a node; [bus.mu] guards id and target.
type busNode struct {
	listener   net.Listener
	id, target string
}

// busLink is a connection from the node with the id from.
type busLink struct {
	from           string
	to             *busNode
	client, server net.Conn
}

// open opens a port before the bus port of a node that is still to be started.
func (b *bus) open() (*busNode, error) {
	listener, err := net.Listen("tcp", loopback.Addr(0))
	if err != nil {
		return nil, err
	}
	node := &busNode{listener: listener}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes = append(b.nodes, node)
	b.work.Go(func() { b.serve(node) })
	return node, nil
}

func (n *busNode) port() int { return n.listener.Addr().(*net.TCPAddr).Port }

// started notes what a node is called and where it listens.
func (b *bus) started(node *busNode, id string, port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	node.id, node.target = id, loopback.Addr(port+loopback.BusDistance)
}

func (b *bus) serve(to *busNode) {
	for {
		client, err := to.listener.Accept()
		if err != nil {
			return
		}
		b.work.Go(func() { b.carry(client, to) })
	}
}

// carry carries one connection until it ends.
func (b *bus) carry(client net.Conn, to *busNode) {
	defer func() { _ = client.Close() }()
	header := make([]byte, busHeader)
	if _, err := io.ReadFull(client, header); err != nil {
		return
	}
	b.mu.Lock()
	target := to.target
	b.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, busTimeout)
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
func (b *bus) cuts(l *busLink) bool {
	return b.alone != "" && (l.from == b.alone) != (l.to.id == b.alone)
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

// close ends the bus, after its nodes.
func (b *bus) close() (err error) {
	b.mu.Lock()
	for _, node := range b.nodes {
		err = errors.Join(err, node.listener.Close())
	}
	b.mu.Unlock()
	b.work.Wait()
	return err
}
