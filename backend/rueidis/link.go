package rueidisbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/backend/fanout"
)

// dialer implements [fanout.Dialer].
type dialer struct {
	client  rueidis.Client
	pools   *pools
	sharded bool
	slots   *slots // nil if there is one node
}

// Node names the primary of channel's slot, also for channels that are not sharded: scripts
// publish there, so messages need not cross the cluster's bus.
func (d *dialer) Node(ctx context.Context, channel string) (string, error) {
	if d.slots == nil {
		return "", nil
	}
	return d.slots.primary(ctx, channel)
}

// Dial takes a connection out of the client's pool for good.
func (d *dialer) Dial(ctx context.Context, node string, events fanout.Events) (fanout.Link, error) {
	client := d.client
	if d.slots == nil {
		node = onlyNode(client)
	} else if client = d.client.Nodes()[node]; client == nil {
		d.slots.forget()
		return nil, fmt.Errorf("the client does not know node %s", node)
	}
	conn, err := d.pools.take(ctx, node, client)
	if err != nil {
		return nil, err
	}
	l := &link{dialer: d, conn: conn, home: node}
	if err := l.listen(ctx, events); err != nil {
		return nil, err
	}
	return l, nil
}

// onlyNode returns the address of a client's only node; a client of Sentinel changes it after a
// failover.
func onlyNode(client rueidis.Client) string {
	nodes := client.Nodes()
	for address := range nodes {
		if len(nodes) == 1 {
			return address
		}
	}
	return ""
}

// link implements [fanout.Link] on a connection of its own, and no [fanout.Unsubscriber]: the client writes a PING after
// each UNSUBSCRIBE and SUNSUBSCRIBE. If a server that is busy, or that cannot save, answers one of the two with an error,
// the client panics in a goroutine of its own, which ends the process.
type link struct {
	dialer *dialer
	conn   rueidis.DedicatedClient
	home   string // its node; empty if not known
}

// listen begins to report what arrives. It may dial, which knows no context.
func (l *link) listen(ctx context.Context, events fanout.Events) error {
	listening := evalsha.Async(func() <-chan error { return l.conn.SetPubSubHooks(hooks(events)) })
	select {
	case result := <-listening:
		go l.awaitLoss(result.Get(), events)
		return nil
	case <-ctx.Done():
		go func() {
			<-listening
			l.conn.Close()
		}()
		return ctx.Err()
	}
}

func (l *link) awaitLoss(lost <-chan error, events fanout.Events) {
	err := <-lost
	if l.dialer.slots != nil {
		l.dialer.slots.forget()
	}
	events.Lost(cmp.Or(err, rueidis.ErrClosing))
}

// hooks report to events, from the goroutine that reads the connection.
func hooks(events fanout.Events) rueidis.PubSubHooks {
	return rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { events.Message(m.Channel, m.Message) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			switch s.Kind {
			case "subscribe", "ssubscribe":
				events.Subscribed(s.Channel)
			case "unsubscribe", "sunsubscribe":
				events.Unsubscribed(s.Channel)
			}
		},
	}
}

// Subscribe implements [fanout.Link]. Each command names one channel, because the client matches answers to commands by
// their number only.
func (l *link) Subscribe(ctx context.Context, channels []string) []error {
	cmds := make([]rueidis.Completed, len(channels))
	for i, channel := range channels {
		if l.dialer.sharded {
			cmds[i] = l.conn.B().Ssubscribe().Channel(channel).Build()
		} else {
			cmds[i] = l.conn.B().Subscribe().Channel(channel).Build()
		}
	}
	errs := make([]error, len(channels))
	for i, result := range l.conn.DoMulti(ctx, cmds...) {
		errs[i] = failure(result)
		l.dialer.noteMoved(errs[i])
	}
	return errs
}

// Left implements [fanout.Follower]. A client of Sentinel drops a primary that was replaced. One of
// a cluster goes on with it until a command fails there; so another node is asked, for the one that
// was replaced may not know. A client without nodes has left none: see [slots.nodes].
func (l *link) Left(ctx context.Context) error {
	nodes := l.dialer.client.Nodes()
	if l.home != "" && len(nodes) > 0 && nodes[l.home] == nil {
		return fmt.Errorf("the client has left node %s", l.home)
	}
	if l.dialer.slots == nil {
		return nil
	}
	delete(nodes, l.home)
	ranges, err := askFirst(ctx, nodes)
	isHome := func(r slotRange) bool { return r.primary == l.home }
	if err != nil || slices.ContainsFunc(ranges, isHome) {
		return nil
	}
	l.dialer.slots.leave(l.home)
	return fmt.Errorf("node %s is no primary any more", l.home)
}

// Close implements [fanout.Link]. If the link is silent it blocks for a second.
func (l *link) Close() { l.conn.Close() }

func (d *dialer) noteMoved(err error) {
	if d.slots != nil && errors.Is(err, backend.ScriptError("MOVED")) {
		d.slots.forget()
	}
}
