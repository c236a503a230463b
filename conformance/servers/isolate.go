package servers

import (
	"errors"
	"slices"
)

// Isolate cuts the primary off from all other servers, but not from clients, and makes the
// sentinels replace it. It goes on as a primary: nothing is closed, and it answers, but nobody
// publishes there any more who asks the sentinels. rejoin makes it a replica of the new primary.
func (s *Sentinel) Isolate() (rejoin func() error, err error) {
	old, err := s.Primary()
	if err != nil {
		return nil, err
	}
	if err := s.Sync(); err != nil {
		return nil, err
	}
	// Sentinels make a replica of what was a primary, and end its clients' connections, by these.
	_, err = old.Do("ACL", "SETUSER", "default", "-replicaof", "-slaveof", "-client|kill")
	if err != nil {
		return nil, err
	}
	rejoin = func() error {
		if _, err := old.Do("ACL", "SETUSER", "default", "+@all"); err != nil {
			return err
		}
		return s.Await()
	}
	err = awaitNil(func() error {
		_, err := s.promoteOne(without(s.Nodes, old))
		return err
	})
	if err == nil {
		err = s.awaitReplaced(old)
	}
	if err != nil {
		return nil, errors.Join(err, rejoin())
	}
	return rejoin, nil
}

// awaitReplaced waits until all sentinels name another primary.
func (s *Sentinel) awaitReplaced(old *Server) error {
	for _, one := range s.Sentinels {
		err := awaitNil(func() error {
			now, err := s.primarySeenBy(one)
			if err == nil && now == old {
				err = errors.New("the primary was not replaced")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Isolate cuts the owner of slot off from all other nodes, but not from clients, and makes a
// replica the owner. The old one goes on as the owner by its own account: nothing is closed, and it
// answers, after some seconds that its cluster is down. rejoin makes it a replica of the new one.
// Meanwhile the other methods look at the others only.
func (c *Cluster) Isolate(slot int) (rejoin func() error, err error) {
	i, err := c.Owner(slot)
	if err != nil {
		return nil, err
	}
	replicas, err := c.replicasOf(i)
	if err != nil {
		return nil, err
	}
	if err := caughtUp(c.Nodes[i], replicas...); err != nil {
		return nil, err
	}
	c.bus.isolate(c.ids[i])
	c.isolated.Store(c.Nodes[i])
	rejoin = func() error {
		c.bus.isolate("")
		c.isolated.Store(nil)
		return c.awaitOwner(slot, i)
	}
	if err := takeOver(replicas[0]); err != nil {
		return nil, errors.Join(err, rejoin())
	}
	return rejoin, nil
}

// connected returns the nodes that are not isolated.
func (c *Cluster) connected() []*Server {
	alone := c.isolated.Load()
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(s *Server) bool { return s == alone })
}
