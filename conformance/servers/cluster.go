package servers

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// ClusterOptions are the options of a cluster; nil means the defaults.
type ClusterOptions struct {
	// Server holds the options of each node.
	Server Options

	// Proxied puts a proxy before each node, whose address the node announces, so that clients
	// pass through it wherever they are redirected.
	Proxied bool

	_ struct{}
}

// Cluster is a running cluster of primaries, over which the slots are spread in equal parts, the
// lowest slots on the first.
type Cluster struct {
	// Nodes are the primaries. Their Addr bypasses the proxies.
	Nodes []*Server

	// Proxies are those of the nodes, in their order; nil without [ClusterOptions.Proxied].
	Proxies []*Proxy

	ids []string
}

// StartCluster starts a cluster of so many primaries, 3 or more by the servers' own rule for
// failover, that ends with the test; it waits until each node finds it complete. It skips and fails
// the test as [Start] does.
func StartCluster(tb TB, kind Kind, masters int, opts *ClusterOptions) *Cluster {
	tb.Helper()
	Need(tb, kind)
	c, err := LaunchCluster(kind, masters, opts)
	if err != nil {
		tb.Fatalf("starting cluster of %s: %v", kind, err)
	}
	tb.Cleanup(func() {
		c.showLog(tb)
		if err := c.Close(); err != nil {
			tb.Errorf("closing cluster of %s: %v", kind, err)
		}
	})
	return c
}

// SharedCluster returns a cluster with default options that all tests of this process share, under
// the rules of [Shared].
func SharedCluster(tb TB, kind Kind, masters int) *Cluster {
	tb.Helper()
	c, _ := share(tb, sharedKey{kind: kind, masters: masters}, func() (closer, error) {
		return LaunchCluster(kind, masters, nil)
	}).(*Cluster)
	tb.Cleanup(func() { c.showLog(tb) })
	return c
}

// LaunchCluster starts a cluster and waits until each node finds it complete. The caller must close
// it.
func LaunchCluster(kind Kind, masters int, opts *ClusterOptions) (*Cluster, error) {
	if masters < 1 {
		return nil, fmt.Errorf("masters: want 1 or more, got %d", masters)
	}
	var o ClusterOptions
	if opts != nil {
		o = *opts
	}
	c := &Cluster{Nodes: make([]*Server, masters), ids: make([]string, masters)}
	if o.Proxied {
		c.Proxies = make([]*Proxy, masters)
	}
	err := each(masters, func(i int) error { return c.launchNode(i, kind, o) })
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
	return err
}

// form spreads the slots, introduces the nodes to each other and waits until all agree.
func (c *Cluster) form() error {
	for i, node := range c.Nodes {
		// Epochs of their own keep the nodes from settling a conflict first.
		if _, err := node.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if _, err := node.Do(c.addSlots(i)...); err != nil {
			return err
		}
		for j := range i {
			if _, err := node.Do(c.meet(j)...); err != nil {
				return err
			}
		}
	}
	return c.await(func(i int) error { return c.complete(i) })
}

func (c *Cluster) addSlots(i int) []string {
	words := []string{"CLUSTER", "ADDSLOTS"}
	n := len(c.Nodes)
	for slot := i * backend.Slots / n; slot < (i+1)*backend.Slots/n; slot++ {
		words = append(words, strconv.Itoa(slot))
	}
	return words
}

func (c *Cluster) meet(i int) []string {
	port := c.Nodes[i].Port()
	bus := port + busDistance
	if c.Proxies != nil {
		port = c.Proxies[i].Port()
	}
	return []string{"CLUSTER", "MEET", host, strconv.Itoa(port), strconv.Itoa(bus)}
}

// complete returns nil if node i knows all nodes and a node for each slot.
func (c *Cluster) complete(i int) error {
	reply, err := c.Nodes[i].Do("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	text, err := reply.Text()
	if err != nil {
		return err
	}
	info, n := fields(text), strconv.Itoa(len(c.Nodes))
	if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != n ||
		info["cluster_size"] != n || info["cluster_slots_ok"] != strconv.Itoa(backend.Slots) {
		return fmt.Errorf("node %d is not ready:\n%s", i, text)
	}
	return nil
}

// await waits until check returns nil for every node.
func (c *Cluster) await(check func(i int) error) error {
	deadline := time.Now().Add(startTimeout)
	for i := range c.Nodes {
		err := check(i)
		for ; err != nil && time.Now().Before(deadline); err = check(i) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
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

// Owner returns the index of the node that owns slot, by the node's own account.
func (c *Cluster) Owner(slot int) (int, error) {
	for i := range c.Nodes {
		switch owner, err := c.ownerSeenBy(i, slot); {
		case err != nil:
			return 0, err
		case owner == c.ids[i]:
			return i, nil
		}
	}
	return 0, fmt.Errorf("no node owns slot %d", slot)
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

func (c *Cluster) showLog(tb TB) {
	for _, node := range c.Nodes {
		node.showLog(tb)
	}
}

// Close ends all nodes and proxies. Closing twice is allowed.
func (c *Cluster) Close() error {
	var err error
	for _, p := range c.Proxies {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	for _, node := range c.Nodes {
		if node != nil {
			err = errors.Join(err, node.Close())
		}
	}
	return err
}
