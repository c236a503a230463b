// Command etcd runs the commands on its standard input, one for each line. It may run on many machines: all its
// processes together run at most two commands at a time.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const pause = 100 * time.Millisecond

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Getenv("ETCD_ADDR")}})
	if err != nil {
		log.Fatal(err)
	}
	if err := work(context.Background(), client, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// work returns the first error: of a command, or of its slot. A command that loses its slot is killed.
func work(ctx context.Context, client *clientv3.Client, commands io.Reader) error {
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		if err := run(ctx, client, lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command in a slot.
func run(ctx context.Context, client *clientv3.Client, command string) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }() // This unlocks.
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.Ctx(), cancel)()
	if err := acquire(held, session); err != nil {
		return err
	}
	return exec.CommandContext(held, "sh", "-c", command).Run()
}

// acquire tries the slots in turn, until one is free.
func acquire(ctx context.Context, session *concurrency.Session) error {
	for try := 0; ; try++ {
		err := concurrency.NewMutex(session, fmt.Sprint("workers/", try%2)).TryLock(ctx)
		if !errors.Is(err, concurrency.ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
