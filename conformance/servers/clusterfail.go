package servers

import (
	"errors"
	"fmt"
)

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
	return replica.awaitInfo("replication", func(info map[string]string) bool {
		return info["role"] == "master"
	})
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
