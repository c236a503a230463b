package servers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hasp-go/hasp/backend"
)

// ClusterOptions are the options of a cluster; nil means the defaults.
type ClusterOptions struct {
	// Server holds the options of each node.
	Server Options

	// Replicas is how many replicas each primary has.
	Replicas int

	// Proxied puts a proxy before each node, whose address the node announces, so that clients
	// pass through it wherever they are redirected. Replicas would, too: it goes without them.
	Proxied bool

	_ struct{}
}

// Cluster is a running cluster. The slots are spread over its primaries in equal parts, the lowest
// slots on the first.
type Cluster struct {
	// Nodes are the nodes: those that began as primaries, then their replicas, the first replica of
	// each before the second ones. Their Addr bypasses the proxies.
	Nodes []*Server

	// Proxies are those of the nodes, in their order; nil without [ClusterOptions.Proxied].
	Proxies []*Proxy

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
	Need(tb, kind)
	c, err := LaunchCluster(kind, masters, opts)
	if err != nil {
		tb.Fatalf("starting cluster of %s: %v", kind, err)
	}
	tb.Cleanup(func() { endAll(tb, c.Nodes, c.Close) })
	return c
}

// SharedCluster returns a cluster with default options that all tests of this process share, under
// the rules of [Shared].
func SharedCluster(tb TB, kind Kind, masters int) *Cluster {
	tb.Helper()
	c, _ := share(tb, sharedKey{kind: kind, masters: masters}, func() (closer, error) {
		return LaunchCluster(kind, masters, nil)
	}).(*Cluster)
	tb.Cleanup(func() {
		for _, node := range c.Nodes {
			node.showLog(tb)
		}
	})
	return c
}

// LaunchCluster starts a cluster and waits until each node finds it complete. The caller must close
// it.
func LaunchCluster(kind Kind, masters int, opts *ClusterOptions) (*Cluster, error) {
	var o ClusterOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case masters < 1:
		return nil, fmt.Errorf("masters: want 1 or more, got %d", masters)
	case o.Replicas < 0 || o.Proxied && o.Replicas > 0:
		return nil, fmt.Errorf("ClusterOptions.Replicas: want 0 or more, 0 with Proxied, got %d",
			o.Replicas)
	}
	n := masters * (1 + o.Replicas)
	c := &Cluster{Nodes: make([]*Server, n), ids: make([]string, n), masters: masters}
	if o.Proxied {
		c.Proxies = make([]*Proxy, n)
	}
	if o.Replicas > 0 {
		c.bus, c.busPorts = newBus(), make([]int, n)
	}
	err := each(n, func(i int) error { return c.launchNode(i, kind, o) })
	if err == nil {
		err = c.form()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// each calls f for 0 to n-1, at the same time.
func each(n int, f func(i int) error) error {
	failures := make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { failures[i] = f(i) })
	}
	work.Wait()
	return errors.Join(failures...)
}

