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

// replicasOf returns the nodes that follow node i.
func (c *Cluster) replicasOf(i int) ([]*Server, error) {
	var replicas []*Server
	for _, node := range c.Nodes {
		info, err := node.Info("replication")
		if err != nil {
			return nil, err
		}
		if info["role"] != "master" && following(info, c.Nodes[i]) {
			replicas = append(replicas, node)
		}
	}
	if len(replicas) == 0 {
		return nil, fmt.Errorf("node %d has no replica", i)
	}
	return replicas, nil
}

// FailOver makes a replica the owner of slot and of all else that its primary had, and waits until
// every node knows and the old primary follows. What the primary had written before the call is
// kept. What unseen, if it is not nil, writes meanwhile is lost, and so may be what others write.
func (c *Cluster) FailOver(slot int, unseen func() error) error {
	old, err := c.Owner(slot)
	if err != nil {
		return err
	}
	replicas, err := c.replicasOf(old)
	if err != nil {
		return err
	}
	if err := caughtUp(c.Nodes[old], replicas...); err != nil {
		return err
	}
	if unseen != nil {
		if err := errors.Join(cutOff(c.Nodes[old], replicas...), unseen()); err != nil {
			return err
		}
	}
	err = takeOver(replicas[0])
	if err := errors.Join(err, letFollow(replicas...)); err != nil {
		return err
	}
	return c.awaitOwner(slot, old)
}

// takeOver makes a replica a primary without the votes of others: those for another failover soon
// after would be refused.
func takeOver(replica *Server) error {
	if _, err := replica.Do("CLUSTER", "FAILOVER", "TAKEOVER"); err != nil {
		return err
	}
	return replica.awaitInfo("replication", func(info map[string]string) bool {
		return info["role"] == "master"
	})
}

// awaitOwner waits until all nodes that answer agree on an owner of slot that is not node old, and
// all is complete.
func (c *Cluster) awaitOwner(slot, old int) error {
	err := c.await(func(i int) error {
		owner, err := c.ownerSeenBy(i, slot)
		if err == nil && (owner == "" || owner == c.ids[old]) {
			err = fmt.Errorf("node %d does not know the new owner of slot %d", i, slot)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Await()
}

// Crash kills the owner of slot, and waits until the others have replaced it: for the
// cluster-node-timeout, 5 s by default here, and some more. It returns the killed node;
// [Server.Restart], then [Cluster.Await] bring it back as a replica.
func (c *Cluster) Crash(slot int) (*Server, error) {
	old, err := c.Owner(slot)
	if err != nil {
		return nil, err
	}
	c.Nodes[old].Kill()
	return c.Nodes[old], awaitNil(func() error {
		_, err := c.Owner(slot)
		return err
	})
}

// Restart ends all nodes and starts them again as [Server.Restart] does.
func (c *Cluster) Restart(data Data) error {
	if err := restartAll(c.Nodes, data); err != nil {
		return err
	}
	return c.Await()
}
