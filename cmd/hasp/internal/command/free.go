package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/primitives"
)

// freer frees a lock that another process holds.
type freer interface {
	ReleaseOwner(ctx context.Context, owner string) (bool, error)
	ForceUnlock(ctx context.Context) (bool, error)
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
	c := &cobra.Command{Use: "release NAME --owner OWNER", Short: "Take a lock from an owner"}
	p.free(c, "owner", "the owner, as hasp inspect shows it")
	_ = c.MarkFlagRequired("owner")
	return c
}

func (p *program) forceUnlock() *cobra.Command {
	c := &cobra.Command{Use: "force-unlock NAME", Short: "Take a lock from whoever holds it"}
	p.free(c, "if-owner", "only from this owner")
	return c
}

// free makes c a command that frees a lock; with the flag only if that owner holds it.
func (p *program) free(c *cobra.Command, flag, what string) {
	kind, owner, yes := "", "", false
	c.Args = oneName
	c.Flags().StringVar(&owner, flag, "", what)
	c.Flags().StringVar(&kind, "kind", "lock", "lock, mutex, fair, read or write")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.RunE = func(c *cobra.Command, args []string) error {
		of, name := freers[kind], args[0]
		switch {
		case of == nil:
			return usage("--kind %s is none of lock, mutex, fair, read and write", kind)
		case c.Flags().Changed(flag) && owner == "":
			return usage("--%s is empty", flag)
		}
		if err := confirm(c, yes, name, owner); err != nil {
			return err
		}
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		l, freed := of(conn.Client, name), false
		if owner == "" {
			freed, err = l.ForceUnlock(c.Context())
		} else {
			freed, err = l.ReleaseOwner(c.Context(), owner)
		}
		if err == nil && !freed {
			err = &exitError{exitFailed, fmt.Errorf("%q has no such holder: nothing was freed", name)}
		}
		return err
	}
}

// confirm asks whether to free a lock.
func confirm(c *cobra.Command, yes bool, name, owner string) error {
	if yes {
		return nil
	}
	if !child.HasTerminal() {
		return usage("there is no terminal to ask at: --yes")
	}
	if owner == "" {
		owner = "whoever holds it"
	}
	fmt.Fprintf(c.ErrOrStderr(), "This takes %q from %s. Another process can acquire it at once. The holder's command runs until\n"+
		"the next renewal, a third of its lease later at most: then its hasp ends it.\nGo on? [y/N] ", name, owner)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil && strings.EqualFold(strings.TrimSpace(answer), "y") {
		return nil
	}
	return &exitError{exitFailed, errors.New("nothing was freed")}
}
