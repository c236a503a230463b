package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
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

func (p *program) forceUnlock() *cobra.Command {
	owner, now, yes := "", false, false
	c := &cobra.Command{Use: "force-unlock NAME", Short: "Take a lock from its holder"}
	c.Flags().StringVar(&owner, "if-owner", "", "only from this owner, as hasp inspect shows it")
	c.Flags().BoolVar(&now, "now", false, "free it at once, while the holder's command may still run")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	kind := choose(c, "kind", "lock, mutex, fair, read, write or plain", "lock", "mutex", "fair", "read", "write", "plain")
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("if-owner") && owner == "" {
			return usage("--if-owner is empty")
		}
		return names(1, 1)(c, args)
	}
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		if err := confirm(c, yes, now, args[0], owner); err != nil {
			return err
		}
		freed, err := take(c, lockers[*kind](conn.Client, args[0]), owner, now)
		if err == nil && !freed {
			err = &exitError{exitFailed, fmt.Errorf("%q has no such holder: nothing was freed", args[0])}
		}
		return err
	})
	return c
}

// take takes a lock from its holder; with an owner only if that owner holds it. Unless the lock is to be free now,
// nobody can acquire it before the holder's lease has ended.
func take(c *cobra.Command, l locker, owner string, now bool) (bool, error) {
	switch {
	case now && owner == "":
		return l.ForceUnlock(c.Context())
	case now:
		return l.ReleaseOwner(c.Context(), owner)
	}
	left, err := l.Revoke(c.Context(), owner)
	if left > 0 {
		fmt.Fprintf(c.OutOrStdout(), "free in %s\n", left.Round(time.Millisecond))
	}
	return left > 0, err
}

// confirm asks whether to take a lock from its holder.
func confirm(c *cobra.Command, yes, now bool, name, owner string) error {
	if yes {
		return nil
	}
	if !child.HasTerminal() {
		return usage("there is no terminal to ask at: --yes")
	}
	when := map[bool]string{true: "at once", false: "when the holder's lease has ended"}[now]
	fmt.Fprintf(c.ErrOrStderr(), "This takes %q from %s. Another process can acquire it %s. The holder's command runs until\n"+
		"the next renewal, a third of its lease later at most: then its hasp ends it.\nGo on? [y/N] ",
		name, cmp.Or(owner, "its holder"), when)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil && strings.EqualFold(strings.TrimSpace(answer), "y") {
		return nil
	}
	return &exitError{exitFailed, errors.New("nothing was freed")}
}
