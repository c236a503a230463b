package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/primitives"
)

// locker is what all kinds of locks have.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ReleaseOwner(ctx context.Context, owner string) (bool, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Revoke(ctx context.Context, owner string) (time.Duration, error)
}

// lockers are the kinds of locks.
var lockers = map[string]func(client *primitives.Client, name string) locker{
	"lock":  func(c *primitives.Client, name string) locker { return c.NewLock(name, nil) },
	"mutex": func(c *primitives.Client, name string) locker { return c.NewMutex(name, nil) },
	"plain": func(c *primitives.Client, name string) locker { return c.NewPlainLock(name, nil) },
	"fair":  func(c *primitives.Client, name string) locker { return c.NewFairLock(name, nil) },
	"read":  func(c *primitives.Client, name string) locker { return c.NewReadWriteLock(name, nil).ReadLock() },
	"write": func(c *primitives.Client, name string) locker { return c.NewReadWriteLock(name, nil).WriteLock() },
}

// lock returns a command that runs another while it holds a lock, which a flag chooses if there are several kinds.
func (p *program) lock(use, how string, kinds ...string) *cobra.Command {
	metadata, kind := "", &kinds[0]
	c := &cobra.Command{Use: use, Short: "Run a command while holding a lock" + how}
	r := p.addRunner(c)
	r.shared = use == "read"
	r.addWait(c, "n")
	if len(kinds) > 1 {
		kind = choose(c, "kind", "lock, mutex (in order, faster with many waiters), fair (in order, shared with Redisson) or plain (shared with other languages, no token)", kinds...)
		c.Flags().StringVar(&metadata, "metadata", "", "a text that others see: see hasp inspect")
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *kind != "lock" && metadata != "" {
			return usage("--metadata needs --kind lock")
		}
		return r.run(c, func(client *primitives.Client) (try, wait acquire) {
			l := lockers[*kind](client, r.name)
			if metadata != "" {
				l = client.NewLock(r.name, &primitives.LockOptions{Metadata: metadata})
			}
			return l.TryLock, l.Lock
		})
	}
	return c
}

func (p *program) slot() *cobra.Command {
	slots := 0
	c := &cobra.Command{Use: "slot", Short: "Run a command while holding one of several slots"}
	r := p.addRunner(c)
	r.shared = true
	r.addWait(c, "")
	c.Flags().IntVarP(&slots, "slots", "n", 1, "how many there are")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return r.run(c, func(client *primitives.Client) (try, wait acquire) {
			s := client.NewCountingSemaphore(r.name, slots, nil)
			return s.TryAcquire, s.Acquire
		})
	}
	return c
}
