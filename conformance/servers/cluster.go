package servers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// Cluster is a running cluster. The slots are spread over its primaries in equal parts, the lowest
// slots on the first.
type Cluster struct {
	// Nodes are the nodes: those that began as primaries, then their replicas, the first replica of
	// each before the second ones.
	Nodes []*Server

	ids      []string
	masters  int
	busPorts []int
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
	n := masters * (1 + opts.Replicas)
	c := &Cluster{ids: make([]string, n), masters: masters, busPorts: make([]int, n)}
	for range n {
		o := Options{Config: maps.Clone(config)} // Each node announces a port of its own.
		c.Nodes = append(c.Nodes, newServer(kind, &o))
	}
	if opts.Replicas > 0 {
		c.bus = &bus{links: map[*busLink]struct{}{}}
	}
	begin(tb, kind, c, func() error {
		return inTurn(func() error { return each(n, c.launchNode) }, c.form)
	})
	return c
}

func (c *Cluster) servers() []*Server { return c.Nodes }

func (c *Cluster) close() error {
	err := closeAll(c.Nodes)
	if c.bus != nil {
		err = errors.Join(err, c.bus.close())
	}
	return err
}

func (c *Cluster) launchNode(i int) (err error) {
	s := c.Nodes[i]
	var announced *busNode
	if c.bus != nil {
		if announced, err = c.bus.open(); err != nil {
			return err
		}
		s.opts.Config["cluster-announce-bus-port"] = strconv.Itoa(announced.port())
	}
	if err := s.launch(); err != nil {
		return err
	}
	c.ids[i], err = text(s.Do("CLUSTER", "MYID"))
	c.busPorts[i] = s.port + loopback.BusDistance
	if c.bus != nil {
		c.bus.started(announced, c.ids[i], s.port)
		c.busPorts[i] = announced.port()
	}
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
		for j := range i {
			port, bus := strconv.Itoa(c.Nodes[j].port), strconv.Itoa(c.busPorts[j])
			if err := node.run("CLUSTER", "MEET", loopback.Host, port, bus); err != nil {
				return err
			}
		}
	}
	err := c.await(func(i int) error {
		if i < c.masters {
			return nil
		}
		// Refused while the node has not met its primary.
		return c.Nodes[i].run("CLUSTER", "REPLICATE", c.ids[i%c.masters])
	})
	if err != nil {
		return err
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

// complete returns nil if node i knows all nodes and a node for each slot, and follows its primary
// if it is a replica.
func (c *Cluster) complete(i int) error {
	text, err := text(c.Nodes[i].Do("CLUSTER", "INFO"))
	if err != nil {
		return err
	}
	info := fields(text)
	if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != strconv.Itoa(len(c.Nodes)) ||
		info["cluster_size"] != strconv.Itoa(c.masters) ||
		info["cluster_slots_ok"] != strconv.Itoa(backend.Slots) {
		return fmt.Errorf("node %d is not ready:\n%s", i, text)
	}
	if len(c.Nodes) == c.masters {
		return nil
	}
	return c.completeReplication(i)
}

// completeReplication returns nil if node i is a primary or follows one, and knows who follows whom.
// Later Redis and its relatives do not start again on what they noted earlier.
func (c *Cluster) completeReplication(i int) error {
	role, err := c.Nodes[i].Info("replication")
	if err != nil {
		return err
	}
	shards, err := items(c.Nodes[i].Do("CLUSTER", "SHARDS"))
	if err == nil && (len(shards) != c.masters ||
		role["role"] != "master" && role["master_link_status"] != "up") {
		err = fmt.Errorf("node %d does not follow its primary", i)
	}
	return err
}

// await waits until check returns nil for every node.
func (c *Cluster) await(check func(i int) error) error {
	return each(len(c.Nodes), func(i int) error {
		return await(nil, func() error { return check(i) })
	})
}

// Each runs one command on every node.
func (c *Cluster) Each(words ...string) error { return runAll(c.Nodes, words...) }

// Owner returns the index of the node that owns slot, by the node's own account. Nodes that do not
// answer, or are isolated, own none.
func (c *Cluster) Owner(slot int) (int, error) {
	var failed error
	for _, node := range c.connected() {
		i := slices.Index(c.Nodes, node)
		owner, err := c.ownerSeenBy(i, slot)
		if err == nil && owner == c.ids[i] {
			return i, nil
		}
		failed = errors.Join(failed, err)
	}
	return 0, errors.Join(fmt.Errorf("no node owns slot %d", slot), failed)
}

// ownerSeenBy returns the id of the node that node i takes for the owner of slot.
func (c *Cluster) ownerSeenBy(i, slot int) (string, error) {
	ranges, err := items(c.Nodes[i].Do("CLUSTER", "SLOTS"))
	for _, item := range ranges {
		first, last, id, err := slotRange(item)
		if err != nil || int64(slot) >= first && int64(slot) <= last {
			return id, err
		}
	}
	return "", err
}

// slotRange reads [first, last, [ip, port, id, ...], ...] of CLUSTER SLOTS.
func slotRange(item backend.Reply) (first, last int64, id string, err error) {
	parts, err := item.Items()
	if err != nil || len(parts) < 3 {
		return 0, 0, "", errors.Join(err, backend.ErrReply)
	}
	node, err := parts[2].Items()
	if err != nil || len(node) < 3 {
		return 0, 0, "", errors.Join(err, backend.ErrReply)
	}
	first, err1 := parts[0].Int()
	last, err2 := parts[1].Int()
	id, err3 := node[2].Text()
	return first, last, id, errors.Join(err1, err2, err3)
}

// awaitOwner waits until all nodes know an owner of slot that is as wanted.
func (c *Cluster) awaitOwner(slot int, wanted func(id string) bool) error {
	return c.await(func(i int) error {
		owner, err := c.ownerSeenBy(i, slot)
		if err == nil && !wanted(owner) {
			err = fmt.Errorf("node %d does not know the new owner of slot %d", i, slot)
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
