package servers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hasp-go/hasp/backend"
)

// Migration is the move of one slot from one node of a cluster to another, in the steps that an
// operator's tool takes. Between the steps clients get ASK and TRYAGAIN, after it MOVED.
type Migration struct {
	cluster  *Cluster
	slot     string
	n        int
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
	m := &Migration{cluster: c, slot: strconv.Itoa(slot), n: slot, from: from, to: to}
	if err := m.set(to, "IMPORTING", c.ids[from]); err != nil {
		return nil, err
	}
	return m, m.set(from, "MIGRATING", c.ids[to])
}

func (m *Migration) set(node int, words ...string) error {
	_, err := m.cluster.Nodes[node].Do(append([]string{"CLUSTER", "SETSLOT", m.slot}, words...)...)
	return err
}

// MoveKeys moves the keys that the slot has now. Keys made later are made at the new owner, since
// the old one answers ASK for what it lacks. It may be called again.
func (m *Migration) MoveKeys() error {
	from, to := m.cluster.Nodes[m.from], m.cluster.Nodes[m.to]
	for {
		reply, err := from.Do("CLUSTER", "GETKEYSINSLOT", m.slot, "100")
		if err != nil {
			return err
		}
		keys, err := reply.Items()
		if err != nil || len(keys) == 0 {
			return err
		}
		words := []string{"MIGRATE", host, strconv.Itoa(to.Port()), "", "0", "10000", "KEYS"}
		for _, key := range keys {
			text, err := key.Text()
			if err != nil {
				return err
			}
			words = append(words, text)
		}
		if _, err := from.Do(words...); err != nil {
			return err
		}
	}
}

// Finish gives the slot to its new owner, and waits until every node knows.
func (m *Migration) Finish() error {
	c, id := m.cluster, m.cluster.ids[m.to]
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
	return c.await(func(i int) error {
		owner, err := c.ownerSeenBy(i, m.n)
		if err == nil && owner != id {
			err = fmt.Errorf("node %d does not know the new owner of slot %s", i, m.slot)
		}
		return err
	})
}

// Cancel leaves the slot with its old owner. Keys that were moved, or made meanwhile, stay where
// they are and are lost to clients.
func (m *Migration) Cancel() error {
	return errors.Join(m.set(m.from, "STABLE"), m.set(m.to, "STABLE"))
}

// MigrateSlot moves slot with its keys to the node with index to, all steps at once.
func (c *Cluster) MigrateSlot(slot, to int) error {
	if slot < 0 || slot >= backend.Slots {
		return fmt.Errorf("slot: want 0 to %d, got %d", backend.Slots-1, slot)
	}
	m, err := c.BeginMigration(slot, to)
	if err != nil {
		return err
	}
	if err := m.MoveKeys(); err != nil {
		return err
	}
	return m.Finish()
}
