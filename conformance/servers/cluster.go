package servers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// ClusterOptions are the options of a cluster; nil means the defaults.
type ClusterOptions struct {
	// Config holds directives of the nodes' configuration files, as [Options.Config] does.
	Config map[string]string

	// Replicas is how many replicas each primary has.
	Replicas int

	_ struct{}
}

// Cluster is a running cluster. The slots are spread over its primaries in equal parts, the lowest slots on the first.
type Cluster struct {
	// Nodes are the nodes: those that began as primaries, then their replicas, the first replica of
	// each before the second ones.
	Nodes []*Server

	masters  int
	bus      *bus                   // between the nodes; nil without replicas
	isolated atomic.Pointer[Server] // nil: none
}

// StartCluster starts a cluster of so many primaries, 3 or more by the servers' own rule for
// failover, that ends with the test; it waits until each node finds it complete, and each replica
// follows. It skips and fails the test as [Start] does.
func StartCluster(tb TB, kind Kind, masters int, opts *ClusterOptions) *Cluster {
	tb.Helper()
	if opts == nil {
		opts = &ClusterOptions{}
	}
	if masters < 1 || opts.Replicas < 0 {
		tb.Fatalf("a cluster of %d primaries with %d replicas each", masters, opts.Replicas)
	}
	config := map[string]string{"cluster-enabled": "yes", "cluster-node-timeout": "5000"}
	maps.Copy(config, opts.Config)
	c := &Cluster{masters: masters}
	for range masters * (1 + opts.Replicas) {
		o := Options{Config: maps.Clone(config)} // Each node announces a port of its own.
		c.Nodes = append(c.Nodes, newServer(kind, &o))
	}
	if opts.Replicas > 0 {
		c.bus = &bus{links: map[*busLink]struct{}{}}
	}
	begin(tb, kind, c, func() error { return inTurn(func() error { return each(c.Nodes, c.launch) }, c.form) })
	return c
}

func (c *Cluster) servers() []*Server { return c.Nodes }

func (c *Cluster) close() error {
	err := each(c.Nodes, (*Server).close)
	if c.bus != nil {
		err = errors.Join(err, c.bus.close())
	}
	return err
}

// launch starts a node, behind a bus port that the node announces if there is a bus.
func (c *Cluster) launch(node *Server) (err error) {
	var announced net.Listener
	if c.bus != nil {
		if announced, err = c.bus.open(); err != nil {
			return err
		}
		node.busPort = announced.Addr().(*net.TCPAddr).Port
		node.opts.Config["cluster-announce-bus-port"] = strconv.Itoa(node.busPort)
	}
	if err := node.launch(); err != nil {
		return err
	}
	node.id, err = text(node.Do("CLUSTER", "MYID"))
	port := node.port + loopback.BusDistance
	if c.bus == nil {
		node.busPort = port
		return err
	}
	c.bus.work.Go(func() { c.bus.serve(announced, node.id, loopback.Addr(port)) })
	return err
}

// form spreads the slots, introduces the nodes to each other and waits until all agree.
func (c *Cluster) form() error {
	for i, node := range c.Nodes {
		// Epochs of their own keep the nodes from settling a conflict first.
		if err := node.run("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < c.masters {
			if err := node.run(c.addSlots(i)...); err != nil {
				return err
			}
		}
		for _, other := range c.Nodes[:i] {
			port, bus := strconv.Itoa(other.port), strconv.Itoa(other.busPort)
			if err := node.run("CLUSTER", "MEET", loopback.Host, port, bus); err != nil {
				return err
			}
		}
	}
	for i, replica := range c.Nodes[c.masters:] {
		// Refused while the node has not met its primary.
		if err := insist([]*Server{replica}, "CLUSTER", "REPLICATE", c.Nodes[i%c.masters].id); err != nil {
			return err
		}
	}
	return c.await(c.complete)
}

func (c *Cluster) addSlots(i int) []string {
	words := []string{"CLUSTER", "ADDSLOTS"}
	n := c.masters
	for slot := i * backend.Slots / n; slot < (i+1)*backend.Slots/n; slot++ {
		words = append(words, strconv.Itoa(slot))
	}
	return words
}

