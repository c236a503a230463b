package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// FencedLock is a [Lock] whose last fencing token is kept for ever, so that it can be asked for, and
// so that processes with Redisson's RFencedLock can share the lock: they count up from the last token,
// and restart at 1 where there is none. It leaves a key of about 150 bytes for every name that was
// ever locked. Where no Java process shares the lock, a Lock has tokens as good.
//
// A grant's token is higher than that of every earlier grant of the name: over crashes, the end of
// leases, ForceUnlock, and a server clock that is set back. If the token key is lost, because somebody
// deletes it or a replica that lags behind is promoted, the next token is the server's time in
// microseconds, which is higher still if the servers' clocks differ by less than the time between the
// two grants. Where a Java process made the next grant then, its token is 1.
//
// Do not use one name for a Lock and a FencedLock: the Lock's grants let the last token expire.
//
// Source: Redisson's RFencedLock, by key, token key and channel.
type FencedLock struct {
	exclusiveLock
}

// NewFencedLock returns the fenced lock called name, as [Client.NewLock] does.
func (c *Client) NewFencedLock(name string, opts *LockOptions) *FencedLock {
	l := &FencedLock{}
	l.init(c, "fenced lock", name, opts, nil)
	return l
}

// LastToken returns the token of the last grant, whether its owner still holds the lock or not; 0 if
// there was none. A holder asks [Lease.Token] for its own instead.
func (l *FencedLock) LastToken(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return read(script.LockLastToken(ctx, l.base.Runner(), l.base.Key(), l.tokenKey))
	})
}
