package primitives

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// leaseKind is the [extend.LeasableKind] of all objects: the scripts of a kind, and what they get apart from names. One
// script handles the leases of all objects whose leaseKinds are equal.
type leaseKind struct {
	*leaseScripts
	publish  string         // the command
	tokenTTL *time.Duration // of the client
	limit    int64          // of a counting semaphore by arrival, otherwise 0
}

// leaseKind returns the kind of this client's objects with these scripts, which all of them share: there may be very
// many.
func (c *Client) leaseKind(scripts *leaseScripts) extend.LeasableKind {
	kind, known := c.kinds.Load(scripts)
	if !known {
		kind, _ = c.kinds.LoadOrStore(scripts, c.newLeaseKind(scripts))
	}
	return kind.(extend.LeasableKind) //nolint:forcetypeassert // Only kinds are stored.
}

func (c *Client) newLeaseKind(scripts *leaseScripts) leaseKind {
	return leaseKind{leaseScripts: scripts, publish: c.core.Capabilities().Publish(), tokenTTL: &c.tokenTTL}
}

// leaseScripts are the scripts that renew and release many leases of one kind, and the names that they get.
type leaseScripts struct {
	objects string                           // what errors call them
	channel func(key string) string          // of an object's releases
	renewed func(key, owner string) []string // the keys of one renewal; nil: the object's own
	freed   func(key, owner string) []string // the keys of one release; nil: the object's own
	renew   renewal
	release func(ctx context.Context, r backend.ScriptRunner, k leaseKind, keys, owners, channels []string) ([]int64, error)
}

func (k leaseKind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	statuses, others, err := k.renew(ctx, r, leaseKeys(keys, owners, k.renewed), lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew %s: %w", k.objects, err)
	}
	return statusesOf(statuses, others), nil
}

func (k leaseKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	channels := make([]string, len(keys))
	for i, key := range keys {
		channels[i] = k.channel(key)
	}
	statuses, err := k.release(ctx, r, k, leaseKeys(keys, owners, k.freed), owners, channels)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", k.objects, err)
	}
	return statusesOf(statuses, nil), nil
}

// renewal is a script that renews many leases. others are the owners that hold objects instead, in the order of the
// statuses that say so.
type renewal func(
	ctx context.Context, r backend.ScriptRunner, keys []string, lease time.Duration, owners []string,
) (statuses []int64, others []string, err error)

// renewing returns the renewal by a script, of whose result parts returns the statuses and the others.
func renewing[T any](
	script func(context.Context, backend.ScriptRunner, []string, time.Duration, []string) (T, error),
	parts func(T) ([]int64, []string),
) renewal {
	return func(ctx context.Context, r backend.ScriptRunner, keys []string, lease time.Duration, owners []string) (
		statuses []int64, others []string, err error,
	) {
		result, err := script(ctx, r, keys, lease, owners)
		statuses, others = parts(result)
		return statuses, others, err
	}
}

// onlyStatuses are the parts of a script that returns statuses alone, since an object has many owners.
func onlyStatuses(statuses []int64) ([]int64, []string) { return statuses, nil }

// renewLocks is the renewal of locks in hashes.
var renewLocks = renewing(script.LockRenew, func(r script.LockRenewResult) ([]int64, []string) {
	return r.Status, r.Others
})

// renewTexts is the renewal of locks in strings.
var renewTexts = renewing(script.MutexRenew, func(r script.MutexRenewResult) ([]int64, []string) {
	return r.Status, r.Others
})

// publishing returns the release by a script that gets keys, the command, owners and channels.
func publishing(
	release func(context.Context, backend.ScriptRunner, []string, string, []string, []string) ([]int64, error),
) func(context.Context, backend.ScriptRunner, leaseKind, []string, []string, []string) ([]int64, error) {
	return func(
		ctx context.Context, r backend.ScriptRunner, k leaseKind, keys, owners, channels []string,
	) ([]int64, error) {
		return release(ctx, r, keys, k.publish, owners, channels)
	}
}

func sideNames(side string) func(key string) string {
	return func(key string) string { return extend.SideName(side, key) }
}

func leaseKeys(keys, owners []string, one func(key, owner string) []string) []string {
	if one == nil {
		return keys
	}
	var all []string
	for i, key := range keys {
		all = append(all, one(key, owners[i])...)
	}
	return all
}

// statusesOf reads the statuses of a script that renews or releases many leases.
func statusesOf(statuses []int64, others []string) []extend.Status {
	result := make([]extend.Status, len(statuses))
	for i, status := range statuses {
		switch status {
		case 1:
			result[i] = extend.Done
		case 0:
			result[i] = extend.NotHeld
		case -1:
			result[i] = extend.OtherKind
		case 3:
			result[i], others = takenByFirst(others)
		default:
			result[i] = extend.Failed
		}
	}
	return result
}

// takenByFirst returns the status of an owner whose object the first of others holds, and the rest.
func takenByFirst(others []string) (status extend.Status, rest []string) {
	if len(others) == 0 {
		return extend.TakenBy(""), nil
	}
	return extend.TakenBy(fieldOwner(others[0])), others[1:]
}
