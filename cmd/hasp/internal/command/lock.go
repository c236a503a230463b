package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/primitives"
)

// locker is what all kinds of locks have.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
}

func (p *program) lock() *cobra.Command {
	kind, metadata := "", ""
	c := &cobra.Command{Use: "lock", Short: "Run a command while holding a lock"}
	r := p.addRunner(c)
	r.addWait(c, "n")
	c.Flags().StringVar(&kind, "kind", "lock", "lock, mutex (in order, faster with many waiters) or fair (in order, shared with Redisson)")
	offer(c, "kind", "lock", "mutex", "fair")
	c.Flags().StringVar(&metadata, "metadata", "", "a text that others see: see hasp inspect")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case kind != "lock" && kind != "mutex" && kind != "fair":
			return usage("--kind %s is none of lock, mutex and fair", kind)
		case kind != "lock" && metadata != "":
			return usage("--metadata needs --kind lock")
		}
		return r.run(c, func(client *primitives.Client) (try, wait acquire) {
			l := lockOf(client, kind, r.name, metadata)
			return l.TryLock, l.Lock
		})
	}
	return c
}

// lockOf returns the lock of a kind.
func lockOf(client *primitives.Client, kind, name, metadata string) locker {
	switch kind {
	case "mutex":
		return client.NewMutex(name, nil)
	case "fair":
		return client.NewFairLock(name, nil)
	}
	return client.NewLock(name, &primitives.LockOptions{Metadata: metadata})
}

func (p *program) read() *cobra.Command {
	c := &cobra.Command{Use: "read", Short: "Run a command while holding a lock with other readers"}
	return p.readWrite(c, func(l *primitives.ReadWriteLock) locker { return l.ReadLock() })
}

func (p *program) write() *cobra.Command {
	c := &cobra.Command{Use: "write", Short: "Run a command while holding a lock without readers"}
	return p.readWrite(c, func(l *primitives.ReadWriteLock) locker { return l.WriteLock() })
}

// readWrite makes c the command of a part of a read-write lock.
func (p *program) readWrite(c *cobra.Command, part func(*primitives.ReadWriteLock) locker) *cobra.Command {
	r := p.addRunner(c)
	r.addWait(c, "n")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return r.run(c, func(client *primitives.Client) (try, wait acquire) {
			l := part(client.NewReadWriteLock(r.name, nil))
			return l.TryLock, l.Lock
		})
	}
	return c
}

func (p *program) slot() *cobra.Command {
	slots := 0
	c := &cobra.Command{Use: "slot", Short: "Run a command while holding one of several slots"}
	r := p.addRunner(c)
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
