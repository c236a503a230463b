package renew

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/lease"
)

// groupKey is equal for entries that one script can renew together.
type groupKey struct {
	renewer Renewer
	lease   time.Duration
	present time.Duration // the length of their present leases
	slot    int
	denied  bool // their keys count as denied
	waiting
}

func (k *Keeper) groupKeyOf(e *Entry, now instant) groupKey {
	group := groupKey{
		renewer: e.Renewer, lease: e.Lease, present: e.present().length, denied: e.rare != nil && now.at < e.rare.deniedUntil,
		waiting: e.waitingFor(e.Lease),
	}
	if k.bySlot.Load() {
		group.slot = backend.Slot(e.Key)
	}
	return group
}

// renew renews entries of one group, with a deadline that leaves time for other tries.
func (k *Keeper) renew(group groupKey, entries []*Entry) {
	ctx, cancel := context.WithTimeout(k.ctx, group.present/3)
	defer cancel()
	r := k.newReport(entries)
	failed := notRenewed{left: group.lease}
	for parts := [][]*Entry{entries}; len(parts) > 0; parts = parts[1:] {
		halves, err := k.renewOnce(ctx, group, parts[0], &r)
		parts = append(parts, halves...)
		if err != nil {
			failed.add(k, parts[0])
			r.Err = err
		}
	}
	k.report(r)
	if count := len(failed.keys); count > 0 { // Last of all, since the logger may block.
		k.log.Warn("leases not renewed", zap.Int("count", count), zap.Duration("left", failed.left),
			zap.Strings("keys", failed.keys[:min(count, keysInLog)]), zap.Error(r.Err))
	}
}

// notRenewed are entries that were not renewed, and are neither released nor lost.
type notRenewed struct {
	keys []string
	left time.Duration // until the first of them is lost
}

// add adds those of the entries that k still watches.
func (n *notRenewed) add(k *Keeper, entries []*Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, e := range entries {
		if e.state == statePending || e.state == stateHeld {
			n.keys = append(n.keys, e.Key)
			n.left = min(n.left, max(0, e.validFor()-now.since(e.validFrom)))
		}
	}
}

// renewOnce sends one script, and settles its entries. If the server's access list denies a key,
// the error does not name the key: then renewOnce returns the entries in two halves, so
// entries with other keys are renewed. If the keys are in several slots of a cluster, it queues the
// entries again, by slot. After any other refusal there is no such key to find.
func (k *Keeper) renewOnce(
	ctx context.Context, group groupKey, entries []*Entry, r *report,
) (halves [][]*Entry, err error) {
	sent, statuses, shortage, err := k.sendOnce(ctx, group, entries)
	k.noteAnswer(entries[0].Key, err)
	if half := len(entries) / 2; half > 0 && !group.denied && errors.Is(err, backend.ErrKeyDenied) {
		return [][]*Entry{entries[:half], entries[half:]}, nil
	}
	if errors.Is(err, backend.ErrCrossSlot) && k.split(entries) {
		return nil, nil
	}
	lost, failed := k.settle(entries, sent, statuses, err)
	r.Failed += failed
	reportLosses(lost)
	return nil, cmp.Or(err, shortage)
}

// sendOnce sends one script. The shortage is as for [waiting.renew].
func (k *Keeper) sendOnce(
	ctx context.Context, group groupKey, entries []*Entry,
) (sent instant, statuses []batch.Status, shortage, err error) {
	sent = k.now()
	keys, owners := make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		keys[i], owners[i] = e.Key, e.Owner
	}
	statuses, shortage, err = group.renew(ctx, renewal{
		k.runner, group.renewer, keys, owners, group.lease, k.left(entries, sent),
	})
	return sent, statuses, shortage, err
}