// complete returns nil if a node knows all nodes and a node for each slot, and follows its primary if it is a replica.
func (c *Cluster) complete(node *Server) error {
	text, err := text(node.Do("CLUSTER", "INFO"))
	if err != nil {
		return err
	}
	info := fields(text)
	if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != strconv.Itoa(len(c.Nodes)) ||
		info["cluster_size"] != strconv.Itoa(c.masters) || info["cluster_slots_ok"] != strconv.Itoa(backend.Slots) {
		return fmt.Errorf("%s is not ready:\n%s", node.Addr(), text)
	}
	role, err := node.Info("replication")
	if err != nil || len(c.Nodes) == c.masters {
		return err
	}
	// A node notes which node follows which. Later versions of Redis do not start again on an early note.
	shards, err := items(node.Do("CLUSTER", "SHARDS"))
	if err == nil && (len(shards) != c.masters || role["role"] != "master" && role["master_link_status"] != "up") {
		err = fmt.Errorf("%s does not follow its primary", node.Addr())
	}
	return err
}

// await waits until check returns nil for every node.
func (c *Cluster) await(check func(node *Server) error) error {
	return each(c.Nodes, func(node *Server) error { return await(nil, func() error { return check(node) }) })
}

// Owner returns the index of the node that owns slot, by the node's own account. Nodes that do not
// answer, or are isolated, own none.
func (c *Cluster) Owner(slot int) (int, error) {
	var failed error
	for _, node := range c.connected() {
		owner, err := ownerSeenBy(node, slot)
		if err == nil && owner == node.id {
			return slices.Index(c.Nodes, node), nil
		}
		failed = errors.Join(failed, err)
	}
	return 0, errors.Join(fmt.Errorf("no node owns slot %d", slot), failed)
}

// ownerSeenBy returns the id of the node that a node takes for the owner of slot.
func ownerSeenBy(node *Server, slot int) (string, error) {
	nodes, err := text(node.Do("CLUSTER", "NODES"))
	for line := range strings.Lines(nodes) {
		words := strings.Fields(line)
		for _, slots := range words[min(8, len(words)):] {
			first, last, _ := strings.Cut(slots, "-")
			from, err := strconv.Atoi(first) // "[" begins a slot that moves.
			to, _ := strconv.Atoi(cmp.Or(last, first))
			if err == nil && from <= slot && slot <= to {
				return words[0], nil
			}
		}
	}
	return "", err
}

// awaitOwner waits until all nodes know an owner of slot that is as wanted.
func (c *Cluster) awaitOwner(slot int, wanted func(id string) bool) error {
	return c.await(func(node *Server) error {
		owner, err := ownerSeenBy(node, slot)
		if err == nil && !wanted(owner) {
			err = fmt.Errorf("%s does not know the new owner of slot %d", node.Addr(), slot)
		}
		return err
	})
}

// Restart ends all nodes and starts them again as [Server.Restart] does.
func (c *Cluster) Restart(data Data) error {
	if err := restartAll(c.Nodes, data); err != nil {
		return err
	}
	return c.await(c.complete)
}

// Primaries returns the nodes that are primaries by their own account, in the order of Nodes. Nodes
// that do not answer, or are isolated, are none.
func (c *Cluster) Primaries() []*Server {
	var primaries []*Server
	for _, node := range c.connected() {
		if info, err := node.Info("replication"); err == nil && info["role"] == "master" {
			primaries = append(primaries, node)
		}
	}
	return primaries
}

// connected returns the nodes that are not isolated.
func (c *Cluster) connected() []*Server { return without(c.Nodes, c.isolated.Load()) }

// shard returns the index of the node that owns slot, and the nodes that follow it.
func (c *Cluster) shard(slot int) (owner int, replicas []*Server, err error) {
	if owner, err = c.Owner(slot); err != nil {
		return 0, nil, err
	}
	for _, node := range c.Nodes {
		info, err := node.Info("replication")
		if err != nil {
			return 0, nil, err
		}
		if info["role"] != "master" && following(info, c.Nodes[owner]) {
			replicas = append(replicas, node)
		}
	}
	if len(replicas) == 0 {
		return 0, nil, fmt.Errorf("node %d has no replica", owner)
	}
	return owner, replicas, nil
}

// FailOver makes a replica the owner of slot and of all else that its primary had, and waits until
// every node knows and the old primary follows. What the primary had written before the call is
// kept. What unseen, if it is not nil, writes meanwhile is lost, and so may be what others write.
func (c *Cluster) FailOver(slot int, unseen func() error) error {
	old, replicas, err := c.shard(slot)
	if err != nil {
		return err
	}
	err = replace(c.Nodes[old], replicas, unseen, func() error { return takeOver(replicas[0]) })
	if err != nil {
		return err
	}
	return c.awaitReplaced(slot, old)
}

