package command

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
)

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
