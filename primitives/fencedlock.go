package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// FencedLock is a [Lock] whose last fencing token never expires. So any process can ask for the
// last token, and Java processes can share the lock as Redisson's RFencedLock, which counts up from
// the last token and restarts at 1 if there is none. A FencedLock leaves a key of about 150 bytes
// for every name that was ever locked. If no Java process shares the lock, the tokens of a Lock are
// as good.
//
// A grant's token is higher than the tokens of all earlier grants of the name: after crashes, after
// the end of a lease, after ForceUnlock, and if the server's clock is set back. If the token key is
// lost, because it is deleted, or because a replica that lags behind is promoted, the next token is
// the server's time in microseconds. That is higher, too, if the servers' clocks differ by less
// than the time between the two grants. But if a Java process gets that next grant, its token is 1.
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

// LastToken returns the token of the last grant, even if its owner no longer holds the lock, or 0
// if there was no grant. A holder reads its own token from [Lease.Token] instead.
func (l *FencedLock) LastToken(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return read(script.LockLastToken(ctx, l.base.Runner(), l.base.Key(), l.tokenKey))
	})
}