func (c *Cluster) launchNode(i int, kind Kind, o ClusterOptions) error {
	config := map[string]string{"cluster-enabled": "yes", "cluster-node-timeout": "5000"}
	if o.Proxied {
		p, err := LaunchProxy("", nil) // Its target follows: the node needs its port first.
		if err != nil {
			return err
		}
		c.Proxies[i] = p
		config["cluster-announce-ip"] = host
		config["cluster-announce-port"] = strconv.Itoa(p.Port())
	}
	var announced *busNode
	if c.bus != nil {
		var err error
		if announced, c.busPorts[i], err = c.bus.open(); err != nil {
			return err
		}
		config["cluster-announce-bus-port"] = strconv.Itoa(c.busPorts[i])
	}
	maps.Copy(config, o.Server.Config)
	s, err := Launch(kind, &Options{Config: config})
	if err != nil {
		return err
	}
	c.Nodes[i] = s
	if o.Proxied {
		c.Proxies[i].setTarget(s.Addr())
	}
	reply, err := s.Do("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	c.ids[i], err = reply.Text()
	if c.bus != nil {
		c.bus.started(announced, c.ids[i], s.Port())
	}
	return err
}

// form spreads the slots, introduces the nodes to each other and waits until all agree.
func (c *Cluster) form() error {
	for i, node := range c.Nodes {
		// Epochs of their own keep the nodes from settling a conflict first.
		if _, err := node.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < c.masters {
			if _, err := node.Do(c.addSlots(i)...); err != nil {
				return err
			}
		}
		for j := range i {
			if _, err := node.Do(c.meet(j)...); err != nil {
				return err
			}
		}
	}
	err := c.await(func(i int) error {
		if i < c.masters {
			return nil
		}
		// Refused while the node has not met its primary.
		_, err := c.Nodes[i].Do("CLUSTER", "REPLICATE", c.ids[i%c.masters])
		return err
	})
	if err != nil {
		return err
	}
	return c.Await()
}

func (c *Cluster) addSlots(i int) []string {
	words := []string{"CLUSTER", "ADDSLOTS"}
	n := c.masters
	for slot := i * backend.Slots / n; slot < (i+1)*backend.Slots/n; slot++ {
		words = append(words, strconv.Itoa(slot))
	}
	return words
}

func (c *Cluster) meet(i int) []string {
	port := c.Nodes[i].Port()
	bus := port + busDistance
	if c.bus != nil {
		bus = c.busPorts[i]
	}
	if c.Proxies != nil {
		port = c.Proxies[i].Port()
	}
	return []string{"CLUSTER", "MEET", host, strconv.Itoa(port), strconv.Itoa(bus)}
}

// complete returns nil if node i knows all nodes and a node for each slot, and follows its primary
// if it is a replica.
func (c *Cluster) complete(i int) error {
	reply, err := c.Nodes[i].Do("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	text, err := reply.Text()
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
	reply, err := c.Nodes[i].Do("CLUSTER", "SHARDS")
	if err != nil {
		return err
	}
	shards, err := reply.Items()
	if err == nil && (len(shards) != c.masters ||
		role["role"] != "master" && role["master_link_status"] != "up") {
		err = fmt.Errorf("node %d does not follow its primary", i)
	}
	return err
}

// await waits until check returns nil for every node.
func (c *Cluster) await(check func(i int) error) error {
	for i := range c.Nodes {
		if err := awaitNil(func() error { return check(i) }); err != nil {
			return err
		}
	}
	return nil
}

// Addrs returns the addresses for clients: of the proxies, if there are any, else of the nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		if addrs[i] = node.Addr(); c.Proxies != nil {
			addrs[i] = c.Proxies[i].Addr()
		}
	}
	return addrs
}

// Await waits, for up to 30 s, until each node finds the cluster complete, as after a restart.
// A node that was killed must be back.
func (c *Cluster) Await() error { return c.await(c.complete) }

// Each runs one command on every node, one after the other, and returns the first error.
func (c *Cluster) Each(words ...string) error {
	for _, node := range c.Nodes {
		if _, err := node.Do(words...); err != nil {
			return err
		}
	}
	return nil
}

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
	reply, err := c.Nodes[i].Do("CLUSTER", "SLOTS")
	if err != nil {
		return "", err
	}
	ranges, err := reply.Items()
	if err != nil {
		return "", err
	}
	for _, item := range ranges {
		first, last, id, err := slotRange(item)
		if err != nil {
			return "", err
		}
		if int64(slot) >= first && int64(slot) <= last {
			return id, nil
		}
	}
	return "", nil
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

// Close ends all nodes and proxies. Closing twice is allowed.
func (c *Cluster) Close() error {
	var err error
	for _, p := range c.Proxies {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if c.bus != nil {
		err = errors.Join(err, c.bus.Close())
	}
	return errors.Join(err, closeAll(c.Nodes))
}
