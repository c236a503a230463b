package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/primitives"
)

// freer frees a lock that another process holds, at once, or, by Revoke, when the lease of the holder has ended.
type freer interface {
	ReleaseOwner(ctx context.Context, owner string) (bool, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Revoke(ctx context.Context, owner string) (time.Duration, error)
}

// freers are the kinds of locks.
var freers = map[string]func(client *primitives.Client, name string) freer{
	"lock":  func(c *primitives.Client, name string) freer { return c.NewLock(name, nil) },
	"mutex": func(c *primitives.Client, name string) freer { return c.NewMutex(name, nil) },
	"fair":  func(c *primitives.Client, name string) freer { return c.NewFairLock(name, nil) },
	"read":  func(c *primitives.Client, name string) freer { return c.NewReadWriteLock(name, nil).ReadLock() },
	"write": func(c *primitives.Client, name string) freer { return c.NewReadWriteLock(name, nil).WriteLock() },
}

func (p *program) releaseOwner() *cobra.Command {
	now := true
	c := &cobra.Command{Use: "release NAME --owner OWNER", Short: "Free a lock at once, if that owner holds it"}
	p.free(c, "owner", "the owner, as hasp inspect shows it", &now)
	_ = c.MarkFlagRequired("owner")
	return c
}

func (p *program) forceUnlock() *cobra.Command {
	now := false
	c := &cobra.Command{Use: "force-unlock NAME", Short: "Take a lock from its holder"}
	p.free(c, "if-owner", "only from this owner", &now)
	c.Flags().BoolVar(&now, "now", false, "free it at once, while the holder's command may still run")
	return c
}

// free makes c a command that takes a lock from its holder; with the flag only if that owner holds it.
func (p *program) free(c *cobra.Command, flag, what string, now *bool) {
	kind, owner, yes := "", "", false
	c.Args = oneName
	c.Flags().StringVar(&owner, flag, "", what)
	c.Flags().StringVar(&kind, "kind", "lock", "lock, mutex, fair, read or write")
	offer(c, "kind", "lock", "mutex", "fair", "read", "write")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.RunE = func(c *cobra.Command, args []string) error {
		of, name := freers[kind], args[0]
		switch {
		case of == nil:
			return usage("--kind %s is none of lock, mutex, fair, read and write", kind)
		case c.Flags().Changed(flag) && owner == "":
			return usage("--%s is empty", flag)
		}
		if err := confirm(c, yes, *now, name, owner); err != nil {
			return err
		}
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		freed, err := take(c, of(conn.Client, name), owner, *now)
		if err == nil && !freed {
			err = &exitError{exitFailed, fmt.Errorf("%q has no such holder: nothing was freed", name)}
		}
		return err
	}
}

// take takes a lock from its holder; with an owner only if that owner holds it. Unless the lock is to be free now,
// nobody can acquire it before the holder's lease has ended.
func take(c *cobra.Command, l freer, owner string, now bool) (bool, error) {
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
	if owner == "" {
		owner = "whoever holds it"
	}
	when := "when the holder's lease has ended"
	if now {
		when = "at once"
	}
	fmt.Fprintf(c.ErrOrStderr(), "This takes %q from %s. Another process can acquire it %s. The holder's command runs until\n"+
		"the next renewal, a third of its lease later at most: then its hasp ends it.\nGo on? [y/N] ", name, owner, when)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil && strings.EqualFold(strings.TrimSpace(answer), "y") {
		return nil
	}
	return &exitError{exitFailed, errors.New("nothing was freed")}
}