// split queues the entries again, with one script for each slot, as for all entries from then on:
// the server is a cluster, although the backend does not say so. It reports false if the entries
// are in one slot.
func (k *Keeper) split(entries []*Entry) bool {
	k.bySlot.Store(true)
	slots := make(map[groupKey][]*Entry)
	k.mu.Lock()
	now := k.now()
	for _, e := range entries {
		group := k.groupKeyOf(e, now)
		slots[group] = append(slots[group], e)
	}
	k.mu.Unlock()
	if len(slots) == 1 {
		return false
	}
	for group, entries := range slots {
		k.enqueue(group, entries)
	}
	return true
}

// settle notes the outcome of a renewal that was sent at sent. It returns the lost entries, and how
// many watched entries were not renewed.
func (k *Keeper) settle(
	entries []*Entry, sent instant, statuses []batch.Status, err error,
) (lost []lostEntry, failed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if len(entries) == 1 && errors.Is(err, backend.ErrKeyDenied) {
		// Meanwhile it is renewed separately, so the other entries need not be halved again.
		entries[0].rarely().deniedUntil = now.at + entries[0].present().length/3
	}
	for i, e := range entries {
		status := batch.At(i, statuses, err)
		e.renewing = false
		if status == batch.Failed && (e.state == statePending || e.state == stateHeld) {
			failed++
		}
		if loss := k.settleOne(e, status, sent, now); loss != nil {
			lost = append(lost, lostEntry{e, loss})
		}
	}
	return lost, failed
}

// settleOne returns why e is lost, or nil if it is not. A reply that comes after the lease expired does not renew it.
// A loss counts only from a renewal that was sent after the grant was confirmed.
func (k *Keeper) settleOne(e *Entry, status batch.Status, sent, now instant) *lease.LossError {
	if e.state != stateHeld && e.state != statePending {
		return nil
	}
	granted := e.state == stateHeld
	if granted && batch.Lost(status) && sent.at > e.grantedAt {
		return k.lose(e, lossOnServer(status))
	}
	if granted && e.expired(now) {
		return k.lose(e, k.lossByClock(e, now))
	}
	e.renewAt = now.at + e.present().length/10
	if status == batch.Done && sent.at >= e.validFrom.at {
		e.validFrom, e.first = sent, span{}
		e.renewAt = sent.at + e.Lease/3
	}
	if e.again {
		e.renewAt, e.again = now.at, false
	}
	k.plan(e, now)
	return nil
}

// surveyed is how many entries a survey looks at.
const surveyed = 2000

// survey reports to OnNodes which nodes have leases, about every checkInterval, and notes which node has which. A lease
// counts when it was held for that long, so a client with short holds has no use of it. If there are very many entries,
// each survey looks at others.
func (k *Keeper) survey() {
	if k.OnNodes == nil {
		return
	}
	entries, all := k.surveyEntries()
	channels := make(map[string]string)
	for _, e := range entries {
		node := k.nodeOf(e.Key)
		k.noteNode(e, node)
		if _, known := channels[node]; known {
			continue
		}
		if channel := k.ChannelOf(e); channel != "" {
			channels[node] = channel
		}
		if k.NodeOf == nil && len(channels) > 0 {
			break
		}
	}
	if len(channels) > 0 || all {
		k.OnNodes(channels, all)
	}
}

// noteNode notes which node has the key of e. If another node had it before, that is a signal for this node: another
// server took its place, or the slot moved.
func (k *Keeper) noteNode(e *Entry, node string) {
	if node == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.roundsOf(node)
	if e.node != 0 && e.node != n.number {
		k.signal(node)
	}
	e.node = n.number
}

// surveyEntries returns leases that a survey looks at, and whether these are all.
func (k *Keeper) surveyEntries() (found []*Entry, all bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.entries) > 0 && now.at < k.surveyAt {
		return nil, false
	}
	k.surveyAt = now.at + checkInterval
	count := min(len(k.entries), surveyed)
	for range count {
		k.surveyNext++
		e := k.entries[k.surveyNext%len(k.entries)]
		if e.state == stateHeld && e.Renewer != nil && now.at-e.grantedAt >= checkInterval {
			found = append(found, e)
		}
	}
	return found, count == len(k.entries)
}