// takeOver makes a replica a primary without the votes of others: those for another failover soon
// after would be refused.
func takeOver(replica *Server) error {
	if err := replica.run("CLUSTER", "FAILOVER", "TAKEOVER"); err != nil {
		return err
	}
	return replica.awaitInfo("replication", func(info map[string]string) bool { return info["role"] == "master" })
}

// awaitReplaced waits until all nodes know an owner of slot that is not node old, and all is complete.
func (c *Cluster) awaitReplaced(slot, old int) error {
	err := c.awaitOwner(slot, func(id string) bool { return id != "" && id != c.Nodes[old].id })
	if err != nil {
		return err
	}
	return c.await(c.complete)
}

// Isolate cuts the owner of slot off from all other nodes, but not from clients, and makes a replica the owner. The
// old one goes on as the owner by its own account: nothing is closed, and it answers, after some seconds that its
// cluster is down. rejoin makes it a replica of the new one. Meanwhile the other methods look at the others only.
func (c *Cluster) Isolate(slot int) (rejoin func() error, err error) {
	old, replicas, err := c.shard(slot)
	if err != nil {
		return nil, err
	}
	if err := caughtUp(c.Nodes[old], replicas...); err != nil {
		return nil, err
	}
	c.bus.isolate(c.Nodes[old].id)
	c.isolated.Store(c.Nodes[old])
	rejoin = func() error {
		c.bus.isolate("")
		c.isolated.Store(nil)
		return c.awaitReplaced(slot, old)
	}
	if err := takeOver(replicas[0]); err != nil {
		return nil, errors.Join(err, rejoin())
	}
	return rejoin, nil
}

// Migration is the move of one slot from one node of a cluster to another, in the steps that an
// operator's tool takes. Between the steps clients get ASK and TRYAGAIN, after it MOVED.
type Migration struct {
	cluster  *Cluster
	slot     int
	from, to int
}

// BeginMigration marks slot as on the move from its owner to the node with index to. The keys are
// still where they were: the owner answers ASK for those that it does not have.
func (c *Cluster) BeginMigration(slot, to int) (*Migration, error) {
	if to < 0 || to >= len(c.Nodes) {
		return nil, fmt.Errorf("to: want 0 to %d, got %d", len(c.Nodes)-1, to)
	}
	from, err := c.Owner(slot)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("to: node %d owns slot %d already", to, slot)
	}
	m := &Migration{cluster: c, slot: slot, from: from, to: to}
	if err := m.set(to, "IMPORTING", c.Nodes[from].id); err != nil {
		return nil, err
	}
	return m, m.set(from, "MIGRATING", c.Nodes[to].id)
}

func (m *Migration) set(node int, state, id string) error {
	return m.cluster.Nodes[node].run("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), state, id)
}

// MoveKeys moves the keys that the slot has now. Keys made later are made at the new owner, since
// the old one answers ASK for what it lacks. It may be called again.
func (m *Migration) MoveKeys() error {
	from, to := m.cluster.Nodes[m.from], m.cluster.Nodes[m.to]
	for {
		keys, err := items(from.Do("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.slot), "100"))
		if err != nil || len(keys) == 0 {
			return err
		}
		words := []string{"MIGRATE", loopback.Host, strconv.Itoa(to.port), "", "0", "10000", "KEYS"}
		for _, key := range keys {
			name, err := key.Text()
			if err != nil {
				return err
			}
			words = append(words, name)
		}
		if err := from.run(words...); err != nil {
			return err
		}
	}
}

// Finish gives the slot to its new owner, and waits until every node knows.
func (m *Migration) Finish() error {
	c, id := m.cluster, m.cluster.Nodes[m.to].id
	// The new owner first: were it to miss the news, the slot would be lost.
	if err := m.set(m.to, "NODE", id); err != nil {
		return err
	}
	for i, node := range c.Nodes {
		// Replicas refuse the command, and learn it from the others.
		if i != m.to && slices.Contains(c.Primaries(), node) {
			if err := m.set(i, "NODE", id); err != nil {
				return err
			}
		}
	}
	return c.awaitOwner(m.slot, func(owner string) bool { return owner == id })
}
