package servers

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

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
