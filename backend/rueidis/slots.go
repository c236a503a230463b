package rueidisbackend

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
)

const (
	// slotsFor is how long a list of slots is used if no node was lost.
	slotsFor = time.Minute

	// askWithin bounds the question to one node.
	askWithin = time.Second
)

// slots knows which node is the primary of which slot. The client knows it too, but has no method
// for it.
type slots struct {
	client rueidis.Client

	mu     sync.Mutex
	ranges []slotRange
	read   time.Time
	asking bool   // a server, in the background
	left   string // a node that takes itself for a primary though it was replaced; asked last
}

type slotRange struct {
	first, last int
	primary     string
}

// forget makes the next question go to the servers.
func (s *slots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = time.Time{}
}

// forgetIfStale makes the next question go to the servers if a node may have been replaced, or a slot
// moved.
func (s *slots) forgetIfStale(outcomes []backend.Outcome) {
	if s != nil && adapter.Stale(outcomes) {
		s.forget()
	}
}

// known returns the address of the primary of key's slot, as it was when last asked for. If that may be
// out of date, it has it found out for later. A slot that has moved since costs a redirect.
func (s *slots) known(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read.IsZero() && !s.asking {
		s.asking = true
		go s.learn()
	}
	address, _ := find(s.ranges, key)
	return address
}

// learn asks in the background, for as long as one question to each node may take.
func (s *slots) learn() {
	_, _ = s.current(context.Background()) // if it fails, the next to want it asks again
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
}

// find returns the address of the primary of key's slot.
func find(ranges []slotRange, key string) (string, bool) {
	slot := backend.Slot(key)
	for _, r := range ranges {
		if r.first <= slot && slot <= r.last {
			return r.primary, true
		}
	}
	return "", false
}

// primary returns the address of the primary of channel's slot.
func (s *slots) primary(ctx context.Context, channel string) (string, error) {
	ranges, err := s.current(ctx)
	if err != nil {
		return "", err
	}
	address, ok := find(ranges, channel)
	if !ok {
		s.forget()
		return "", rueidis.ErrNoSlot
	}
	if s.client.Nodes()[address] == nil { // A command is redirected to a node that the client has not met.
		s.send(ctx, channel)
	}
	return address, nil
}

func (s *slots) current(ctx context.Context) ([]slotRange, error) {
	s.mu.Lock()
	ranges, read := s.ranges, s.read
	s.mu.Unlock()
	if time.Since(read) < slotsFor {
		return ranges, nil
	}
	ranges, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges, s.read = ranges, time.Now()
	return ranges, nil
}

// ask reads the list from the first node that answers.
func (s *slots) ask(ctx context.Context) ([]slotRange, error) {
	nodes := s.nodes(ctx)
	s.mu.Lock()
	left := s.left
	s.mu.Unlock()
	last := nodes[left]
	delete(nodes, left)
	ranges, err := askFirst(ctx, nodes)
	if err != nil && last != nil {
		ranges, err = askNode(ctx, left, last)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster slots: %w", err)
	}
	return ranges, nil
}

// nodes returns the client's nodes. It has none after an answer to CLUSTER SLOTS that was no list, until a command for a
// slot makes it ask again: waiters may send none for long.
func (s *slots) nodes(ctx context.Context) map[string]rueidis.Client {
	if nodes := s.client.Nodes(); len(nodes) > 0 {
		return nodes
	}
	s.send(ctx, "hasp")
	return s.client.Nodes()
}

// askFirst reads the list from the first of nodes that answers.
func askFirst(ctx context.Context, nodes map[string]rueidis.Client) (ranges []slotRange, err error) {
	err = rueidis.ErrNoSlot
	for address, node := range nodes {
		if ranges, err = askNode(ctx, address, node); err == nil {
			return ranges, nil
		}
	}
	return nil, err
}

// leave notes that a node was replaced, whatever it says itself.
func (s *slots) leave(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.left = time.Time{}, address
}

func askNode(ctx context.Context, address string, node rueidis.Client) ([]slotRange, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	s := &sending{Context: ctx}
	list, err := s.outcome(node.Do(s, node.B().ClusterSlots().Build().ToPipe()))
	if err != nil {
		return nil, err
	}
	entries, err := list.Items()
	ranges := make([]slotRange, 0, len(entries))
	for _, entry := range entries {
		r, err := parseRange(entry, address)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	return ranges, err
}

// parseRange reads an entry of CLUSTER SLOTS: first, last, [host, port, ...] of the primary, then
// of replicas. No host means that of the node that was asked.
func parseRange(entry backend.Reply, asked string) (r slotRange, err error) {
	parts, err := entry.Items()
	if err != nil || len(parts) < 3 {
		return r, fmt.Errorf("%w: slot range of %d parts", backend.ErrReply, len(parts))
	}
	primary, err := parts[2].Items()
	if err != nil || len(primary) < 2 {
		return r, fmt.Errorf("%w: node of %d parts", backend.ErrReply, len(primary))
	}
	first, err1 := parts[0].Int()
	last, err2 := parts[1].Int()
	port, err3 := primary[1].Int()
	host, _ := primary[0].Text()
	if host == "" {
		host, _, _ = net.SplitHostPort(asked)
	}
	address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
	return slotRange{int(first), int(last), address}, cmp.Or(err1, err2, err3)
}

// send sends a command for the slot of key. If it fails, so does what needs the node, which is tried again.
func (s *slots) send(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	cmd := s.client.B().Arbitrary("EXISTS").Args(key).Build().SetSlot(key).ToPipe()
	_ = s.client.Do(&sending{Context: ctx}, cmd)
}
